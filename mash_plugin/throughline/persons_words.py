"""What people typed in a session, kept as hashes alone, to find it in the agent's lines.

Nothing of their text is held or written: a row is a hash of the first characters, one of the
whole and the length. Rows beyond a few megabytes lie in a nameless temporary file, so that
memory is bounded however long the session is.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import BinaryIO

from mash_plugin.normal_form import normal_form

SHORTEST = 20
"""A shorter line of a person may stand inside an agent's; only the same line is a repeat."""
LONGEST = 1_000
WINDOW = 7
MOST_IN_MEMORY = 8 << 20
_ROW = Struct("<qqH")
_EDGES = " \t.,:;!?-–—*_#>\"'`()[]…。！？、，：；「」『』"
_CURLY = str.maketrans({"‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "\xad": None})
_SENTENCE_ENDS = (". ", "! ", "? ", "; ", "。", "！", "？", "；")
_BLOCK = _ROW.size * 4_096


class PersonsWords:
    """Every line and sentence that a person typed, as hashes."""

    def __init__(self) -> None:
        self._rows = bytearray()
        self._file: BinaryIO | None = None

    def add(self, text: str) -> None:
        """Take in a message of a person, line by line and sentence by sentence."""
        rows, pack = self._rows, _ROW.pack
        for line in _pieces(text):
            length = len(line)
            if 0 < length <= LONGEST:
                rows += pack(hash(line[:WINDOW]), hash(line), length)
        if len(rows) >= MOST_IN_MEMORY:
            self._spill()

    def repeated_in(self, texts: Sequence[str]) -> set[int]:
        """Which of these texts equal a person's line, or hold a whole one that is long enough."""
        folded = [_folded(text) for text in texts]
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
                yield from _ROW.iter_unpack(block)
        yield from _ROW.iter_unpack(bytes(self._rows))

    def _spill(self) -> None:
        if self._file is None:
            import tempfile  # few sessions are that long

            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - nameless, gone with the process
        self._file.write(self._rows)
        self._rows.clear()


def _pieces(text: str) -> Iterator[str]:
    """Every line, and every sentence of a line that has several."""
    plain = _plain(text)
    for line in plain.splitlines():
        yield " ".join(line.split()).strip(_EDGES)
    sentences = plain
    for end in _SENTENCE_ENDS:
        if end in sentences:
            sentences = sentences.replace(end, "\n")
    if sentences is not plain:
        for sentence in sentences.splitlines():
            if len(sentence) > WINDOW and _is_long(
                piece := " ".join(sentence.split()).strip(_EDGES)
            ):
                yield piece


def _folded(line: str) -> str:
    return " ".join(_plain(line).split())


def _plain(text: str) -> str:
    """One case, the marks of one keyboard, and no signs of bold or code."""
    if not text.isascii():
        text = normal_form("NFKC", text).translate(_CURLY)
    return text.lower().replace("*", "").replace("_", "").replace("`", "")


def _is_long(text: str) -> bool:
    """Measured in bytes where letters are more than one: seven characters say much in Chinese."""
    length = len(text)
    if length >= SHORTEST or text.isascii():
        return length >= SHORTEST
    return length >= WINDOW and len(text.encode("utf-8", "replace")) >= SHORTEST
