"""The tools over real stdio, as both clients speak to them."""

import ast
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mash_plugin
from mash_plugin.client import call
from mash_plugin.paths import find_paths
from tests.support.mcp_servers import Server
from tests.support.polling import eventually
from tests.support.processes import daemons_of, end_processes_of

TOOLS = {
    "record",
    "recall_records",
    "get_record",
    "list_records",
    "find_record_matches",
    "get_extraction_checkpoint",
    "extract_records",
    "search_chats",
    "get_chat",
    "list_chats",
}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.332"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_the_handshakes_of_both_clients_are_answered_in_their_own_version(
    open_server: Callable[[], Server], version: str
) -> None:
    server = open_server()
    answer = server.shake_hands(version, "claude-code")["result"]
    assert answer["protocolVersion"] == version
    assert answer["serverInfo"]["name"] == "mash"
    tools = server.ask(1, "tools/list", {})["result"]["tools"]
    assert {tool["name"] for tool in tools} == TOOLS


def test_a_client_that_opens_with_discovery_is_served_without_a_handshake(
    open_server: Callable[[], Server],
) -> None:
    server = open_server()
    found = server.ask("d", "server/discover", {"_meta": MODERN})["result"]
    assert "recall_records" in found["instructions"]
    tools = server.ask(1, "tools/list", {"_meta": MODERN})["result"]["tools"]
    assert {tool["name"] for tool in tools} == TOOLS
    result = server.call("list_chats", {}, **MODERN, **{"claudecode/toolUseId": "toolu_1"})
    assert result["structuredContent"]["chats"] == []


@pytest.mark.spec("R-002", "R-140")
def test_the_instructions_are_short_name_every_tool_and_carry_the_caution(
    open_server: Callable[[], Server],
) -> None:
    text = open_server().shake_hands("2025-06-18", "x")["result"]["instructions"]
    assert len(text) < 1500
    assert all(name in text for name in TOOLS)
    assert "not proof" in text
    assert not {"verified", "proven", "confirmed true"} & set(text.lower().split())


def test_every_tool_says_what_it_does_to_the_store(server: Server) -> None:
    for tool in server.ask(1, "tools/list", {})["result"]["tools"]:
        assert tool["annotations"] == {
            "readOnlyHint": tool["name"] not in ("record", "extract_records"),
            "destructiveHint": tool["name"] == "record",
            "idempotentHint": True,
            "openWorldHint": False,
        }
        assert tool["title"]
        assert tool["description"]
        assert "$ref" not in json.dumps(tool)
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf"} & set(schema)


@pytest.mark.spec("R-002", "R-071", "R-082", "R-111")
def test_the_descriptions_carry_their_guidance(server: Server) -> None:
    tools = server.ask(1, "tools/list", {})["result"]["tools"]
    text = {tool["name"]: tool["description"] for tool in tools}
    assert "list_records" in text["recall_records"]
    assert "supersede" in text["record"]
    assert "source discussion" in text["record"]
    for description in text.values():
        assert not {"verified", "proven"} & set(description.lower().split())


def test_a_result_is_structured_and_the_same_as_compact_text(server: Server) -> None:
    result = server.call("recall_records", {"scope": {"kind": "personal"}})
    assert result["isError"] is False
    (block,) = result["content"]
    assert json.loads(block["text"]) == result["structuredContent"]
    assert ": " not in block["text"]
    assert result["structuredContent"]["records"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_record", {"id": "unknown"}, "not_found"),
        ("get_chat", {"id": "unknown"}, "chat_not_found"),
        ("recall_records", {}, "invalid_argument"),
        ("recall_records", {"scope": {"kind": "personal"}, "limit": "8"}, "invalid_argument"),
        ("record", {"operation_id": "1", "change": {"action": "dance"}}, "invalid_argument"),
        ("search_chats", {"query": "x", "surplus": 1}, "invalid_argument"),
        ("find_record_matches", {"scope": {"kind": "personal"}}, "invalid_argument"),
        (
            "get_extraction_checkpoint",
            {"chat_id": "unknown", "scope": {"kind": "personal"}},
            "chat_not_found",
        ),
    ],
)
def test_an_expected_failure_is_a_result_with_its_code(
    server: Server, tool: str, arguments: dict[str, Any], code: str
) -> None:
    result = server.call(tool, arguments)
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert error["code"] == code
    assert error["message"]
    assert json.loads(result["content"][0]["text"]) == {"error": error}


