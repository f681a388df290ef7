"""`mash log`: what was saved, and what was shown to which session; also as it happens."""

import select
import sys
from datetime import datetime
from typing import Any

import click
import orjson
from click.core import ParameterSource

from mash_plugin.cli.asking import Page, more_of
from mash_plugin.cli.moments import length_ms
from mash_plugin.cli.record_words import kind_words
from mash_plugin.cli.tables import SHORT_ID, lines_of, moments, print_table, when
from mash_plugin.errors import DaemonUnavailable
from mash_plugin.render.text import clean

WIDTHS = (16, 10, SHORT_ID)
POLL_MS = 1_000
LOOK_BACK_MS = 60_000
"""What is written behind, and what waits for a transcript, is dated before it can be read."""
FOLLOW_PAGE = 500
Json = dict[str, Any]


@click.command()
@click.option(
    "--since",
    metavar="WHEN",
    help="So long ago (30m, 2h, 3d, 1w) or a date, such as 2026-11-30. [default: 1d]",
)
@click.option("--follow", is_flag=True, help="Go on and show what happens, until Ctrl-C.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, help="Events on one page.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Where the page begins.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --follow a line an event.")
def log(since: str | None, follow: bool, limit: int, offset: int, as_json: bool) -> int:
    """Show what was saved, and what was shown to which session, the newest first.

    With --follow as it happens, the newest last; --since begins earlier.
    """
    if follow:
        _refuse_pages()
        if sys.stdout.isatty():
            click.echo("Waiting for what happens; Ctrl-C ends it.", err=True)
        return _follow(_begin(since or "0s"), as_json)
    asked = _begin(since or "1d")
    page = _events({**asked, "limit": limit, "offset": offset})
    if as_json:
        click.echo(orjson.dumps({k: page[k] for k in ("events", "next_offset")}).decode())
        return 0
    if page["events"]:
        heading, days = moments("When", [event["at"] for event in page["events"]])
        rows = [(day, *_row(e)) for day, e in zip(days, page["events"], strict=True)]
        print_table(rows, (heading, "What", "Record", "Details"), WIDTHS)
    else:
        click.echo(_nothing(since, offset), err=True)
    if page["next_offset"] is not None:
        since_then = ("--since", since) if since else ()
        following = Page(limit, offset, page["next_offset"])
        click.echo(more_of("log", since_then, {}, following), err=True)
    return 0


def _refuse_pages() -> None:
    """What is followed has no pages: an option without effect would only puzzle."""
    context = click.get_current_context()
    for name in ("limit", "offset"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--follow shows everything: leave --{name} out.", context)


def _nothing(since: str | None, offset: int) -> str:
    if offset:
        return "Nothing more happened since then."
    if since:
        return "Nothing happened since then."
    return "Nothing happened in the last day; --since 7d looks further back."


def _follow(begin: Json, as_json: bool) -> int:
    try:
        newest = _events({"ago_ms": 0, "limit": 1})["now"]
        since = begin.get("since", newest - begin.get("ago_ms", 0))
        start = min(since, newest - LOOK_BACK_MS)
        seen = {_key(e): e["at"] for e in _all(start, may_start=True) if e["at"] < since}
        while True:
            new = [e for e in reversed(_all(start)) if _key(e) not in seen]
            _print(new, as_json)
            seen |= {_key(event): event["at"] for event in new}
            newest = max([newest, *seen.values()])
            start = newest - LOOK_BACK_MS
            seen = {key: at for key, at in seen.items() if at >= start}
            _wait()
    except KeyboardInterrupt:
        return 130


def _wait() -> None:
    """Let some time pass; raises BrokenPipeError as soon as nobody reads any more."""
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)
    if poller.poll(POLL_MS):
        raise BrokenPipeError


def _print(events: list[Json], as_json: bool) -> None:
    if as_json:
        for event in events:
            click.echo(orjson.dumps(event).decode())
    elif events:
        print_table([(when(event["at"]), *_row(event)) for event in events], widths=WIDTHS)


def _all(since: int, may_start: bool = False) -> list[Json]:
    """Every event since, the newest first; none while a daemon that was stopped is away."""
    events: list[Json] = []
    offset: int | None = 0
    while offset is not None:
        try:
            page = _events({"since": since, "limit": FOLLOW_PAGE, "offset": offset}, may_start)
        except DaemonUnavailable:
            if may_start:
                raise
            return []
        events += page["events"]
        offset = page["next_offset"]
    return events


def _events(request: Json, may_start: bool = True) -> Json:
    from mash_plugin import client

    return client.call("log_events", request, start=may_start)


def _key(event: Json) -> bytes:
    """The event without what another event may change: the text of its record."""
    names = (
        "at",
        "event",
        "id",
        "chat_id",
        "session_id",
        "message_id",
        "target",
        "path",
        "node_id",
    )
    named = [event.get(name) for name in names]
    return orjson.dumps([*named, event["event"] == "saved" and event.get("revision")])


def _row(event: Json) -> tuple[str, str, str]:
    short = event.get("id", "")[:SHORT_ID] or "chat"
    what, details = _told(event)
    text = event.get("statement") or event.get("chat_id", "")
    return what, clean(short), lines_of(text, details)


def _told(event: Json) -> tuple[str, str]:
    """What happened in a word, and how in a line."""
    who = event.get("session_id", "")
    session = f"session {who}" if who else "an agent"
    if event.get("agent"):
        session += f" ({event['agent']})"
    by = "the person at the terminal" if event.get("origin") == "terminal" else session
    match event["event"]:
        case "saved":
            return _saved_word(event), f"{_kind(event)} by {by}"
        case "shown":
            place = f" with {event['path']}" if event.get("path") else " at its start"
            reader = f", subagent {event['subagent']}" if event.get("subagent") else ""
            of_group = "a record of the group, " if "node_id" in event else ""
            since = "; revised since, this is how it reads now" if "revised_since" in event else ""
            return "shown", f"{of_group}to {session}{place}{reader}{since}"
        case "linked":
            return "linked", f"{event['relation']} {event['target']}, by {session}"
        case "confirmed":
            return "confirmed", f"by {session}"
        case "hidden":
            return "hidden", f"by {session}; `mash undo` brings it back within a day"
        case "forgotten":
            return "forgotten", f"by {by}"
        case "chat_forgotten":
            return "forgotten", "a chat, and every record that cited it"
        case other:
            return other, ""


def _saved_word(event: Json) -> str:
    if event.get("state") in ("withdrawn", "retracted", "superseded"):
        return str(event["state"])
    return "saved" if event.get("revision") == 1 else "revised"


def _kind(event: Json) -> str:
    if "review" not in event:
        return "record"
    status = "current" if event["review"] == "established" else "candidate"
    return kind_words({**event, "status": status})


def _begin(text: str) -> Json:
    """`since` or `ago_ms` of a request; raises UsageError."""
    if (length := length_ms(text)) is not None:
        return {"ago_ms": length}
    try:
        moment = datetime.fromisoformat(text.strip()).astimezone()
        return {"since": max(0, int(moment.timestamp() * 1_000))}
    except (ValueError, OverflowError):
        raise click.UsageError(
            f"{text!r} is neither so long ago (30m, 2h, 3d, 1w) nor a date (2026-11-30, or"
            " '2026-11-30 14:00').",
            click.get_current_context(),
        ) from None
