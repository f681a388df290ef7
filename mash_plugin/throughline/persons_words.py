"""What people typed in a session, kept as hashes alone, to find it in the agent's lines.

Nothing of their text is held or written: a row is a hash of the first characters, one of the
whole and the length. Rows beyond a few megabytes lie in a nameless temporary file, so that
memory is bounded however long the session is.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from mash_plugin.normal_form import normal_form

SHORTEST = 20
"""A shorter line of a person may stand inside an agent's; only the same line is a repeat."""
LONGEST = 1_000
WINDOW = 7
MOST_IN_MEMORY = 1_200_000
"""Numbers of eight bytes."""
_EDGES = " \t.,:;!?-–—*_#>\"'`()[]…。！？、，：；「」『』"
_CURLY = str.maketrans({"‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "\xad": None})
_SENTENCE_ENDS = (". ", "! ", "? ", "; ", "。", "！", "？", "；")
_FIELDS = 3
_BLOCK = _FIELDS * 8 * 4_096


class PersonsWords:
    """Every line and sentence that a person typed, as hashes."""

    def __init__(self) -> None:
        self._rows = array("q")
        self._file: BinaryIO | None = None

    def add(self, text: str) -> None:
        """Take in a message of a person, line by line and sentence by sentence."""
        extend, plain = self._rows.extend, _plain(text)
        for line in plain.splitlines():
            piece = line.strip(_EDGES)
            if piece:
                extend((hash(piece[:WINDOW]), hash(piece), len(piece)))
        sentences = plain
        for end in _SENTENCE_ENDS:
            if end in sentences:
                sentences = sentences.replace(end, "\n")
        if sentences is not plain:
            for sentence in sentences.splitlines():
                piece = sentence.strip(_EDGES)
                if len(piece) >= WINDOW and _is_long(piece):
                    extend((hash(piece[:WINDOW]), hash(piece), len(piece)))
        if len(self._rows) >= MOST_IN_MEMORY:
            self._spill()

    def repeated_in(self, texts: Sequence[str]) -> set[int]:
        """Which of these texts equal a person's line, or hold a whole one that is long enough."""
        folded = [_plain(text) for text in texts]
        whole: dict[int, list[int]] = {}
        starts: dict[int, list[tuple[int, int]]] = {}
        for index, text in enumerate(folded):
            whole.setdefault(hash(text.strip(_EDGES)), []).append(index)
            for at in range(len(text) - WINDOW + 1):
                starts.setdefault(hash(text[at : at + WINDOW]), []).append((index, at))
        found: set[int] = set()
        for first, line, length in self._read():
            if line in whole:
                found.update(whole[line])
            for index, at in starts.get(first, ()):
                part = folded[index][at : at + length]
                if len(part) == length and _is_long(part) and hash(part) == line:
                    found.add(index)
        return found

    def _read(self) -> Iterator[tuple[int, int, int]]:
        if self._file is not None:
            self._file.seek(0)
            while block := self._file.read(_BLOCK):
                yield from _rows_of(memoryview(block).cast("q"))
        yield from _rows_of(self._rows)

    def _spill(self) -> None:
        if self._file is None:
            import tempfile  # few sessions are that long

            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - nameless, gone with the process
        self._file.write(self._rows.tobytes())
        self._rows = array("q")


def _rows_of(numbers: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    each = iter(numbers)
    return zip(each, each, each, strict=True)


def _plain(text: str) -> str:
    """One case, single spaces, the marks of one keyboard, and no signs of bold or code."""
    if not text.isascii():
        text = normal_form("NFKC", text).translate(_CURLY)
    text = text.lower()
    for sign in "*_`":
        if sign in text:
            text = text.replace(sign, "")
    if "  " in text or "\t" in text or not text.isascii():
        text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    return text


def _is_long(text: str) -> bool:
    """Measured in bytes where letters are more than one: seven characters say much in Chinese."""
    length = len(text)
    if length >= SHORTEST or text.isascii():
        return length >= SHORTEST
    return length >= WINDOW and len(text.encode("utf-8", "replace")) >= SHORTEST
