"""What scripted models do when they review a chat: read the prompt, save, give the result."""

import json
import re
from typing import Any

from tests.support import fake_anthropic, fake_openai
from tests.support.model_server import Body, Step

TASK = "Review the chat between the two lines"
"""Every prompt of a review begins with it."""
SAVED = {"outcome": "saved", "reason": ""}
CLAUDE_EXTRACT = "mcp__mash__extract_records"
FIND_EXTRACT: Step = {"search": {"query": "extract_records save review", "limit": 4}}
Json = dict[str, Any]
Draft = tuple[str, str]
"""What is to be remembered, and the words of a message that it rests on."""


def messages_in(prompt: str) -> list[Json]:
    """The messages of the chat that a prompt holds."""
    fenced = re.search(r"^---- (chat-\w+) begin\n(.*)\n---- \1 end$", prompt, re.M | re.S)
    assert fenced, prompt[:400]
    return [json.loads(line) for line in fenced[2].splitlines()]


def marks_in(prompt: str) -> Json:
    """The two marks beside the chat."""
    pairs = re.findall(r"^(first_mark|last_mark): (\S+)$", prompt, re.M)
    return dict(pairs)


def drafts_of(prompt: str, *drafts: Draft) -> Json:
    """The arguments of a call that saves those drafts that the chat has words for."""
    records = []
    for statement, quote in drafts:
        message = next((m for m in messages_in(prompt) if quote in m["text"]), None)
        if message is None:
            continue
        body = {"statement": statement, "details": {"kind": "decision", "state": "accepted"}}
        evidence = [{"message_id": message["id"], "quote": quote, "purpose": "endorsement"}]
        records.append({"body": body, "evidence": evidence})
    return {**marks_in(prompt), "records": records}


def claude_saves(*drafts: Draft) -> Step:
    """A step of Claude Code's model that saves drafts."""

    def step(body: Body) -> Json:
        return {
            "tool": CLAUDE_EXTRACT,
            "input": drafts_of(fake_anthropic.context_of(body), *drafts),
        }

    return step


def codex_saves(*drafts: Draft) -> Step:
    """A step of Codex's model that saves drafts."""

    def step(body: Body) -> Json:
        arguments = drafts_of(fake_openai.context_of(body), *drafts)
        return {"call": "extract_records", "namespace": "mcp__mash", "args": arguments}

    return step


def claude_ends(result: Json = SAVED) -> Step:
    """A step of Claude Code's model that gives the structured result."""
    return {"tool": "StructuredOutput", "input": result}


def codex_ends(result: Json = SAVED) -> Step:
    """A step of Codex's model that gives the structured result."""
    return {"text": json.dumps(result)}


def claude_review(*drafts: Draft) -> list[Step]:
    """The whole turn of Claude Code's model."""
    return [claude_saves(*drafts), claude_ends()]


def codex_review(*drafts: Draft) -> list[Step]:
    """The whole turn of Codex's model."""
    return [FIND_EXTRACT, codex_saves(*drafts), codex_ends()]
