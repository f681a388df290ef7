"""What commands tell a person: in whole words and whole commands, however narrow the terminal."""

import sys

from mash_plugin.wrapping import fitted, say

ANSWERS = " [y/N]: "


def tell(text: str = "", *, err: bool = False) -> None:
    """Print a text on standard output, or on standard error."""
    say(text, sys.stderr if err else sys.stdout)


def question(text: str) -> str:
    """A question with room for its possible answers on the last line."""
    return fitted(text, sys.stderr, len(ANSWERS))
