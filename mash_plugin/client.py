"""Call the daemon's methods, and start it where it is missing."""

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from mash_plugin import wire
from mash_plugin.connecting import connect, wait_for_end, watch
from mash_plugin.errors import (
    DaemonUnavailable,
    MashError,
    TooLarge,
    UpgradeNeeded,
)
from mash_plugin.paths import Paths, find_paths
from mash_plugin.starting import START_S, start_daemon

REPLY_LIMIT = 64 << 20
LEASE_PAUSE_S = 2.0
TRIES, GONE_S = 12, 0.005
"""How often one daemon that has ended is met again, and the growing pause between."""


class _Gone(Exception):
    """The daemon closed before its reply."""


def call(
    method: str,
    params: Mapping[str, Any],
    *,
    timeout_s: float = 30.0,
    caller: Mapping[str, Any] | None = None,
    start: bool = True,
    paths: Paths | None = None,
) -> dict[str, Any]:
    """The result of one method. Raises the daemon's own error, or why it cannot be asked.

    A daemon that closes before its reply is asked once more, with the same request: the
    operation ID keeps that from being done twice. An older daemon is asked to make room.
    """
    paths = paths or find_paths(os.environ)
    deadline = time.monotonic() + timeout_s
    line = wire.request_line(method, params, _with_test_time(caller))
    if len(line) > wire.TOOL_LIMIT:
        raise TooLarge(f"The request is over {wire.TOOL_LIMIT} bytes; send less.")
    try:
        return _ask(line, paths, deadline, start=start)
    except UpgradeNeeded as error:
        theirs = error.details.get("protocol")
        if not isinstance(theirs, int) or theirs >= wire.PROTOCOL or not start:
            raise
        _make_room(paths, deadline)
        return _ask(line, paths, deadline, start=True)


@contextmanager
def lease(paths: Paths) -> Iterator[None]:
    """Keep the daemon alive for as long as the block runs, and after it was restarted."""
    is_over = threading.Event()
    held = [start_daemon(paths)]
    thread = threading.Thread(target=_keep_lease, args=(paths, held, is_over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        for connection in held.copy():  # the thread takes ended ones out
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join(LEASE_PAUSE_S)


def _keep_lease(paths: Paths, held: list[socket.socket], is_over: threading.Event) -> None:
    while not is_over.is_set():
        for connection in list(held):
            with suppress(OSError), connection:
                connection.settimeout(None)
                connection.sendall(wire.LEASE_LINE)
                connection.recv(1)  # until that daemon ends, or the block
            held.remove(connection)
        if is_over.wait(LEASE_PAUSE_S):
            return
        with suppress(MashError):
            # Not started again: whoever stopped it meant it; the next call starts it.
            found = connect(paths, 1.0)
            if found is not None:
                held.append(found)


def _ask(line: bytes, paths: Paths, deadline: float, *, start: bool) -> dict[str, Any]:
    gone: int | None = None  # the daemon that was asked first, and ended
    for tries in range(TRIES):
        try:
            connection = _open(paths, deadline, start=start)
        except MashError as error:
            if tries:  # what the first one was asked may have been done
                error.details["outcome"] = "unknown"
            raise
        pid = wire.peer_pid(connection)
        try:
            return wire.read_reply(_exchange(connection, line, deadline))
        except _Gone:
            if tries and (pid is None or pid != gone):
                break
            # A killed process lets go of its connections before its listener: it may be met again.
            gone = pid
            time.sleep(GONE_S * tries)
        finally:
            connection.close()
    raise DaemonUnavailable(
        "The mash daemon ended before its reply: whether it was done is not known."
        " Retry the same operation ID.",
        outcome="unknown",
    )


def _open(paths: Paths, deadline: float, *, start: bool) -> socket.socket:
    left_s = max(deadline - time.monotonic(), 0.01)
    connection = connect(paths, left_s)
    if connection:
        return connection
    if not start:
        raise DaemonUnavailable("The mash daemon is not running; start it: mash daemon start")
    return start_daemon(paths, min(left_s, START_S))


def _exchange(connection: socket.socket, line: bytes, deadline: float) -> bytes:
    """The reply line. Raises _Gone, or DaemonUnavailable at the deadline."""
    reply = bytearray()
    try:
        # Refused requests are answered before they were read whole.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(line)
        while not reply.endswith(b"\n"):
            connection.settimeout(max(deadline - time.monotonic(), 0.01))
            chunk = connection.recv(1 << 16)
            reply += chunk
            if not chunk:
                raise _Gone
            if len(reply) > REPLY_LIMIT:
                raise DaemonUnavailable(
                    f"The mash daemon's reply is over {REPLY_LIMIT} bytes; ask for less."
                    " Whether anything was saved is not known: retry the same operation ID.",
                    outcome="unknown",
                )
    except TimeoutError as error:
        raise DaemonUnavailable(
            "The mash daemon does not answer; `mash daemon restart` starts a new one."
            " Retry the same operation ID.",
            outcome="unknown",
        ) from error
    except (BrokenPipeError, ConnectionResetError) as error:
        raise _Gone from error
    return bytes(reply)


def _make_room(paths: Paths, deadline: float) -> None:
    """Ask an older daemon to end, and wait until it has. Raises UpgradeNeeded when it will not."""
    witness, connection = watch(paths, 2.0), connect(paths, 2.0)
    if witness is None or connection is None:
        return
    with connection:
        wire.read_reply(_exchange(connection, _drain_line(), deadline))
    wait_for_end(witness, deadline)


def _drain_line() -> bytes:
    return wire.request_line("drain", {"protocol": wire.PROTOCOL})


def _with_test_time(caller: Mapping[str, Any] | None) -> dict[str, Any]:
    body = dict(caller or {})
    if os.environ.get("MASH_TESTING") == "1" and "MASH_TEST_NOW_MS" in os.environ:
        body.setdefault("now_ms", os.environ["MASH_TEST_NOW_MS"])
    return body
