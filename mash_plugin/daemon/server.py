"""The daemon's socket: one loop reads and writes, a few workers think."""

import _socket as socket  # see lifecycle
import selectors
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from mash_plugin import wire
from mash_plugin.daemon import lifecycle
from mash_plugin.daemon.connection import Connection
from mash_plugin.daemon.delivery import Delivery, Unread
from mash_plugin.daemon.frames import Frame, HookFrame, Refused, ToolFrame
from mash_plugin.daemon.lifecycle import Identity, Lock
from mash_plugin.daemon.listener import Listener
from mash_plugin.daemon.pool import Pool, Pools
from mash_plugin.daemon.requests import Requests

CHUNK = 1 << 16
QUIET_S = 0.05
LAST_WORDS_S = 0.5
LAST_WORK_S = 5.0


class Limits(NamedTuple):
    """How much, and for how long."""

    connections: int = 256
    leases: int = 256
    frame_s: float = 10.0
    """A frame must have come, or a reply gone, within this."""
    idle_s: float = 30 * 60
    tick_s: float = 60.0
    """How often the daemon looks whether its socket and its lock are still its own."""


class DaemonServer:
    """Serves until it is told to stop, is idle for long, or its socket is no longer its own."""

    def __init__(
        self,
        listening: socket.socket,
        identity: Identity,
        lock: Lock,
        requests: Requests,
        limits: Limits | None = None,
    ) -> None:
        self._identity = identity
        self._lock = lock
        self._requests = requests
        self._limits = limits or Limits()
        self._pools = Pools()
        self._connections: set[Connection] = set()
        self._done: deque[tuple[Connection, bytes]] = deque()
        self._unread = Unread()
        self._reason: str | None = None
        self._busy_at = self._ticked_at = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        for end in (self._wake_read, self._wake_write):
            end.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._listener = Listener(listening, self._selector, requests.log)
        requests.stop = self.stop

    @property
    def wake_descriptor(self) -> int:
        """Where a signal may write a byte to wake the loop."""
        return self._wake_write.fileno()

    def stop(self, reason: str) -> None:
        """Ask the loop to end after what is under way; may come from any thread or a signal."""
        self._reason = self._reason or reason
        self._wake()

    def run(self) -> str:
        """Serve; returns why it ended. The sockets and the store are closed by then."""
        while self._reason is None:
            self._turn(self._wait_s())
            self._look_around(time.monotonic())
        self._finish()
        return self._reason

    def _turn(self, timeout_s: float) -> None:
        for key, events in self._selector.select(timeout_s):
            if key.fileobj is self._listener.socket:
                self._accept()
            elif key.fileobj is self._wake_read:
                with suppress(BlockingIOError):
                    while self._wake_read.recv(1024):
                        pass
            elif isinstance(key.data, Connection) and key.data in self._connections:
                if events & selectors.EVENT_WRITE:
                    self._write(key.data)
                else:
                    self._read(key.data)
        while self._done:
            connection, reply = self._done.popleft()
            connection.outgoing, connection.since = reply, time.monotonic()
            connection.is_working = False
            self._write(connection)
            self._requests.note_answer()

    def _wait_s(self) -> float:
        """Until something may have to be looked at again."""
        if self._listener.is_paused:
            return 0.05
        if self._unfinished():
            return min(1.0, self._limits.tick_s)
        return max(0.01, min(self._limits.tick_s, self._limits.idle_s))

    def _accept(self) -> None:
        for accepted in self._listener.waiting():
            self._requests.load.connections += 1
            self._busy_at = time.monotonic()
            if self._listener.is_ours(accepted) and self._make_room():
                accepted.setblocking(False)
                connection = Connection(accepted, time.monotonic())
                self._connections.add(connection)
                self._selector.register(accepted, selectors.EVENT_READ, connection)
                self._read(connection)  # a hook writes at once: its words are mostly there
            else:
                accepted.close()

    def _make_room(self) -> bool:
        """At the limit the one that has sent no whole frame for longest must go."""
        if len(self._connections) - self._requests.load.leases < self._limits.connections:
            return True
        waiting = [c for c in self._unfinished() if not c.is_working and not c.outgoing]
        if not waiting:
            return False
        self._close(min(waiting, key=lambda c: c.since))
        return True

    def _read(self, connection: Connection) -> None:
        try:
            chunk = connection.socket.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            return self._close(connection)
        if connection.is_lease:
            if not chunk:
                self._close(connection)
            return None
        frame = connection.incoming.feed(chunk) if chunk else connection.incoming.end()
        if frame is not None:
            self._take(connection, frame)
        return None

    def _take(self, connection: Connection, frame: Frame) -> None:
        match frame:
            case HookFrame():
                self._unread.look(time.monotonic())
                self._answer_hook(connection, frame)
            case ToolFrame():
                pool = self._pools.for_tool(frame)
                self._work(pool, connection, partial(_tool, self._requests, frame))
            case "lease":
                if self._requests.load.leases >= self._limits.leases:
                    return self._close(connection)
                connection.is_lease = True
                self._requests.load.leases += 1
                if self._requests.load.leases == 1:
                    _expect_tools(self._requests)
            case "newer-hook":
                self._close(connection)
                if lifecycle.claim_hand_over(self._requests.paths):
                    self.stop("newer-hook")
            case Refused(error):
                connection.outgoing = wire.error_line(error) if error else b""
                connection.since = time.monotonic()
                self._write(connection)
        return None

    def _answer_hook(self, connection: Connection, frame: HookFrame) -> None:
        delivery = Delivery()
        delivery.on_failure = partial(self._requests.note_late, frame)

        def settle() -> None:
            if connection.has_left:
                delivery.fail()
            elif delivery.undo:
                connection.unread = delivery
            delivery.end()

        self._work(
            self._pools.hook,
            connection,
            partial(self._requests.answer_hook, frame, delivery),
            settle,
        )

    def _work(
        self,
        pool: Pool,
        connection: Connection,
        think: "partial[bytes]",
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self._selector.unregister(connection.socket)
        connection.is_working = True

        def job() -> None:
            try:
                reply = think()
            except Exception:  # without memory even for an error: let go of the client
                reply = b""
            rest = connection.say(reply)
            settle()
            self._done.append((connection, rest))
            self._wake()
            self._requests.log_hooks()

        pool.submit(job)

    def _write(self, connection: Connection) -> None:
        try:
            sent = connection.socket.send(connection.outgoing) if connection.outgoing else 0
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            return self._close(connection)
        connection.outgoing = connection.outgoing[sent:]
        if not connection.outgoing:
            return self._close(connection)
        try:
            self._selector.modify(connection.socket, selectors.EVENT_WRITE, connection)
        except KeyError:
            self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)
        return None

    def _close(self, connection: Connection) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection.socket)
        self._connections.discard(connection)
        if connection.unread:
            self._unread.keep(connection.socket, connection.since, connection.unread)
        else:
            connection.socket.close()
        if connection.is_lease:
            self._requests.load.leases -= 1
        self._listener.reserve()

    def _wake(self) -> None:
        with suppress(OSError):
            self._wake_write.send(b"\0")

    def _unfinished(self) -> list[Connection]:
        return [c for c in self._connections if not c.is_lease]

    def _look_around(self, now: float) -> None:
        self._listener.look(now)
        for connection in self._unfinished():
            if not connection.is_working and now - connection.since > self._limits.frame_s:
                self._close(connection)
        if self._connections or self._requests.is_busy():
            self._busy_at = now
        elif now - self._busy_at >= self._idle_s():
            self.stop("idle")
        if now - self._ticked_at >= self._limits.tick_s:
            self._ticked_at = now
            paths = self._requests.paths
            if not lifecycle.names(paths.socket, self._identity):
                self.stop("socket-gone")
            elif not lifecycle.names(paths.daemon_lock, self._lock.identity):
                self.stop("lock-gone")

    def _idle_s(self) -> float:
        """A daemon that could not open its store makes room soon: the next may be able to."""
        return self._limits.idle_s if self._requests.node else min(5.0, self._limits.idle_s)

    def _finish(self) -> None:
        """Stop accepting, serve whoever is already connected, close the store."""
        lifecycle.take_gate(self._requests.paths)  # until this process has ended
        lifecycle.withdraw(self._requests.paths, self._identity)
        self._listener.resume()
        began = time.monotonic()
        # Nobody finds the socket any more; those in its queue are served.
        while (spent_s := time.monotonic() - began) < LAST_WORK_S:
            before = self._requests.load.connections
            self._turn(QUIET_S)
            waiting = self._unfinished()
            if spent_s > LAST_WORDS_S:  # those that have not said what they want have lost it
                waiting = [c for c in waiting if c.is_working or c.outgoing]
            if self._requests.load.connections == before and not waiting:
                break
        self._unread.close()  # what was not told, the next daemon must know of
        self._listener.close()
        self._pools.close(timeout_s=LAST_WORK_S)
        self._requests.close()


def _tool(requests: Requests, frame: ToolFrame) -> bytes:
    from mash_plugin.daemon.methods import answer  # what a hook does not wait for

    return answer(requests, frame)


def _expect_tools(requests: Requests) -> None:
    from mash_plugin.daemon import tool_imports  # what a hook does not wait for

    tool_imports.begin(lambda: requests.load.hooks_answered)
