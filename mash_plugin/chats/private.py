"""Recognise private text again without keeping it: keyed hashes of its pieces (decisions 4.7)."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator

from mash_plugin.store.chats import SQL, json_list
from mash_plugin.store.sqlite import Connection

PIECE = 16
"""A write repeats a private text when it shares so many characters that hold a space."""
_SPACE = re.compile(r"\s+")
_CREDENTIAL_LIKE = re.compile(r"(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[A-Za-z0-9_\-+/=.:~]{8,}")


def shingles(text: str, key: bytes) -> Iterator[int]:
    """Keyed hashes of each piece of 16 characters with a space, and of credential-like tokens."""
    folded = _folded(text)
    for at in range(len(folded) - PIECE + 1):
        piece = folded[at : at + PIECE]
        if " " in piece.strip():
            yield _hash(piece, key)
    for token in _CREDENTIAL_LIKE.findall(folded):
        yield _hash(token, key)


def repeats_private_text(
    db: Connection, texts: Iterable[str], key: bytes, chat_id: str | None = None
) -> bool:
    """Whether a text repeats what stands in a private span of that chat, or of any chat."""
    hashes = {h for text in texts for h in shingles(text, key)}
    if not hashes:
        return False
    return (
        db.one(SQL.has_private_shingle, {"hashes": json_list(hashes), "chat_id": chat_id})
        is not None
    )


def _folded(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


def _hash(piece: str, key: bytes) -> int:
    digest = hashlib.blake2b(piece.encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "big", signed=True)
