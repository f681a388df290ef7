"""The command line as scripts and people meet it: exit codes, one line for a failure, UTF-8."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mash_plugin.cli.main import COMMANDS, exit_code, for_people, run
from mash_plugin.errors import DaemonUnavailable, DiskFull, Internal, NotFound, Sandboxed
from tests.support.homes import Home
from tests.support.processes import daemons_of

pytestmark = pytest.mark.slow


def test_every_command_is_listed_and_its_help_begins_with_its_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    for name in COMMANDS:
        assert f"  {name} " in listed
        assert run([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: mash {name}")


def test_the_help_and_a_cheap_command_import_no_other_commands_libraries() -> None:
    code = (
        "import sys; from mash_plugin.cli.main import run; run(['--help']);"
        "print(sorted({'mcp', 'pydantic', 'apsw', 'tomlkit', 'platformdirs'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["dance"], ["call"], ["status", "--surplus"], ["search"]])
def test_a_wrong_usage_is_one_line_and_exit_code_2(home: Home, arguments: list[str]) -> None:
    done = home.mash(*arguments)
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("mash: ")
    assert "--help" in line


def test_each_kind_of_failure_has_its_exit_code() -> None:
    assert exit_code(NotFound()) == 1
    assert exit_code(Internal()) == 1
    assert exit_code(DaemonUnavailable()) == 3
    assert exit_code(Sandboxed()) == 4


def test_people_are_told_where_the_log_is_and_no_advice_for_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MASH_HOME", str(tmp_path / "mash"))
    for error in (Internal(), DaemonUnavailable()):
        assert "operation ID" in error.message
        assert "operation" not in for_people(error.message)
    full = "The disk is full; nothing was saved. Free some space and run the command again."
    assert for_people(DiskFull().message) == full
    left_out = for_people("Its chats are not read. Only the person should change that.")
    assert left_out == "Its chats are not read. `mash projects` tells what leaves it out."
    assert f"{tmp_path}/mash/run/daemon.log has the cause." in for_people(Internal().message)


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["search", "x"],
        ["doctor"],
        ["mcp"],
        ["daemon", "start"],
        ["index"],
        ["uninstall", "--yes"],
        ["init", "--yes"],
    ],
)
@pytest.mark.row(20)
def test_in_codexs_sandbox_every_command_says_so_at_once_and_starts_nothing(
    fresh: Home, arguments: list[str]
) -> None:
    fresh.mash_home.mkdir()
    done = fresh.run("codex", "sandbox", "--", "mash", *arguments, timeout_s=20)
    assert done.code == 4, done
    (line,) = [line for line in done.err.splitlines() if line.startswith("mash: ")]
    assert "sandboxed" in line
    assert "MCP tools" in line
    assert not daemons_of(fresh.root)


def test_call_in_codexs_sandbox_prints_the_error_object(fresh: Home) -> None:
    done = fresh.run("codex", "sandbox", "--", "mash", "call", "list_chats", timeout_s=20)
    assert done.code == 4
    assert json.loads(done.out)["error"]["code"] == "sandboxed"


def test_a_daemon_that_cannot_start_is_exit_code_3_or_1_in_one_line(fresh: Home) -> None:
    fresh.mash_home.mkdir()
    (fresh.mash_home / "data").write_text("a file where the folder should be")
    done = fresh.mash("search", "word")
    assert done.code in (1, 3)
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("mash: ")
    assert "Traceback" not in done.err


def test_call_prints_the_structured_result_as_one_line_of_json(home: Home) -> None:
    done = home.mash("call", "recall_records", '{"scope": {"kind": "personal"}}')
    assert done.code == 0
    assert done.err == ""
    assert json.loads(done.out)["records"] == []
    assert len(done.out.splitlines()) == 1


def test_call_prints_the_error_object_and_exits_1(home: Home) -> None:
    done = home.mash("call", "get_record", '{"id": "unknown"}')
    assert done.code == 1
    assert json.loads(done.out)["error"]["code"] == "not_found"
    done = home.mash("call", "dance", "{}")
    assert done.code == 1
    error = json.loads(done.out)["error"]
    assert error["code"] == "invalid_argument"
    assert "recall_records" in error["message"]
    assert "drain" not in error["message"]


@pytest.mark.parametrize("method", ["stop", "drain"])
def test_the_daemon_is_not_ended_by_a_call(home: Home, method: str) -> None:
    done = home.mash("call", method, "{}")
    assert done.code == 1
    assert "mash daemon" in json.loads(done.out)["error"]["message"]


@pytest.mark.parametrize("arguments", [[], ["daemon"]])
def test_a_group_alone_shows_its_help_as_it_is(home: Home, arguments: list[str]) -> None:
    done = home.mash(*arguments)
    assert done.code == 2
    assert done.err.startswith("Usage: mash")
    assert len(done.err.splitlines()) > 5


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", '"x"', "1e999", "{'a': 1}"])
def test_call_refuses_what_is_no_json_object(home: Home, arguments: str) -> None:
    done = home.mash("call", "list_chats", arguments)
    assert done.code == 1
    assert json.loads(done.out)["error"]["code"] == "invalid_argument"


def test_call_reads_large_requests_from_standard_input(home: Home) -> None:
    request = json.dumps({"query": "用户 " * 100})
    done = home.mash("call", "search_chats", "-", stdin=request)
    assert done.code == 0
    assert json.loads(done.out)["hits"] == []
    done = home.run(
        "mash", "call", "search_chats", "-", stdin=json.dumps({"query": "x" * 5_000_000})
    )
    assert done.code == 1
    assert json.loads(done.out)["error"]["code"] == "too_large"


@pytest.mark.parametrize(
    "locale",
    [
        {"LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    ],
)
def test_text_and_paths_are_utf8_in_every_locale(fresh: Home, locale: dict[str, str]) -> None:
    place = {"MASH_HOME": str(fresh.root / "mäsh 家"), **locale}
    done = fresh.run("mash", "init", "--yes", "--no-agents", "--no-index", env=place)
    assert done.code == 0, done
    assert "mäsh 家" in done.out
    assert (fresh.root / "mäsh 家/data/records.db").exists()
    done = fresh.run("mash", "call", "get_chat", '{"id": "用户é"}', env=place)
    assert "Traceback" not in done.err
    assert json.loads(done.out)["error"]["code"] == "invalid_argument"
    assert fresh.run("mash", "search", "用户é", env=place).code == 1
    fresh.run("mash", "daemon", "stop", env=place)


def test_a_reader_that_leaves_early_causes_no_message(home: Home) -> None:
    done = home.run("sh", "-c", "mash status --json | head -c 1; mash status | true")
    assert done.err == ""


def test_closed_streams_are_no_failure() -> None:
    code = (
        "import sys; sys.stdout = sys.stderr = None;"
        "from mash_plugin.cli.main import use_utf8; use_utf8();"
        "import click; click.echo('to nobody'); print('to nobody', file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True).returncode == 0


def test_status_says_nothing_of_reviewing_an_agent_that_is_not_there(fresh: Home) -> None:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = fresh.mash("status", env={"PATH": path})
    assert "Codex: its command is not on PATH" in done.out.splitlines()
    assert "mash backup" in done.out


def test_status_tells_people_what_works_and_what_is_off(fresh: Home) -> None:
    fresh.mash_home.mkdir()
    (fresh.mash_home / "config.toml").write_text("[records]\ncapture = false\n")
    done = fresh.mash("status", env={"MASH_FILE_RECALL": "No"})
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("Daemon: running (process ")
    assert "0 records" in done.out
    assert "Claude Code: no hook seen yet" in lines
    assert (
        "Codex: no hook seen yet (new hooks must be reviewed there; `mash doctor` tells whether "
        "they are)" in lines
    )
    assert str(fresh.mash_home / "config.toml") in done.out
    off = lines[-1]
    assert "saving notes" in off
    assert "file reads" in off
    assert "records in hooks" not in off
    body = json.loads(fresh.mash("status", "--json").out)
    assert body["pid"] > 1
    assert body["switches"]["capture"] is False


def test_status_says_what_holds_when_the_settings_are_broken(fresh: Home) -> None:
    fresh.mash_home.mkdir()
    (fresh.mash_home / "config.toml").write_text("[records\n")
    done = fresh.mash("status")
    assert "settings cannot be read" in done.out
    assert "no project is left out" in done.out
    assert "Switched off: saving notes" in done.out


def test_status_and_doctor_tell_what_in_the_settings_has_no_effect(fresh: Home) -> None:
    fresh.mash_home.mkdir()
    (fresh.mash_home / "config.toml").write_text("[records]\ncaptrue = false\n")
    assert "'records.captrue' is not known" in fresh.mash("status").out
    assert fresh.mash("doctor", "--category", "settings").out.count("records.captrue") == 1


def test_a_home_inside_a_git_work_tree_is_refused_by_every_command(fresh: Home) -> None:
    fresh.run("git", "init", "--quiet", str(fresh.root / "clone"))
    place = {"MASH_HOME": str(fresh.root / "clone/mash")}
    for arguments in (["init", "--yes"], ["status"], ["search", "x"], ["uninstall", "--yes"]):
        done = fresh.mash(*arguments, env=place)
        assert done.code == 1, arguments
        assert "git work tree" in done.err
        assert len(done.err.splitlines()) == 1
    assert not (fresh.root / "clone/mash").exists()


def test_the_package_can_be_started_as_a_module(home: Home) -> None:
    done = home.run(sys.executable, "-m", "mash_plugin", "--version")
    assert done.out.startswith("mash, version ")
