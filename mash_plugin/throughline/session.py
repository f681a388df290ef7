"""One reading of a transcript: what is counted, and the lines that may be kept."""

import heapq
from datetime import datetime
from typing import BinaryIO, NamedTuple

from mash_plugin.privacy.credentials import credential_kind
from mash_plugin.throughline import key_lines
from mash_plugin.throughline.artifacts import KeyLine, Span
from mash_plugin.throughline.persons_words import PersonsWords
from mash_plugin.throughline.transcript import Message, read_messages

MOST_CANDIDATES = 64
"""Held while reading; four are kept, the others stand in for those that are dropped."""


class Session(NamedTuple):
    """What a transcript holds, without any text but that of the agent's key lines."""

    messages: int
    by_agent: int
    malformed: int
    span: Span
    key_lines: tuple[KeyLine, ...]
    dropped: int
    """Key lines left out because they look like a credential or repeat a person."""


def read_session(file: BinaryIO) -> Session:
    """Read a transcript once, in bounded memory. Raises InvalidArgument for UTF-16."""
    reading = _Reading()
    for message in read_messages(file, reading.take_malformed):
        reading.take(message)
    return reading.session()


class _Reading:
    """The state of one reading."""

    def __init__(self) -> None:
        self.messages = self.by_agent = self.malformed = self.dropped = 0
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.persons = PersonsWords()
        self.candidates: list[tuple[tuple[float, int, int], KeyLine]] = []

    def take(self, message: Message) -> None:
        at = message.at
        if at is not None:
            if self.first is None or at < self.first:
                self.first = at
            if self.last is None or at > self.last:
                self.last = at
        if message.author == "agent":
            self.by_agent += 1
            self._take_lines(message, self.messages)
        elif message.author == "person":
            self.persons.add(message.text)
        self.messages += 1

    def take_malformed(self, line: bytes) -> None:
        """Whatever it was, a person may have typed it."""
        self.malformed += 1
        self.persons.add(line.decode("utf-8", "replace"))

    def session(self) -> Session:
        lines = [line for _, line in self.candidates]
        repeated = self.persons.repeated_in([line.text for line in lines]) if lines else set()
        kept = [line for index, line in enumerate(lines) if index not in repeated]
        span = Span(_ms(self.first), _ms(self.last))
        dropped = self.dropped + len(repeated)
        return Session(self.messages, self.by_agent, self.malformed, span, _distinct(kept), dropped)

    def _take_lines(self, message: Message, number: int) -> None:
        if not key_lines.may_hold_key_line(message.text):
            return
        for place, line in key_lines.eligible_lines(message.text):
            is_whole = line == message.text
            if not is_whole and not key_lines.may_hold_key_line(line):
                continue
            category = key_lines.category_of(line)
            if category is not None:
                self._keep(KeyLine(number, place, category, line, _ms(message.at)))

    def _keep(self, line: KeyLine) -> None:
        entry = (line.rank, line)
        is_full = len(self.candidates) >= MOST_CANDIDATES
        if is_full and entry < self.candidates[0]:
            return
        if credential_kind(line.text) is not None:
            self.dropped += 1
        elif is_full:
            heapq.heapreplace(self.candidates, entry)
        else:
            heapq.heappush(self.candidates, entry)


def _distinct(lines: list[KeyLine]) -> tuple[KeyLine, ...]:
    """The last of those that say the same: a loop repeats itself in every cycle."""
    by_text = {line.text: line for line in sorted(lines)}
    return tuple(by_text.values())


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
