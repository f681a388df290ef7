"""What agents send and write: payloads of hooks, and transcripts."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.agents import AGENTS, HOOKED
from mash_plugin.agents.events import Message, ReaderState, TranscriptFile, TranscriptReader
from mash_plugin.agents.lines import parse_objects, read_lines
from mash_plugin.daemon import hooks
from mash_plugin.records.model import Author, MessageRole
from tests.fuzz.shapes import damaged, json_bytes, spoilt, texts
from tests.fuzz.target import FIXTURES, Check, Target, fixture_lines, split_head, with_head
from tests.hooks_answers.conftest import Desk, make_repository, open_node

HOOKS = ("session-start", "prompt-submit", "file-read", "reminder-timer")
LONGEST_ANSWER = 10_000
"""Characters: where Claude Code begins to cut what a hook says."""
_MAY_BE_JSON = (b"", *(bytes([first]) for first in b'{["-0123456789tfnNI'))
LONGEST_ROW = 6_000
_FOLDERS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini"}


def payloads() -> SearchStrategy[bytes]:
    """What the hooks of both agents are sent, spoilt."""
    heads = st.builds(
        "{} {} {}".format,
        st.sampled_from((*HOOKED, *AGENTS, "other")),
        st.sampled_from((*HOOKS, "")),
        st.sampled_from(("", "MASH_RECORD_CAPTURE=off", "MASH_TEST_NOW_MS=9e9 MASH_INTERNAL=x")),
    )
    samples = [
        json.loads(path.read_bytes()) for path in sorted(FIXTURES.glob("hook-input/*/*.json"))
    ]
    asked = [{**one, "cwd": "@project"} for one in samples] + [
        {**one, "prompt": f"From now on always {text}"}
        for one in samples
        if one.get("hook_event_name") == "UserPromptSubmit"
        for text in ("use tabs.", "`x` <b>", "\u202e")
    ]
    return with_head(heads, damaged(json_bytes(spoilt(samples + asked))))


@contextmanager
def hook_answers(folder: Path) -> Iterator[Check]:
    """A node with a memory, asked as the daemon asks it."""
    project = make_repository(folder / "shop")
    desk = Desk(folder, open_node(folder), project)
    desk.listen()
    desk.keep("See src/main.rs: <b> tabs `x`.")
    desk.keep("Tabs.", kind="preference", state="active")
    budget, hooks.BUDGET_S = hooks.BUDGET_S, 10.0  # a busy machine is not what is tested
    try:
        yield partial(_check_hook, desk)
    finally:
        hooks.BUDGET_S = budget
        desk.node.close()


def _check_hook(desk: Desk, data: bytes) -> None:
    words, body = split_head(data)
    agent, name, *pairs = (*words, "", "")
    switches = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    body = body.replace(b"@project", str(desk.project).encode())
    desk.failures.clear()
    desk.now += 60_000
    switches = {"MASH_TEST_NOW_MS": str(desk.now), **switches}
    reply = hooks.answer(desk.node, name, agent, switches, body)
    assert desk.failures == [], desk.failures
    if not reply:
        return
    output = json.loads(reply)
    assert list(output) == ["hookSpecificOutput"]
    assert list(output["hookSpecificOutput"]) == ["hookEventName", "additionalContext"]
    told = output["hookSpecificOutput"]["additionalContext"]
    assert output["hookSpecificOutput"]["hookEventName"] in _events(agent, name)
    assert len(told) < LONGEST_ANSWER
    assert b"\n" not in reply
    assert all(line.isprintable() for line in told.split("\n"))


def _events(agent: str, hook: str) -> tuple[str, ...]:
    from mash_plugin.agents.claude import hooks as claude
    from mash_plugin.agents.codex import hooks as codex

    return {"claude-code": claude, "codex": codex}[agent].EVENTS[hook]


def transcripts(agent: str) -> SearchStrategy[bytes]:
    """Some lines of real transcripts in any order, each spoilt."""
    folder = f"transcripts/{_FOLDERS[agent]}"
    line = st.one_of(damaged(json_bytes(spoilt(kinds_of_rows(folder)))), texts().map(_as_line))
    head = st.sampled_from(("session", "parent/agent-1 sub"))
    lines = st.lists(line, min_size=1, max_size=6)
    return with_head(head, lines.map(lambda found: b"\n".join(found) + b"\n"))


def kinds_of_rows(folder: str) -> list[Any]:
    """One line of each shape that stands in the fixtures: most of them repeat each other."""
    rows = (json.loads(line) for line in fixture_lines(folder) if len(line) < LONGEST_ROW)
    rows = (row.get("line", row) for row in rows)  # as older lines are kept
    return list({_shape_of(row): row for row in rows}.values())


def _shape_of(value: Any, depth: int = 4) -> str:
    if isinstance(value, dict) and depth:
        parts = (f"{key}:{_shape_of(part, depth - 1)}" for key, part in sorted(value.items()))
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list) and depth:
        return "[" + ",".join(_shape_of(part, depth - 1) for part in value[:2]) + "]"
    is_mark = isinstance(value, str) and value.replace("_", "").replace("-", "").isalpha()
    return value if is_mark else type(value).__name__


def _as_line(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@contextmanager
def reading(agent: str, _folder: Path) -> Iterator[Check]:
    """A reader of that agent's transcripts."""
    yield partial(_check_transcript, agent)


