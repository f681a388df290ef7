"""The stable ID of a chat, in the index and in records."""

import re

from mash_plugin.digest import sha256_of

CHAT_ID = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")


def chat_id(source: str, session_id: str) -> str:
    """The same ID at every index, whatever file holds the session."""
    plain = f"{source}-{session_id}"
    if CHAT_ID.match(plain):
        return plain
    return f"{source[:24]}-{sha256_of(session_id.encode('utf-8', 'replace')).hex()[:32]}"
