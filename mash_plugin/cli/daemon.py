"""`mash daemon`: start, stop, look at and replace the one daemon of this home."""

import json
import os
import signal
import time
from contextlib import suppress
from typing import Any

import click

from mash_plugin import client, wire
from mash_plugin.errors import DaemonUnavailable, MashError, Sandboxed, UpgradeNeeded
from mash_plugin.paths import Paths, find_paths

NOT_REACHABLE = 3
DEAF_AFTER_S = 2.0
END_S = 15.0

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def daemon() -> None:
    """Start, stop or show the process that keeps the memory; agents start it themselves."""


@daemon.command()
@as_json
@click.option("--foreground", is_flag=True, help="Stay in this terminal until interrupted.")
def start(as_json: bool, foreground: bool) -> int:
    """Start the daemon, if it does not run yet."""
    paths = find_paths(os.environ)
    if foreground:
        from mash_plugin.daemon.server import Limits
        from mash_plugin.daemon.start import serve

        os.umask(0o077)
        return serve(paths, Limits())
    client.start_daemon(paths).close()
    return _tell(client.call("ping", {}, paths=paths), as_json)


@daemon.command()
@as_json
def stop(as_json: bool) -> int:
    """Stop the daemon after what it is doing; ends one that hangs."""
    end_daemon(find_paths(os.environ))
    click.echo(json.dumps({"running": False}) if as_json else "The daemon is stopped.")
    return 0


@daemon.command()
@as_json
def restart(as_json: bool) -> int:
    """Stop the daemon and start this version."""
    paths = find_paths(os.environ)
    end_daemon(paths)
    return _tell(client.call("ping", {}, paths=paths), as_json)


@daemon.command()
@as_json
def status(as_json: bool) -> int:
    """Show whether the daemon runs."""
    paths = find_paths(os.environ)
    connection = client.connect(paths, DEAF_AFTER_S)
    if connection is None:
        click.echo(json.dumps({"running": False}) if as_json else "The daemon is not running.")
        return NOT_REACHABLE
    pid = wire.peer_pid(connection)
    connection.close()
    try:
        return _tell(
            client.call("status", {}, start=False, timeout_s=DEAF_AFTER_S, paths=paths), as_json
        )
    except UpgradeNeeded:
        raise
    except DaemonUnavailable as error:
        body = {"running": True, "hangs": True, "pid": pid}
        click.echo(json.dumps(body) if as_json else f"{error.message} (process {pid})")
        return NOT_REACHABLE


def _tell(body: dict[str, Any], as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps({"running": True} | body))
    else:
        click.echo(f"The daemon runs: process {body['pid']}, version {body['build']}.")
        if body.get("problem"):
            click.echo(f"But the store cannot be used: {body['problem']['message']}")
    return 0


def end_daemon(paths: Paths) -> None:
    """End the daemon and wait for it. Raises DaemonUnavailable when it cannot be ended."""
    witness = client.watch(paths, DEAF_AFTER_S)
    if witness is None:
        return
    pid = wire.peer_pid(witness)
    deadline = time.monotonic() + END_S
    try:
        client.call("stop", {}, start=False, timeout_s=DEAF_AFTER_S, paths=paths)
    except Sandboxed:
        witness.close()
        raise
    except MashError:
        if pid is not None and holds_lock(paths, pid):
            _end_deaf(pid)
    if not client.wait_for_end(witness, deadline):
        raise DaemonUnavailable(f"The daemon (process {pid}) does not end; end it by hand.")


def _end_deaf(pid: int) -> None:
    """End a daemon that does not answer; the kernel named it, and it holds the lock."""
    for number, pause_s in ((signal.SIGTERM, 0.0), (signal.SIGCONT, 3.0), (signal.SIGKILL, 0.0)):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + pause_s
        while _is_alive(pid) and time.monotonic() < until:
            time.sleep(0.05)
        if not _is_alive(pid):
            return


def holds_lock(paths: Paths, pid: int) -> bool:
    """Whether the kernel says that this process holds the lifetime lock (Linux; else never)."""
    try:
        inode = os.stat(paths.daemon_lock).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return False
    # 1: FLOCK  ADVISORY  WRITE 4021 fe:00:1234567 0 EOF
    return any(
        row[1] == "FLOCK" and row[4] == str(pid) and row[5].rpartition(":")[2] == str(inode)
        for row in rows
        if len(row) > 5
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
