"""Names of messages that share an ID, and the chained fingerprint of a chat."""

from hashlib import sha256


def variant_id(message_id: str, text: bytes) -> str:
    """Another name for a message that carries a known ID over other words."""
    return f"{message_id[:48]}-{sha256(text).hexdigest()[:12]}"


def next_fingerprint(before: str, message_id: str, author: str, text: bytes) -> str:
    """h(n) = SHA-256(h(n-1), id, author class, text), each with its length before it."""
    name = message_id.encode("utf-8", "replace")
    head = b"%s %d %s %s %d " % (before.encode(), len(name), name, author.encode(), len(text))
    return sha256(head + text).hexdigest()
