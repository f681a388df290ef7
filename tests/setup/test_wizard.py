"""`mash init` tells, asks and checks; whatever breaks it off, a second run ends it well."""

import difflib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from mash_plugin.agents.hosts import HOSTS
from mash_plugin.agents.plugin import Installed
from mash_plugin.cli.wizard.check import check_hook
from mash_plugin.cli.wizard.found import Found
from tests.setup.conftest import NOWHERE
from tests.setup.terminals import INTERRUPT, at_terminal
from tests.setup.test_init import CLAUDE_SETTINGS, CODEX_SETTINGS, settle
from tests.support.homes import Finished, Home, clients_folder
from tests.support.polling import eventually
from tests.support.processes import end_processes_of
from tests.support.transcripts import ClaudeTranscript, CodexTranscript

AFTER = """
import os, signal, sys
from mash_plugin.cli.main import main
from mash_plugin.cli.wizard import steps

number, name = sys.argv[1:3]
del sys.argv[1:3]
inner = getattr(steps, name)

def then_break_off(*arguments, **options):
    result = inner(*arguments, **options)
    os.kill(os.getpid(), int(number))
    return result

setattr(steps, name, then_break_off)
main()
"""
STEPS = (
    "write_pins",
    "set_personal",
    "add_roots",
    "replace_other_daemon",
    "_set_up_store",
    "write_folder",
    "add_memo",
    "_install_into",
    "installs",
    "_allow_saving",
)
WHOLE = ("init", "--yes", "--personal", "--allow-saving")


def test_it_tells_which_agents_and_chats_it_found(home: Home) -> None:
    project = str(home.root / "work" / "shop")
    for session in ("s-1", "s-2"):
        ClaudeTranscript(home.claude, project, session).person("We use tabs.")
    chat = CodexTranscript(home.codex, project, "01a22b46-ef78-7e32-8ff3-ca6f94ba9da4")
    chat.person("And spaces.")
    os.utime(chat.path, (1_796_021_684 - 86_400 * 40,) * 2)
    done = home.mash("init", "--dry-run")
    assert re.search(r"Claude Code \(/.*claude\): 2 chats, 1\.\d kB, 20\d\d-\d\d-\d\d\n", done.out)
    assert re.search(r"Codex \(/.*codex\): 1 chat, .* k?B, 2026-10-21\n", done.out)
    assert "Set up already:" not in done.out
    home.mash("init", "--yes", "--no-index")
    done = home.mash("init", "--dry-run")
    assert "Set up already:" in done.out
    assert "- the plugin in Claude Code\n" in done.out
    assert "- nothing: all of it is there\n" in home.mash("init", "--dry-run", "--no-index").out


@pytest.mark.spec("R-155")
def test_a_dry_run_shows_each_line_that_changes_and_changes_no_byte(home: Home) -> None:
    settle(home)
    home.run("claude", "plugin", "list")  # its own first files
    before = {path: _seen(path) for path in home.root.rglob("*")}
    shown = home.mash("init", "--dry-run", "--personal", "--allow-saving")
    assert shown.code == 0, shown
    assert {path: _seen(path) for path in home.root.rglob("*")} == before
    home.mash(*WHOLE)
    for file, text in (
        (home.claude / "settings.json", CLAUDE_SETTINGS),
        (home.codex / "config.toml", CODEX_SETTINGS),
        (home.mash_home / "config.toml", ""),
    ):
        made = file.read_text().splitlines()
        names = (str(file), f"{file} (after)")
        expected = difflib.unified_diff(text.splitlines(), made, *names, n=2, lineterm="")
        assert "\n".join(expected) in shown.out
    assert shown.out.endswith("Nothing was changed.\n")
    assert home.mash("init", "--dry-run").out.count("\n  none\n") == 1


def test_a_dry_run_shows_no_credential_of_the_settings(home: Home) -> None:
    secret = "ghp_" + "a1B2" * 9
    (home.claude / "settings.json").write_text(f'{{\n  "env": {{"TOKEN": "{secret}"}}\n}}\n')
    done = home.mash("init", "--dry-run")
    assert "[masked" in done.out
    assert secret not in done.out


@pytest.mark.parametrize(("flag", "said"), [("--personal", "true"), ("--no-personal", "false")])
def test_every_answer_has_a_flag(home: Home, flag: str, said: str) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents", flag)
    assert f"personal_at_start = {said}\n" in (home.mash_home / "config.toml").read_text()
    answers = ["y\n"]
    command = ["mash", "init", "--no-index", flag, "--no-allow-saving"]
    code, shown = at_terminal(command, home.environment, home.home, answers)
    assert code == 0, shown
    assert shown.count("]: ") == 1
    assert "mcp__plugin_mash_mash" not in (home.claude / "settings.json").read_text()


