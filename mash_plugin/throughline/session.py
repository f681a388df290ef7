"""One reading of a transcript: what is counted, and the lines that may be kept."""

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

from mash_plugin.privacy.spans import split_private
from mash_plugin.throughline.artifacts import KeyLine, Span
from mash_plugin.throughline.candidates import Candidates
from mash_plugin.throughline.persons_words import PersonsWords
from mash_plugin.throughline.transcript import (
    Message,
    fault_of,
    in_utc,
    read_messages,
    time_of,
)

_CODES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n\r]*(?:\x07|\x1b\\)"
    r"|\x1b[()][0-9A-Z]|[\x00\x1b\x9b]"
)
"""Colours and the like, which a program meant for a terminal; none of it ends a line."""


class Session(NamedTuple):
    """What a transcript holds, without any text but that of the agent's key lines."""

    messages: int
    by_agent: int
    malformed: int
    span: Span
    key_lines: tuple[KeyLine, ...]
    dropped: int
    """Key lines left out: like a credential, a person's words, private or too long."""
    others: int = 0
    """Key lines that no place was left for; at least so many."""
    of_unknown_role: int = 0
    has_unread_times: bool = False
    first_fault: str = ""
    """What is wrong with the first line that is no message."""


def read_session(file: BinaryIO) -> Session:
    """Read a transcript once, in bounded memory. Raises InvalidArgument for UTF-16."""
    reading = _Reading()
    with closing(reading.persons), _without_collector():
        for messages in read_messages(file, reading.take_malformed):
            reading.take(messages)
        return reading.session()


def session_of(messages: Iterable[list[Message]]) -> Session:
    """The same of messages that were read elsewhere, some at a time."""
    reading = _Reading()
    with closing(reading.persons):
        for some in messages:
            reading.take(some)
        return reading.session()


class _Reading:
    """The state of one reading."""

    def __init__(self) -> None:
        self.messages = self.by_agent = self.malformed = self.of_unknown_role = 0
        self.first_fault, self.has_stamps = "", False
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.persons = PersonsWords()
        self.candidates = Candidates()

    def take(self, messages: list[Message]) -> None:
        """Take in the messages that come next."""
        said, typed, stamps = [], [], []
        for number, (author, text, stamp) in enumerate(messages, self.messages):
            text = without_control_codes(text)
            if author == "agent":
                said.append((number, text, stamp))
            elif author != "machine":
                typed.append(text)
                self.of_unknown_role += author == "unknown"
            if author != "machine":
                typed += split_private(text)[1]  # repeated outside it is private, too
            if stamp is not None:
                stamps.append(stamp)
        self.messages += len(messages)
        self.by_agent += len(said)
        self.candidates.add(said)
        self.persons.add(typed)
        self._take_times(stamps)

    def take_malformed(self, line: bytes) -> None:
        """Whatever it was, a person may have typed it."""
        if not self.malformed:
            self.first_fault = fault_of(line)
        self.malformed += 1
        self.persons.add([line.decode("utf-8", "replace")])

    def session(self) -> Session:
        """What was read."""
        kept, dropped, others = self.candidates.best(self.persons.repeated_in)
        return Session(
            messages=self.messages,
            by_agent=self.by_agent,
            malformed=self.malformed,
            span=Span(_ms(self.first), _ms(self.last)),
            key_lines=kept,
            dropped=dropped,
            others=others,
            of_unknown_role=self.of_unknown_role,
            has_unread_times=self.has_stamps and self.first is None,
            first_fault=self.first_fault,
        )

    def _take_times(self, stamps: list[Any]) -> None:
        self.has_stamps |= bool(stamps)
        try:  # all of one kind, as nearly always: only the ends are converted
            given = list(map(datetime.fromisoformat, stamps))
            ends = [in_utc(min(given)), in_utc(max(given))] if given else []
        except (TypeError, ValueError, OverflowError):
            ends = [at for at in map(time_of, stamps) if at is not None]
        if ends:
            first, last = min(ends), max(ends)
            self.first = first if self.first is None else min(first, self.first)
            self.last = last if self.last is None else max(last, self.last)


def without_control_codes(text: str) -> str:
    """The text without colour codes and NUL, which would hide a key line or keep it out."""
    if "\x1b" in text or "\0" in text or "\x9b" in text:
        return re.sub(_CODES, "", text)
    return text


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Nothing of a reading refers to itself; to look for that takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
