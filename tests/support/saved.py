"""A made-up person's chat of one prompt, and records that rest on it."""

import uuid
from typing import Any

from tests.cli.test_chats_commands import SESSION, write_chat
from tests.support.homes import Home

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


def record(home: Home, change: dict[str, Any]) -> dict[str, Any]:
    """The receipt of a change that was saved."""
    answer = home.call("record", {"operation_id": uuid.uuid4().hex, "change": change})
    assert "error" not in answer, answer
    return answer
