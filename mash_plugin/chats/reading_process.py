"""A process that reads transcripts for a long index run, so that the daemon stays quick.

It gets one job a line on its standard input and gives stretches on its standard output, each
as its length in eight bytes and JSON. It knows no database; the end of its input ends it.
"""

import gc
import os
import signal
import sys
from queue import Queue
from threading import Thread
from typing import Any, BinaryIO

import orjson

from mash_plugin.agents import agent_named
from mash_plugin.agents.events import Message, TranscriptFile
from mash_plugin.agents.lines import open_transcript
from mash_plugin.chats.stretch import From, Stretch, read_stretch
from mash_plugin.errors import InvalidArgument

LENGTH_BYTES = 8
FRAMES_AHEAD = 4
"""Of a megabyte or so each: read while the daemon stores what it has."""
NICENESS = 10
NICE_AFTER_S = 20
"""A first index of some gigabytes makes room for whatever else the person does."""


def main(given: BinaryIO, wanted: BinaryIO) -> None:
    """Read what each job names, to its end."""
    frames: Queue[bytes | None] = Queue(FRAMES_AHEAD)
    giving = Thread(target=_give, args=(frames, wanted), daemon=True)
    giving.start()
    _read(given, frames)
    frames.put(None)
    giving.join()


def _give(frames: "Queue[bytes | None]", wanted: BinaryIO) -> None:
    """Write the frames to a pipe that holds less than one of them."""
    while (frame := frames.get()) is not None:
        try:
            wanted.write(frame)
            wanted.flush()
        except OSError:  # nobody wants them any more
            os._exit(1)


def _read(given: BinaryIO, frames: "Queue[bytes | None]") -> None:
    for line in given:
        job = orjson.loads(line)
        file = TranscriptFile(job["agent"], job["path"], job["session"], job["is_subagent"])
        at = From(job["offset"], job["reader"], bytes.fromhex(job["sums"]))
        host = agent_named(file.agent)
        try:
            handle = open_transcript(file.path, job["roots"])
        except InvalidArgument:
            host = None
        if host is None:
            frames.put(_frame(None))
            continue
        with handle:
            is_finished = False
            while not is_finished:
                stretch = read_stretch(handle, file, host, at, job["budget"])
                at, is_finished = stretch.next, stretch.is_finished or stretch.end >= job["size"]
                frames.put(_frame(stretch))


def stretch_from_json(data: bytes) -> Stretch | None:
    """The stretch that a frame holds; None when the file could not be opened."""
    values: dict[str, Any] | None = orjson.loads(data)
    if values is None:
        return None
    values["block_sums"] = bytes.fromhex(values["block_sums"])
    values["messages"] = [_message(row) for row in values["messages"]]
    return Stretch(**values)


def _frame(stretch: Stretch | None) -> bytes:
    data = orjson.dumps(None if stretch is None else _as_json(stretch))
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def _as_json(stretch: Stretch) -> dict[str, Any]:
    return {
        "start": stretch.start,
        "end": stretch.end,
        "reader": stretch.reader,
        "block_sums": stretch.block_sums.hex(),
        "lines_skipped": stretch.lines_skipped,
        "bytes_skipped": stretch.bytes_skipped,
        "is_finished": stretch.is_finished,
        "messages": [_row(message) for message in stretch.messages],
        "tokens": stretch.tokens,
    }


def _message(row: list[Any]) -> Message:
    row[7], row[8] = tuple(row[7]), tuple(row[8])
    return Message(*row)


def _row(m: Message) -> tuple[Any, ...]:
    return (
        *(m.id, m.role, m.author, m.text, m.person_text, m.sent_at, m.offset, m.private_text),
        *(m.tool_use_ids, m.bytes_left_out, m.is_headless),
    )


def _make_room(_number: int, _frame: object) -> None:
    os.nice(NICENESS)


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _make_room)
    signal.alarm(NICE_AFTER_S)
    gc.disable()  # messages hold no cycles; a tenth of the time
    main(sys.stdin.buffer, sys.stdout.buffer)
