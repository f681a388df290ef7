"""`mash pause`: a person silences the hooks for a session or a project, for a while or for good."""

import os
import sys
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import plain
from mash_plugin.cli.moments import length_ms
from mash_plugin.cli.session_ids import SessionId
from mash_plugin.cli.telling import tell
from mash_plugin.errors import InvalidArgument
from mash_plugin.render.text import clean, local_date

SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID")
"""Where the agents' own shells tell the session."""
WHAT_IT_MEANS = (
    "There the hooks show nothing and ask for nothing; chats are still read, and tools answer an"
    " agent that asks."
)


class Length(click.ParamType[int]):
    """A length of time such as 30m or 2h, in milliseconds."""

    name = "length"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The milliseconds, or a usage error."""
        length = length_ms(str(value))
        if not length:
            self.fail(f"{value!r} is no length of time; write 30m, 2h, 3d or 1w.", param, ctx)
        return length


@click.command()
@click.option("--project", is_flag=True, help="The whole project of this folder, in all clones.")
@click.option(
    "--session",
    type=SessionId(),
    metavar="ID",
    help="This session, or `newest`; else the one open here.",
)
@click.option("--for", "length", type=Length(), metavar="TIME", help="So long (30m, 2h, 3d).")
@click.option("--off", is_flag=True, help="End what is paused here.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.argument("extra", nargs=-1, metavar="")
def pause(
    project: bool,
    session: str | None,
    length: int | None,
    off: bool,
    as_json: bool,
    extra: tuple[str, ...],
) -> None:
    """Silence the hooks for this session, or with --project for this project.

    Without --for until `mash pause --off`. `mash status` shows what is paused.
    """
    from mash_plugin import client

    if extra:
        raise click.UsageError(f"To pause for a time: mash pause --for {plain(extra[0])}")
    if project and session:
        raise click.UsageError("Give --project or --session, not both.")
    if off and length:
        raise click.UsageError("--off ends a pause at once; it takes no --for.")
    what = "off" if off else "project" if project else "session"
    own = _own_session()
    named = None if project else plain(session or own or "") or None
    request = {"what": what, "cwd": _folder(), "session": named, "for_ms": length}
    told = client.call("pause", {k: v for k, v in request.items() if v is not None})
    if "candidates" in told:
        request["session"] = _chosen(told["candidates"])
        told = client.call("pause", {k: v for k, v in request.items() if v is not None})
    if as_json:
        click.echo(orjson.dumps(told).decode())
    else:
        is_own = named is not None and named == own
        for line in _ended(told) if off else _begun(told, is_own=is_own):
            tell(clean(line))


def _chosen(candidates: list[dict[str, Any]]) -> str:
    """The session that the person picks of several here, or of those that are open elsewhere."""
    if not candidates:
        raise InvalidArgument(
            "No session is open that anybody types into, as far as hooks were heard of in the last"
            " 12 hours. `mash pause --session ID` takes any that `mash log` names."
        )
    tell("It is not clear which session is meant. Open are:", err=True)
    for number, one in enumerate(candidates, 1):
        tell(
            clean(f"{number}. {_words(one)}, heard of {local_date(one['last_activity_at'])}"),
            err=True,
        )
    if not sys.stdin.isatty():
        raise InvalidArgument(
            "Nothing was paused. Name one: mash pause --session ID, or `newest` for the first."
        )
    numbers = click.Choice([str(number) for number in range(1, len(candidates) + 1)])
    picked = click.prompt("Which one? (^C: none)", type=numbers, show_choices=False, err=True)
    return str(candidates[int(picked) - 1]["session_id"])


def _words(session: dict[str, Any]) -> str:
    """A session as a person knows it again: its first words, its agent and its folder."""
    title = f" “{session['title']}”" if session.get("title") else ""
    where = session["project"] or "no project"
    return f"session {session['session_id']} of {session['agent']} in {where}{title}"


def paused_words(target: str, session: dict[str, Any] | None) -> str:
    """What is paused, in the words for a person."""
    return _words(session) if session else target.replace(":", " ", 1)


def ending(target: str, *, is_here: bool) -> str:
    """The command that ends a pause, seen from this folder."""
    kind, _, name = target.partition(":")
    if is_here:
        return "`mash pause --off` ends it"
    if kind == "session":
        return f"`mash pause --off --session {name}` ends it"
    return "`mash pause --off` in its folder ends it"


def _begun(told: dict[str, Any], *, is_own: bool) -> list[str]:
    target = told["target"]
    until = f"until {local_date(told['until'])}" if told["until"] else "until you end it"
    end = ending(target, is_here=is_own or told.get("is_here", True))
    return [f"Paused {paused_words(target, told.get('session'))}, {until}. {end}.", WHAT_IT_MEANS]


def _ended(told: dict[str, Any]) -> list[str]:
    if not told["ended"]:
        others = [
            f"Elsewhere: {paused_words(one['target'], one.get('session'))};"
            f" {ending(one['target'], is_here=one.get('is_here', False))}."
            for one in told["paused"]
        ]
        return ["Nothing is paused here.", *others]
    return [f"No longer paused: {target.replace(':', ' ', 1)}." for target in told["ended"]]


def _own_session() -> str | None:
    return next((os.environ[name] for name in SESSION_VARIABLES if os.environ.get(name)), None)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return None
