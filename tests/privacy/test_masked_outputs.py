"""Every output shows a planted credential masked; a new one fails here until it is tried."""

import base64
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.cli.main import COMMANDS
from mash_plugin.daemon.methods import METHODS
from mash_plugin.errors import MashError
from mash_plugin.protocol import tool_schemas
from tests.privacy.credential_home import CHAT, FILE, QUOTE, SECRET, SESSION, Planted, plant
from tests.support.daemons import NAMES, Place, event
from tests.support.mcp_servers import greeted

MARK = "[masked GitHub token]"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.environment["CLAUDE_CONFIG_DIR"] = str(place.home / ".claude")
        made = plant(place)
        place.start(CLAUDE_CONFIG_DIR=str(place.home / ".claude"))
        start = event("SessionStart", source="startup", session_id=SESSION, cwd=str(made.project))
        place.hook("session-start", start)
        place.call("view_health")  # which writes what hooks noted
        yield made
        place.close()


def requests_to(planted: Planted) -> dict[str, list[Json]]:
    """For every method requests that make it show what it can, or fail with what was asked."""
    return to_tools(planted) | to_people(planted) | to_care(planted)


def to_tools(planted: Planted) -> dict[str, list[Json]]:
    """What an agent asks."""
    scope, session = planted.scope, {"session_id": SESSION, "quote": QUOTE}
    decision, unknown = {"id": "planted-decision"}, {"id": SECRET}
    body = {"statement": f"Open {FILE} with {SECRET}.", "details": {"kind": "decision"}}
    change = {"action": "confirm", "expected": {**unknown, "revision": 1}, "evidence": [session]}
    return {
        "record": [
            {"operation_id": "o", "change": {**change, "evidence": [{**session, "quote": "x"}]}}
        ],
        "recall_records": [
            {"scope": scope, "include_review": True, "query": "token"},
            {"scope": scope, "file": FILE},
            {"scope": {"kind": "chat", **unknown}},
        ],
        "get_record": [{**decision, "history": True}, {"id": "planted-preference"}, unknown],
        "list_records": [{"include_inactive": True}, {"chat": CHAT}],
        "find_record_matches": [{"scope": scope, "body": body}],
        "get_extraction_checkpoint": [
            {"chat_id": CHAT, "scope": scope},
            {"chat_id": SECRET, "scope": scope},
        ],
        "extract_records": [
            {
                "operation_id": "e",
                "chat_id": SECRET,
                "scope": {"kind": "personal"},  # one with a credential is refused
                "source_fingerprint": "f",
                "records": [],
            }
        ],
        "search_chats": [{"query": "token"}, {"query": "mind", "scope": scope}],
        "get_chat": [{"id": CHAT}, {"id": CHAT, "message_id": planted.message}, unknown],
        "list_chats": [{}, {"scope": scope}],
    }


def to_people(planted: Planted) -> dict[str, list[Json]]:
    """What a person asks at the terminal or in the dashboard, and what reviews their chats."""
    scope = planted.scope
    decision, unknown = {"id": "planted-decision"}, {"id": SECRET}
    return {
        "log_events": [{"since": 0}],
        "terminal_show": [decision, unknown],
        "terminal_hidden": [{}],
        "terminal_change": [
            {"action": "withdraw", **decision},
            {"action": "undo", "id": "planted-fact"},
            {"action": "edit", **decision, "statement": "Open it."},
            {"action": "forget", **unknown},
        ],
        "terminal_withdraw": [{"session_id": SESSION}, {"session_id": SECRET}],
        "review_plan": [{"since": 0}, {"chat_id": SECRET}],
        "review_chat": [{"chat_id": CHAT}, {"chat_id": SECRET}],
        "review_failed": [{"chat_id": SECRET, "agent": "codex", "kind": "quota"}],
        "review_result": [{"operation_id": SECRET}],
        "view_records": [{"text": "token"}, {"scope": scope}],
        "view_days": [{"since": 0, "scope": scope}],
        "view_graph": [decision, unknown],
        "view_chats": [{}, {"scope": scope}],
        "view_chat": [{"id": CHAT}, {"id": CHAT, "message_id": planted.message}, unknown],
        "view_sessions": [{}, {"record": "planted-decision"}, {"record": SECRET}],
        "view_session": [{"id": SESSION}, unknown],
        "terminal_rebind": [{"old": f"/moved/{SECRET}", "new": "/moved/here"}],
    }


