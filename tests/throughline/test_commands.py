"""The commands under both of their names."""

import subprocess
import sys

import click
import pytest

from mash_plugin.cli.main import COMMANDS as MASH_COMMANDS
from mash_plugin.cli.meaning_memory import COMMANDS, cli
from tests.throughline.conftest import AGENT, CHAT, Workspace


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page_of_its_own_that_fits(name):
    context = click.Context(cli, info_name="meaning-memory")
    command = cli.get_command(context, name)
    assert command
    page = command.get_help(click.Context(command, context, name))
    assert max(map(len, page.splitlines())) <= 80
    assert "  mash " not in page
    if name in ("capture-session", "consolidate"):
        assert f"  meaning-memory {name} " in page


def test_both_programs_share_the_two_commands():
    for name in ("capture-session", "consolidate"):
        assert MASH_COMMANDS[name][0] == COMMANDS[name][0]


def test_mash_captures_drains_and_finds_without_a_daemon(workspace):
    chat = workspace.write(CHAT)

    def mash(*arguments):
        command = [sys.executable, "-m", "mash_plugin", *arguments]
        environment = {"HOME": workspace.path, **workspace.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    names = ("--agent", AGENT, "--session-id", "s", "--channel", "c", "--source-kind", "chat")
    where = ("--config-dir", workspace.path)
    assert "3 artifact(s)" in mash("capture-session", *names, "--transcript", chat, *where)
    assert "3 drained" in mash("consolidate", "--agent-id", AGENT, *where)
    query = '{"query": "Zephyr", "memory_stage": "working"}'
    assert "Decided to hold" in mash("call", "mm_search", query, "--agent", AGENT, *where)


def test_mash_call_asks_for_the_agent_of_an_mm_tool():
    command = [sys.executable, "-m", "mash_plugin", "call", "mm_search", "{}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--agent NAME and --config-dir DIR" in done.stderr


@pytest.mark.parametrize("given", [b"\xff\0x", b"host=a\0b", b" "])
def test_what_is_no_connection_string_is_told_plainly(tmp_path, given):
    options = ("setup-postgres", "--admin-dsn", "-", "--agent", AGENT)
    done = Workspace(tmp_path).run_process(*options, "--config-dir", str(tmp_path), stdin=given)
    assert (done.code, done.out) == (2, "")
    assert "Standard input held no" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_python_still_imports_leaves_no_traceback():
    script = """
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
import mash_plugin.cli.meaning_memory
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"")
