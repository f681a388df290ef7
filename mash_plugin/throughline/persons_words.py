"""What people typed in a session, kept as hashes alone, to find it in the agent's lines.

Nothing of their text is held or written: a piece is a hash of its first characters, one of the
whole and its length. Pieces beyond a few megabytes lie in a nameless temporary file, so that
memory is bounded however long the session is.
"""

from array import array
from collections.abc import Container, Iterator, Sequence
from itertools import compress
from typing import BinaryIO

from mash_plugin.normal_form import normal_form

SHORTEST = 20
"""A shorter line of a person may stand inside an agent's; only the same line is a repeat."""
LONGEST = 1_000
WINDOW = 7
MOST_IN_MEMORY = 200_000
"""Pieces, of 24 bytes each."""
_EDGES = " \t.,:;!?-–—*_#>\"'`()[]…。！？、，：；「」『』"
_CURLY = str.maketrans({"‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "\xad": None})
_SENTENCE_ENDS = (".", "!", "?", ";")
_WIDE_ENDS = "。！？；"
_WHOLE = -1
"""In place of a position: the whole text."""


class PersonsWords:
    """Every line and sentence that a person typed, as hashes."""

    def __init__(self) -> None:
        self._starts, self._wholes, self._lengths = array("q"), array("q"), array("q")
        self._file: BinaryIO | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Take in messages of people, line by line and sentence by sentence."""
        wide = [text for text in texts if not text.isascii()]
        for alike in (wide, [text for text in texts if text.isascii()] if wide else texts):
            if alike:
                self._add_text("\n".join(alike))

    def _add_text(self, text: str) -> None:
        plain = _plain(text)
        sentences = _cut_at_sentences(plain)
        if sentences is plain:
            self._add_pieces(plain.splitlines())
            return
        pieces = sentences.splitlines()
        self._add_pieces(pieces)
        lines = plain.splitlines()
        if len(lines) < len(pieces):
            known = set(pieces)
            self._add_pieces([line for line in lines if line not in known])

    def repeated_in(self, texts: Sequence[str]) -> set[int]:
        """Which of these texts equal a person's line, or hold a whole one that is long enough."""
        folded = [_plain(text) for text in texts]
        starts: dict[int, list[tuple[int, int]]] = {}
        for index, text in enumerate(folded):
            starts.setdefault(hash(text.strip(_EDGES)[:WINDOW]), []).append((index, _WHOLE))
            for at in range(len(text) - WINDOW + 1):
                starts.setdefault(hash(text[at : at + WINDOW]), []).append((index, at))
        found: set[int] = set()
        for first, line, length in self._pieces_that_start(starts):
            for index, at in starts[first]:
                if at == _WHOLE:
                    is_repeated = hash(folded[index].strip(_EDGES)) == line
                else:
                    part = folded[index][at : at + length]
                    is_repeated = len(part) == length and _is_long(part) and hash(part) == line
                if is_repeated:
                    found.add(index)
        return found

    def _add_pieces(self, pieces: list[str]) -> None:
        pieces = [piece.strip(_EDGES) for piece in pieces]
        self._starts.extend([hash(piece[:WINDOW]) for piece in pieces])
        self._wholes.extend(map(hash, pieces))
        self._lengths.extend(map(len, pieces))
        if len(self._starts) >= MOST_IN_MEMORY:
            self._spill()

    def _pieces_that_start(self, starts: Container[int]) -> Iterator[tuple[int, int, int]]:
        for columns in self._read():
            rows = zip(*columns, strict=True)
            yield from compress(rows, map(starts.__contains__, columns[0]))

    def _read(self) -> Iterator[Sequence[Sequence[int]]]:
        if self._file is not None:
            self._file.seek(0)
            while count := int.from_bytes(self._file.read(8), "little"):
                yield [memoryview(self._file.read(8 * count)).cast("q") for _ in range(3)]
        yield self._starts, self._wholes, self._lengths

    def _spill(self) -> None:
        if self._file is None:
            import tempfile  # few sessions are that long

            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - nameless, gone with the process
        self._file.write(len(self._starts).to_bytes(8, "little"))
        for column in (self._starts, self._wholes, self._lengths):
            self._file.write(column.tobytes())
        self._starts, self._wholes, self._lengths = array("q"), array("q"), array("q")


def _cut_at_sentences(text: str) -> str:
    # One character is looked for first: that is thirty times as fast as looking for two.
    for end in _SENTENCE_ENDS:
        if end in text and f"{end} " in text:
            text = text.replace(f"{end} ", f"{end}\n")
    if not text.isascii():
        for end in _WIDE_ENDS:
            if end in text:
                text = text.replace(end, "\n")
    return text


def _plain(text: str) -> str:
    """One case, single spaces, the marks of one keyboard, and no signs of bold or code."""
    if not text.isascii():
        text = normal_form("NFKC", text).translate(_CURLY)
    text = text.lower()
    for sign in "*_`":
        if sign in text:
            text = text.replace(sign, "")
    if not text.isascii() or "\x1f" in text:
        return "\n".join(" ".join(line.split()) for line in text.splitlines())
    if "\t" in text:
        text = text.replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _is_long(text: str) -> bool:
    """Measured in bytes where letters are more than one: seven characters say much in Chinese."""
    length = len(text)
    if length >= SHORTEST or text.isascii():
        return length >= SHORTEST
    return length >= WINDOW and len(text.encode("utf-8", "replace")) >= SHORTEST
