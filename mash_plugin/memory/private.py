"""Refuse to save private spans, credentials, and what repeats private text (R-176, R-177)."""

from collections.abc import Iterator, Sequence
from typing import Any

from mash_plugin.chats.private import repeats_private_text
from mash_plugin.errors import CredentialText, PrivateText
from mash_plugin.memory.call import Call
from mash_plugin.privacy.credentials import credential_kind
from mash_plugin.privacy.spans import split_private
from mash_plugin.records.model import Evidence

Json = dict[str, Any]


def refuse_private(call: Call, request: Json, name: str) -> None:
    """Raise PrivateText or CredentialText for a text of the request, by the name of its field."""
    for field, text in _texts(request, name):
        if split_private(text)[0] != text:
            raise PrivateText(f"{field} holds a private span; private text is never stored.")
        if kind := credential_kind(text, call.settings.extra_patterns):
            raise CredentialText(
                f"{field} holds a credential ({kind}); say it without, or quote fewer words.",
                field=field,
            )


def refuse_repeated(call: Call, request: Json, evidence: Sequence[Evidence]) -> None:
    """Raise PrivateText for what a private span of a cited chat, or of the saving one, says too."""
    chats = [e.chat_id for e in evidence]
    if claimed := call.caller.session_id:  # a claim is good enough to refuse by
        own = call.chats.refresh_session(claimed, call.now)
        chats += [own] if own else []
    texts = [text for _, text in _texts(request, "")] + [e.quote for e in evidence]
    with call.chats.database.reading() as db:
        for chat_id in dict.fromkeys(chats):
            if repeats_private_text(db, texts, call.chats.private_key, chat_id):
                raise PrivateText("A text repeats private text of a cited chat, or of this one.")


def _texts(value: object, field: str) -> Iterator[tuple[str, str]]:
    """Every text of a request with the name of its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{field}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{field}[{index}]")
