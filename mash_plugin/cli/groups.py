"""Groups of commands: loaded when they are named, listed with whole sentences."""

import importlib
from collections.abc import Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

WHOLE_SENTENCE = 1_000


class TellingGroup(click.Group):
    """Suggests the name that was meant, and lists its commands with whole sentences."""

    meant: Mapping[str, tuple[str, ...]] = {}
    """Words that other programs use, with the commands that do it here."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named first. Raises UsageError with those that look like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if args[0].startswith("-"):
                raise
            near = _suggestion(args[0], self.meant, self.list_commands(ctx))
            raise click.UsageError(f"No such command '{args[0]}'.{near}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            assert command is not None  # noqa: S101 - it was listed
            rows.append((name, command.get_short_help_str(WHOLE_SENTENCE)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class LazyGroup(TellingGroup):
    """Imports the module of a command only when that command runs."""

    table: Mapping[str, tuple[str, str]]
    """The module of each command, and what it does in a line."""
    sections: Mapping[str, tuple[str, ...]]
    """The headings of the help, and the commands below each."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        from mash_plugin.cli.examples import epilog_of

        module = importlib.import_module(self.table[cmd_name][0])
        name = cmd_name.replace("-", "_")
        command = getattr(module, f"{name}_" if iskeyword(name) else name)
        assert isinstance(command, click.Command)  # noqa: S101 - a broken table, seen by the tests
        command.epilog = epilog_of(cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Names and options that begin so; no command is loaded for it."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=text)
            for name, (_, text) in self.table.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.table))
        for heading, names in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), self.table[name][1]) for name in names])


def _suggestion(typed: str, meant: Mapping[str, tuple[str, ...]], names: list[str]) -> str:
    from difflib import get_close_matches

    found = meant.get(typed) or get_close_matches(typed, names)
    near = " or ".join(f"`{name}`" for name in found)
    return f" Did you mean {near}?" if near else ""
