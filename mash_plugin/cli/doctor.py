"""`mash doctor`: everything looked at, and for what is wrong the command that helps."""

import os
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import click
import orjson

from mash_plugin.cli.consent import confirmed
from mash_plugin.cli.tables import UNLIMITED, line_width
from mash_plugin.errors import Sandboxed
from mash_plugin.paths import Paths, find_paths

if TYPE_CHECKING:
    from mash_plugin.doctor.machine import Machine, Rendering

WIDEST = 100
SANDBOXED = 4
A_SECOND = 1.0
ALL_RECORDS_S = 600.0
NAMES = (
    "places program disk settings store backups index projects daemon group throughline agents"
).split()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--fix", is_flag=True, help="Make the repairs that lose nothing; tell what was done.")
@click.option(
    "--category",
    "categories",
    multiple=True,
    type=click.Choice(NAMES),
    metavar="NAME",
    help=f"Look at this alone; may be given more than once: {', '.join(NAMES)}.",
)
def doctor(as_json: bool, fix: bool, categories: tuple[str, ...]) -> int:
    """Check everything and print, for each fault, its cause and the command that helps.

    Changes nothing without --fix, and starts nothing. Exit code 0 when all is in order or only
    notes were made, 1 with a warning or an error, 4 in a sandbox, where nothing can be told.
    """
    from mash_plugin.connecting import refuse_sandbox
    from mash_plugin.doctor import telling
    from mash_plugin.doctor.examination import examine, repair, worst

    try:
        refuse_sandbox()
    except Sandboxed as error:
        if not as_json:
            raise
        click.echo(orjson.dumps(telling.sandboxed(error.message)).decode())
        return SANDBOXED
    paths = find_paths(os.environ)
    # Who asks for the store alone has the time to wait for all of it.
    record_time_s = ALL_RECORDS_S if "store" in categories else A_SECOND
    machine = machine_of(paths, record_time_s)
    found = examine(machine, categories)
    done = list(repair(found, _agrees)) if fix else []
    if done:
        machine = machine_of(paths, record_time_s)
        found = examine(machine, categories)
    shown = telling.masked(found, done, machine.settings)
    if as_json:
        click.echo(orjson.dumps(telling.as_json(*shown)).decode())
    else:
        width = WIDEST if (columns := line_width()) == UNLIMITED else columns
        for line in telling.report(*shown, width):
            click.echo(line)
    return 0 if worst(found) in ("ok", "note") else 1


def machine_of(paths: Paths, record_time_s: float = A_SECOND) -> "Machine":
    """This person's machine, to be examined now."""
    from mash_plugin.daemon.clock import now_ms
    from mash_plugin.doctor.machine import Machine

    return Machine(
        paths=paths,
        environ=os.environ,
        now=now_ms(),
        rendering=lambda: _rendering(paths),
        other_daemon=lambda: _other_daemon(paths),
        record_time_s=record_time_s,
    )


def _rendering(paths: Paths) -> "Rendering":
    from mash_plugin.cli.plugin import launch_of, render, source_folder
    from mash_plugin.doctor.machine import Rendering

    launch = launch_of(paths)
    return Rendering(launch.interpreter, render(source_folder(), launch))


def _other_daemon(paths: Paths) -> str | None:
    from mash_plugin.cli.running import find_running, this_program
    from mash_plugin.errors import MashError

    try:
        running = find_running(paths)
    except MashError:
        return None  # told by its own check
    if running is None or running.is_this or running.build is None:
        return None
    ours = f"version {version('mash-plugin')} from {this_program()}"
    return f"{running.name} runs, but this is {ours}"


def _agrees(question: str) -> bool:
    return sys.stdin.isatty() and confirmed(question)
