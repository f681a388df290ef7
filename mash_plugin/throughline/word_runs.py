"""Runs of words that a person typed and an agent repeats in a line of its own making.

What was typed last is held unread in memory, up to some hundred thousand characters, and looked
at only when there are lines to check. Words are compared as a reader sees them: without tags,
links, entities, punctuation and signs that cannot be seen, and with look-alike letters as one.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat

from mash_plugin.privacy.patterns import compiled

RUN = 5
"""Words in a row; a whole sentence of a person may have two fewer."""
SHORT = (3, 4)
MOST_CHARS, LONGEST = 300_000, 100_000
"""Of everything that is held, and of one message."""
_BREAK = r"(?i)<(?:br|p|/p|li|div|/div|td|tr|hr)\b[^<>\n]{0,200}>"
_TAG = r"</?[A-Za-z][^<>\n]{0,200}>"
_LINK = r"!?\[([^\[\]]{0,300})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])"
_ENTITY = r"&#?\w{1,31};"
_NO_WORD = r"[^\w\x00]+|_"
_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
    "\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u0432\u043d"
    "\u03bf\u03b1\u03c1\u03bd\u03c4\u03b9\u03ba\u03c5",
    "aeopcyxijshdqwkmtbhoapvtiky",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_APOSTROPHES = dict.fromkeys(map(ord, "'\u00b4\u02bc"))
_TO_SPACES: dict[int, str | None] = {
    code: " " for code in range(1, 128) if not chr(code).isalnum()
} | _APOSTROPHES
_MARK = "\0"
_END = f" {_MARK} "
_SENTENCE_ENDS = (". ", "! ", "? ", "; ")
_OTHER, _KNOWN, _MARKED = 0, 1, 2
_PLACES = rb"(?=\x01{5})|(?<=\x02)\x01{3,4}(?=\x02)"
"""Where a run of known words begins, or a short sentence of them."""
_PLAIN_WORDS = frozenset(
    "a an the this that these those it its i im ill ive you your youre we well were our us me my"
    " he she they them their is are was be been do does did done have has had will would can could"
    " should shall may let lets to of in on at by for from with as and or but not no so if then"
    " than ok okay yes please thanks thank just now there here what when which who how all any some"
    " der die das ein eine ist sind wir ich du sie es und oder nicht zu in im am auf mit von bitte"
    .split()
)  # fmt: skip
Runs = dict[tuple[str, ...], set[int]]
Plain = Callable[[str], str]


class WordRuns:
    """What people typed last, to be found in lines word by word."""

    def __init__(self, plain: Plain) -> None:
        self._plain = plain
        self._typed: deque[Sequence[str]] = deque()
        self._chars = 0

    def add(self, texts: Sequence[str]) -> None:
        """Take in messages of people; the oldest make room."""
        size = sum(map(len, texts))
        if size > LONGEST:
            texts = [text[:LONGEST] for text in texts]
            size = sum(map(len, texts))
        self._typed.append(texts)
        self._chars += size
        while self._chars - (oldest := sum(map(len, self._typed[0]))) >= MOST_CHARS:
            self._chars -= oldest
            self._typed.popleft()

    def repeated_in(self, texts: Sequence[str]) -> set[int]:
        """Which of these share a run of words, or hold a whole short sentence of a person."""
        runs = _runs_of([self._words(text) for text in texts])
        found: set[int] = set()
        typed = dict.fromkeys(chain.from_iterable(self._typed)) if runs else {}
        for is_ascii in (True, False):
            text = _END.join([text for text in typed if text.isascii() is is_ascii])
            if not text:
                continue
            for run in _runs_in(self._words(f"{_END}{text}{_END}"), runs):
                found |= runs.get(run, set())
        return found

    def _words(self, text: str) -> list[str]:
        """The words, and a mark where a line, sentence or message ends."""
        text = self._plain(_without_markup(text)).replace("\n", _END)
        for end in _SENTENCE_ENDS:
            if end in text:
                text = text.replace(end, _END)
        if text.isascii():
            return text.translate(_TO_SPACES).split()
        return compiled(_NO_WORD).sub(" ", text.translate(_ALIKE).translate(_APOSTROPHES)).split()


def _without_markup(text: str) -> str:
    if "&" in text and compiled(_ENTITY).search(text):
        from html import unescape  # few lines hold one

        text = unescape(text)
    if "<" in text:
        text = compiled(_TAG).sub("", compiled(_BREAK).sub(" ", text))
    return compiled(_LINK).sub(r"\1", text) if "](" in text or "][" in text else text


def _runs_of(texts: Sequence[Sequence[str]]) -> Runs:
    """The runs of each text that say something of their own."""
    runs: Runs = {}
    for index, words in enumerate(texts):
        for size in (*SHORT, RUN):
            most = size - (2 if size == RUN else min(SHORT))
            for run in zip(*(words[start:] for start in range(size)), strict=False):
                if _MARK not in run and sum(map(_PLAIN_WORDS.__contains__, run)) <= most:
                    runs.setdefault(run, set()).add(index)
    return runs


def _runs_in(words: Sequence[str], runs: Runs) -> Iterator[tuple[str, ...]]:
    """Runs and short sentences of these words, all of which stand in the runs looked for."""
    kinds = {word: _KNOWN for run in runs for word in run} | {_MARK: _MARKED}
    places = bytes(map(kinds.get, words, repeat(_OTHER)))
    if b"\x01\x01\x01" not in places:
        return
    for place in re.finditer(_PLACES, places):
        start, end = place.span()
        yield tuple(words[start : end if end > start else start + RUN])
