"""How texts leave the store: with what is known to be a credential masked (R-177)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mash_plugin.config import Settings
from mash_plugin.errors import MashError
from mash_plugin.privacy.credentials import mask

NAMES = frozenset(
    "id chat_id message_id session_id operation_id kind status state review purpose role author"
    " relation direction source action match code event source_fingerprint processed_fingerprint"
    " superseded_by hidden_by added_by decided_by node_id next_cursor".split()
)
"""Fields that agents send back as they got them: patterns of the person leave these alone."""


class Masking(NamedTuple):
    """What is masked, as configured."""

    is_on: bool
    extra: tuple[str, ...] = ()

    def __call__(self, text: str) -> str:
        return mask(text, self.extra) if self.is_on else text

    def needed_for(self, texts: Sequence[str]) -> "Masking":
        """The same, or none where these texts hold nothing to mask: one look instead of many."""
        if self.is_on and not self.extra:
            joined = "\n".join(texts)
            return Masking(mask(joined) != joined)
        return self

    def whole(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """A result with all its texts masked, also those that nobody thought of."""
        if not self.needed_for(list(_texts(result))).is_on:
            return result
        return {name: self._of(value, name) for name, value in result.items()}

    def of_error(self, error: MashError) -> MashError:
        """The error, whose message may repeat what was asked for, masked."""
        if self.is_on:
            error.args = (mask(error.message, self.extra),)
            error.details = dict(self.whole(error.details))
        return error

    def _of(self, value: object, name: str) -> object:
        if isinstance(value, str):
            return mask(value, () if name in NAMES else self.extra)
        if isinstance(value, dict):
            return {key: self._of(inner, key) for key, inner in value.items()}
        return (
            [self._of(inner, name) for inner in value] if isinstance(value, list | tuple) else value
        )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def masking(settings: Settings) -> Masking:
    """The masking of these settings."""
    return Masking(settings.mask_credentials, settings.extra_patterns)
