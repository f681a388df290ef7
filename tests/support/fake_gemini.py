"""A scripted Gemini API, enough for whole turns of the real Gemini CLI (seen with 0.61.0).

A step is {"text": ...}, {"call": NAME, "args": {...}}, {"thought": ..., "text": ...}, or a
function of the request's body that returns one.
"""

import json
from typing import Any

from tests.support.model_server import Body, ModelHandler, ModelServer, Step

USAGE = {"promptTokenCount": 1000, "candidatesTokenCount": 10, "totalTokenCount": 1010}


def text_of(content: Body) -> str:
    """All text of one `content`."""
    return "\n".join(part.get("text", "") for part in content.get("parts") or [])


class FakeGemini(ModelServer):
    """The model behind Gemini CLI."""

    def __init__(self) -> None:
        super().__init__(_Handler)

    def reply_to(self, body: Body) -> Step:
        contents = body.get("contents") or []
        index, prompt = _newest_prompt(contents)
        done = sum(_is_answer(content) for content in contents[index + 1 :])
        steps = self.steps_for(prompt) or []
        return steps[done] if done < len(steps) else {"text": "ok"}


class _Handler(ModelHandler):
    server: FakeGemini

    def do_POST(self) -> None:
        body = self.read_json()
        method = self.path.partition("?")[0].rpartition(":")[2]
        if method == "countTokens":
            self.send_json(200, {"totalTokens": 1000})
            return
        reply = _reply(self.resolve(self.server.reply_to(body), body))
        self.server.keep(body)
        if method == "streamGenerateContent":
            self.send_data(reply)
        else:
            self.send_json(200, reply)

    def send_data(self, value: Body) -> None:
        """One event without a name, as this API sends them."""
        data = f"data: {json.dumps(value)}\r\n\r\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _newest_prompt(contents: list[Body]) -> tuple[int, str]:
    for index in range(len(contents) - 1, -1, -1):
        if contents[index].get("role") == "user" and not _is_answer(contents[index]):
            return index, text_of(contents[index])
    return -1, ""


def _is_answer(content: Body) -> bool:
    return any("functionResponse" in part for part in content.get("parts") or [])


def _reply(step: dict[str, Any]) -> Body:
    parts: list[Body] = []
    if "thought" in step:
        parts.append({"text": step["thought"], "thought": True})
    if "text" in step:
        parts.append({"text": step["text"]})
    if "call" in step:
        parts.append({"functionCall": {"name": step["call"], "args": step.get("args", {})}})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "gemini-2.5-pro"}
