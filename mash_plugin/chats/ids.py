"""Stable names of chats and messages, and the chained fingerprint (decisions 3.8)."""

import hashlib
import re

CHAT_ID = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")
SESSION_ID = re.compile(r"\A[A-Za-z0-9._-]{1,128}(/[A-Za-z0-9._-]{1,128})?\Z")


def chat_id(source: str, session_id: str) -> str:
    """The same ID at every index, whatever file holds the session."""
    plain = f"{source}-{session_id}"
    if CHAT_ID.match(plain):
        return plain
    return f"{source[:24]}-{hashlib.sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:32]}"


def variant_id(message_id: str, text: bytes) -> str:
    """Another name for a message that carries a known ID over other words."""
    return f"{message_id[:48]}-{hashlib.sha256(text).hexdigest()[:12]}"


def next_fingerprint(before: str, message_id: str, author: str, text: bytes) -> str:
    """h(n) = SHA-256(h(n-1), id, author class, text), each with its length before it."""
    name = message_id.encode("utf-8", "replace")
    head = b"%s %d %s %s %d " % (before.encode(), len(name), name, author.encode(), len(text))
    return hashlib.sha256(head + text).hexdigest()
