"""One drain of a workspace at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mash_plugin.errors import StoreBusy
from mash_plugin.syncing import make_folder
from mash_plugin.throughline import queue

WAIT_S = 30


@contextmanager
def only_one(workspace: str, outcome: str = "nothing was drained") -> Iterator[None]:
    """Hold the drain's lock; the kernel frees it when its holder dies.

    `outcome`: what comes of it where it cannot be had. Raises StoreBusy or ReadOnly.
    """
    place = os.path.join(workspace, queue.FOLDER, "drain.lock")
    with queue.told(place, outcome):
        make_folder(os.path.dirname(place))
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(handle, workspace, outcome)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, workspace: str, outcome: str) -> None:
    until = time.monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise StoreBusy(
                    f"Another command has held {workspace} for {WAIT_S} s; {outcome}."
                    " Run it again later."
                ) from None
            time.sleep(0.02)
        else:
            return
