"""The readers: state between reads, broken lines, forgeries, and finding files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.agents import (
    AGENTS,
    agent_named,
    transcript_roots,
)
from mash_plugin.agents.events import Message, ReaderState, TranscriptFile, TranscriptReader
from mash_plugin.agents.lines import TOOL_TEXT
from mash_plugin.config import Settings, settings_of
from mash_plugin.paths import passwd_home

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
UUID = "4f472922-033b-4e5f-98a7-5cc82d51d92a"
THREAD = "01a22b44-f8d2-7432-8397-52ac3201a347"
TYPED = {"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"}


def open_new(agent: str, session: str = "s1", *, is_subagent: bool = False) -> TranscriptReader:
    file = TranscriptFile(agent, "/nowhere.jsonl", session, is_subagent)
    return AGENTS[agent].open_reader(file, ReaderState())


def read(reader: TranscriptReader, *rows: dict[str, Any]) -> list[Message]:
    lines = [json.dumps(row, separators=(",", ":")).encode() for row in rows]
    return [m for number, line in enumerate(lines) for m in reader.read_line(line, number)]


def claude_user(content: object, **marks: object) -> dict[str, Any]:
    row = {
        "type": "user",
        "uuid": UUID,
        "version": "2.1.332",
        "timestamp": "2026-11-30T07:10:23.238Z",
        "message": {"role": "user", "content": content},
    }
    return {**row, **marks}


def codex_meta(**fields: object) -> dict[str, Any]:
    payload = {"id": THREAD, "cwd": "/p", "thread_source": "user", "source": "cli", **fields}
    return {"type": "session_meta", "payload": payload}


def codex_turn(trigger: str | None) -> dict[str, Any]:
    payload = {"type": "task_started", "turn_attribution": {"turn_trigger": trigger}}
    return {"type": "event_msg", "payload": payload}


def codex_user(*parts: tuple[str, str, str], **fields: object) -> dict[str, Any]:
    """Parts are (text, kind, provenance)."""
    inner = {
        "content_item_kinds": [kind for _text, kind, _origin in parts],
        "content_item_metadata": [{"provenance": {"type": origin}} for _t, _k, origin in parts],
    }
    payload = {
        "type": "message",
        "role": "user",
        "id": "msg_" + THREAD,
        "content": [{"type": "input_text", "text": text} for text, _kind, _origin in parts],
        "internal_chat_message_metadata_passthrough": inner,
    }
    return {"type": "response_item", "payload": payload, **fields}


def codex_old_user(text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    payload = {"type": "message", "role": "user", "content": content}
    return {"type": "response_item", "payload": payload}


def codex_said(text: str, **fields: object) -> dict[str, Any]:
    payload = {"type": "user_message", "message": text, **fields}
    return {"type": "event_msg", "payload": payload}


@pytest.mark.parametrize("folder", ["claude", "codex", "gemini"])
@pytest.mark.spec("R-156")
def test_reading_in_two_halves_gives_what_reading_at_once_gives(folder: str) -> None:
    agent = {"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli"}[folder]
    for path in (FIXTURES / folder).glob("*.jsonl"):
        lines = path.read_bytes().splitlines()
        file = TranscriptFile(agent, str(path), path.stem)
        whole = AGENTS[agent].open_reader(file, ReaderState())
        expected = [m for n, line in enumerate(lines) for m in whole.read_line(line, n)]
        for cut in (1, len(lines) // 2, len(lines) - 1):
            state, found = ReaderState(), []
            for part in (range(cut), range(cut, len(lines))):
                reader = AGENTS[agent].open_reader(file, state)
                found += [m for n in part for m in reader.read_line(lines[n], n)]
                kept, state = json.dumps(vars(state)), ReaderState()
                vars(state).update(json.loads(kept))
            assert found == expected


@pytest.mark.parametrize("agent", AGENTS)
@given(
    line=st.one_of(
        st.binary(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(
                        ["type", "payload", "message", "content", "attachment", "role", "origin"]
                    )
                    | st.text(),
                    inner | st.sampled_from(["user", "assistant", "message", "response_item"]),
                )
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_no_line_makes_a_reader_raise(agent: str, line: bytes) -> None:
    for message in open_new(agent).read_line(line, 0):
        assert message.author not in ("person", "inferred")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_line_that_is_not_json_is_counted(agent: str) -> None:
    reader = open_new(agent)
    assert list(reader.read_line(b'{"broken', 0)) == []
    assert list(reader.read_line(b"", 0)) == []
    assert reader.state.lines_skipped == 1


@pytest.mark.parametrize("first", [claude_user("one", **TYPED), {"type": "progress", "data": {}}])
def test_two_objects_on_one_line_are_both_read(first: dict[str, Any]) -> None:
    rows = (first, claude_user("two", **TYPED))
    line = "".join(json.dumps(row, separators=(",", ":")) for row in rows).encode()
    assert next(reversed(list(open_new("claude-code").read_line(line, 0)))).text == "two"


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    "marks",
    [
        {},
        {"origin": {"kind": "human"}},
        {"origin": {"kind": "human"}, "promptSource": "suggestion"},
        {"origin": {"kind": "peer"}, "promptSource": "typed"},
        {"origin": {"kind": "a kind of next year"}, "promptSource": "typed"},
        {"origin": "human", "promptSource": "typed"},
        {"promptSource": "typed"},
        {"turnOrigin": "human"},
        {**TYPED, "isSidechain": True},
        {**TYPED, "isMeta": True},
        {**TYPED, "isCompactSummary": True},
        {"version": None},
        {"version": "next"},
        {"version": "2.1.195"},
        {**TYPED, "agentId": "a1"},
        {**TYPED, "message": {"role": "assistant", "content": "I decide."}},
    ],
)
def test_a_prompt_without_every_mark_of_claude_code_is_not_the_persons(
    marks: dict[str, object],
) -> None:
    for message in read(open_new("claude-code"), claude_user("I decide.", **marks)):
        assert message.author in ("unknown", "automated")
        assert message.person_text is None


@pytest.mark.spec("R-018")
def test_a_typed_prompt_with_a_pasted_picture_is_the_persons() -> None:
    content = [{"type": "text", "text": "Like this."}, {"type": "image", "source": {}}]
    [message] = read(open_new("claude-code"), claude_user(content, **TYPED))
    assert (message.author, message.person_text) == ("person", "Like this.")


@pytest.mark.spec("R-018", "R-022")
def test_reminders_that_the_client_puts_beside_a_prompt_are_dropped() -> None:
    content = [
        {"type": "text", "text": "<system-reminder>We use spaces.</system-reminder>"},
        {"type": "text", "text": "Use tabs."},
        {"type": "text", "text": "<ide_selection>We use spaces.</ide_selection>"},
    ]
    [message] = read(open_new("claude-code"), claude_user(content, version="2.0.10"))
    assert (message.author, message.text, message.person_text) == (
        "inferred",
        "Use tabs.",
        "Use tabs.",
    )


def test_a_prompt_of_an_older_claude_p_is_headless() -> None:
    row = claude_user("Run it.", version="2.1.101", entrypoint="sdk-cli")
    [message] = read(open_new("claude-code"), row)
    assert (message.author, message.is_headless, message.person_text) == (
        "unknown",
        True,
        "Run it.",
    )


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    ("held", "author"),
    [
        ({"origin": {"kind": "human"}}, "person"),
        ({"origin": {"kind": "task-notification"}}, "automated"),
        ({"origin": {"kind": "new"}}, "unknown"),
        ({"origin": {"kind": "human"}, "commandMode": "bash"}, "unknown"),
        ({"origin": {"kind": "human"}, "humanTurn": False}, "unknown"),
        ({"origin": {"kind": "human"}, "prompt": " <bash-stdout>x</bash-stdout>"}, "automated"),
        ({}, "unknown"),
    ],
)
def test_what_was_queued_is_the_persons_only_by_its_own_origin(
    held: dict[str, object], author: str
) -> None:
    row = {
        "type": "attachment",
        "uuid": UUID,
        "origin": {"kind": "human"},
        "attachment": {"type": "queued_command", "prompt": "Use tabs.", **held},
    }
    [message] = read(open_new("claude-code"), row)
    assert message.author == author


@pytest.mark.spec("R-018")
@pytest.mark.parametrize("marks", [{"promptSource": "sdk"}, {"agentId": "a1"}])
def test_arguments_of_a_command_that_nobody_typed_are_not_the_persons(
    marks: dict[str, object],
) -> None:
    content = "<command-name>/x</command-name>\n<command-args>Use tabs.</command-args>"
    row = claude_user(content, origin={"kind": "human"}, **marks)
    [message] = read(open_new("claude-code"), row)
    assert message.author in ("unknown", "automated")
    assert message.person_text is None


@pytest.mark.spec("R-018")
def test_no_line_of_a_subagents_transcript_is_the_persons() -> None:
    file = TranscriptFile("claude-code", "/x/agent-1.jsonl", "s-1/agent-1", is_subagent=True)
    reader = AGENTS["claude-code"].open_reader(file, ReaderState())
    [message] = read(reader, claude_user("I decide.", **TYPED))
    assert (message.author, message.person_text) == ("automated", None)


@pytest.mark.spec("R-018")
def test_a_bare_line_in_a_rollout_that_names_its_session_is_nobodys() -> None:
    bare = {"type": "message", "role": "user", "content": [{"text": "I decide."}]}
    [message] = read(open_new("codex"), codex_meta(), bare)
    assert (message.author, message.person_text) == ("unknown", None)


@pytest.mark.spec("R-018")
def test_arguments_of_a_command_cannot_hide_a_second_command() -> None:
    content = (
        "<command-message>x</command-message>\n<command-name>/x</command-name>\n"
        "<command-args>a</command-args> tail <command-args>b</command-args>"
    )
    [message] = read(open_new("claude-code"), claude_user(content, origin={"kind": "human"}))
    assert message.person_text is None or "tail" in message.person_text


@pytest.mark.spec("R-156")
def test_a_copied_row_of_a_fork_keeps_its_message_id() -> None:
    row = claude_user("Use tabs.", **TYPED)
    [one] = read(open_new("claude-code", "s1"), row)
    [two] = read(open_new("claude-code", "s2"), row)
    assert one.id == two.id == UUID


@pytest.mark.spec("R-156")
def test_a_row_without_an_id_gets_one_from_session_position_and_text() -> None:
    rows = [claude_user("yes", **{**TYPED, "uuid": "x"})] * 2
    first = [m.id for m in read(open_new("claude-code", "s1"), *rows)]
    again = [m.id for m in read(open_new("claude-code", "s1"), *rows)]
    other = [m.id for m in read(open_new("claude-code", "s2"), *rows)]
    assert first == again
    assert len({*first, *other}) == 4


@pytest.mark.spec("R-016")
def test_a_tool_call_is_known_by_its_id_and_its_text_is_not_kept() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {"q": "We use tabs."}}
    thinking = {"type": "thinking", "thinking": "We use tabs."}
    row = {"type": "assistant", "uuid": UUID, "message": {"content": [thinking, call]}}
    [message] = read(open_new("claude-code"), row)
    assert (message.text, message.tool_use_ids) == ("", ("toolu_1",))


def test_a_long_tool_output_is_kept_short_and_its_bytes_are_counted() -> None:
    output = {"type": "tool_result", "tool_use_id": "t", "content": "é" * 1000}
    [message] = read(open_new("claude-code"), claude_user([output]))
    assert message.role == "tool"
    assert (len(message.text), message.bytes_left_out) == (TOOL_TEXT, 2 * (1000 - TOOL_TEXT))


@pytest.mark.spec("R-176")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_private_span_over_two_parts_is_in_no_text(agent: str) -> None:
    parts = ["Yes. <private>the ledger", "moves</private> Go on."]
    reader = open_new(agent)
    blocks = [{"type": "text", "text": text} for text in parts]
    rows = {
        "claude-code": [claude_user(blocks, **TYPED)],
        "codex": [
            codex_meta(),
            codex_turn("user"),
            codex_user(*((text, "user.text", "user") for text in parts)),
        ],
        "gemini-cli": [{"type": "user", "id": UUID, "content": [{"text": p} for p in parts]}],
    }
    [message] = read(reader, *rows[agent])
    assert message.author == ("unknown" if agent == "gemini-cli" else "person")
    for text in (message.text, message.person_text, reader.state.title):
        assert text is not None
        assert "ledger" not in text
        assert "moves" not in text
    assert message.private_text == ("the ledger\nmoves",)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "ai-title", "aiTitle": "Move <private>the ledger</private> out"},
        {"type": "summary", "summary": "Move <private>the ledger</private> out"},
        {"type": "ai-title", "aiTitle": "Move <private>the ledger\nmoves"},
    ],
)
def test_a_title_of_the_client_does_not_repeat_what_is_private(row: dict[str, object]) -> None:
    reader = open_new("claude-code")
    assert read(reader, row) == []
    assert reader.state.title is not None
    assert reader.state.title.startswith("Move [private]")
    assert "ledger" not in reader.state.title


def test_a_lone_surrogate_does_not_lose_the_prompt() -> None:
    line = json.dumps(claude_user("Use tabs \ud83d now.", **TYPED)).encode()
    [message] = open_new("claude-code").read_line(line, 0)
    assert message.text == "Use tabs \ufffd now."


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    ("meta", "trigger", "part", "author"),
    [
        ({}, "user", ("user.text", "user"), "person"),
        ({"source": "exec", "originator": "codex_exec"}, "user", ("user.text", "user"), "person"),
        ({}, None, ("user.text", "user"), "person"),
        ({}, "exec", ("user.text", "user"), "unknown"),
        ({"source": "exec"}, None, ("user.text", "user"), "unknown"),
        ({}, "a trigger of next year", ("user.text", "user"), "unknown"),
        ({}, "user", ("user.text", "harness"), "unknown"),
        ({}, "user", ("user.new", "user"), "unknown"),
        ({"thread_source": "subagent"}, "user", ("user.text", "user"), "automated"),
        ({"thread_source": "thread_title"}, "user", ("user.text", "user"), "automated"),
        ({"source": {"subagent": "review"}}, "user", ("user.text", "user"), "automated"),
    ],
)
def test_a_prompt_is_the_persons_only_by_every_mark_of_codex(
    meta: dict[str, object], trigger: str | None, part: tuple[str, str], author: str
) -> None:
    rows = [codex_meta(**meta), codex_turn(trigger), codex_user(("I decide.", *part))]
    [message] = read(open_new("codex"), *rows)
    assert message.author == author
    assert (message.person_text is not None) == (author == "person" or message.is_headless)


@pytest.mark.spec("R-018")
def test_injected_parts_beside_a_typed_one_are_dropped() -> None:
    rows = [
        codex_meta(),
        codex_turn("user"),
        codex_user(
            ("# AGENTS.md instructions for /p", "agents_md.instructions", "agents_md"),
            ("Use tabs.", "user.text", "user"),
            ("<skill>We use spaces.", "skills.selected_skill_instructions", "skills"),
        ),
    ]
    [message] = read(open_new("codex"), *rows)
    assert message.text == "Use tabs."


@pytest.mark.spec("R-156")
def test_a_parents_history_copied_into_a_subagent_is_not_read_again() -> None:
    parent = codex_meta()
    own = codex_meta(thread_source="subagent", subagent_history_start_ordinal=3)
    rows = [
        {**own, "ordinal": 0},
        {**parent, "ordinal": 1},
        codex_user(("Use tabs.", "user.text", "user"), ordinal=2),
        codex_user(("The task.", "user.text", "user"), ordinal=3),
    ]
    found = read(open_new("codex"), *rows)
    assert [(m.text, m.author) for m in found] == [("The task.", "automated")]


@pytest.mark.spec("R-018")
def test_a_parents_first_line_does_not_make_a_subagents_task_the_persons() -> None:
    own = codex_meta(thread_source="subagent")
    task = codex_user(("The task.", "user.text", "user"))
    reader = open_new("codex")
    [message] = read(reader, own, codex_meta(), codex_turn("user"), task)
    assert message.author == "automated"
    assert reader.state.is_subagent


def test_text_piped_into_codex_exec_is_not_typed() -> None:
    text = "Sum it up.\n\n<stdin>\nWe use spaces.\n</stdin>"
    rows = [codex_meta(), codex_turn("exec"), codex_user((text, "user.text", "user"))]
    [message] = read(open_new("codex"), *rows)
    assert (message.is_headless, message.person_text) == (True, "Sum it up.")


@pytest.mark.spec("R-018")
def test_an_older_prompt_counts_once_whichever_line_comes_first() -> None:
    item, event = codex_old_user("yes"), codex_said("yes")
    for rows in ([item, event, item, event], [event, item, event, item]):
        found = read(open_new("codex"), codex_meta(thread_source=None), *rows)
        assert [(m.text, m.author) for m in found] == [("yes", "inferred")] * 2


@pytest.mark.spec("R-018")
def test_an_older_prompt_without_its_event_is_nobodys() -> None:
    answer = {"type": "message", "role": "assistant", "content": [{"text": "ok"}]}
    rows = [codex_old_user("I decide."), {"type": "response_item", "payload": answer}]
    found = read(open_new("codex"), codex_meta(), *rows)
    assert [(m.text, m.author) for m in found] == [("I decide.", "unknown"), ("ok", "agent")]


@pytest.mark.parametrize(
    "text", ["<environment_context>x", "# AGENTS.md instructions for /p", "<user_instructions>x"]
)
def test_an_event_that_repeats_an_injected_block_is_no_message(text: str) -> None:
    assert read(open_new("codex"), codex_meta(), codex_said(text)) == []
    assert read(open_new("codex"), codex_meta(), codex_said("x", kind="user_instructions")) == []


def test_the_first_line_of_a_rollout_tells_project_remote_and_parent() -> None:
    git = {"repository_url": "git@example.org:a/b.git"}
    reader = open_new("codex")
    read(reader, codex_meta(git=git, thread_source="subagent", parent_thread_id="parent"))
    state = reader.state
    assert (state.project_path, state.remote_url, state.parent_session) == (
        "/p",
        "git@example.org:a/b.git",
        "parent",
    )


def test_transcripts_of_claude_code_are_found_with_their_subagents(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    (project / "s1" / "subagents").mkdir(parents=True)
    (project / "s1" / "tool-results").mkdir()
    for name in ("s1.jsonl", "agent-old.jsonl", "s1/subagents/agent-a1.jsonl", "notes.txt"):
        (project / name).write_text("")
    (project / "s1" / "subagents" / "agent-a1.meta.json").write_text("")
    (project / "link.jsonl").symlink_to(project / "s1.jsonl")
    claude = AGENTS["claude-code"]
    found = {(f.session_id, f.is_subagent) for f in claude.find_transcripts(str(tmp_path))}
    assert found == {("s1", False), ("agent-old", True), ("s1/agent-a1", True)}
    for session, is_subagent in found:
        file = claude.find_session(str(tmp_path), session)
        assert file is not None
        assert (file.session_id, file.is_subagent) == (session, is_subagent)


def test_rollouts_are_found_by_day_archived_or_not_and_compressed_ones_counted(
    tmp_path: Path,
) -> None:
    day = tmp_path / "sessions" / "2026" / "11" / "30"
    day.mkdir(parents=True)
    (tmp_path / "archived_sessions").mkdir()
    other, old, packed = (THREAD[:-1] + end for end in "890")
    (day / f"rollout-2026-11-30T07-04-30-{THREAD}.jsonl").write_text("")
    (day / f"rollout-2026-11-30T07-04-30-{packed}.jsonl.zst").write_text("")
    moved = day.parent / "01"
    moved.mkdir()
    (moved / f"rollout-2026-11-01T07-04-30-{old}.jsonl").write_text("")
    archived = tmp_path / "archived_sessions" / f"rollout-2026-11-30T07-04-30-{other}.jsonl"
    archived.write_text("")
    codex = AGENTS["codex"]
    found = [file.session_id for file in codex.find_transcripts(str(tmp_path))]
    assert sorted(found) == sorted([THREAD, other, old])
    for session in found:
        file = codex.find_session(str(tmp_path), session)
        assert file is not None
        assert file.session_id == session
    assert codex.find_session(str(tmp_path), packed) is None
    assert codex.count_unread(str(tmp_path)) == 1
    assert AGENTS["claude-code"].count_unread(str(tmp_path)) == 0


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.spec("R-015")
@pytest.mark.parametrize("session", ["", "..", "../s", "a/../../s", "/etc/passwd", "s\0", "*", "é"])
def test_a_session_id_never_becomes_a_path_unchecked(
    agent: str, session: str, tmp_path: Path
) -> None:
    (tmp_path / "projects" / "p").mkdir(parents=True)
    (tmp_path / "projects" / "s.jsonl").write_text("")
    assert AGENTS[agent].find_session(str(tmp_path), session) is None


def test_a_missing_root_holds_no_transcripts(tmp_path: Path) -> None:
    for agent in AGENTS.values():
        assert list(agent.find_transcripts(str(tmp_path / "none"))) == []


def test_roots_are_the_clients_own_and_those_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(
        roots=(("claude", (str(tmp_path), str(tmp_path))), ("codex", ("relative",)))
    )
    home = Path(passwd_home()).resolve()
    assert transcript_roots(settings, {"HOME": "/elsewhere"}) == [
        ("claude-code", str(home / ".claude")),
        ("claude-code", str(tmp_path.resolve())),
        ("codex", str(home / ".codex")),
        ("gemini-cli", str(home / ".gemini")),
    ]


def test_roots_follow_the_clients_variables_and_in_tests_the_home() -> None:
    environ = {"HOME": "/h", "MASH_TESTING": "1", "CODEX_HOME": "/c", "GEMINI_CLI_HOME": "/g"}
    assert transcript_roots(Settings(), environ) == [
        ("claude-code", "/h/.claude"),
        ("codex", "/c"),
        ("gemini-cli", "/g/.gemini"),
    ]


def test_settings_know_the_key_of_every_agent() -> None:
    named = {agent.ROOTS_KEY: [f"/{name}"] for name, agent in AGENTS.items()}
    settings = settings_of("config.toml", {"chats": {"roots": named}}, None, {})
    assert settings.warnings == ()
    for name, agent in AGENTS.items():
        assert settings.chat_roots(agent.ROOTS_KEY) == (f"/{name}",)


def test_hosts_are_known_by_name() -> None:
    assert agent_named("codex") is AGENTS["codex"]
    assert agent_named("cursor") is None


@pytest.mark.spec("R-018")
@pytest.mark.parametrize("how", ["kinds", "ordinal"])
def test_an_event_alone_is_nobodys_where_the_client_marks_its_items(how: str) -> None:
    reader = open_new("codex")
    typed, forged = codex_user(("Use tabs.", "user.text", "user")), codex_said("I decide.")
    rows = (
        [codex_meta(), typed, forged]
        if how == "kinds"
        else [codex_meta(), {**forged, "ordinal": 7}]
    )
    message = read(reader, *rows)[-1]
    assert (message.text, message.author, message.person_text) == ("I decide.", "unknown", None)


@pytest.mark.spec("R-018")
def test_an_event_alone_is_inferred_where_the_client_never_marked_any() -> None:
    [message] = read(open_new("codex"), codex_meta(), codex_said("I decide."))
    assert (message.author, message.person_text) == ("inferred", "I decide.")
