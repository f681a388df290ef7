"""Become this home's one daemon: the start protocol, the signals, the loop."""

import _signal as signal  # type: ignore[import-not-found]  # signal builds enumerations: 1 ms
import os
import sys
from collections.abc import Callable

from mash_plugin.daemon import lifecycle
from mash_plugin.daemon.log import Log, place_of
from mash_plugin.daemon.requests import Requests
from mash_plugin.daemon.server import DaemonServer, Limits
from mash_plugin.errors import MashError, StoreBusy, UnsafePlace
from mash_plugin.paths import Paths, find_paths, obeys_tests

DEMO = "--demo"
"""A daemon of made-up things, which reads chats in HOME: no variable brings an argument."""


def main(arguments: list[str]) -> int:
    """Serve until told to stop; 0 also where another daemon serves already."""
    os.umask(0o077)
    os.closerange(3, 4096)  # whatever the starter had open is not ours to hold
    try:
        paths = find_paths(os.environ)
        if DEMO not in arguments:
            drop_planted_switches(paths)
        limits = limits_of([one for one in arguments if one != DEMO])
        return serve(paths, limits, when_ready=fall_silent)
    except MashError as error:
        sys.stderr.write(f"mash: {error.message}\n")
        return 1


def drop_planted_switches(paths: Paths) -> None:
    """Obey the switches of tests in a checkout alone, and never over the person's own memory.

    A project's settings can set variables. With MASH_TESTING=1 an installed hook follows MASH_HOME,
    so that it could meet a memory that was brought: raises UnsafePlace unless it is the one that
    this program was installed for.
    """
    if os.environ.get("MASH_TESTING") != "1" or (paths.home and obeys_tests()):
        return
    environments = os.path.join(os.path.realpath(paths.data), "envs")
    is_foreign = os.path.dirname(os.path.realpath(sys.prefix)) != environments
    if paths.home and is_foreign:
        raise UnsafePlace(
            f"MASH_TESTING=1 is for a checkout of mash: {paths.home} is not opened with it."
        )
    del os.environ["MASH_TESTING"]


def serve(paths: Paths, limits: Limits, when_ready: Callable[[], None] = lambda: None) -> int:
    """The start protocol, then the loop. Raises UnsafePlace where no daemon may live."""
    lifecycle.prepare_run_folder(paths.run)
    lock = lifecycle.take_lifetime_lock(paths, str(os.getpid()))
    if lock is None:
        return 0
    log = Log(paths.log)
    listener, identity = lifecycle.bind_own_name(paths)
    requests = Requests(paths, log)
    try:
        requests.open()
        if isinstance(requests.problem, StoreBusy):
            # Its lock file was taken away under it, but that daemon still has the store open.
            lifecycle.withdraw(paths, identity)
            return 0
        server = DaemonServer(listener, identity, lock, requests, limits)
        _held.append(server)
        obey_signals(server)
        lifecycle.publish(paths)
        import_answers()
    except BaseException:
        lifecycle.withdraw(paths, identity)
        requests.close()
        raise
    when_ready()
    log.write("start")
    reason = run_or_die(server, log)
    log.write("end", reason=reason)
    return 0


def run_or_die(server: DaemonServer, log: Log) -> str:
    """Serve; a loop that failed, say without memory, makes room for the next daemon at once."""
    try:
        return server.run()
    except BaseException as error:
        try:
            log.write("failed", failure=place_of(error))
        finally:
            os._exit(1)  # an orderly end may wait for ever, with the socket open


def import_answers() -> None:
    """Import what the first hook needs, while its process finds the socket."""
    import mash_plugin.daemon.hooks  # noqa: F401


def fall_silent() -> None:
    """Let go of the starter's standard error: it was there to tell why we cannot start."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)
    os.close(null)


def obey_signals(server: DaemonServer) -> None:
    """SIGTERM and SIGINT end it cleanly; the end of a terminal does not."""
    signal.set_wakeup_fd(server.wake_descriptor, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop("signal"))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def limits_of(arguments: list[str]) -> Limits:
    """The ordinary limits, or `--idle-s N`, `--tick-s N` and `--frame-s N`."""
    limits = Limits()
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        match name:
            case "--idle-s":
                limits = limits._replace(idle_s=float(value))
            case "--tick-s":
                limits = limits._replace(tick_s=float(value))
            case "--frame-s":
                limits = limits._replace(frame_s=float(value))
            case _:
                raise SystemExit(f"mash: unknown option {name}")
    return limits


_held: list[DaemonServer] = []
"""Whoever waits for our end watches a socket: it must outlive the lock, not the interpreter."""