def to_care(planted: Planted) -> dict[str, list[Json]]:
    """What keeps a memory in order, moves it, or tells about it."""
    unknown = {"id": SECRET}
    return {
        "status": [{"cwd": str(planted.project)}],
        "forget_chat": [{"id": CHAT, "dry_run": True}, {"id": SECRET, "dry_run": True}],
        "forget_project": [
            {"path": str(planted.project), "dry_run": True},
            {"identity": SECRET, "dry_run": True},
        ],
        "restore_chat": [unknown],
        "session_ledger": [{"session": SECRET}],
        "pause": [{"what": "session", "session": SECRET}],
        "size": [{}],
        "status_line": [{"cwd": str(planted.project)}],
        "explain_recall": [
            {"cwd": str(planted.project), **more}
            for more in (
                *({}, {"file": FILE}, {"query": "token"}, {"file": SECRET}),
                {"query": "token", "group": True},
            )
        ],
        **{name: [{}] for name in ("ping", "heartbeats", "index", "index_progress", "drain")},
        "backup": [{}],
        "publish_now": [{}],
        "publication_status": [{"places": True}],
        **{name: [{}] for name in ("view_version", "view_health", "view_group")},
        "export": [{"path": str(planted.place.root / SECRET), "masked": True}],
        "import_export": [{"path": str(planted.place.root / f"no-{SECRET}")}],
        "import_memory": [
            {"source": "rules", "path": rules_of(planted), "dry_run": True},
            {"source": SECRET, "path": rules_of(planted)},
        ],
        "undo_import": [unknown],
        "transfer_progress": [{"run": SECRET}],
        "break_off_transfer": [{"run": SECRET}],
        "stop": [],  # says nothing but the number of its process
    }


def rules_of(planted: Planted) -> str:
    """A file of rules in a place whose name holds the credential."""
    path = planted.project / "CLAUDE.md"
    path.write_text(f"- Keep {SECRET} in mind.\n- Open the ledger first.\n")
    return str(path)


SHOW_NOTHING = frozenset(
    {"ping", "heartbeats", "index", "index_progress", "drain", "stop", "restore_chat", "backup"}
    | {"transfer_progress", "publish_now"}
    | {"review_result", "view_days", "view_version", "view_health", "view_group"}
)
"""Methods in whose replies no text stands that somebody wrote."""

