"""`meaning-memory call` and `meaning-memory mcp`: one agent's memory, two ways in."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import orjson

from mash_plugin.cli.capture import agent_option, masked, places, settings_of
from mash_plugin.errors import MashError

if TYPE_CHECKING:
    from mash_plugin.throughline.settings import Settings
    from mash_plugin.throughline.tools import Place


@click.command()
@agent_option("Whose memory.")
@places
@click.option(
    "--data",
    "as_data",
    is_flag=True,
    help="Print entries with the session, channel and time of each, instead of the text.",
)
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
def call(
    agent: str, config_dir: str, workspace: str | None, as_data: bool, tool: str, arguments: str
) -> int:
    """Call TOOL with its arguments as JSON (- reads them from standard input).

    Prints the text on a terminal, elsewhere {"text": ...}; or the error object and exit code 1.
    """
    is_read = sys.stdout.isatty() and not as_data
    return call_memory_tool(
        tool, arguments, agent, config_dir, workspace, as_data=as_data, as_text=is_read
    )


@click.command()
@agent_option("Whose memory.")
@places
def mcp(agent: str, config_dir: str, workspace: str | None) -> None:
    """Serve the memory of one agent over stdio until the client leaves."""
    from mash_plugin.throughline import server

    settings = settings_of(config_dir, workspace)
    tell_wrong_name(settings, agent)
    server.serve(agent, settings)


def tell_wrong_name(settings: "Settings", agent: str) -> None:
    """Say at the start of a server what it will find nothing for; a database is not waited for."""
    from mash_plugin.throughline.hints import wrong_name

    with suppress(MashError, OSError):
        if settings.backend == "file" and (wrong := wrong_name(settings, agent)):
            click.echo(masked(wrong), err=True)


def call_memory_tool(
    tool: str,
    arguments: str,
    agent: str,
    config_dir: str,
    workspace: str | None,
    *,
    as_data: bool = False,
    as_text: bool = False,
) -> int:
    """Print what the tool answers, or its error; the exit code."""
    from mash_plugin.cli.arguments import parsed
    from mash_plugin.throughline.hints import hints
    from mash_plugin.throughline.tools import call_tool

    try:
        asked, place = parsed(arguments), place_of(agent, config_dir, workspace)
        reply = call_tool(tool, asked, place)
    except MashError as error:
        _print({"error": error.as_json()})
        return 1
    if as_text:
        click.echo(reply.text)
    else:
        _print(reply.data if as_data else {"text": reply.text})
    with suppress(MashError, OSError):  # the answer stands, whatever else is wrong
        for hint in hints(tool, asked, reply, place):
            click.echo(masked(hint), err=True)
    return 0


def place_of(agent: str, config_dir: str, workspace: str | None) -> "Place":
    """Whose memory, and where, as the command line names it."""
    from mash_plugin.throughline.clock import now_ms
    from mash_plugin.throughline.tools import Place

    return Place(agent, settings_of(config_dir, workspace), now_ms(os.environ))


def _print(body: dict[str, Any]) -> None:
    click.echo(orjson.dumps(body))
