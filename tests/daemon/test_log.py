"""The log stays small, private and content-free, and never fails a request."""

import os
from pathlib import Path

import pytest

from mash_plugin.daemon import log as module
from mash_plugin.daemon.log import Log
from tests.support.daemons import Place, event


@pytest.mark.row(27)
def test_the_log_never_holds_more_than_three_files_of_a_megabyte(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    log = Log(str(folder / "daemon.log"))
    line = len("2026-11-30T09:45:34Z 17624 hook name=") + 150
    for _ in range(5 * module.LIMIT // line):
        log.write("hook", name="x" * 150)
    files = sorted(folder.iterdir())
    assert [f.name for f in files] == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(f.stat().st_size < module.LIMIT + 500 for f in files)
    assert {f.stat().st_mode & 0o777 for f in files} == {0o600}


@pytest.mark.row(27)
def test_a_log_that_was_huge_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    log = Log(str(path))
    log.write("start")
    log.write("start")
    assert sum(f.stat().st_size for f in tmp_path.glob("daemon.log*")) < 1_000


def test_a_pipe_in_place_of_the_log_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    Log(str(tmp_path / "log")).write("start")
    assert (tmp_path / "log").is_fifo()


def test_facts_are_one_word_each(tmp_path: Path) -> None:
    Log(str(tmp_path / "l")).write("hook", name="a b\nc\x1b[31m", ms=1.234)
    (line,) = (tmp_path / "l").read_text().splitlines()
    assert line.endswith(" hook name=a_b_c_[31m ms=1.2")


@pytest.mark.row(27)
def test_a_log_that_cannot_be_written_costs_no_request(place: Place) -> None:
    os.makedirs(place.paths.run, 0o700)
    os.mkdir(place.paths.log)
    place.start()
    assert place.call("ping")["pid"]
    assert place.hook("session-start", event("SessionStart")).out


@pytest.mark.row(27)
def test_no_words_of_a_prompt_reach_the_log(place: Place) -> None:
    place.start()
    body = event("UserPromptSubmit", prompt="from now on always say Rosebud", cwd="/Rosebud")
    place.hook("prompt-submit", body)
    place.hook("prompt-submit", b"Rosebud", agent="Rose bud")
    place.hook("prompt-submit", b'{"Rosebud":')
    assert place.call("ping")
    text = Path(place.paths.log).read_text()
    assert "prompt-submit" in text
    assert "Rosebud" not in text
