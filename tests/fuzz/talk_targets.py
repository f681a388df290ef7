"""What comes over the socket: frames of both kinds, and the arguments of every tool."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mash_plugin import wire
from mash_plugin.daemon import methods
from mash_plugin.daemon.frames import (
    LEASE,
    NEWER_HOOK,
    Frame,
    HookFrame,
    Incoming,
    Refused,
    ToolFrame,
    is_whole_json,
)
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import Internal, MashError
from mash_plugin.protocol import commands, validate
from tests.fuzz.shapes import damaged, json_bytes, spoilt, texts
from tests.fuzz.target import Check, Target, refusal_of
from tests.hooks_answers.conftest import IDENTITY, Desk, make_repository, open_node

GOLDEN = Path(__file__).parents[1] / "wire" / "frames"
SCOPE = {"kind": "repository", "identity": IDENTITY}
BODY = {
    "statement": "Use Qdrant.",
    "recorded_by": "an agent",
    "review": "candidate",
    "details": {"kind": "decision", "state": "proposed", "decided_by": "person"},
    "conditions": ["while it is one machine"],
    "valid_until": 1_900_000_000_000,
}
CITED = [{"session_id": "s-1", "quote": "Which vector store?", "purpose": "context"}]
AT = {"id": "@record", "revision": 1}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("record", {"operation_id": "o-1", "change": change})
    for change in (
        {"action": "create", "scope": SCOPE, "body": BODY, "evidence": CITED},
        {"action": "revise", "expected": AT, "body": BODY, "evidence": CITED},
        {"action": "confirm", "expected": AT, "evidence": CITED},
        {"action": "link", "expected": AT, "target": AT, "relation": "supports"},
        {"action": "forget", "expected": AT},
    )
] + [
    ("recall_records", {"scope": SCOPE, "query": "store", "limit": 3, "file": "src/main.rs"}),
    ("recall_records", {"scope": {"kind": "personal"}, "byte_budget": 1024}),
    ("get_record", {"id": "@record", "history": True, "limit": 2, "before_revision": 3}),
    ("list_records", {"scope": SCOPE, "kind": "decision", "chat": "c-1", "offset": 1}),
    (
        "list_records",
        {"scope": SCOPE, "shared": True, "cursor": "AAAA", "node_id": "n", "limit": 2},
    ),
    ("recall_records", {"scope": SCOPE, "query": "store", "include_group": True}),
    ("get_record", {"id": "@record", "node_id": "n"}),
    ("find_record_matches", {"scope": SCOPE, "body": BODY}),
    ("get_extraction_checkpoint", {"chat_id": "claude-code-s-1", "scope": SCOPE}),
    (
        "extract_records",
        {
            "operation_id": "o-2",
            "chat_id": "claude-code-s-1",
            "scope": SCOPE,
            "source_fingerprint": "f",
            "records": [{"body": BODY, "evidence": CITED}],
        },
    ),
    ("search_chats", {"query": "vector store", "scope": SCOPE, "limit": 3, "offset": 1}),
    ("get_chat", {"id": "claude-code-s-1", "message_id": "m", "offset": 1}),
    ("list_chats", {"scope": {"kind": "local_project", "path": "/w/shop"}}),
    ("log_events", {"since": 1, "limit": 5}),
    ("terminal_show", {"id": "@record", "link_offset": 0}),
    ("terminal_change", {"action": "edit", "id": "@record", "revision": 1, "statement": "x"}),
    ("terminal_withdraw", {"session_id": "s-1", "digest": "0" * 64}),
    ("terminal_rebind", {"old": "/a", "new": "/b"}),
    ("view_records", {"text": "qdrant", "after": {"at": 1, "id": "r"}, "scope": SCOPE}),
    ("view_days", {"since": 1}),
    ("view_graph", {"id": "@record"}),
    ("view_chat", {"id": "claude-code-s-1", "start": 1}),
    ("review_plan", {"since": 1}),
    ("review_chat", {"chat_id": "claude-code-s-1"}),
]
KNOWN = {*methods.TOOLS, *methods.COMMANDS}


def frames() -> SearchStrategy[bytes]:
    """A number that says how the bytes are cut, and what one connection sends."""
    golden = [path.read_bytes() for path in sorted(GOLDEN.iterdir())]
    hook = st.builds(
        lambda words, body: b"mash/1 " + " ".join(words).encode("utf-8", "replace") + b"\n" + body,
        st.lists(texts() | st.sampled_from(("hook", "codex", "lease", "A=%41", "%")), max_size=6),
        json_bytes(spoilt([{"session_id": "s-1"}])),
    )
    tool = json_bytes(
        spoilt([{"v": 1, "method": name, "params": what, "caller": {}} for name, what in CALLS])
    ).map(lambda line: line + b"\n")
    whole = st.one_of(st.sampled_from(golden), hook, tool)
    return st.builds(lambda cut, data: bytes([cut]) + data, st.integers(0, 255), damaged(whole))


@contextmanager
def frame_reading(_folder: Path) -> Iterator[Check]:
    """The reader of one connection's bytes, and of replies."""
    yield _check_frame