def _check_transcript(agent: str, data: bytes) -> None:
    words, content = split_head(data)
    session, is_subagent = (words or ["session"])[0], len(words) > 1
    file = TranscriptFile(agent, "/nowhere.jsonl", session, is_subagent)
    reader = AGENTS[agent].open_reader(file, ReaderState())
    seen = 0
    lines = list(read_lines(io.BytesIO(content), 0))
    for line in lines:
        if line.data is None:
            continue
        seen += 1
        for message in reader.read_line(line.data, line.offset):
            check_message(message)
            if message.author == "person":
                assert not reader.state.is_subagent
                assert any(map(_MAY_BE_PERSONS[agent], parse_objects(line.data)))
        _check_state(reader, seen)
        assert reader.state.lines_skipped or line.data.strip()[:1] in _MAY_BE_JSON


def check_message(message: Message) -> None:
    """Whether a message can be stored as it is."""
    assert message.role in get_args(MessageRole)
    assert message.author in get_args(Author)
    assert message.id
    for text in (message.text, message.person_text or "", *message.private_text):
        text.encode()
    assert message.author in ("person", "inferred") or not (
        message.person_text and not message.is_headless
    )
    assert message.sent_at is None or abs(message.sent_at) < 1 << 62
    assert message.bytes_left_out >= 0


def _check_state(reader: TranscriptReader, lines: int) -> None:
    kept = json.dumps(vars(reader.state))
    assert json.loads(kept) == vars(reader.state)
    kept.encode()
    assert 0 <= reader.state.lines_skipped <= lines


def _is_persons_in_claude(row: dict[str, Any]) -> bool:
    """A line of 2.1.332 that may be the person's: typed by a human, in no subagent."""
    held = row.get("attachment") if row.get("type") == "attachment" else row
    if row.get("type") not in ("user", "attachment") or not isinstance(held, dict):
        return False
    origin = held.get("origin")
    is_human = isinstance(origin, dict) and origin.get("kind") == "human"
    return is_human and not row.get("isSidechain") and not row.get("isMeta")


def _is_persons_in_codex(row: dict[str, Any]) -> bool:
    """An item of 0.171 that may be the person's: a user's message with a part that says so."""
    item = row.get("payload")
    if row.get("type") != "response_item" or not isinstance(item, dict):
        return False
    says = json.dumps(item.get("internal_chat_message_metadata_passthrough"))
    return (item.get("type"), item.get("role")) == ("message", "user") and '"user"' in says


def _is_persons_in_gemini(_row: dict[str, Any]) -> bool:
    """None: no line of 0.61 says who wrote it."""
    return False


_MAY_BE_PERSONS = {
    "claude-code": _is_persons_in_claude,
    "codex": _is_persons_in_codex,
    "gemini-cli": _is_persons_in_gemini,
}
TARGETS = {
    "hooks": Target(payloads(), hook_answers),
    "claude-transcripts": Target(transcripts("claude-code"), partial(reading, "claude-code")),
    "codex-transcripts": Target(transcripts("codex"), partial(reading, "codex")),
    "gemini-transcripts": Target(transcripts("gemini-cli"), partial(reading, "gemini-cli")),
}
