"""The lines of an export, written and read with their sums; memory holds one at a time."""

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import orjson

from mash_plugin.errors import InvalidArgument, TooLarge, UpgradeNeeded
from mash_plugin.transfer.kinds import ORDER, check_line
from mash_plugin.transfer.meter import Meter

FORMAT = 1
LINE_BYTES = 64 << 20
"""A message may be 32 MiB long in its transcript."""
MOST_BYTES_FOR_ONE = 200
"""More bytes out of one compressed byte than any memory has: a bomb."""
ALWAYS_ALLOWED = 16 << 20
Line = dict[str, Any]


class Writer:
    """Writes lines into a gzip stream, counting and summing them."""

    def __init__(self, file: BinaryIO, meter: Meter | None = None) -> None:
        # Neither the name nor the time: the same memory gives the same bytes.
        self._gzip = gzip.GzipFile("", "wb", 6, file, mtime=0)
        self._sum = hashlib.sha256()
        self._meter = meter or Meter()
        self.counts: Counter[str] = Counter()

    def write(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Write one line."""
        data = orjson.dumps({"is": kind, **fields}) + b"\n"
        if len(data) > LINE_BYTES:
            name = fields.get("id") or fields.get("revision")
            raise TooLarge(f"The {kind} {name!r} takes {len(data)} bytes, over {LINE_BYTES}.")
        self._sum.update(data)
        self._gzip.write(data)
        self.counts[kind] += 1
        self._meter.reach(self.counts["message"] + self.counts["revision"])

    def end(self) -> str:
        """Write the last line and finish the stream; the sum of all before it."""
        checksum = self._sum.hexdigest()
        counts = dict(sorted(self.counts.items()))
        self.write("end", {"lines": self.counts.total(), "counts": counts, "sha256": checksum})
        self._gzip.close()
        return checksum


class Numbered(NamedTuple):
    """A line with its number."""

    number: int
    line: Line

    def fault(self, what: str) -> InvalidArgument:
        """The error for something in this line."""
        return InvalidArgument(f"Line {self.number}: {what}. Nothing was imported.")


class Reader:
    """Reads the lines of an export from its beginning; every fault is one InvalidArgument.

    `header` is there at once, `checksum` after the last line.
    """

    def __init__(self, file: BinaryIO, meter: Meter | None = None) -> None:
        self._file = file
        self._meter = meter or Meter()
        self._gzip = gzip.GzipFile(fileobj=file, mode="rb")
        self._sum = hashlib.sha256()
        self._number = self._bytes = 0
        self.counts: Counter[str] = Counter()
        self.checksum = ""
        self.header = self._header()

    def again(self) -> "Reader":
        """A reader of the same file, from its beginning."""
        self._file.seek(0)
        return Reader(self._file, self._meter)

    def __iter__(self) -> Iterator[Numbered]:
        """All lines between the header and the end, each checked for its shape and its place."""
        rank = 0
        while True:
            here, data = self._next()
            kind = here.line["is"]
            if kind == "end":
                self._end(here)
                return
            if ORDER[kind] < max(rank, 1):
                raise here.fault(f"a {kind!r} does not belong here")
            rank = ORDER[kind]
            self._count(kind, data)
            yield here

    def _header(self) -> Line:
        here, data = self._next()
        if here.line["is"] != "header":
            raise here.fault("no header of a mash export stands here")
        self._count("header", data)
        return here.line

    def _next(self) -> tuple[Numbered, bytes]:
        self._number += 1
        data = self._read()
        if not data.endswith(b"\n"):
            raise InvalidArgument(
                f"The file ends in line {self._number}, before its last one: it was cut off. Make"
                " the export anew, or copy it again. Nothing was imported."
            )
        here = Numbered(self._number, {})
        try:
            line = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise here.fault(f"this is no JSON ({error})") from error
        here = Numbered(self._number, line if isinstance(line, dict) else {})
        if self._number == 1:
            _refuse_other_formats(here)
        # Also finds keys that stand twice: each line has one form alone.
        if orjson.dumps(line) + b"\n" != data:
            raise here.fault("this is not as mash writes it, or a key stands twice")
        problem = check_line(here.line)
        if problem:
            raise here.fault(problem)
        return here, data

    def _read(self) -> bytes:
        try:
            data = self._gzip.readline(LINE_BYTES + 1)
        except gzip.BadGzipFile as error:
            if self._number > 1:
                raise self._damaged() from error
            raise InvalidArgument(
                "This is no export of mash, or was cut off or damaged at its very beginning."
                " Another tool's memory comes in with --from. Nothing was imported."
            ) from error
        except (EOFError, zlib.error, OSError) as error:
            raise self._damaged() from error
        if len(data) > LINE_BYTES:
            raise TooLarge(
                f"Line {self._number} has more than {LINE_BYTES} bytes. Nothing was imported."
            )
        self._bytes += len(data)
        read = self._file.tell()
        self._meter.reach(read)
        allowed = ALWAYS_ALLOWED + MOST_BYTES_FOR_ONE * read
        if self._bytes > allowed:
            raise TooLarge(
                f"Line {self._number}: the file unpacks to more than {MOST_BYTES_FOR_ONE} times its"
                " size, which no memory does. Nothing was imported."
            )
        return data

    def _damaged(self) -> InvalidArgument:
        return InvalidArgument(
            f"Line {self._number}: the file is cut off or damaged, or cannot be read to its end."
            " Copy it again, or make the export anew. Nothing was imported."
        )

    def _count(self, kind: str, data: bytes) -> None:
        self.counts[kind] += 1
        self._sum.update(data)

    def _end(self, here: Numbered) -> None:
        found = dict(sorted(self.counts.items()))
        if (here.line["lines"], here.line["counts"]) != (self.counts.total(), found):
            raise here.fault(f"the file should hold {here.line['counts']}, it holds {found}")
        if here.line["sha256"] != self._sum.hexdigest():
            raise here.fault("the checksum does not hold: the file was changed")
        if self._read():
            raise here.fault("more follows after the last line")
        self.checksum = self._sum.hexdigest()


def _refuse_other_formats(here: Numbered) -> None:
    found = here.line.get("format")
    if here.line.get("is") != "header" or not isinstance(found, int):
        raise here.fault("no header of a mash export stands here")
    if found > FORMAT:
        raise UpgradeNeeded(
            f"The file was made by a newer mash (format {found}, this one reads {FORMAT}); upgrade"
            " mash. Nothing was imported."
        )
    if found < FORMAT:
        raise here.fault(f"format {found} is none that this mash reads ({FORMAT})")


def header_of(fields: Mapping[str, Any]) -> Line:
    """The fields of a header in their order."""
    return {"format": FORMAT, **fields}
