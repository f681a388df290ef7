"""Texts as wide as the terminal: broken between words, never inside a path or a command."""

import shutil
import sys
from typing import TextIO

GLUE = "\0"
"""Stands for the spaces of a command while its line is broken."""


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a text; where no terminal shows it every line stays whole, to be searched."""
    stream = sys.stdout if stream is None else stream
    print(fitted(text, stream), file=stream, flush=True)


def fitted(text: str, stream: TextIO, room: int = 0) -> str:
    """The text as it is printed there, with that much room left on every line."""
    if not stream.isatty():
        return text
    return "\n".join(wrapped(text, shutil.get_terminal_size().columns - room))


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, none wider unless one word or one `command` is; indents stay."""
    return [line for whole in text.split("\n") for line in _broken(whole, width)]


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    import re
    from textwrap import wrap

    indent = line[: len(line) - len(line.lstrip())]
    item = "  " if line.lstrip().startswith("- ") else ""
    glued = re.sub(r"`[^`]+`", lambda quoted: quoted[0].replace(" ", GLUE), line.strip())
    lines = wrap(
        glued,
        width,
        initial_indent=indent,
        subsequent_indent=indent + item,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [one.replace(GLUE, " ") for one in lines]