def _check_frame(data: bytes) -> None:
    size, data = 1 + data[0] if data else 1, data[1:]
    at_once, in_pieces = _frame(data, len(data) or 1), _frame(data, size)
    if isinstance(at_once, HookFrame) and isinstance(in_pieces, HookFrame):
        assert in_pieces[:3] == at_once[:3]
        assert in_pieces == at_once or is_whole_json(bytearray(in_pieces.body))
        assert at_once.body.startswith(in_pieces.body)
    else:
        assert repr(in_pieces) == repr(at_once)
    try:
        assert isinstance(wire.read_reply(data), dict)
    except MashError as error:
        wire.error_line(error)


def _frame(data: bytes, size: int) -> Frame:
    incoming = Incoming()
    for at in range(0, len(data), size):
        frame = incoming.feed(data[at : at + size])
        if frame is not None:
            break
    else:
        frame = incoming.end()
    assert frame in (LEASE, NEWER_HOOK) or isinstance(frame, HookFrame | ToolFrame | Refused)
    if isinstance(frame, Refused) and frame.error:
        assert wire.error_line(frame.error).count(b"\n") == 1
    return frame


@st.composite
def calls(draw: DrawFn) -> bytes:
    """A call of a tool or of a person's command, its arguments spoilt."""
    method, params = draw(st.sampled_from(CALLS))
    if not draw(st.integers(0, 19)):
        method = draw(st.sampled_from(sorted(KNOWN)) | texts())
    body = {"v": 1, "method": method, "params": draw(spoilt([params]))}
    body["caller"] = draw(spoilt([{"agent": "codex", "session_id": "s-1", "now_ms": "5"}]))
    return draw(json_bytes(st.just(body))) + b"\n"


@contextmanager
def answering(folder: Path) -> Iterator[Check]:
    """A daemon's requests over a memory with a record and a chat."""
    desk = Desk(folder, open_node(folder), make_repository(folder / "shop"))
    record = desk.keep("Use Qdrant for local search.")
    desk.chat("Which vector store should we use?", "s-1")
    log = Log(str(folder / "log"))
    requests = Requests(desk.node.paths, log)
    requests.node = desk.node
    try:
        yield lambda data: _check_call(requests, data.replace(b"@record", record.encode()))
    finally:
        desk.node.close()


def _check_call(requests: Requests, data: bytes) -> None:
    frame = _frame(data, len(data) or 1)
    if not isinstance(frame, ToolFrame) or frame.method not in KNOWN:
        return
    _check_validation(frame)
    line = methods.answer(requests, frame)
    assert line.count(b"\n") == 1
    reply = json.loads(line)
    assert ("error" in reply) != ("result" in reply)
    if "error" in reply:
        assert reply["error"]["code"] != Internal.code, reply
        assert reply["error"]["message"]


def _check_validation(frame: ToolFrame) -> None:
    requests = {} if frame.method in methods.TOOLS else {"requests": commands.COMMANDS}
    error = refusal_of(lambda: validate(frame.method, frame.params, **requests))
    if error is None:
        request = validate(frame.method, frame.params, **requests)
        if not request.get("shared"):  # its default of an offset must not be said
            assert validate(frame.method, request, **requests) == request
    else:
        field = error.details.get("field")
        assert error.message.startswith(field or "The arguments are nested too deeply")


TARGETS = {"frames": Target(frames(), frame_reading), "calls": Target(calls(), answering)}
