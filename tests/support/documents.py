"""What the documents of this repository tell a reader to type."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"docs/commands.md"}
SHELL = {"sh", "console", "crontab", "ini"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(
    r"(?:^|[\s'\"=/(])(?P<program>mash|meaning-memory|scripts/[\w-]+)(?=\s|$)(?P<rest>[^|;<>#&)\n]*)",
    re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced part of a document."""

    document: str
    language: str
    text: str

    @property
    def first(self) -> str:
        """Its first command, which names it."""
        return next(line for line in self.text.splitlines() if not line.startswith("#!"))


class Typed(NamedTuple):
    """A command somewhere in a document; placeholders are words in capitals."""

    document: str
    program: str
    words: tuple[str, ...]


def documents() -> dict[str, str]:
    """Every page for readers by its name, but for those that the code writes."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/*/README.md")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return {name: (ROOT / name).read_text("utf-8") for name in names if name not in GENERATED}


def blocks() -> list[Block]:
    """Every fenced part of every document."""
    return [
        Block(name, *match.groups())
        for name, text in documents().items()
        for match in FENCE.finditer(text)
    ]


def typed() -> Iterator[Typed]:
    """Every command that stands in a block for a shell, or between backticks."""
    for block in blocks():
        if block.language in SHELL:
            lines = block.text.replace("\\\n", " ").splitlines()
            is_session = block.language == "console"
            shown = (line for line in lines if not is_session or line.startswith("$ "))
            yield from _commands(block.document, "\n".join(shown))
    for name, text in documents().items():
        for code in INLINE.findall(FENCE.sub("", text)):
            words = " ".join(code.split())
            if words.startswith(("mash", "meaning-memory", "scripts/")):
                yield from _commands(name, words)


def _commands(document: str, text: str) -> Iterator[Typed]:
    for match in COMMAND.finditer(text):
        words = re.sub(r"[\[\]'\"]", " ", match["rest"]).split()
        yield Typed(document, match["program"], tuple(words))
