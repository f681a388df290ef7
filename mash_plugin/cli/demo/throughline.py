"""`mash demo throughline`: what one channel did is known in another, in a temporary folder."""

import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

AGENT = "bakery-bot"
NIGHT = (
    ("user", "02:00", "Reorder what runs low, and write down what you did."),
    ("assistant", "02:01", "Rye flour is down to 12 kg; the mill's web shop refuses the card."),
    ("assistant", "02:02", "Decided to order the rye flour by mail this time."),
    ("assistant", "02:03", "I'll ask the mill at eight whether the flour is on its way."),
)


@click.command()
def throughline() -> int:
    """A nightly job orders flour; in the morning the chat knows what became of it."""
    with tempfile.TemporaryDirectory(prefix="mash-demo-") as folder, _own_settings(folder):
        Path(folder, "night.jsonl").write_text("".join(_lines()), "utf-8")
        click.echo(
            "Every command is told where the agent keeps its memory, here for all of them:\n"
        )
        click.echo(f"$ export MM_CONFIG_DIR={folder}")
        click.echo("\n02:04, the nightly job ends and hands over its transcript:\n")
        code = _type(
            f"capture-session --agent {AGENT} --session-id stock-2026-11-29"
            f" --channel cron:stock --source-kind cron --transcript {folder}/night.jsonl"
        )
        click.echo("\nA drain, as it runs every five minutes:\n")
        code = code or _type(f"consolidate --agent-id {AGENT} --drain-only")
        click.echo(
            '\n08:10, in the chat: "Is flour on its way?" The agent there asks its memory:\n'
        )
        asked = '{"query": "flour", "memory_stage": "working"}'
        code = code or _show(f"call --agent {AGENT} mm_search", asked)
        click.echo("\nAnd reads the whole night back:\n")
        code = code or _show(
            f"call --agent {AGENT} mm_session_recall", '{"session_id": "stock-2026-11-29"}'
        )
    if not code:
        click.echo(
            "\nNo model was asked, and no word that a person typed was stored."
            " The folder is gone again."
        )
    return code


def _lines() -> Iterator[str]:
    for role, clock, text in NIGHT:
        yield json.dumps({"role": role, "content": text, "ts": f"2026-11-29T{clock}:00Z"}) + "\n"


@contextmanager
def _own_settings(folder: str) -> Iterator[None]:
    """The environment without the settings of this user's own memories."""
    before = {name: value for name, value in os.environ.items() if name.startswith("MM_")}
    for name in before:
        del os.environ[name]
    os.environ["MM_CONFIG_DIR"] = folder
    try:
        yield
    finally:
        del os.environ["MM_CONFIG_DIR"]
        os.environ.update(before)


def _type(command: str) -> int:
    """Run a command of meaning-memory, and show it."""
    from mash_plugin.cli.main import run
    from mash_plugin.cli.meaning_memory import PROGRAM, cli

    click.echo(f"$ {PROGRAM} {command}")
    return run(shlex.split(command), cli, PROGRAM)


def _show(command: str, arguments: str) -> int:
    """Run a tool and show its text as the agent reads it."""
    from mash_plugin.cli.meaning_memory import PROGRAM
    from mash_plugin.cli.memory_tools import place_of
    from mash_plugin.throughline.tools import call_tool

    click.echo(f"$ {PROGRAM} {command} '{arguments}'")
    place = place_of(AGENT, os.environ["MM_CONFIG_DIR"], None)
    click.echo(call_tool(command.split()[-1], json.loads(arguments), place).text)
    return 0
