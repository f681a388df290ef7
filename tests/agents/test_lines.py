"""Lines of a transcript: complete ones only, bounded memory, whatever they hold."""

import io
import os
import socket
import time
import tracemalloc
from pathlib import Path

import pytest

from mash_plugin.agents.lines import (
    MAX_LINE,
    SCAN_BLOCK,
    TOOL_TEXT,
    cut_output,
    open_transcript,
    parse_objects,
    read_lines,
    time_ms,
)
from mash_plugin.errors import InvalidArgument


class Zeros(io.RawIOBase):
    """A file of one endless-looking line and a short one, without holding either."""

    def __init__(self, long: int, tail: bytes) -> None:
        self.long, self.tail, self.at = long, tail, 0
        self.largest_read = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, _whence: int = 0) -> int:
        self.at = offset
        return offset

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        self.largest_read = max(self.largest_read, len(buffer))
        left = self.long - self.at
        data = (
            b"x" * min(len(buffer), left, 1 << 16) if left > 0 else self.tail[-left:][: len(buffer)]
        )
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


@pytest.mark.row(48)
def test_a_cut_off_last_line_is_left_for_later() -> None:
    found = list(read_lines(io.BytesIO(b'{"a":1}\n{"b"'), 0))
    assert [(line.offset, line.end, line.data) for line in found] == [(0, 8, b'{"a":1}')]
    grown = io.BytesIO(b'{"a":1}\n{"b":2}\n')
    assert [line.data for line in read_lines(grown, found[-1].end)] == [b'{"b":2}']


def test_a_byte_order_mark_at_the_start_is_dropped() -> None:
    assert [line.data for line in read_lines(io.BytesIO(b'\xef\xbb\xbf{"a":1}\n'), 0)] == [
        b'{"a":1}'
    ]


@pytest.mark.row(48)
def test_a_line_over_the_cap_is_skipped_with_its_end_known() -> None:
    long = 60 * 1024 * 1024
    raw = Zeros(long, b'\n{"after":1}\n')
    found = list(read_lines(io.BufferedReader(raw), 0))
    assert [(line.offset, line.end, line.data) for line in found] == [
        (0, long + 1, None),
        (long + 1, long + 13, b'{"after":1}'),
    ]
    assert raw.largest_read <= MAX_LINE


@pytest.mark.parametrize(("over", "most"), [(0, MAX_LINE), (1, 0)])
@pytest.mark.row(48)
def test_a_line_is_held_once_and_one_over_the_cap_never(over: int, most: int) -> None:
    long = MAX_LINE + over
    file = io.BufferedReader(Zeros(long, b'\n{"after":1}\n'), SCAN_BLOCK)
    tracemalloc.start()
    try:
        lines = read_lines(file, 0)
        first = next(lines)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first.end, first.data is None) == (long + 1, bool(over))
    assert first.data is None or len(first.data) == long
    assert peak < most + 5 * SCAN_BLOCK
    del first
    assert next(lines).data == b'{"after":1}'


@pytest.mark.parametrize("length", [SCAN_BLOCK - 2, SCAN_BLOCK - 1, SCAN_BLOCK, SCAN_BLOCK + 1])
def test_lines_about_as_long_as_a_block_are_read_whole(length: int) -> None:
    text = b"x" * length
    file = io.BufferedReader(io.BytesIO(b"\xef\xbb\xbf" + text + b"\n" + text + b"\n" + text))  # type: ignore[arg-type]
    assert [line.data for line in read_lines(file, 0)] == [text, text]


