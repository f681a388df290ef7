"""A made-up person's chat of one prompt, and records that rest on it."""

import uuid
from pathlib import Path
from typing import Any

from tests.cli.test_chats_commands import SESSION, write_chat
from tests.support.homes import Home
from tests.support.transcripts import ClaudeTranscript

WORDS = "We render invoices with Typst from now on, that's decided."
SHOP = {"kind": "repository", "identity": "host.example/team/shop"}


def begin(home: Home) -> None:
    """Set up a home with one indexed chat of the repository shop."""
    (clone,) = home.repository("shop")
    write_chat(home, clone, WORDS)
    home.mash("init", "--yes", "--no-agents")


def save(home: Home, review: str, statement: str) -> str:
    """Save an accepted decision, a moment after all others; its ID."""
    home.move_clock(0.01)
    details = {"kind": "decision", "state": "accepted"}
    change = {
        "action": "create",
        "scope": SHOP,
        "body": {"statement": statement, "review": review, "details": details},
        "evidence": [{"session_id": SESSION, "purpose": "endorsement", "quote": WORDS}],
    }
    return str(record(home, change)["id"])


def statements(home: Home) -> list[str]:
    """What the records of the repository shop say, the newest first."""
    return [record["statement"] for record in home.records("shop")]


def decide(home: Home, name: str, clone: Path, words: str, statement: str) -> None:
    """Save what was decided with these words in a chat of its own about a repository."""
    chat = ClaudeTranscript(home.claude, str(clone), str(uuid.uuid4()))
    chat.person(words)
    details = {"kind": "decision", "state": "accepted"}
    change = {
        "action": "create",
        "scope": {"kind": "repository", "identity": f"host.example/team/{name}"},
        "body": {"statement": statement, "review": "established", "details": details},
        "evidence": [{"session_id": chat.session_id, "purpose": "endorsement", "quote": words}],
    }
    home.move_clock(0.01)
    record(home, change)
    home.move_clock(0.01)


def record(home: Home, change: dict[str, Any]) -> dict[str, Any]:
    """The receipt of a change that was saved."""
    answer = home.call("record", {"operation_id": uuid.uuid4().hex, "change": change})
    assert "error" not in answer, answer
    return answer
