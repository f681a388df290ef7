"""Stable names of chats."""

import re

CHAT_ID = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")


def chat_id(source: str, session_id: str) -> str:
    """The same ID at every index, whatever file holds the session."""
    plain = f"{source}-{session_id}"
    if CHAT_ID.match(plain):
        return plain
    from hashlib import sha256  # loads OpenSSL: 2 ms, and few sessions need it

    return f"{source[:24]}-{sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:32]}"
