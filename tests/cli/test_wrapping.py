"""Texts on a narrow terminal: whole words, whole paths, whole commands."""

import io
import sys

import pytest

from mash_plugin.cli.forget import tell_left
from mash_plugin.wrapping import fitted, say, wrapped

WIDTH = 24


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_end_between_words_and_keep_their_indent() -> None:
    lines = wrapped("  - its plugin in Claude Code, by its own command", WIDTH)
    assert lines == ["  - its plugin in Claude", "    Code, by its own", "    command"]


@pytest.mark.parametrize("whole", ["/home/person/.local/share/mash/data", "`mash init --yes --x`"])
def test_a_path_or_a_command_stands_on_a_line_of_its_own_rather_than_be_broken(whole: str) -> None:
    assert whole in wrapped(f"Everything is kept in {whole} from now on.", WIDTH)


def test_a_command_that_fits_stays_among_the_words() -> None:
    assert wrapped("Now run `mash init` again, please.", WIDTH)[0] == "Now run `mash init`"


def test_only_a_terminal_gets_broken_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    text = "one two three four five six seven eight"
    assert fitted(text, io.StringIO()) == text
    shown = Terminal()
    say(text, shown)
    assert shown.getvalue() == "one two three four five\nsix seven eight\n"


def test_what_forgetting_leaves_behind_is_told_within_the_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", shown := Terminal())
    tell_left({"is_scrubbed": False, "transcripts": ["/chats/1.jsonl"], "older_copies": ["/b.db"]})
    lines = shown.getvalue().splitlines()
    assert "    /b.db" in lines
    assert max(map(len, lines)) <= 60
