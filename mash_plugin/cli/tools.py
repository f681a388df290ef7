"""`mash mcp` for agents and `mash call` for scripts: the same methods, two ways in."""

import gc
import sys
from typing import Any

import click
import orjson

from mash_plugin.cli.arguments import parsed
from mash_plugin.cli.main import exit_code
from mash_plugin.errors import InvalidArgument, LocalFailure, MashError
from mash_plugin.render.text import inert_json


@click.command()
@click.option("--review", metavar="FILE", hidden=True, help="Serve the reviewer of one chat.")
def mcp(review: str | None) -> None:
    """Serve the tools over stdio until the client leaves; agents start this themselves."""
    gc.disable()  # looking for garbage among what stays takes a tenth of the agent's wait
    from mash_plugin import mcp_server

    gc.freeze()
    gc.enable()
    mcp_server.serve(review)


@click.command()
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@click.option("--agent", metavar="NAME", help="For the mm_* tools: whose memory.")
@click.option("--config-dir", metavar="DIR", help="For the mm_* tools: where config.toml is.")
@click.option("--workspace", metavar="DIR", help="For the mm_* tools: where their store lies.")
def call(
    tool: str, arguments: str, agent: str | None, config_dir: str | None, workspace: str | None
) -> int:
    """Call TOOL with its arguments as JSON (- reads them from standard input).

    Prints the structured result, or the error object and exit code 1.
    """
    if tool.startswith("mm_"):
        if agent is None or config_dir is None:
            raise click.UsageError("The mm_* tools need --agent NAME and --config-dir DIR.")
        from mash_plugin.cli.memory_tools import call_memory_tool

        return call_memory_tool(tool, arguments, agent, config_dir, workspace)
    from mash_plugin import client

    try:
        _refuse_others(tool)
        result = client.call(tool, parsed(arguments), caller={"agent": "mash call"})
    except MashError as error:
        _print({"error": error.as_json()})
        return exit_code(error) if isinstance(error, LocalFailure) else 1
    _print(result)
    return 0


def _refuse_others(tool: str) -> None:
    from mash_plugin.daemon.methods import METHODS, PERSONS_ALONE, TOOLS

    if tool in ("stop", "drain"):
        raise InvalidArgument(f"`{tool}` is no tool; see `mash daemon --help`.")
    if tool in PERSONS_ALONE:
        raise InvalidArgument(f"`{tool}` is no tool: the person's own commands alone use it.")
    if tool not in METHODS:
        from mash_plugin.privacy.credentials import mask

        named = mask(tool[:100])
        raise InvalidArgument(f"There is no tool {named!r}; the tools: {', '.join(TOOLS)}.")


def _print(body: dict[str, Any]) -> None:
    sys.stdout.buffer.write(inert_json(orjson.dumps(body).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()
