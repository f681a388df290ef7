"""`mash mcp` for agents and `mash call` for scripts: the same methods, two ways in."""

import sys
from typing import Any

import click
import orjson

from mash_plugin.cli.main import exit_code
from mash_plugin.errors import InvalidArgument, LocalFailure, MashError


@click.command()
@click.option("--review", metavar="FILE", hidden=True, help="Serve the reviewer of one chat.")
def mcp(review: str | None) -> None:
    """Serve the tools over stdio until the client leaves; agents start this themselves."""
    from mash_plugin import mcp_server

    mcp_server.serve(review)


@click.command()
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
def call(tool: str, arguments: str) -> int:
    """Call TOOL with its arguments as JSON (- reads them from standard input).

    Prints the structured result, or the error object and exit code 1.
    """
    from mash_plugin import client

    try:
        _refuse_others(tool)
        result = client.call(tool, _parsed(arguments), caller={"agent": "mash call"})
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


def _parsed(arguments: str) -> dict[str, Any]:
    data = sys.stdin.buffer.read() if arguments == "-" else arguments.encode("utf-8", "replace")
    try:
        parsed = orjson.loads(data or b"{}")
    except ValueError as error:
        raise InvalidArgument(
            f"The arguments are not JSON ({error}). Put them in single quotes."
        ) from None
    if not isinstance(parsed, dict):
        raise InvalidArgument("The arguments must be one JSON object, such as '{\"limit\": 5}'.")
    return parsed


def _print(body: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(body) + b"\n")
    sys.stdout.buffer.flush()