def test_a_line_over_the_cap_that_has_no_end_yet_is_left_for_later() -> None:
    assert list(read_lines(io.BufferedReader(Zeros(MAX_LINE + 10, b"")), 0)) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"a":1}{"b":2}', [{"a": 1}, {"b": 2}]),
        (b'{"a":1} {"b":', [{"a": 1}]),
        (b'{"a":"\\ud83d x"}', [{"a": "\ufffd x"}]),
        (b'{"a":"\\ud83d\\ude00\\ud800"}', [{"a": "\U0001f600\ufffd"}]),
        (b'{"a":1,"a":2}', [{"a": 2}]),
        (b'{"a":"\xff"}', [{"a": "\ufffd"}]),
        (b"[1]", []),
        (b'"text"', []),
        (b"", []),
        (b"\0\0\0", []),
        (b"[" * 100_000, []),
        (b'{"a":' + b"9" * 10_000, []),
    ],
)
def test_whatever_a_line_holds_gives_objects_or_nothing(
    line: bytes, found: list[dict[str, object]]
) -> None:
    assert parse_objects(line) == found


def test_every_parsed_text_can_be_stored() -> None:
    [row] = parse_objects(b'{"a":["\\udc00",{"\\ud800":"\\ud800"}]}')
    str(row).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T07:10:23.238Z", 1796022623238),
        ("2026-11-30T08:10:23.238+01:00", 1796022623238),
        ("2026-11-30T07:10:23.238", 1796022623238),
        ("yesterday", None),
        (None, None),
        (5, None),
    ],
)
def test_times_are_read_to_the_millisecond(text: object, expected: int | None) -> None:
    assert time_ms(text) == expected


def test_the_rest_of_a_long_output_is_counted_in_bytes() -> None:
    assert cut_output("short") == ("short", 0)
    assert cut_output("a" * TOOL_TEXT + "é" * 3) == ("a" * TOOL_TEXT, 6)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "home é" / ".claude"
    (folder / "projects" / "p").mkdir(parents=True)
    return folder


def test_an_ordinary_transcript_of_ours_is_opened(root: Path) -> None:
    path = root / "projects" / "p" / "s.jsonl"
    path.write_text("{}\n")
    with open_transcript(str(path), [str(root)]) as file:
        assert file.read() == b"{}\n"


def test_a_root_that_is_itself_a_link_is_followed(root: Path, tmp_path: Path) -> None:
    (root / "projects" / "p" / "s.jsonl").write_text("{}\n")
    link = tmp_path / "link"
    link.symlink_to(root)
    path = link / "projects" / "p" / "s.jsonl"
    for allowed in (link, root):
        with open_transcript(str(path), [str(allowed)]) as file:
            assert file.read() == b"{}\n"


@pytest.mark.row(49)
def test_nothing_but_a_transcript_under_a_root_is_opened(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = root / "projects" / "p"
    outside = tmp_path / "outside.jsonl"
    outside.write_text("{}\n")
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    with open(folder / "sparse.jsonl", "wb") as sparse:
        sparse.truncate(100 * 1024**3)
    (folder / "old.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    beside = tmp_path / "home é" / ".claude-other"
    beside.mkdir()
    (beside / "s.jsonl").write_text("{}\n")
    monkeypatch.chdir(folder)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(folder)
        server.bind("socket.jsonl")
    refused = [
        "/etc/shadow",
        "/dev/zero",
        "/proc/self/environ",
        "",
        "a\0b",
        str(outside),
        str(beside / "s.jsonl"),
        str(root),
        str(folder / "missing.jsonl"),
        str(folder / ".." / ".." / ".." / ".." / "outside.jsonl"),
        *(str(folder / name) for name in os.listdir(folder)),
    ]
    for path in refused:
        began = time.perf_counter()
        with pytest.raises(InvalidArgument):
            open_transcript(path, [str(root)])
        assert time.perf_counter() - began < 0.2, path


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's file")
@pytest.mark.row(49)
def test_another_users_file_is_refused(root: Path) -> None:
    path = root / "projects" / "p" / "s.jsonl"
    path.write_text("{}\n")
    os.chown(path, 12345, 12345)
    with pytest.raises(InvalidArgument, match="another user"):
        open_transcript(str(path), [str(root)])
