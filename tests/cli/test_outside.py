"""What a command meets outside: closed and full streams, a folder that is gone, odd bytes."""

import os
import subprocess
from pathlib import Path

import pytest

from mash_plugin.agents.commands import ask
from mash_plugin.errors import Internal
from tests.support.homes import Finished, Home


def in_shell(home: Home, line: str) -> Finished:
    return home.run("/bin/sh", "-c", line)


@pytest.mark.parametrize("command", ["--help", "completion bash", "status"])
def test_output_that_finds_no_room_is_told_in_one_line(home: Home, command: str) -> None:
    done = in_shell(home, f"mash {command} >/dev/full")
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("mash: ")
    assert "no space left on device" in line


def test_errors_that_find_no_room_keep_their_exit_code(home: Home) -> None:
    assert in_shell(home, "mash dance 2>/dev/full").code == 2
    assert in_shell(home, "mash status 2>&-").code == 0
    assert in_shell(home, "mash export --out / >&- 2>&-").code == 1


def test_a_reader_that_has_left_is_told_nothing(home: Home) -> None:
    process = subprocess.Popen(
        ["mash", "--help"], env=home.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.close()
    assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == 1


def test_without_standard_input_nobody_can_be_asked(home: Home) -> None:
    done = in_shell(home, "mash import x.gz --as-mine <&-")
    assert (done.code, done.out) == (2, "")
    assert "in a terminal of your own" in done.err


def test_a_folder_that_is_gone_is_told(home: Home) -> None:
    done = in_shell(home, "mkdir gone && cd gone && rmdir ../gone && mash export")
    assert (done.code, done.err) == (
        1,
        "mash: the folder you are in is gone; change to one that is there.\n",
    )


def test_words_that_are_no_utf8_are_read_as_well_as_can_be(home: Home) -> None:
    for line in (
        "explain-prompt $'From now on use \\xff.'",
        "pause --session $'\\xff' --off",
        "export --scope $'repository:\\xff'",
        "import --undo $'\\xff'",
    ):
        done = home.run("bash", "-c", f"mash {line}")
        assert "inside" not in done.err, (line, done)
        assert done.code in (0, 1), (line, done)


@pytest.mark.parametrize("variable", ["MASH_HOME", "CLAUDE_CONFIG_DIR"])
def test_a_place_whose_name_is_no_utf8_is_refused_before_anything_is_made(
    fresh: Home, variable: str
) -> None:
    place = Path(os.fsdecode(os.fsencode(fresh.root) + b"/\xff"))
    if variable != "MASH_HOME":
        place.mkdir()
    command = ("mash", "init", "--yes", "--no-agents", "--no-index")
    done = fresh.run(*command, env={variable: str(place)})
    assert done.code == 1
    assert "is no UTF-8" in done.err
    assert not fresh.mash_home.exists()
    assert place.exists() == (variable != "MASH_HOME")


def test_an_agents_command_that_dies_without_a_word_is_told() -> None:
    with pytest.raises(Internal, match="exit code -9, without a word"):
        ask(["/bin/sh", "-c", "kill -9 $$"], {})
