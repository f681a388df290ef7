"""A record as recall and lists show it (R-091)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mash_plugin.config import Settings
from mash_plugin.errors import MashError
from mash_plugin.memory.scopes import scope_json
from mash_plugin.privacy.credentials import mask
from mash_plugin.records.lifecycle import is_in_force, status_of_record
from mash_plugin.records.model import RecordStatus, Revision
from mash_plugin.store.records import Head

NAMES = frozenset(
    "id chat_id message_id session_id operation_id kind status state review purpose role author"
    " relation direction source action match code event source_fingerprint processed_fingerprint"
    " superseded_by hidden_by added_by decided_by".split()
)
"""Fields that agents send back as they got them: patterns of the person leave these alone."""


class Masking(NamedTuple):
    """How texts leave the store: with known credentials masked, as configured (R-177)."""

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


def status_of_head(head: Head, now: int) -> RecordStatus:
    """The derived status of a record at this moment."""
    in_force = is_in_force(bool(head.retired), head.effective_at, head.valid_until, now)
    return status_of_record(in_force, bool(head.evidence_stale), head.review)


def item_of(
    head: Head, revision: Revision, status: RecordStatus, conflicted: bool, shown: Masking
) -> dict[str, Any]:
    """Enough to act and to look deeper; fields that say nothing are left out."""
    body = revision.body
    shown = shown.needed_for((*body.texts, body.recorded_by))
    item: dict[str, Any] = {
        "id": head.id,
        "revision": revision.revision,
        "kind": head.kind,
        "status": status,
        "state": body.state,
        "review": body.review,
        "statement": shown(body.statement),
        "scope": scope_json(head.scope_kind, head.scope_value),
        "recorded_by": shown(body.recorded_by),
        "recorded_at": revision.recorded_at,
        "confirmations": head.confirmations,
        "evidence": "stale" if head.evidence_stale else "matching",
    }
    if conflicted:
        item["conflicted"] = True
    return item | kind_fields(revision, shown) | _present("effective_at", body.effective_at)


def kind_fields(revision: Revision, shown: Masking) -> dict[str, Any]:
    """The fields of the record's own kind that are set."""
    body = revision.body
    fields = _present("decided_by", body.decided_by) | _present("valid_until", body.valid_until)
    if body.reported_by is not None:
        fields["reported_by"] = shown(body.reported_by)
    for name in ("alternatives", "consequences", "conditions"):
        if texts := getattr(body, name):
            fields[name] = [shown(text) for text in texts]
    return fields


def _present(name: str, value: object) -> dict[str, Any]:
    return {} if value is None else {name: value}
