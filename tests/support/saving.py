"""What a scripted model does when it follows the saving note: read it, then call `record`."""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

from tests.support import fake_anthropic, fake_openai
from tests.support.model_server import Body, Step

CLAUDE_RECORD = "mcp__plugin_mash_mash__record"
LOAD_RECORD: Step = {"tool": "ToolSearch", "input": {"query": f"select:{CLAUDE_RECORD}"}}
"""Claude Code defers the tools of servers: the model asks for a tool before it calls it."""


FIND_RECORD: Step = {"search": {"query": "record save memory decision preference", "limit": 8}}
"""Codex defers them too; the search waits until the server is there."""


def session_in_note(context: str) -> str:
    """The session ID that the saving note names."""
    found = re.search(r'^evidence: \[{"session_id":"([^"]+)"', context, re.MULTILINE)
    assert found, f"no saving note in: {context[-2000:]}"
    return found.group(1)


def scope_in_note(context: str) -> dict[str, str]:
    """The scope that the saving note offers."""
    found = re.search(r"^scope: (\{.*\})$", context, re.MULTILINE)
    assert found, f"no scope in: {context[-2000:]}"
    scope = json.loads(found.group(1))
    assert isinstance(scope, dict)
    return scope


def decision(
    context: str, statement: str, quote: str, *, purpose: str = "endorsement"
) -> dict[str, Any]:
    """A request to `record` an established decision as the note in this context says."""
    return {
        "operation_id": uuid.uuid4().hex,
        "change": {
            "action": "create",
            "scope": scope_in_note(context),
            "body": {
                "statement": statement,
                "review": "established",
                "details": {"kind": "decision", "state": "accepted"},
            },
            "evidence": [
                {"session_id": session_in_note(context), "quote": quote, "purpose": purpose}
            ],
        },
    }


def claude_records(statement: str, quote: str) -> Callable[[Body], dict[str, Any]]:
    """A step of Claude Code's model that saves an established decision with this quote."""

    def step(body: Body) -> dict[str, Any]:
        request = decision(fake_anthropic.context_of(body), statement, quote)
        return {"tool": CLAUDE_RECORD, "input": request}

    return step


def codex_records(statement: str, quote: str) -> Callable[[Body], dict[str, Any]]:
    """A step of Codex's model that saves an established decision with this quote."""

    def step(body: Body) -> dict[str, Any]:
        request = decision(fake_openai.context_of(body), statement, quote)
        return {"call": "record", "namespace": "mcp__mash", "args": request}

    return step