COMMAND_LINES: dict[str, list[tuple[str, ...]]] = {
    "status": [("status", "--json")],
    "doctor": [("doctor",), ("doctor", "--json")],
    "bug-report": [("bug-report", "--out", "/dev/null/none")],
    "records": [("records",), ("records", "--all", "--json"), ("records", "token", "--here")],
    "recall": [
        *[("recall", "--explain"), ("recall", "token"), ("recall", "--file", FILE, "--json")],
        ("recall", "token", "--group"),
    ],
    "record": [("record", "planted-decision"), ("record", "planted-decision", "--json")],
    "log": [("log", "--since", "7d"), ("log", "--since", "7d", "--json")],
    "dash": [("dash", "--export", f"{SECRET}.html", "--select", f"q={SECRET}")],
    "search": [("search", "token"), ("search", "token", "--json", "--here")],
    "chats": [("chats",), ("chats", "--json"), ("chats", CHAT), ("chats", CHAT, "--json")],
    "forget": [("forget", CHAT, "--dry-run"), ("forget", CHAT, "--dry-run", "--json")],
    "forget-project": [("forget-project", ".", "--dry-run", "--json")],
    "projects": [("projects",), ("projects", "--json")],
    "group": [("group", "init", SECRET), ("group", "add", SECRET)],
    "undo": [("undo",), ("undo", "--json")],
    "call": [("call", "list_records", "{}"), ("call", "get_record", json.dumps({"id": SECRET}))],
    "index": [("index",)],
    "pause": [("pause", "--session", SECRET)],
    "statusline": [("statusline",)],
    "size": [("size",), ("size", "--json")],
    "backfill": [("backfill", "--dry-run", "--chat", CHAT), ("backfill", "--agent", SECRET)],
    "explain-prompt": [
        ("explain-prompt", f"From now on use {SECRET}."),
        ("explain-prompt", "--json", f"From now on use {SECRET}."),
    ],
    "publish": [("publish",), ("publish", "--status", "--json")],
    "rebind": [("rebind", f"/moved/{SECRET}", "/moved/here", "--dry-run")],
    "daemon": [("daemon", "status")],
    "export": [("export", "--masked", "--json", "--out", f"masked-{SECRET}.gz")],
    "import": [
        ("import", f"no-{SECRET}.gz"),
        ("import", "CLAUDE.md", "--from", "rules", "--dry-run", "--scope", f"chat:{SECRET}"),
    ],
    "capture-session": [
        (
            *("capture-session", "--agent", SECRET, "--session-id", SECRET, "--channel", SECRET),
            *("--source-kind", "cron", "--plain", "/dev/null", "--config-dir", "mm"),
        )
    ],
    "consolidate": [("consolidate", "--agent-id", SECRET, "--config-dir", "mm")],
    "demo": [("demo", "throughline")],
    "restore": [("restore", "--help")],
    "backup": [("backup", "--help")],
    "init": [("init", "--help")],
    "completion": [("completion", "bash")],
    "mcp": [("mcp", "--help")],
    "uninstall": [("uninstall", "--help")],
    "upgrade": [("upgrade", "--check")],
}
ASKING: dict[str, list[tuple[str, ...]]] = {
    "establish": [("establish", "planted-preference")],
    "edit": [("edit", "planted-decision", "--statement", "Open it.")],
    "withdraw": [("withdraw", "planted-decision"), ("withdraw", "--session", SESSION)],
    "forget-record": [("forget-record", "planted-decision")],
    "undo": [("undo", "planted-fact")],
    "forget": [("forget", CHAT)],
    "forget-project": [("forget-project", ".")],
}
"""Commands that ask a person; the answer here is no."""
QUIET = frozenset(
    {"statusline", "bug-report", "index", "daemon", "restore", "backup", "init", "mcp"}
    | {"uninstall", "completion", "upgrade", "capture-session", "consolidate", "demo", "publish"}
)
"""Commands that show no text that somebody wrote, beside the paths of our own folders."""


@pytest.mark.spec("R-177")
def test_every_method_and_every_command_is_tried_here(planted: Planted) -> None:
    assert requests_to(planted).keys() == set(METHODS)
    assert COMMAND_LINES.keys() | ASKING.keys() == set(COMMANDS)
    assert HOOK_EVENTS.keys() == set(NAMES)


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.row(54)
def test_a_method_shows_the_credential_masked(planted: Planted, method: str) -> None:
    for params in requests_to(planted)[method]:
        shown = reply_of(planted, method, params)
        assert_masked(shown, must_show=method not in SHOW_NOTHING)


@pytest.mark.spec("R-177")
def test_the_tools_over_mcp_show_it_masked(planted: Planted) -> None:
    names = {schema["name"] for schema in tool_schemas()}
    wanted = [(n, p) for n, many in requests_to(planted).items() if n in names for p in many]
    assert {name for name, _ in wanted} == names
    replies = over_mcp(planted, [*wanted, (SECRET, {})])
    assert len(replies) == len(wanted) + 1
    for reply in replies:
        assert_masked(reply)


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("line", [line for lines in COMMAND_LINES.values() for line in lines])
def test_a_command_shows_it_masked(planted: Planted, line: tuple[str, ...]) -> None:
    must_show = line[0] not in QUIET and line[:1] != ("doctor",)
    assert_masked(planted.mash(*line), must_show=must_show)


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("line", [line for lines in ASKING.values() for line in lines])
def test_a_command_that_asks_shows_it_masked(planted: Planted, line: tuple[str, ...]) -> None:
    shown = planted.mash(*line, answer="n\n")
    assert "Nothing was changed." in shown
    assert_masked(shown)


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_error_of_a_command_shows_it_masked(planted: Planted, command: str) -> None:
    for line in ((command, SECRET), (command, f"--{SECRET}"), (command, SECRET, SECRET, SECRET)):
        if command not in ("mcp", "uninstall", "init", "restore", "daemon") or line[1][0] == "-":
            assert_masked(planted.mash(*line), must_show=False)


