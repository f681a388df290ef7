"""What only a person may agree to: asked at a terminal, refused where nobody can answer."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import click

from mash_plugin.cli import telling

OF_AN_EDITOR = ("CLAUDE_CODE_SSE_PORT",)
"""Set in each terminal of an editor that knows the agent, where a person types."""


def require_yes(
    question: str, unasked: str, *, is_answerable: bool = True, left: str = "Nothing was changed."
) -> None:
    """Ask on the terminal; no is the default, and ends the command with exit code 1 after `left`.

    Raises UsageError with the text `unasked` where there is no terminal to ask on.
    """
    if not (is_answerable and sys.stdin.isatty()):
        raise click.UsageError(unasked)
    if not confirmed(question):
        click.echo(left, err=True)
        click.get_current_context().exit(1)


@contextmanager
def input_from_terminal() -> Iterator[None]:
    """Ask who sits at the terminal although something else was piped into the command."""
    with ExitStack() as opened:
        with suppress(OSError):  # without one, whoever asks finds that out
            terminal = opened.enter_context(open("/dev/tty", encoding="utf-8", errors="replace"))
            opened.callback(setattr, sys, "stdin", sys.stdin)
            sys.stdin = terminal
        yield


def confirmed(question: str, *, default: bool = False) -> bool:
    """Ask on the terminal until the answer is yes or no; Enter alone is the default."""
    asked = f"{telling.question(question)} [{'Y/n' if default else 'y/N'}]"
    while True:
        answer = click.prompt(asked, default="", show_default=False, err=True)
        match answer.strip().lower():
            case "":
                return default
            case "y" | "yes":
                return True
            case "n" | "no":
                return False
        click.echo("Please answer y or n.", err=True)


def refuse_in_session(what: str) -> None:
    """Exit code 2 in a shell of an agent: what would happen there, nobody has agreed to.

    Not even on a terminal, for an agent can open one of its own (`script`). A guard rail alone: a
    shell may drop the variables, or speak to the daemon itself (SECURITY.md).
    """
    found = mark_of_session()
    if found is not None:
        raise click.UsageError(
            f"{what}, and this is an agent's session ({found} is set): run it in a terminal of"
            " your own.",
            click.get_current_context(),
        )


def mark_of_session() -> str | None:
    """The variable by which this shell is known to be an agent's; None in a person's own."""
    from mash_plugin.agents.reviewing import OF_A_SESSION

    marks = (name for name in OF_A_SESSION if name not in OF_AN_EDITOR)
    return next((name for name in marks if name in os.environ), None)
