"""A scripted Responses API, enough for whole turns of the real Codex (seen with 0.171.0).

A step is {"text": ...}, {"call": NAME, "args": {...}, "namespace": ...}, {"items": [step, ...]}
for several in one reply, or a function of the request's body that returns one.
"""

import gzip
import json
import time
import uuid
from typing import Any

from tests.support.model_server import Body, ModelHandler, ModelServer, Step

SEARCH_PAUSE_S = 0.2
"""A real model takes longer than that; Codex lists the tools of a server only once it is up."""
MOST_ITEMS = 200


def text_of(item: Body) -> str:
    """All text of one `message` item."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def context_of(body: Body) -> str:
    """What stands in the conversation beside the agent's own words: prompts and hooks' texts."""
    return "\n".join(
        text_of(item)
        for item in body.get("input") or []
        if item.get("type", "message") == "message"
        and item.get("role") in ("user", "developer", "system")
    )


def tool_results(body: Body) -> list[str]:
    """The results of tools that the conversation carries, oldest first."""
    return [
        json.dumps(item.get("output", item.get("tools")), ensure_ascii=False)
        for item in body.get("input") or []
        if item.get("type", "").endswith("_output")
    ]


class FakeOpenAI(ModelServer):
    """The model behind Codex."""

    def __init__(self) -> None:
        super().__init__(_Handler)

    def reply_to(self, body: Body) -> Step:
        if is_title_request(body):
            return {"text": json.dumps({"title": "Fake task"})}
        items = body.get("input") or []
        index, prompt = _newest_prompt(items)
        steps = self.steps_for(prompt) or []
        done = _groups_of_outputs(items[index + 1 :])
        return steps[done] if done < len(steps) else {"text": "ok"}


class _Handler(ModelHandler):
    server: FakeOpenAI

    def read_json(self) -> Body:
        if self.headers.get("content-encoding") != "gzip":
            return super().read_json()
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(gzip.decompress(raw))
        return body if isinstance(body, dict) else {}

    def do_GET(self) -> None:
        self.send_json(200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        body = self.read_json()
        if not self.path.split("?")[0].endswith("/responses"):
            self.send_json(404, {"error": {"message": "not found"}})
            return
        step = self.resolve(self.server.reply_to(body), body)
        if "search" in step:
            time.sleep(SEARCH_PAUSE_S)
        if not is_title_request(body):
            self.server.keep(body)
        self.send_events(_events(step.get("items", [step])))


def is_title_request(body: Body) -> bool:
    """Whether the terminal interface asks a side thread for the session's title."""
    metadata = body.get("client_metadata") or {}
    return '"thread_source":"thread_title"' in metadata.get("x-codex-turn-metadata", "")


def _newest_prompt(items: list[Body]) -> tuple[int, str]:
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if item.get("type", "message") == "message" and item.get("role") == "user":
            text = text_of(item)
            if not text.lstrip().startswith("<"):
                return index, text
    return -1, ""


def _groups_of_outputs(items: list[Body]) -> int:
    """How many steps were answered; a search that did not find our tools yet is made again."""
    groups, in_outputs = 0, False
    for item in items:
        kind = item.get("type", "")
        if kind == "tool_search_output" and not _found_ours(item) and len(items) < MOST_ITEMS:
            continue
        if kind.endswith("_output"):
            groups += not in_outputs
            in_outputs = True
        elif kind.endswith("_call"):
            in_outputs = False
    return groups


def _found_ours(search: Body) -> bool:
    """Whether our server was up; the terminal interface has tools of its own from the start."""
    return any("mash" in str(tool.get("name")) for tool in search.get("tools") or [])


def _output_item(item: Body) -> Body:
    identifier = uuid.uuid4().hex[:24]
    if "call" in item:
        call = {
            "type": "function_call",
            "id": "fc_" + identifier,
            "call_id": "call_" + identifier,
            "name": item["call"],
            "arguments": json.dumps(item.get("args", {})),
            "status": "completed",
        }
        return call | ({"namespace": item["namespace"]} if "namespace" in item else {})
    if "search" in item:
        return {
            "type": "tool_search_call",
            "id": "tsc_" + identifier,
            "call_id": "call_" + identifier,
            "execution": "client",
            "arguments": item["search"],
            "status": "completed",
        }
    return {
        "type": "message",
        "id": "msg_" + identifier,
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": item.get("text", ""), "annotations": []}],
    }


def _events(steps: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    identifier = "resp_" + uuid.uuid4().hex[:24]
    outputs = [_output_item(step) for step in steps]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": identifier, "status": "in_progress"}}
    ]
    for index, item in enumerate(outputs):
        opening = {**item, "status": "in_progress"}
        place = {"output_index": index}
        if item["type"] == "message":
            opening["content"] = []
        events.append({"type": "response.output_item.added", **place, "item": opening})
        if item["type"] == "message":
            delta = {"item_id": item["id"], "content_index": 0, "delta": item["content"][0]["text"]}
            events.append({"type": "response.output_text.delta", **place, **delta})
        events.append({"type": "response.output_item.done", **place, "item": item})
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1010,
    }
    done = {"id": identifier, "status": "completed", "output": outputs, "usage": usage}
    events.append({"type": "response.completed", "response": done})
    return [(event["type"], event) for event in events]
