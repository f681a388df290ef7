"""How the doctor puts things: numbers with their words, and other parts' messages."""

import re


def many(number: int, word: str) -> str:
    """The number and the word: `1 chat`, `2 chats`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def own_words(message: str) -> str:
    """The message without its advice to call this very command, or to retry a tool's call."""
    message = re.sub(r"[;,.]? ?(?:[Ss]ee|[Rr]un) `mash doctor`[^.]*", "", message)
    message = re.sub(r"\.? ?Retry the same operation(?: ID)?\.?", "", message)
    return f"{message.rstrip(' .')}."
