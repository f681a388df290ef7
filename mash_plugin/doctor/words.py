"""How the doctor puts things: numbers with their words, and other parts' messages."""

import re
from collections.abc import Mapping
from shlex import quote

from mash_plugin.wording import counted


def edit_line(path: str) -> str:
    """The command that opens a file in the person's editor."""
    return f"${{EDITOR:-vi}} {quote(path)}"


def late_hooks(counts: Mapping[str, int]) -> str:
    """How many answers to hooks came too late, and to which hooks."""
    each = ", ".join(f"{hook} {count}" for hook, count in sorted(counts.items()))
    return f"{counted(sum(counts.values()), 'answer')} to hooks ({each})"


def own_words(message: str) -> str:
    """The message without its advice to call this very command, or to retry a tool's call."""
    message = re.sub(r"[;,.]? ?(?:[Ss]ee|[Rr]un) `mash doctor`[^.]*", "", message)
    message = re.sub(r"(?:\.? ?R| and r)etry the same operation(?: ID)?\.?", "", message)
    return f"{message.rstrip(' .')}."
