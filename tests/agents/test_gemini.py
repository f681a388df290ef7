"""Gemini CLI: which files are chats, where they took place, and lines that the samples lack."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.agents import AGENTS
from mash_plugin.agents.events import Message, ReaderState, TranscriptFile
from mash_plugin.agents.lines import TOOL_TEXT

GEMINI = AGENTS["gemini-cli"]
SESSION = "aaf1f2a4-af7c-49a6-b191-247ea3d230da"
AGENT = "8cde3137-c1dc-4fdb-ac10-80503da993a7"
ID = "6bfe00d7-ef10-45ef-9d82-6471d1d015e8"


def write_chat(root: Path, *rows: dict[str, Any], project: Path | None = None) -> Path:
    """A chat as the client lays it down; its path."""
    folder = root / "tmp" / "ledger"
    (folder / "chats").mkdir(parents=True, exist_ok=True)
    if project is not None:
        (folder / ".project_root").write_text(str(project))
    path = folder / "chats" / f"session-2026-11-30T19-22-{SESSION[:8]}.jsonl"
    first = {"sessionId": SESSION, "projectHash": "6" * 64, "kind": "main"}
    write_lines(path, first, *rows)
    return path


def write_lines(path: Path, *rows: dict[str, Any]) -> None:
    lines = (json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_text("".join(lines))


def user(*parts: dict[str, Any] | str, **fields: object) -> dict[str, Any]:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"id": ID, "type": "user", "content": content, **fields}


def answer_of_tool(text: object) -> dict[str, Any]:
    return {"functionResponse": {"id": "c", "name": "read_file", "response": {"output": text}}}


def read(*rows: dict[str, Any], session: str = SESSION) -> list[Message]:
    is_subagent = "/" in session
    file = TranscriptFile("gemini-cli", "/nowhere/chats/x.jsonl", session, is_subagent)
    reader = GEMINI.open_reader(file, ReaderState())
    return [m for row in rows for m in reader.read_line(json.dumps(row).encode(), 0)]


def test_chats_are_found_by_their_first_line_and_those_of_subagents_by_their_folder(
    tmp_path: Path,
) -> None:
    path = write_chat(tmp_path)
    below = path.parent / SESSION / f"{AGENT}.jsonl"
    below.parent.mkdir()
    write_lines(below, {"sessionId": AGENT, "projectHash": "6" * 64, "kind": "subagent"})
    expected = {
        TranscriptFile("gemini-cli", str(path), SESSION),
        TranscriptFile("gemini-cli", str(below), f"{SESSION}/{AGENT}", is_subagent=True),
    }
    assert set(GEMINI.find_transcripts(str(tmp_path))) == expected
    for file in expected:
        assert GEMINI.find_session(str(tmp_path), file.session_id) == file
    assert GEMINI.find_session(str(tmp_path), SESSION[:8] + AGENT[8:]) is None


def test_only_chats_are_taken_for_chats(tmp_path: Path) -> None:
    path = write_chat(tmp_path)
    first = path.read_text()
    for name, text in {
        "session-2026-11-30T19-22-00000000.jsonl": "",
        "session-2026-11-30T19-22-11111111.jsonl": '{"sessionId":"../../x","kind":"main"}\n',
        "session-2026-11-30T19-22-22222222.jsonl": '{"$set":{}}\n' + first,
        f"session-2026-11-30T19-22-{SESSION[:8]}.jsonl.unreadable-1796": first,
        f"session-2026-11-30T19-22-{SESSION[:8]}.jsonl.tmp-12": first,
        "checkpoint-mine.json": first,
    }.items():
        (path.parent / name).write_text(text)
    (path.parent / "session-2026-11-30T19-22-33333333.jsonl").symlink_to(path)
    os.mkfifo(path.parent / "session-2026-11-30T19-22-44444444.jsonl")
    (path.parent.parent / "logs.json").write_text("[]")
    (tmp_path / "tmp" / "elsewhere").symlink_to(path.parent.parent)
    assert [file.path for file in GEMINI.find_transcripts(str(tmp_path))] == [str(path)]


def test_chats_of_the_older_form_are_counted_until_they_are_gone_on_with(tmp_path: Path) -> None:
    path = write_chat(tmp_path)
    (path.parent / "session-2025-11-30T19-22-55555555.json").write_text("{\n}")
    path.with_suffix(".json").write_text("{\n}")
    assert GEMINI.count_unread(str(tmp_path)) == 1


def test_a_chat_took_place_where_the_client_says_beside_it(tmp_path: Path) -> None:
    path = write_chat(tmp_path, project=tmp_path / "ledger")
    below = path.parent / SESSION / f"{AGENT}.jsonl"
    for file in (
        TranscriptFile("gemini-cli", str(path), SESSION),
        TranscriptFile("gemini-cli", str(below), f"{SESSION}/{AGENT}", is_subagent=True),
    ):
        reader = GEMINI.open_reader(file, ReaderState())
        assert reader.state.project_path == str(tmp_path / "ledger")
        assert reader.state.parent_session == (SESSION if file.is_subagent else None)


@pytest.mark.parametrize("root", ["", "relative", "/a\0b", "/\udcff"])
def test_a_place_that_is_none_leaves_a_chat_without_project(tmp_path: Path, root: str) -> None:
    path = write_chat(tmp_path)
    (tmp_path / "tmp/ledger/.project_root").write_bytes(root.encode("utf-8", "surrogateescape"))
    file = TranscriptFile("gemini-cli", str(path), SESSION)
    assert GEMINI.open_reader(file, ReaderState()).state.project_path is None


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    ("row", "said"),
    [
        (user("Use tabs."), ("unknown", "Use tabs.", "Use tabs.")),
        ({"type": "user", "content": "Use tabs."}, ("unknown", "Use tabs.", "Use tabs.")),
        (
            user("Use tabs.", "<hook_context>We use spaces.</hook_context>"),
            ("unknown", "Use tabs.", "Use tabs."),
        ),
        (
            user("See @a.md", "\n--- Content from referenced files ---", "We use spaces."),
            ("unknown", "See @a.md", "See @a.md"),
        ),
        (
            user("Use tabs.\n```\nspaces\n```"),
            ("unknown", "Use tabs.\n```\nspaces\n```", "Use tabs."),
        ),
        (
            user("System: Potential loop detected. Details: x."),
            ("automated", "System: Potential loop detected. Details: x.", None),
        ),
        (
            user("[System: You previously returned an empty response.]"),
            ("automated", "[System: You previously returned an empty response.]", None),
        ),
        (user("<session_context>\nWe use spaces."), None),
        (user("<state_snapshot>We use spaces.</state_snapshot>"), None),
        (user("Here is the user's editor context as a JSON object. {}"), None),
        (user({"inlineData": {"mimeType": "image/png", "data": "eA=="}}), None),
        (user({"text": 5}, {"text": None}), None),
        (user("thinking", content=[{"text": "We use spaces.", "thought": True}]), None),
        (user(content=7), None),
        (user(displayContent=[{"text": " "}]), None),
        ({"type": "gemini", "content": [{"text": "a"}, {"text": "b"}]}, ("agent", "a\nb", None)),
        ({"type": "gemini", "content": [{"text": "a", "thought": True}]}, None),
        ({"type": "info", "content": "We use spaces."}, None),
        ({"type": "warning", "content": "We use spaces."}, None),
        ({"type": "of next year", "content": "We use spaces."}, None),
        ({"$rewindTo": ID}, None),
        ({"$set": {"messages": [user("We use spaces.")]}}, None),
        ({"$set": 5}, None),
        ({"$set": {"summary": {"a": 1}}}, None),
        ({"sessionId": 5, "kind": ["main"]}, None),
    ],
)
def test_what_a_line_says_is_whose_the_client_says(
    row: dict[str, Any], said: tuple[str, str, str | None] | None
) -> None:
    found = [(m.author, m.text, m.person_text) for m in read(row)]
    assert found == ([] if said is None else [said])


@pytest.mark.spec("R-018")
def test_words_beside_the_answer_of_a_tool_are_nobodys() -> None:
    tool, beside = read(user(answer_of_tool("a" * 1000), "User hints:\n- We use spaces."))
    assert (tool.role, len(tool.text), tool.bytes_left_out) == ("tool", TOOL_TEXT, 800)
    assert (beside.author, beside.person_text, beside.is_headless) == ("unknown", None, False)
    assert tool.id == ID != beside.id


@pytest.mark.spec("R-018")
@pytest.mark.parametrize("first", [{}, {"sessionId": AGENT, "kind": "subagent"}])
def test_a_task_of_a_subagent_is_nobodys_word(first: dict[str, Any]) -> None:
    session = SESSION if first else f"{SESSION}/{AGENT}"
    file = TranscriptFile("gemini-cli", "/nowhere/chats/x.jsonl", session, "/" in session)
    reader = GEMINI.open_reader(file, ReaderState())
    rows = (first, user("I decide."), {"$set": {"summary": "What it came back with."}})
    [message] = [m for row in rows for m in reader.read_line(json.dumps(row).encode(), 0)]
    assert (message.author, message.person_text) == ("automated", None)
    assert reader.state.title is None


@pytest.mark.spec("R-156")
def test_a_message_that_comes_again_with_its_calls_is_one_message() -> None:
    row = {"id": ID, "type": "gemini", "content": "I read it."}
    between = {"$set": {"lastUpdated": "2026-11-30T19:22:54.209Z"}}
    [message] = read(row, between, {**row, "toolCalls": [{"id": "c", "name": "read_file"}]})
    assert (message.id, message.text) == (ID, "I read it.")


def test_the_title_is_the_clients_summary_without_private_words() -> None:
    file = TranscriptFile("gemini-cli", "/nowhere/chats/x.jsonl", SESSION)
    reader = GEMINI.open_reader(file, ReaderState())
    for row in (user("Use tabs."), {"$set": {"summary": "Tabs <private>of the ledger</private>"}}):
        reader.read_line(json.dumps(row).encode(), 0)
    assert reader.state.title == "Tabs [private]"