def test_a_dumb_terminal_gets_plain_lines(home: Home) -> None:
    environment = home.environment | {"TERM": "dumb"}
    answers = ["y\n", "n\n", "y\n"]
    code, shown = at_terminal(["mash", "init"], environment, home.home, answers)
    assert code == 0, shown
    assert "Reading chats ..." in shown
    assert "\x1b" not in shown
    assert "\r" not in shown.replace("\r\n", "")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_interrupt_at_any_question_leaves_all_as_it_was(home: Home, number: int) -> None:
    settle(home)
    before = {path: _seen(path) for path in home.root.rglob("*")}
    answers = [*(["y\n"] * number), INTERRUPT]
    code, shown = at_terminal(["mash", "init"], home.environment, home.home, answers)
    assert code == 130, shown
    assert "Nothing was changed." in shown
    assert "Traceback" not in shown
    assert {path: _seen(path) for path in home.root.rglob("*")} == before


@pytest.mark.spec("R-152", "R-154")
@pytest.mark.parametrize(
    ("number", "step"), [(9, step) for step in STEPS] + [(2, step) for step in STEPS[-6::2]]
)
def test_broken_off_after_any_step_a_second_run_gives_what_one_run_gives(
    once: "Once", number: int, step: str
) -> None:
    home = once.home
    done = home.run(sys.executable, "-c", AFTER, str(number), step, *WHOLE)
    assert done.code == (130 if number == 2 else -9), done
    if number == 2:
        assert "What is done works; `mash init` goes on from there." in done.err
        assert "Traceback" not in done.err
    once.must_become_whole()


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_an_interrupt_while_an_agent_installs_lets_it_come_to_an_end(
    once: "Once", call: int
) -> None:
    path = once.breaking_clients("INT", call)
    done = once.home.run("mash", *WHOLE, env={"PATH": path})
    assert done.code == 130, done
    assert "ending after this step" in done.err
    assert json.loads((once.home.claude / "settings.json").read_text())["enabledPlugins"]
    assert ("mash@mash" in (once.home.codex / "config.toml").read_text()) is (call > 2)
    once.must_become_whole()


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_killed_while_an_agent_installs_a_second_run_ends_it(once: "Once", call: int) -> None:
    done = once.home.run("mash", *WHOLE, env={"PATH": once.breaking_clients("KILL", call)})
    assert done.code == -9
    # Killed beside Claude Code's own command, its file keeps the order that this one gave it.
    once.must_become_whole(has_layout=call > 2)


def test_two_at_once_give_what_one_gives(once: "Once") -> None:
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: once.home.mash(*WHOLE), range(2)))
    assert [one.code for one in done] == [0, 0], done
    once.must_become_whole()


def test_one_that_comes_second_says_that_it_waits(once: "Once") -> None:
    data, run = once.home.mash_home / "data", once.home.mash_home / "run"
    run.mkdir(0o700, parents=True)
    with (run / "setup.lock").open("w") as lock, ThreadPoolExecutor(1) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = pool.submit(once.home.mash, "init", "--yes", "--no-agents", "--no-index")
        eventually(lambda: _waits(waiting, run), "it never waited")
        assert not (data / "records.db").exists()
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert "Another `mash init` is at work" in waiting.result(50).err


def _waits(running: Future[Finished], run: Path) -> bool:
    """Whether the kernel lists somebody who waits for this lock."""
    assert not running.done()
    inode = f":{(run / 'setup.lock').stat().st_ino} "
    return any("->" in row and inode in row for row in Path("/proc/locks").read_text().splitlines())


COMMANDS = {
    "exit 3": "ended with 3: no message",
    "/no/python -I x": "ended with 127",
    "true": "gave it no answer in time",
    "echo hello": "printed something else: b'hello\\n'",
    "cat": "printed something else",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hook_that_does_not_answer_is_told_with_the_cause(tmp_path: Path, command: str) -> None:
    file = tmp_path / "mash" / "hooks" / "hooks.json"
    file.parent.mkdir(parents=True)
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}
    file.write_text(json.dumps(hook))
    assert COMMANDS[command] in (check_hook(_claude(tmp_path), tmp_path) or "")


def test_a_plugin_without_its_files_is_told(tmp_path: Path) -> None:
    assert "not where it was installed" in (check_hook(_claude(tmp_path), tmp_path) or "")
    (tmp_path / "mash").mkdir()
    assert "cannot be read" in (check_hook(_claude(tmp_path), tmp_path) or "")


def test_hooks_that_were_checked_do_not_count_as_hooks_of_the_agents(home: Home) -> None:
    done = home.mash("init", "--yes", "--no-index")
    assert done.out.count("checked, a hook answers.") == 2
    assert home.mash("status").out.count("no hook seen yet") == 2


