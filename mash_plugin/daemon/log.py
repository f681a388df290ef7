"""The daemon's log: content-free lines, at most three files of a megabyte, never a failure.

Not the standard library's logging: it costs a third of a cold start, and this is written
before the first answer.
"""

import os
import time
from contextlib import suppress

LIMIT = 1 << 20
KEPT = 3


class Log:
    """Appends to one file; a full or unwritable disk loses lines, never a request."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, what: str, **facts: object) -> None:
        """One line: the time, what happened, and facts without content (IDs, sizes, durations)."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        words = [stamp, str(os.getpid()), what, *(f"{k}={_plain(v)}" for k, v in facts.items())]
        with suppress(OSError):
            self._append((" ".join(words) + "\n").encode("utf-8", "replace"))

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        flags |= os.O_NONBLOCK  # a pipe in its place is not waited for
        file = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(file).st_size
            os.write(file, line[:4096])
        finally:
            os.close(file)
        if size > LIMIT:
            self._rotate(size)

    def _rotate(self, size: int) -> None:
        if size > 2 * LIMIT:  # left by something else, or by a clock of another age
            os.unlink(self.path)
            return
        for number in range(KEPT - 1, 0, -1):
            older = f"{self.path}.{number - 1}" if number > 1 else self.path
            with suppress(FileNotFoundError):
                os.rename(older, f"{self.path}.{number}")


def place_of(error: BaseException) -> str:
    """The class of an error and the line that raised it: never its text, which may quote."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    if last is None:
        return type(error).__name__
    file = os.path.basename(last.tb_frame.f_code.co_filename)
    return f"{type(error).__name__}@{file}:{last.tb_lineno}"


def _plain(value: object) -> str:
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    return "".join(c if c.isprintable() and c != " " else "_" for c in text)[:200]
