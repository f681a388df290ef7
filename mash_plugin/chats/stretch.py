"""Read one stretch of one transcript into messages and their words; touches no database."""

from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import orjson

from mash_plugin.agents.events import Agent, Message, ReaderState, TranscriptFile
from mash_plugin.agents.lines import read_lines
from mash_plugin.chats.blocks import grow_sums
from mash_plugin.tokens import index_text

SEARCHED_ROLES = frozenset({"user", "assistant"})


class From(NamedTuple):
    """Where a stretch begins, and what is known of all before it."""

    offset: int
    reader: str
    block_sums: bytes


@dataclass(slots=True)
class Stretch:
    """What was read between two places of a transcript."""

    start: int
    end: int
    reader: str = "{}"
    block_sums: bytes = b""
    lines_skipped: int = 0
    bytes_skipped: int = 0
    is_finished: bool = False
    """The end of the file was reached."""
    messages: list[Message] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    """For the full-text index, one for each message; None for what is not searched."""

    @property
    def next(self) -> From:
        """Where the stretch after this one begins."""
        return From(self.end, self.reader, self.block_sums)


def read_stretch(
    handle: BinaryIO, file: TranscriptFile, host: Agent, at: From, budget: int
) -> Stretch:
    """Read about `budget` bytes at most."""
    stretch = Stretch(at.offset, at.offset)
    state = reader_state(at.reader)
    reader = host.open_reader(file, state)
    broken_before = state.lines_skipped
    stop = at.offset + budget
    for line_offset, end, data in read_lines(handle, at.offset):
        if data is None:
            stretch.lines_skipped += 1
            stretch.bytes_skipped += end - line_offset
        else:
            stretch.messages += reader.read_line(data, line_offset)
        stretch.end = end
        if end >= stop:
            break
    else:
        stretch.is_finished = True
    stretch.lines_skipped += state.lines_skipped - broken_before
    stretch.bytes_skipped += sum(m.bytes_left_out for m in stretch.messages)
    stretch.tokens = [_tokens(m) for m in stretch.messages]
    stretch.block_sums = grow_sums(handle.fileno(), at.block_sums, at.offset, stretch.end)
    stretch.reader = orjson.dumps(vars(state)).decode()
    return stretch


def reader_state(text: str) -> ReaderState:
    """The state of a reader as it was stored."""
    values: dict[str, Any] = orjson.loads(text)
    state = ReaderState()
    for name in vars(state).keys() & values.keys():
        setattr(state, name, values[name])
    return state


def _tokens(message: Message) -> str | None:
    if not message.text or message.role not in SEARCHED_ROLES:
        return None
    return index_text(message.text)