def test_hooks_that_the_person_switched_off_are_told(home: Home) -> None:
    (home.claude / "settings.json").write_text('{"disableAllHooks": true}')
    done = home.mash("init", "--yes", "--no-index")
    assert "Claude Code runs no hooks: set disableAllHooks to false" in done.out


def test_an_interrupt_that_a_script_ignores_does_not_end_a_step() -> None:
    program = (
        "import os, signal; from mash_plugin.cli.wizard.unbroken import unbroken\n"
        "signal.signal(signal.SIGINT, {})\n"
        "with unbroken(): os.kill(os.getpid(), signal.SIGINT); print('one')\n"
        "print('two')\n"
    )
    ignored, heard = (
        subprocess.run(
            [sys.executable, "-c", program.format(handler)],
            capture_output=True,
            text=True,
            check=False,
        )
        for handler in ("signal.SIG_IGN", "signal.default_int_handler")
    )
    assert ignored.stdout == "one\ntwo\n"
    assert heard.stdout == "one\n"


def test_a_hook_that_stays_silent_makes_init_fail(home: Home) -> None:
    deaf = "from mash_plugin.cli.wizard import ending\nending.check_hook = lambda *_: 'it is deaf'"
    code = f"{deaf}\nfrom mash_plugin.cli.main import main\nmain()"
    done = home.run(sys.executable, "-c", code, "init", "--yes", "--no-index")
    assert done.code == 1
    assert "mash: Codex: no hook answers: it is deaf. See `mash doctor`." in done.err


def _claude(folder: Path) -> Found:
    host = HOSTS[0]
    return Found(host, host.find_place({"HOME": str(folder)}), Installed("installed"))


def _seen(path: Path) -> tuple[int, bytes]:
    status = path.lstat()
    return status.st_mtime_ns, path.read_bytes() if path.is_file() else b""


class Once:
    """A home with settings of its own, and what one whole run makes of it."""

    def __init__(self, home: Home) -> None:
        self.home = home
        settle(home)
        self._beginning = home.root.parent / "beginning"
        shutil.copytree(home.root, self._beginning, symlinks=True)
        assert home.mash(*WHOLE).code == 0
        self._whole = self._state()

    def begin_again(self) -> None:
        """The home as it was before any run."""
        end_processes_of(self.home.root)
        shutil.rmtree(self.home.root)
        shutil.copytree(self._beginning, self.home.root, symlinks=True)

    def must_become_whole(self, *, has_layout: bool = True) -> None:
        """Run init once more and compare with the one whole run; a third changes nothing."""
        done = self.home.mash(*WHOLE)
        assert done.code == 0, done
        state, whole = self._state(), dict(self._whole)
        if not has_layout:
            for one in (state, whole):
                one["claude/settings.json"] = json.loads(one["claude/settings.json"])
        assert state == whole
        assert self.home.mash("init", "--dry-run").out.count("\n  none\n") == 1

    def breaking_clients(self, signal: str, call: int) -> str:
        """A PATH on which the clients' n-th command sends init this signal when it has ended."""
        folder = self.home.root.parent / f"breaking-{signal}-{call}"
        folder.mkdir()
        count = folder / "count"
        for name in ("claude", "codex"):
            script = folder / name
            script.write_text(
                f"#!/bin/sh\necho >> {count}\nn=$(wc -l < {count})\n"
                f'{clients_folder() / name} "$@"; code=$?\n'
                f'[ "$n" -eq {call} ] && kill -{signal} $PPID\nexit $code\n'
            )
            script.chmod(0o755)
        return f"{folder}:{self.home.environment['PATH']}"

    def _state(self) -> dict[str, object]:
        """Every file that says how things are set up, without dates."""
        root = self.home.root
        names = ["claude/settings.json", "codex/config.toml", "mash/config.toml"]
        names += ["mash/data/setup.json", "claude/plugins/installed_plugins.json"]
        files = [root / name for name in names]
        for folder in ("mash/data/marketplace", "codex/plugins", "claude/plugins/cache"):
            files += [f for f in sorted((root / folder).rglob("*")) if f.is_file()]
        return {
            str(file.relative_to(root)): re.sub(r"2\d{3}-\d\d-\d\dT[\d:.]+Z", "", _text(file))
            for file in files
            if "__pycache__" not in file.parts
        }


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else "(not there)"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Once]:
    made = Once(Home(tmp_path_factory.mktemp("once") / "person", NOWHERE, NOWHERE))
    yield made
    end_processes_of(made.home.root)


@pytest.fixture
def once(whole: "Once") -> Once:
    whole.begin_again()
    return whole