@pytest.mark.row(59)
def test_an_unknown_tool_and_missing_parameters_are_protocol_errors(server: Server) -> None:
    answer = server.ask(1, "tools/call", {"name": "forget_all", "arguments": {}})
    assert answer["error"]["code"] == -32602
    assert "recall_records" in answer["error"]["message"]
    assert server.ask(2, "tools/call", {})["error"]["code"] == -32602
    assert server.ask(3, "tools/dance", {})["error"]["code"] == -32601


@pytest.mark.row(59)
def test_noise_on_the_wire_does_not_end_the_server(server: Server) -> None:
    server.send_bytes(b"this is no JSON\n\n[]\n{}\n\xff\xfe\n")
    server.send_bytes(b'[{"jsonrpc":"2.0","id":"batched","method":"ping"}]\n')
    server.send({"method": "notifications/cancelled", "params": {"requestId": "nobody"}})
    assert server.call("list_chats", {})["isError"] is False


@pytest.mark.parametrize(
    "query", ["\\ud83d", "cut \\uDE00", "\\u0000", "用户身份", "\\ud83d\\ude00", "\\\\ud83d"]
)
@pytest.mark.row(59)
def test_text_of_any_kind_is_answered_not_dropped(server: Server, query: str) -> None:
    arguments = f'{{"name":"search_chats","arguments":{{"query":"{query}"}}}}'
    request = f'{{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{arguments}}}\n'
    server.send_bytes(request.encode())
    assert server.answer("odd")["result"]["structuredContent"]


@pytest.mark.row(59)
def test_a_thousand_calls_at_once_are_all_answered(server: Server) -> None:
    for number in range(1000):
        params = {"name": "list_chats", "arguments": {"limit": 1}}
        server.send({"id": number, "method": "tools/call", "params": params})
    for number in range(1000):
        assert server.answer(number)["result"]["isError"] is False


@pytest.mark.row(59)
def test_the_server_ends_when_its_client_does(open_server: Callable[[], Server]) -> None:
    server = open_server()
    server.shake_hands("2025-06-18", "x")
    params = {"name": "list_chats", "arguments": {}}
    server.send({"id": 1, "method": "tools/call", "params": params})
    assert server.close() == 0


@pytest.mark.row(59)
def test_the_server_ends_with_its_client_even_while_a_call_hangs(
    environment: dict[str, str], tmp_path: Path
) -> None:
    own = {**environment, "MASH_HOME": str(tmp_path / "mash")}
    server = Server(own, tmp_path)
    server.shake_hands("2025-06-18", "x")
    server.call("list_chats", {})
    (daemon,) = daemons_of(tmp_path / "mash")
    try:
        os.kill(daemon, signal.SIGSTOP)
        params = {"name": "list_chats", "arguments": {}}
        server.send({"id": 1, "method": "tools/call", "params": params})
        server.send({"id": 2, "method": "ping"})
        server.answer(2)
        begin = time.monotonic()
        assert server.close() == 0
        assert time.monotonic() - begin < 10
    finally:
        os.kill(daemon, signal.SIGCONT)
        server.end()
        end_processes_of(tmp_path / "mash")


def test_a_connected_client_keeps_the_daemon_and_a_departed_one_lets_it_go(
    environment: dict[str, str], open_server: Callable[[], Server]
) -> None:
    paths = find_paths(environment)

    def leases() -> int:
        return int(call("status", {}, paths=paths)["load"]["leases"])

    before = leases()
    first, second = open_server(), open_server()
    for server in (first, second):
        server.shake_hands("2025-06-18", "x")
    eventually(lambda: leases() == before + 2, "the leases do not come")
    assert first.close() == 0
    assert second.close() == 0
    eventually(lambda: leases() == before, "the leases do not go")


def test_a_daemon_that_cannot_start_is_a_result_that_says_so(
    environment: dict[str, str], tmp_path: Path
) -> None:
    blocked = tmp_path / "mash"
    blocked.mkdir()
    (blocked / "run").write_text("a file where the folder should be")
    server = Server({**environment, "MASH_HOME": str(blocked)}, tmp_path)
    try:
        server.shake_hands("2025-06-18", "x")
        result = server.call("list_chats", {})
        assert result["isError"] is True
        error = result["structuredContent"]["error"]
        assert error["code"] in ("daemon_unavailable", "unsafe_place")
        assert str(blocked) in error["message"]
    finally:
        server.end()


def test_mcp_is_imported_by_the_two_servers_alone() -> None:
    package = Path(mash_plugin.__file__).parent
    importers = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if any(name.split(".")[0] in ("mcp", "mcp_types") for name in names):
                importers.add(str(file.relative_to(package)))
    assert importers == {"mcp_server.py", "throughline/server.py"}
