"""Messages of other parts in the doctor's own words."""

import re


def own_words(message: str) -> str:
    """The message without its advice to call this very command, or to retry a tool's call."""
    message = re.sub(r"[;,.]? ?(?:[Ss]ee|[Rr]un) `mash doctor`[^.]*", "", message)
    message = re.sub(r"\.? ?Retry the same operation(?: ID)?\.?", "", message)
    return f"{message.rstrip(' .')}."
