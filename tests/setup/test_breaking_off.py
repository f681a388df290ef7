"""`mash init` broken off anywhere: a second run gives what one whole run gives."""

import fcntl
import json
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.setup.settled import settle
from tests.support.homes import Finished, Home, clients_folder
from tests.support.kept_home import KeptHome
from tests.support.polling import eventually

pytestmark = pytest.mark.slow

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


class Once:
    """A home with settings of its own, and what one whole run makes of it."""

    def __init__(self, beginning: KeptHome) -> None:
        self.home = beginning.home
        assert self.home.mash(*WHOLE).code == 0
        self._whole = self._state()
        assert self.home.mash("init", "--dry-run").out.count("\n  none\n") == 1

    def must_become_whole(self, *, has_layout: bool = True) -> None:
        """Run init once more and compare with the one whole run, which leaves nothing to do."""
        done = self.home.mash(*WHOLE)
        assert done.code == 0, done
        state, whole = self._state(), dict(self._whole)
        if not has_layout:
            for one in (state, whole):
                one["claude/settings.json"] = json.loads(one["claude/settings.json"])
        assert state == whole

    def breaking_clients(self, name_of_signal: str, call: int) -> str:
        """A PATH on which the clients' n-th command sends init this signal when it has ended."""
        folder = self.home.root.parent / f"breaking-{name_of_signal}-{call}"
        folder.mkdir()
        count = folder / "count"
        for name in ("claude", "codex"):
            script = folder / name
            script.write_text(
                f"#!/bin/sh\necho >> {count}\nn=$(wc -l < {count})\n"
                f'{clients_folder() / name} "$@"; code=$?\n'
                f'[ "$n" -eq {call} ] && kill -{name_of_signal} $PPID\nexit $code\n'
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
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptHome]:
    made = KeptHome(tmp_path_factory.mktemp("once"), settle)
    yield made
    made.end()


@pytest.fixture(scope="module")
def whole(beginning: KeptHome) -> Once:
    return Once(beginning)


@pytest.fixture
def once(whole: Once, beginning: KeptHome) -> Once:
    """Before any run."""
    beginning.bring_back()
    return whole


def broken_off(home: Home, number: int, step: str) -> Finished:
    """A run that gets this signal after that step."""
    return home.run(sys.executable, "-c", AFTER, str(number), step, *WHOLE)


@pytest.mark.spec("R-152", "R-154")
def test_killed_after_one_step_more_each_time_the_last_run_gives_what_one_run_gives(
    once: Once,
) -> None:
    for step in STEPS:
        assert broken_off(once.home, signal.SIGKILL, step).code == -signal.SIGKILL, step
    once.must_become_whole()


@pytest.mark.spec("R-152", "R-154")
@pytest.mark.parametrize("step", ["_set_up_store", "write_folder", "add_memo", "_allow_saving"])
def test_killed_after_a_step_a_second_run_gives_what_one_run_gives(once: Once, step: str) -> None:
    assert broken_off(once.home, signal.SIGKILL, step).code == -signal.SIGKILL
    once.must_become_whole()


def test_an_interrupt_between_two_steps_says_that_another_run_goes_on(once: Once) -> None:
    done = broken_off(once.home, signal.SIGINT, "add_memo")
    assert done.code == 130, done
    assert "What is done works; `mash init` goes on from there." in done.err
    assert "Traceback" not in done.err
    once.must_become_whole()


@pytest.mark.parametrize("call", [2, 3])
def test_an_interrupt_while_an_agent_installs_lets_it_come_to_an_end(once: Once, call: int) -> None:
    path = once.breaking_clients("INT", call)
    done = once.home.mash(*WHOLE, env={"PATH": path})
    assert done.code == 130, done
    assert "ending after this step" in done.err
    assert json.loads((once.home.claude / "settings.json").read_text())["enabledPlugins"]
    assert ("mash@mash" in (once.home.codex / "config.toml").read_text()) is (call > 2)
    once.must_become_whole()


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_killed_while_an_agent_installs_a_second_run_ends_it(once: Once, call: int) -> None:
    done = once.home.mash(*WHOLE, env={"PATH": once.breaking_clients("KILL", call)})
    assert done.code == -9
    # Killed beside Claude Code's own command, its file keeps the order that this one gave it.
    once.must_become_whole(has_layout=call > 2)


def test_two_at_once_give_what_one_gives(once: Once) -> None:
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: once.home.mash(*WHOLE), range(2)))
    assert [one.code for one in done] == [0, 0], done
    once.must_become_whole()


def test_one_that_comes_second_says_that_it_waits(once: Once) -> None:
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
