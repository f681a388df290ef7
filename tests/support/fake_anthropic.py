"""A scripted Messages API, enough for whole turns of the real Claude Code (seen with 2.1.332).

A step is {"text": ...}, {"tool": NAME, "input": {...}}, {"tools": [[NAME, {...}], ...]}, any of
them together, or a function of the request's body that returns one.
"""

import json
import re
import uuid
from typing import Any

from tests.support.model_server import Body, ModelHandler, ModelServer, Step

COMPACTION = re.compile(r"your task is to create a detailed summary", re.I)
SUMMARY = "<analysis>fake</analysis>\n<summary>\nFAKE-SUMMARY of the conversation.\n</summary>"


def texts_of(message: Body) -> list[str]:
    """The text blocks of one message; tool results are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [block.get("text", "") for block in content or [] if block.get("type") == "text"]


def context_of(body: Body) -> str:
    """What stands in the conversation beside the agent's own words: prompts and hooks' texts."""
    return "\n".join(
        text
        for message in body.get("messages", [])
        if message.get("role") in ("user", "system")
        for text in texts_of(message)
    )


def tool_results(body: Body) -> list[str]:
    """The results of tools that the conversation carries, oldest first."""
    return [
        json.dumps(block.get("content"), ensure_ascii=False)
        for message in body.get("messages", [])
        if isinstance(message.get("content"), list)
        for block in message["content"]
        if block.get("type") == "tool_result"
    ]


class FakeAnthropic(ModelServer):
    """The model behind Claude Code."""

    def __init__(self) -> None:
        super().__init__(_Handler)

    def reply_to(self, body: Body) -> Step:
        messages = body.get("messages", [])
        if messages and COMPACTION.search("\n".join(texts_of(messages[-1]))):
            return {"text": SUMMARY}
        for index in range(len(messages) - 1, -1, -1):
            if messages[index].get("role") != "user":
                continue
            steps = self.steps_for("\n".join(texts_of(messages[index])))
            if steps is not None:
                done = sum(1 for m in messages[index + 1 :] if m.get("role") == "assistant")
                return steps[done] if done < len(steps) else {"text": "ok"}
        return {"text": "ok"}


class _Handler(ModelHandler):
    server: FakeAnthropic

    def do_HEAD(self) -> None:
        self.send_json(200, {}, with_body=False)

    def do_GET(self) -> None:
        self.send_json(200, {"data": [], "has_more": False})

    def do_POST(self) -> None:
        body = self.read_json()
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self.send_json(200, {"input_tokens": 1000})
        elif path == "/v1/messages":
            step = self.resolve(self.server.reply_to(body), body)
            self.server.keep(body)
            message = _message(step, body)
            if body.get("stream"):
                self.send_events(_events(message))
            else:
                self.send_json(200, message)
        else:
            self.send_json(404, {"type": "error", "error": {"type": "not_found_error"}})


def _message(step: dict[str, Any], body: Body) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if "text" in step:
        blocks.append({"type": "text", "text": step["text"]})
    calls = list(step.get("tools", []))
    if "tool" in step:
        calls.insert(0, [step["tool"], step.get("input", {})])
    for name, arguments in calls:
        identifier = "toolu_fake" + uuid.uuid4().hex[:16]
        blocks.append({"type": "tool_use", "id": identifier, "name": name, "input": arguments})
    usage = {"input_tokens": 100, "output_tokens": 12}
    usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": "msg_fake" + uuid.uuid4().hex[:16],
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake-model"),
        "content": blocks or [{"type": "text", "text": ""}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _events(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    start = dict(message, content=[], stop_reason=None)
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"type": "message_start", "message": start})
    ]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            opening: dict[str, Any] = dict(block, text="")
            delta: dict[str, Any] = {"type": "text_delta", "text": block["text"]}
        else:
            opening = dict(block, input={})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        place = {"index": index}
        for kind, more in (
            ("content_block_start", {"content_block": opening}),
            ("content_block_delta", {"delta": delta}),
            ("content_block_stop", {}),
        ):
            events.append((kind, {"type": kind, **place, **more}))
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append(
        ("message_delta", {"type": "message_delta", "delta": ending, "usage": message["usage"]})
    )
    events.append(("message_stop", {"type": "message_stop"}))
    return events
