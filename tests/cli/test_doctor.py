"""`mash doctor` finds each fault, and the command that it prints repairs it."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from mash_plugin.cli.doctor import _own_words, _restart_after
from mash_plugin.errors import DaemonUnavailable, MashError, ReadOnly
from tests.support.homes import Home, clients_folder
from tests.support.trust_hooks import trust_hooks

Findings = list[dict[str, str]]


def findings(home: Home) -> tuple[int, Findings]:
    done = home.mash("doctor", "--json")
    assert done.err == ""
    found = json.loads(done.out)["findings"]
    assert isinstance(found, list)
    return done.code, found


def problems(home: Home) -> Findings:
    return [finding for finding in findings(home)[1] if finding["state"] == "problem"]


def test_a_well_set_up_home_has_no_problem_once_the_hooks_are_trusted(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-index")
    (problem,) = problems(fresh)
    assert problem["part"] == "Codex"
    assert "5 of 5 hooks do not run (untrusted)" in problem["text"]
    assert "/hooks" in problem["fix"]
    trust_hooks(str(clients_folder() / "codex"), fresh.home, fresh.environment)
    code, found = findings(fresh)
    assert code == 0, found
    assert "Codex: all 5 hooks are trusted" in fresh.mash("doctor").out
    assert {"places", "configuration", "store", "daemon", "interpreter", "plugin folder"} <= {
        finding["part"] for finding in found
    }


def test_a_lost_store_comes_back_by_the_command_that_doctor_prints(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    data = fresh.mash_home / "data"
    fresh.mash("daemon", "stop")
    _back_up(fresh)
    for file in data.glob("records.db*"):
        file.unlink()
    (problem,) = [one for one in problems(fresh) if one["part"] == "store"]
    assert "mash restore" in problem["fix"]
    assert not (data / "records.db").exists(), "doctor began a new store in place of the lost one"
    done = fresh.run("sh", "-c", problem["fix"])
    assert done.code == 0, done
    with sqlite3.connect(data / "records.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert fresh.mash("status").code == 0


def _back_up(home: Home) -> None:
    """The daily backup, without waiting for a day of use."""
    code = (
        "import os, time\n"
        "from mash_plugin.paths import find_paths\n"
        "from mash_plugin.store.backup import make\n"
        "from mash_plugin.store.open import open_store\n"
        "paths = find_paths(os.environ)\n"
        "store = open_store(paths, 1796100000000)\n"
        "make(store, paths.backups, 1796100000000)\n"
        "store.close()\n"
    )
    done = home.run("python", "-c", code)
    assert done.code == 0, done


def test_a_store_in_order_is_replaced_only_when_told_so(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    fresh.mash("daemon", "stop")
    _back_up(fresh)
    fresh.mash("status")
    done = fresh.mash("restore")
    assert done.code == 1
    assert "--yes" in done.err
    done = fresh.mash("restore", "--yes")
    assert done.code == 0, done
    assert "kept as" in done.out


def test_a_changed_plugin_folder_is_mended_by_init(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-index")
    (fresh.mash_home / "data/marketplace/mash/hooks/relay.py").write_text("broken")
    parts = {problem["part"]: problem for problem in problems(fresh)}
    assert parts["plugin folder"]["fix"] == "mash init"
    fresh.mash("init", "--yes", "--no-index")
    assert "plugin folder" not in {problem["part"] for problem in problems(fresh)}


def test_a_vanished_interpreter_is_named(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-index")
    hooks = fresh.mash_home / "data/marketplace/mash/hooks/hooks.json"
    content = json.loads(hooks.read_text())
    for groups in content["hooks"].values():
        handler = groups[0]["hooks"][0]
        handler["command"] = "/gone/python " + handler["command"].partition(" ")[2]
    hooks.write_text(json.dumps(content))
    (problem,) = [one for one in problems(fresh) if one["part"] == "interpreter"]
    assert "/gone/python is gone" in problem["text"]


def test_an_agent_without_the_plugin_and_a_switched_off_one_are_told_apart(fresh: Home) -> None:
    (absent, also_absent) = [one for one in problems(fresh) if one["fix"] == "mash init"]
    assert "absent" in absent["text"]
    assert "absent" in also_absent["text"]
    fresh.mash("init", "--yes", "--no-index")
    fresh.run("claude", "plugin", "disable", "mash@mash")
    (off,) = [one for one in findings(fresh)[1] if "switched off" in one["text"]]
    assert off["part"] == "Claude Code"
    assert off["fix"] == "run `claude plugin enable mash@mash` if you want it"


def test_hooks_that_the_person_disabled_everywhere_are_pointed_out(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-index")
    file = fresh.claude / "settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "disableAllHooks": True}))
    (problem,) = [one for one in problems(fresh) if one["part"] == "Claude Code"]
    assert "disableAllHooks" in problem["fix"]


@pytest.mark.parametrize("name", ["config.toml", "run", "data"])
def test_whatever_is_broken_doctor_says_so_without_a_traceback(fresh: Home, name: str) -> None:
    fresh.mash_home.mkdir()
    (fresh.mash_home / name).write_bytes(b"\xff not what it should be")
    done = fresh.mash("doctor")
    assert done.code == 1
    assert "!! " in done.out
    assert "Traceback" not in done.err
    shutil.rmtree(Path(fresh.mash_home), ignore_errors=True)


def test_readable_memory_is_closed_by_the_printed_command(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    (fresh.mash_home / "data/records.db").chmod(0o644)
    (problem,) = [one for one in problems(fresh) if one["fix"].startswith("chmod")]
    assert fresh.run("sh", "-c", problem["fix"]).code == 0
    assert not [one for one in problems(fresh) if one["fix"].startswith("chmod")]


def test_doctor_gives_no_advice_that_cannot_help(fresh: Home) -> None:
    tools = fresh.root / "tools"
    tools.mkdir()
    (tools / "mash").symlink_to(shutil.which("mash", path=fresh.environment["PATH"]) or "")
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    alone = {"PATH": f"{tools}:/usr/bin:/bin"}
    done = fresh.run("mash", "doctor", env=alone)
    assert done.code == 0, done
    assert "-> mash init" not in done.out
    fresh.mash("daemon", "stop")
    fresh.mash_home.joinpath("data/records.db").write_bytes(b"not a database" * 1000)
    done = fresh.run("mash", "doctor", env=alone)
    assert done.code == 1
    assert "!! store" in done.out
    assert "mash doctor" not in done.out
    assert "Retry" not in done.out
    assert "-> mash daemon restart" not in done.out


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("The store is damaged. Run `mash doctor`: it prints the rest.", "The store is damaged."),
        (
            "It does not answer; see `mash doctor`. Retry the same operation ID.",
            "It does not answer.",
        ),
        ("/x is damaged: bad. Run `mash doctor`.", "/x is damaged: bad."),
        ("Nothing of that kind", "Nothing of that kind."),
    ],
)
def test_doctor_does_not_send_people_to_doctor(message: str, left: str) -> None:
    assert _own_words(message) == left


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (ReadOnly(), ""),
        (DaemonUnavailable("/x/run cannot be used: [Errno 30] Read-only file system."), ""),
        (DaemonUnavailable("It does not start: No space left on device"), ""),
        (DaemonUnavailable(), "mash daemon restart"),
    ],
)
def test_a_restart_is_advised_only_where_it_can_help(error: MashError, fix: str) -> None:
    assert _restart_after(error) == fix


@pytest.mark.parametrize("arguments", [["doctor"], ["uninstall", "--yes"]])
def test_with_a_running_daemon_too_a_sandbox_is_named(fresh: Home, arguments: list[str]) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    done = fresh.run("codex", "sandbox", "--", "mash", *arguments, timeout_s=20)
    assert done.code == 4, done
    assert "sandboxed" in done.err
    assert (fresh.mash_home / "data/records.db").exists()
