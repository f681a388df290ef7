"""Where clients come in: those of this user alone, and none while descriptors are out."""

import _socket as socket  # see lifecycle
import errno
import os
import selectors
import time
from collections.abc import Iterator
from contextlib import suppress

from mash_plugin import wire
from mash_plugin.daemon.log import Log

PAUSE_S = 0.1


class Listener:
    """Owns the listening socket, and a spare descriptor to turn a client away with."""

    def __init__(
        self, listening: socket.socket, selector: selectors.BaseSelector, log: Log
    ) -> None:
        self.socket = listening
        self._selector = selector
        self._log = log
        self._spare: int | None = None
        self._paused_until: float | None = None
        self.reserve()
        selector.register(listening, selectors.EVENT_READ)

    @property
    def is_paused(self) -> bool:
        """Whether nobody is let in at the moment."""
        return self._paused_until is not None

    def waiting(self) -> Iterator[socket.socket]:
        """Everybody who has connected."""
        while True:
            try:
                yield self._accepted()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._shed()
                    return
                continue  # the client left already

    def is_ours(self, accepted: socket.socket) -> bool:
        """Whether that is a program of this user."""
        try:
            uid = wire.peer_uid(accepted)
        except OSError:
            return False
        if uid != os.getuid():
            self._log.write("refused-user", uid=uid)
        return uid == os.getuid()

    def reserve(self) -> None:
        """Have a spare descriptor again, if there is one."""
        if self._spare is None:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def look(self, now: float) -> None:
        """Let clients in again once a pause is over at `now`, of `time.monotonic()`."""
        if self._paused_until is not None and now >= self._paused_until:
            self.resume()

    def resume(self) -> None:
        """Let clients in."""
        if self.is_paused:
            self._paused_until = None
            self.reserve()
            self._selector.register(self.socket, selectors.EVENT_READ)

    def close(self) -> None:
        """Let nobody in any more."""
        if not self.is_paused:
            self._selector.unregister(self.socket)
        self.socket.close()

    def _accepted(self) -> socket.socket:
        return socket.socket(fileno=self.socket._accept()[0])  # type: ignore[attr-defined]  # no stub

    def _shed(self) -> None:
        """Out of descriptors: turn one client away instead of spinning on it, and pause."""
        if self._spare is not None:
            os.close(self._spare)
            with suppress(OSError):
                self._accepted().close()
            self._spare = None
        self._log.write("out-of-descriptors")  # while one is free
        self.reserve()
        self._selector.unregister(self.socket)
        self._paused_until = time.monotonic() + PAUSE_S