HOOK_EVENTS: dict[str, list[tuple[str, Json]]] = {
    "session-start": [("SessionStart", {"source": source}) for source in ("startup", "compact")],
    "file-read": [("PreToolUse", {"tool_name": "Read"}), ("PostToolUse", {"tool_name": "Bash"})],
    "prompt-submit": [("UserPromptSubmit", {"prompt": f"From now on use {FILE}."})],
    "reminder-timer": [("Stop", {})],
}


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.row(54)
def test_a_hook_shows_it_masked(planted: Planted, name: str) -> None:
    for event_name, fields in HOOK_EVENTS[name]:
        # A hook is silent at its deadline, which a busy machine may reach.
        texts = [
            text for number in range(8) if (text := said(planted, name, event_name, fields, number))
        ]
        for text in texts:
            assert_masked(text)
        assert bool(texts) == (name != "reminder-timer")


def said(planted: Planted, name: str, event_name: str, fields: Json, number: int) -> str:
    """What a hook prints in a session of its own."""
    agent = "codex" if event_name == "PostToolUse" else "claude-code"
    tool = {"file_path": str(planted.project / FILE)}
    if agent == "codex":
        tool = {"command": f"cat {FILE}"}
    body = event(
        event_name,
        session_id=f"s-{event_name}-{fields.get('source')}-{number}",
        cwd=str(planted.project),
        **fields,
        **({"tool_input": tool} if "tool_name" in fields else {}),
    )
    ran = planted.place.hook(name, body, agent=agent)
    assert ran.is_harmless()
    return ran.out.decode()


@pytest.mark.spec("R-177")
def test_the_person_alone_decides_whether_and_what_else_is_masked(planted: Planted) -> None:
    config = Path(planted.place.paths.config_file)
    try:
        config.write_text("[privacy]\nmask_credentials = false\n")
        assert SECRET in reply_of(planted, "list_records", {})
        config.write_text("[privacy]\nextra_patterns = ['(?i)open src', '(', 'planted']\n")
        shown = reply_of(planted, "list_records", {})
        assert_masked(shown)
        assert "[masked]" in shown
        assert "Open src" not in shown
        assert '"id": "planted-' in shown  # what agents send back stays as it is
        for line in (("status",), ("doctor",)):
            told = " ".join(planted.mash(*line).split())
            assert "privacy.extra_patterns: '(' is no RE2 pattern" in told
    finally:
        config.unlink()


@pytest.mark.spec("R-176", "R-177")
def test_no_log_and_no_other_file_holds_it(planted: Planted) -> None:
    spoken = "qqflamingo on Friday"
    body = {"statement": "Use it.", "details": {"kind": "decision", "state": "proposed"}}
    said = {"session_id": SESSION, "quote": f"<private>{spoken}</private>"}
    scope = {"kind": "personal"}
    change: Json = {"action": "create", "scope": scope, "body": body, "evidence": [said]}
    assert "private_text" in reply_of(planted, "record", {"operation_id": "p", "change": change})
    change |= {"evidence": [{**said, "quote": SECRET}]}
    assert "credential_text" in reply_of(planted, "record", {"operation_id": "c", "change": change})
    paths = planted.place.paths
    files = [f for root in (paths.data, paths.run) for f in Path(root).rglob("*") if f.is_file()]
    assert Path(paths.log) in files
    assert [file for file in files if spoken.encode() in file.read_bytes()] == []
    holding = {file.name for file in files if SECRET.encode() in file.read_bytes()}
    assert {name.partition(".")[0].partition("-")[0] for name in holding} == {"records", "chats"}


def assert_masked(shown: str, *, must_show: bool = True) -> None:
    """Neither as it is nor in the forms that identities and JSON give it."""
    assert SECRET not in shown
    assert SECRET.lower() not in shown.lower()
    assert base64.b64encode(SECRET.encode()).decode() not in shown
    if must_show:
        assert MARK.lower() in " ".join(shown.lower().split()), shown


def reply_of(planted: Planted, method: str, params: Mapping[str, Any]) -> str:
    """The result or the error of one request, as text."""
    try:
        reply = planted.place.call(method, params, start=False)
    except MashError as error:
        reply = error.as_json()
    return json.dumps(reply, ensure_ascii=False)


def over_mcp(planted: Planted, calls: list[tuple[str, Json]]) -> list[str]:
    """What `mash mcp` answers to these calls."""
    with greeted(planted.place.environment, planted.project) as server:
        asked = [{"name": name, "arguments": arguments} for name, arguments in calls]
        replies = [server.ask(n, "tools/call", params) for n, params in enumerate(asked)]
    return [json.dumps(reply, ensure_ascii=False) for reply in replies]
