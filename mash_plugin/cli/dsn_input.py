"""Connection strings come in by standard input: arguments are seen by everybody on a machine."""

import sys

import click

from mash_plugin.postgres.dsn import LONGEST_DSN


def only_dash(name: str, value: str) -> None:
    """Refuse a connection string as an argument, without repeating it."""
    if value != "-":
        raise click.UsageError(
            f"{name} takes - alone: arguments are seen by everybody on this machine. Pipe the"
            f" connection string in: {click.get_current_context().command_path} ... - < FILE"
        )


def read_dsn(asked: str = "Connection string (not shown)") -> str:
    """The connection string on standard input; asked for on a terminal."""
    if sys.stdin.isatty():
        dsn = str(click.prompt(asked, hide_input=True, err=True)).strip()
    else:
        dsn = _piped()
    if not dsn or "\0" in dsn:
        raise click.UsageError("Standard input held no connection string; nothing was changed.")
    return dsn


def _piped() -> str:
    data = sys.stdin.buffer.read(LONGEST_DSN + 1)
    if len(data) > LONGEST_DSN:
        raise click.UsageError(
            f"Standard input held over {LONGEST_DSN:,} bytes, which is no connection string;"
            " nothing was changed."
        )
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise click.UsageError("Standard input held no UTF-8 text; nothing was changed.") from None
