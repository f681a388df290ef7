"""Steps that an interrupt does not cut in two."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mash_plugin.cli.telling import tell


@contextmanager
def unbroken() -> Iterator[None]:
    """Let the step end before ^C ends the command; a second ^C ends it at once."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a script
        yield
        return
    is_asked_to_end = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked_to_end
        is_asked_to_end = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        tell("\nmash: ending after this step; ^C again breaks it off.", err=True)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if is_asked_to_end:
        raise KeyboardInterrupt
