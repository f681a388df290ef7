"""The story of `mash demo`: one decision, from the words of a person to another agent's session."""

import json
import shutil
import textwrap
import uuid
from typing import Any

import click

from mash_plugin.cli.demo.place import IDENTITY, ClaudeSession, DemoPlace, demo_place
from mash_plugin.cli.telling import tell
from mash_plugin.errors import MashError

DECISION = "Tide tables go into Postgres 16, decided; see src/tides.py."
RULE = "And from now on always run the linter before you commit."
CHANGED = "Scrap Postgres for the tide tables: SQLite is enough, let's go with that."
MOST_WIDTH = 100
Json = dict[str, Any]


def tell_story() -> int:
    """Let it happen and show each step; what the agents see is what the hooks really print."""
    tell("A made-up team works on made-up tide tables, in a temporary folder.")
    with demo_place() as place:
        first = ClaudeSession(place, place.clone("tides"))
        decision = _decide(place, first)
        _invent(place, first)
        _remember(place)
        _read_a_file(place)
        _change_mind(place, first, decision)
    tell()
    tell(
        "That was all real: hooks, daemon, checks. The folder is gone again; nothing of yours was"
        " touched. `mash init` sets it up for your agents; what they know by then: `mash records`."
    )
    return 0


def _decide(place: DemoPlace, session: ClaudeSession) -> str:
    _chapter(1, "In Claude Code somebody types:")
    prompt = f"{DECISION} {RULE}"
    _quote(prompt)
    # As every session does: a prompt without it would bring that start's context too.
    place.hook("session-start", "claude-code", {**session.event, "source": "startup"})
    session.person_types(prompt)
    tell()
    tell("mash puts a note beside that prompt, since it reads like something lasting:")
    _show(place.hook("prompt-submit", "claude-code", {**session.event, "prompt": prompt}))
    tell()
    tell("The agent saves both, each with the words it rests on:")
    decision = _save(place, session, "decision", "Tide tables are stored in Postgres 16.", DECISION)
    _save(place, session, "preference", "Always run the linter before committing.", RULE)
    return decision


def _invent(place: DemoPlace, session: ClaudeSession) -> None:
    _chapter(2, "Later the agent claims a choice that nobody made:")
    session.agent_says("I think tide tables should be cached in Redis.")
    try:
        _save(place, session, "decision", "Tides are cached in Redis.", "cached in Redis")
    except MashError as error:
        _show(f"refused ({error.code}): {error.message}")


def _remember(place: DemoPlace) -> None:
    _chapter(3, "Next week, in Codex, in another clone of the same repository:")
    event = {"session_id": str(uuid.uuid4()), "cwd": str(place.clone("tides-again"))}
    _show(place.hook("session-start", "codex", {**event, "source": "startup"}))


def _read_a_file(place: DemoPlace) -> None:
    _chapter(4, "Claude Code opens src/tides.py in a new session:")
    session = ClaudeSession(place, place.folder / "tides-again")
    file = str(session.project / "src" / "tides.py")
    event = {**session.event, "tool_name": "Read", "tool_input": {"file_path": file}}
    _show(place.hook("file-read", "claude-code", {**event, "tool_use_id": "toolu_demo"}))


def _change_mind(place: DemoPlace, session: ClaudeSession, decision: str) -> None:
    _chapter(5, "Minds change. The person types:")
    _quote(CHANGED)
    session.person_types(CHANGED)
    body = _body("decision", "Tide tables are stored in SQLite.")
    change = {
        "action": "supersede",
        "expected": {"id": decision, "revision": 1},
        "body": body,
        "evidence": [_cited(session, CHANGED)],
    }
    place.call("record", {"operation_id": str(uuid.uuid4()), "change": change})
    tell()
    tell("The next agent is told the new choice alone; the old one keeps its history:")
    scope = {"kind": "repository", "identity": IDENTITY}
    asked = {"scope": scope, "query": "tide tables", "limit": 1}
    for record in place.call("recall_records", asked)["records"]:
        _show(f"now:    {record['kind']}: {record['statement']}")
    old = place.call("get_record", {"id": decision, "history": True})
    for revision in old["revisions"]:
        said, state = revision["body"]["statement"], revision["body"]["details"]["state"]
        _show(f"before: revision {revision['revision']}, {state}: {said}")


def _save(place: DemoPlace, session: ClaudeSession, kind: str, statement: str, quote: str) -> str:
    change = {
        "action": "create",
        "scope": {"kind": "repository", "identity": IDENTITY},
        "body": _body(kind, statement),
        "evidence": [_cited(session, quote)],
    }
    receipt = place.call("record", {"operation_id": str(uuid.uuid4()), "change": change})
    _show(f"saved as {kind}: {statement}\n  because the person typed: {json.dumps(quote)}")
    return str(receipt["id"])


def _body(kind: str, statement: str) -> Json:
    state = "accepted" if kind == "decision" else "active"
    return {
        "statement": statement,
        "review": "established",
        "recorded_by": "demo",
        "details": {"kind": kind, "state": state},
    }


def _cited(session: ClaudeSession, quote: str) -> Json:
    return {"session_id": session.id, "quote": quote, "purpose": "endorsement"}


def _chapter(number: int, text: str) -> None:
    tell()
    click.secho(f"{number}. {text}", bold=True)


def _quote(text: str) -> None:
    _show(text, "> ")


def _show(text: str, mark: str = "| ") -> None:
    """A text as it is, set off, each of its lines broken at the terminal's width."""
    width = min(MOST_WIDTH, shutil.get_terminal_size().columns) - 6
    for line in text.splitlines() or ["(nothing)"]:
        for part in textwrap.wrap(line, max(20, width), break_on_hyphens=False) or [""]:
            click.echo(f"  {mark}{part}")
