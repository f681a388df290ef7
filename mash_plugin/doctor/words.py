"""How the doctor puts things: numbers with their words, and other parts' messages."""

import re
from shlex import quote


def edit_line(path: str) -> str:
    """The command that opens a file in the person's editor."""
    return f"${{EDITOR:-vi}} {quote(path)}"


def own_words(message: str) -> str:
    """The message without its advice to call this very command, or to retry a tool's call."""
    message = re.sub(r"[;,.]? ?(?:[Ss]ee|[Rr]un) `mash doctor`[^.]*", "", message)
    message = re.sub(r"\.? ?Retry the same operation(?: ID)?\.?", "", message)
    return f"{message.rstrip(' .')}."
