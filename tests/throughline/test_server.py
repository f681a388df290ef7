"""The mm_* tools over MCP: of one agent alone, and beside those of mash."""

import os
import subprocess
import sys

import pytest

from tests.support.mcp_servers import Server
from tests.throughline.conftest import AGENT, CHAT, SESSION


class MemoryServer(Server):
    """One `meaning-memory mcp` process, spoken to as any client does."""

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mash_plugin.cli.meaning_memory", "mcp", *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.early = {}


@pytest.fixture
def served(workspace):
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    environment = {"PATH": os.environ["PATH"], "HOME": workspace.path, **workspace.environment}
    server = MemoryServer(environment, "--agent", AGENT, "--config-dir", workspace.path)
    server.shake_hands("2025-06-18", "test")
    yield server
    server.end()


@pytest.mark.spec("R-207", "R-211", "R-223")
def test_an_agents_server_offers_its_tools_and_answers_in_text_and_data(served):
    tools = {one["name"]: one for one in served.ask("l", "tools/list", {})["result"]["tools"]}
    assert list(tools) == ["mm_search", "mm_session_recall", "mm_remember"]
    assert "may have happened in another channel" in tools["mm_search"]["description"]
    assert tools["mm_search"]["annotations"]["readOnlyHint"] is True
    found = served.call("mm_search", {"query": "Zephyr", "memory_stage": "working"})
    assert found["content"][0]["text"].startswith("**Meaning Memory** — support-bot | 1 entries")
    entry = {
        "mem_id": "76105ad2c0a9b0cf",
        "significance": 0.65,
        "category": "decision",
        "date": "2026-10-03",
        "text": "Decided to hold Zephyr's November invoice until the address is fixed.",
        "stage": "working",
        "at": "2026-10-03T16:03:30Z",
        "session_id": SESSION,
        "channel": "telegram:dm",
    }
    assert found["structuredContent"] == {
        "agent": AGENT,
        "memory_stage": "working",
        "entries": [entry],
        "more": False,
        "long_term_matches": 0,
        "working_matches": None,
    }


def test_an_error_is_told_as_one_and_no_argument_names_another_agent(served):
    refused = served.call("mm_session_recall", {"session_id": SESSION, "agent": "other"})
    assert refused["isError"] is True
    assert refused["structuredContent"]["error"]["code"] == "invalid_argument"
    assert served.close() == 0


def test_mash_offers_them_where_its_configuration_names_agent_and_workspace(workspace, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[throughline]\nagent = "{AGENT}"\nworkspace = "{workspace.path}"\n'
    )
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "MASH_HOME": str(home)}
    from mash_plugin.config import read_settings

    assert read_settings(str(home / "config.toml"), {}).warnings == ()
    program = (
        "from mash_plugin import mcp_server as m;"
        "memory = m._working_memory();"
        "print([t.name for t in memory.tools]);"
        "print(memory.answer('mm_search', {'query': 'Zephyr', 'memory_stage': 'any'})"
        ".content[0].text)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment | {"MASH_TESTING": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "mm_session_recall" in done.stdout
    assert "| decision (working) |" in done.stdout
    (home / "config.toml").write_text("[records]\n")
    off = subprocess.run(
        [
            sys.executable,
            "-c",
            "from mash_plugin import mcp_server as m; print(m._working_memory())",
        ],
        env=environment | {"MASH_TESTING": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert off.stdout == "None\n"
