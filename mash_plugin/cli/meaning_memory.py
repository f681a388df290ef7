"""`meaning-memory`: the commands of Throughline under their own name; no daemon is needed."""

import sys
from copy import copy
from types import MappingProxyType
from typing import NoReturn

try:
    import click

    from mash_plugin.cli.groups import LazyGroup
    from mash_plugin.cli.main import COMMANDS as MASH_COMMANDS
    from mash_plugin.cli.main import end, run, use_utf8
except KeyboardInterrupt:  # nothing was begun; from here on `run` tells of it
    raise SystemExit(130) from None

PROGRAM = "meaning-memory"
COMMANDS = {
    "capture-session": ("mash_plugin.cli.capture", "Keep a short record of a session that ended."),
    "consolidate": ("mash_plugin.cli.consolidate", "Store what was captured, or let it expire."),
    "call": ("mash_plugin.cli.memory_tools", "Call a tool with JSON; for scripts."),
    "mcp": ("mash_plugin.cli.memory_tools", "Serve the tools over stdio; agents start this."),
    "forget": ("mash_plugin.cli.memory_forget", "Forget a captured session or one memory."),
    "serve": ("mash_plugin.cli.serve", "Serve memories over HTTP, on this machine alone."),
    "setup-postgres": ("mash_plugin.cli.setup_postgres", "Give an agent its login in Postgres."),
    "doctor": ("mash_plugin.cli.memory_doctor", "Check the queue, the store and every setting."),
}
EXIT_CODES = {
    0: "done",
    1: "refused, failed, or a check found something",
    2: "the command was not given as it is described; nothing was changed",
    130: "interrupted",
}
_SHOWN = "\n".join(f"  {code:<4} {means}" for code, means in EXIT_CODES.items())


class ThroughlineGroup(LazyGroup):
    """The commands of Throughline alone."""

    table = COMMANDS
    sections = MappingProxyType({"Commands": tuple(COMMANDS)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; its examples name this program, and some of mash's have another meaning."""
        command = copy(super().get_command(ctx, cmd_name))  # mash's own keeps its examples
        if command is not None:
            is_shared = COMMANDS[cmd_name] == MASH_COMMANDS.get(cmd_name)
            examples = (command.epilog or "").replace("mash ", f"{PROGRAM} ")
            command.epilog = examples if is_shared else None
        return command


@click.group(
    PROGRAM,
    cls=ThroughlineGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=f"\b\nExit codes:\n{_SHOWN}",
)
@click.version_option(package_name="mash-plugin", prog_name=PROGRAM)
def cli() -> None:
    """What happened in one channel is known in the others, without a model."""


def main() -> NoReturn:
    """Run one command and end the process with its exit code."""
    use_utf8()
    end(run(sys.argv[1:], cli, PROGRAM), PROGRAM)


if __name__ == "__main__":
    main()
