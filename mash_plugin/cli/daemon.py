"""`mash daemon`: start, stop, look at and replace the one daemon of this home."""

import json
import os
from typing import Any

import click

from mash_plugin import client, connecting, starting, wire
from mash_plugin.cli.groups import TellingGroup
from mash_plugin.cli.stopping import DEAF_AFTER_S, end_daemon
from mash_plugin.errors import DaemonUnavailable, UpgradeNeeded
from mash_plugin.paths import find_paths

NOT_REACHABLE = 3

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=TellingGroup)
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
    starting.start_daemon(paths).close()
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
    connection = connecting.connect(paths, DEAF_AFTER_S)
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
