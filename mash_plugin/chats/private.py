"""Recognise private text again without keeping it: keyed hashes of its pieces."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from mash_plugin.normal_form import normal_form
from mash_plugin.store.chats import SQL, json_list
from mash_plugin.store.sqlite import Connection

PIECE = 16
"""A write repeats a private text when it shares so many characters that hold a space."""
DENSE_IN_PIECE = 8
"""Or so many characters of a script that puts no spaces between its words."""
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_SPACE = re.compile(r"\s+")
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_TOKEN_CHARS = 8
_WORD = re.compile(r"\S{8,}")
_RUN = re.compile(r"[^\s\"'`\u2018-\u201f()<>\[\]{},;]{8,}")
_PLAIN_RUN = re.compile(r"[A-Za-z0-9_\-+/=.:~]{8,}")
"""Where no spaces stand between words, a token ends with its script."""
_SPLIT = re.compile(r"[.:=/~+\-]")
_EDGE = ".:=/~+-_!?*&|\\\u2026\u3001\u3002\uff0c"
SPLITS_JOINED = 16
"""A token is known with and without what stands before or behind so many of its splits."""


def shingles(text: str, key: bytes) -> Iterator[int]:
    """Keyed hashes of each piece of 16 characters that says something, and of credential-likes."""
    folded = _folded(text)
    for at in range(len(folded) - PIECE + 1):
        piece = folded[at : at + PIECE]
        if " " in piece.strip() or (
            not piece.isascii() and len(_DENSE.findall(piece)) >= DENSE_IN_PIECE
        ):
            yield _hash(piece, key)
    for token in set(_tokens(folded)):
        yield _hash(token, key)


def repeats_private_text(
    db: Connection, texts: Iterable[str], key: bytes, chat_id: str | None = None
) -> bool:
    """Whether a text repeats what stands in a private span of that chat, or of any chat."""
    if db.one(SQL.has_private_text) is None:
        return False
    hashes = {h for text in texts for h in shingles(text, key)}
    if not hashes:
        return False
    return (
        db.one(SQL.has_private_shingle, {"hashes": json_list(hashes), "chat_id": chat_id})
        is not None
    )


def _tokens(folded: str) -> Iterator[str]:
    """Credential-like tokens: `hunter2pass9.`, `pw:hunter2pass9` and the bare one share one."""
    for word in _WORD.findall(folded):
        for run in (*_RUN.findall(word), *_PLAIN_RUN.findall(word)):
            for token in _with_parts(run):
                bare = token.strip(_EDGE)
                if len(bare) >= _TOKEN_CHARS and _is_credential_like(bare):
                    yield bare


def _with_parts(run: str) -> Iterator[str]:
    yield run
    splits = [match.start() for match in _SPLIT.finditer(run)]
    for before, after in pairwise((-1, *splits, len(run))):
        yield run[before + 1 : after]
    for at in splits[:SPLITS_JOINED]:
        yield run[at + 1 :]
    for at in splits[-SPLITS_JOINED:]:
        yield run[:at]


def _is_credential_like(token: str) -> bool:
    return any(c.isdigit() for c in token) and any(c.isalpha() for c in token)


def _folded(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    if not text.isascii():
        text = _UNSEEN.sub("", normal_form("NFKC", text))
    return _SPACE.sub(" ", text).strip().casefold()


def _hash(piece: str, key: bytes) -> int:
    digest = hashlib.blake2b(piece.encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "big", signed=True)
