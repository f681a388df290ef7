"""Whole transcripts on their way into the index and out of it again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.daemon import methods
from mash_plugin.daemon.frames import ToolFrame
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.requests import Requests
from tests.fuzz.agents_targets import transcripts
from tests.fuzz.target import Check, Target
from tests.hooks_answers.conftest import Desk, make_repository, open_node

THREAD = "01a22b46-ef78-7e32-8ff3-ca6f94ba9da4"
PLACES = {
    "claude-code": ".claude/projects/-p/s-1.jsonl",
    "codex": f".codex/sessions/2026/11/30/rollout-2026-11-30T07-06-38-{THREAD}.jsonl",
}


def chats() -> SearchStrategy[bytes]:
    """The agent in front of a transcript of its shape, or of the other one's."""
    agents = st.sampled_from(tuple(PLACES))
    content = st.sampled_from(tuple(PLACES)).flatmap(transcripts)
    return st.builds(lambda name, data: f"{name} ".encode() + data, agents, content)


@contextmanager
def indexing(folder: Path) -> Iterator[Check]:
    """A daemon's requests; the transcript of one session is written anew for every input."""
    desk = Desk(folder, open_node(folder), make_repository(folder / "shop"))
    requests = Requests(desk.node.paths, Log(str(folder / "log")))
    requests.node = desk.node
    try:
        yield lambda data: _check_chat(desk, requests, data)
    finally:
        desk.node.close()


def _check_chat(desk: Desk, requests: Requests, data: bytes) -> None:
    head, _, content = data.partition(b"\n")
    agent = head.split(b" ")[0].decode("utf-8", "replace")
    if agent not in PLACES:
        return
    path = desk.root / "home" / PLACES[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    desk.now += 60_000
    desk.node.chats.refresh_path(agent, str(path), desk.now)
    for chat in _asked(requests, "list_chats", {})["chats"]:
        _asked(requests, "get_chat", {"id": chat["id"]})
    _asked(requests, "search_chats", {"query": "test file"})
    _asked(requests, "view_chats", {})


def _asked(requests: Requests, method: str, params: dict[str, Any]) -> Any:
    reply = json.loads(methods.answer(requests, ToolFrame(method, params, {})))
    assert "result" in reply, reply
    return reply["result"]


TARGETS = {"chats": Target(chats(), indexing)}
