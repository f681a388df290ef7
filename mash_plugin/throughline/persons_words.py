"""What people typed in a session, to find it in the agent's lines.

Nothing of their text is written, and none but the last of it held (word_runs.py): a piece is a
hash of its first characters and one of the whole. Pieces beyond a few megabytes lie in a
nameless temporary file, so that memory is bounded however long the session is.
"""

from array import array
from collections.abc import Container, Iterator, Sequence
from itertools import compress
from typing import BinaryIO

from mash_plugin.normal_form import normal_form
from mash_plugin.throughline.word_runs import WordRuns

SHORTEST = 20
"""A shorter line of a person may stand inside an agent's; only the same line is a repeat."""
LONGEST = 1_000
WINDOW, WIDE_WINDOW = 16, 7
"""Characters that a piece is found by; the second where letters are more than a byte."""
MOST_IN_MEMORY = 400_000
"""Pieces, of 16 bytes each."""
_EDGES = " \t.,:;!?-–—*_#>\"'`()[]…。！？、，：；「」『』"
_CURLY = str.maketrans({"‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"'})
_UNSEEN = dict.fromkeys((0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF))
_ONE_SPELLING = _CURLY | _UNSEEN | str.maketrans({"ß": "ss", "ẞ": "SS"})
_MARK = "\x1d"
_OTHER_SPACES = "\r\x0b\x0c\x1c\x1d\x1e\x1f"
_SENTENCE_ENDS = (".", "!", "?", ";")
_WIDE_ENDS = "。！？；"
_WHOLE = -1
"""In place of a position: the whole text."""


class PersonsWords:
    """Every line and sentence that a person typed, as hashes; and runs of words typed last."""

    def __init__(self) -> None:
        self._starts, self._wholes = array("q"), array("q")
        self._file: BinaryIO | None = None
        self._runs = WordRuns(_plain)

    def add(self, texts: Sequence[str]) -> None:
        """Take in messages of people, line by line and sentence by sentence."""
        self._runs.add(texts)
        wide = [text for text in texts if not text.isascii()]
        for alike in (wide, [text for text in texts if text.isascii()] if wide else texts):
            if alike:
                self._add_text("\n".join(alike))

    def _add_text(self, text: str) -> None:
        window = WINDOW if text.isascii() else WIDE_WINDOW
        marked = _marked(_plain(text))
        self._add_pieces(marked.splitlines(), window)
        if _MARK in marked:
            lines = [line for line in marked.split("\n") if _MARK in line]
            whole = [_unmarked(line) for line in lines if not _begins_long(line)]
            self._add_pieces(whole, window)

    def repeated_in(self, texts: Sequence[str]) -> set[int]:
        """Which of these texts repeat a person: a line of theirs, or several words in a row."""
        return self._with_pieces(texts) | self._runs.repeated_in(texts)

    def _with_pieces(self, texts: Sequence[str]) -> set[int]:
        """Which of these equal a person's line, or hold a whole one that is long enough."""
        folded = [_plain(text) for text in texts]
        starts: dict[int, list[tuple[int, int]]] = {}
        for index, text in enumerate(folded):
            for window in (WINDOW, WIDE_WINDOW):
                start = text.strip(_EDGES)[:window]
                starts.setdefault(hash(start), []).append((index, _WHOLE))
                for at in range(len(text) - window + 1):
                    starts.setdefault(hash(text[at : at + window]), []).append((index, at))
        found: set[int] = set()
        parts: dict[tuple[int, int], set[int]] = {}
        for first, piece in set(self._pieces_that_start(starts)):
            for index, at in starts[first]:
                if (index, at) not in parts:
                    parts[index, at] = set(_parts_at(folded[index], at))
                if piece in parts[index, at]:
                    found.add(index)
        return found

    def close(self) -> None:
        """Let go of the hashes on the disk."""
        if self._file is not None:
            self._file.close()

    def _add_pieces(self, pieces: list[str], window: int) -> None:
        pieces = [piece.strip(_EDGES) for piece in pieces]
        self._starts.extend([hash(piece[:window]) for piece in pieces])
        self._wholes.extend(map(hash, pieces))
        if len(self._starts) >= MOST_IN_MEMORY:
            self._spill()

    def _pieces_that_start(self, starts: Container[int]) -> Iterator[tuple[int, int]]:
        for firsts, wholes in self._read():
            rows = zip(firsts, wholes, strict=True)
            yield from compress(rows, map(starts.__contains__, firsts))

    def _read(self) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        if self._file is not None:
            self._file.seek(0)
            while size := int.from_bytes(self._file.read(8), "little"):
                firsts, wholes = self._file.read(size), self._file.read(size)
                yield memoryview(firsts).cast("q"), memoryview(wholes).cast("q")
        yield self._starts, self._wholes

    def _spill(self) -> None:
        if self._file is None:
            import tempfile  # few sessions are that long

            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - nameless, gone with the process
        self._file.write((8 * len(self._starts)).to_bytes(8, "little"))
        self._file.write(self._starts.tobytes() + self._wholes.tobytes())
        self._starts, self._wholes = array("q"), array("q")


def _parts_at(text: str, at: int) -> Iterator[int]:
    """What a piece that starts there may be: a part that is long enough, or the whole text."""
    if at == _WHOLE:
        yield hash(text.strip(_EDGES))
        return
    for end in range(at + WIDE_WINDOW, len(text) + 1):
        part = text[at:end]
        if _is_long(part):
            yield hash(part)


def _marked(text: str) -> str:
    """The text with marks between its sentences, at which `splitlines` cuts it too."""
    # One character is looked for first: that is thirty times as fast as looking for two.
    for end in _SENTENCE_ENDS:
        if end in text and f"{end} " in text:
            text = text.replace(f"{end} ", f"{end}{_MARK}")
    if not text.isascii():
        for end in _WIDE_ENDS:
            if end in text:
                text = text.replace(end, f"{end}{_MARK}")
    return text


def _unmarked(line: str) -> str:
    if not line.isascii():
        for end in _WIDE_ENDS:
            line = line.replace(f"{end}{_MARK}", end)
    return line.replace(_MARK, " ")


def _begins_long(line: str) -> bool:
    """Whether its first sentence is long enough to be found in place of the whole line."""
    return line.find(_MARK) > SHORTEST and len(line[:SHORTEST].strip(_EDGES)) == SHORTEST


def _plain(text: str) -> str:
    """One case, single spaces, the marks of one keyboard, and no signs of bold or code."""
    if not text.isascii():
        text = normal_form("NFKC", text).translate(_ONE_SPELLING)
    text = text.lower()
    for sign in "*_`~\\":
        if sign in text:
            text = text.replace(sign, "")
    if not text.isascii() or any(space in text for space in _OTHER_SPACES):
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
    return length >= WIDE_WINDOW and len(text.encode("utf-8", "replace")) >= SHORTEST
