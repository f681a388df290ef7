"""`mash projects` and `mash forget-project` at the terminal."""

import json
from pathlib import Path

import pytest

from tests.cli.test_chats_commands import write_chat
from tests.cli.test_forget import CHAT, STATEMENT, chats, statements
from tests.setup.terminals import at_terminal, on_a_terminal
from tests.support.homes import Home
from tests.support.saved import WORDS, save

IDENTITY = "host.example/team/shop"


@pytest.fixture
def clone(fresh: Home) -> Path:
    """The one clone of the shop, whose one chat decides something that is saved."""
    (clone,) = fresh.repository("shop")
    write_chat(fresh, clone, WORDS)
    fresh.mash("init", "--yes", "--no-agents")
    save(fresh, "established", STATEMENT)
    return clone


def test_a_folder_is_told_with_every_switch_and_the_line_that_says_so(
    fresh: Home, clone: Path
) -> None:
    (clone / ".mash").write_text("recall = off\nnonsense\n")
    config = fresh.mash_home / "config.toml"
    config.write_text('[projects]\nno_index = ["host.example/team/*"]\n')
    done = fresh.mash("projects", str(clone / "src"))
    assert (done.code, done.err) == (0, "")
    text = " ".join(done.out.split())
    assert f"Project {clone} Memory {IDENTITY}" in text
    assert f"off [projects] no_index in {config} names host.example/team/*" in text
    assert "its chats are not read, so no quote can be checked" in text
    assert f"recalling its records off {clone}/.mash says so" in text
    assert f"PROBLEM: {clone}/.mash: 'nonsense' is none of off" in text
    told = json.loads(fresh.mash("projects", "--json", cwd=clone).out)
    assert [told["parts"][part]["is_on"] for part in ("index", "capture", "recall")] == [False] * 3
    assert told["lists"]["no_index"] == ["host.example/team/*"]


def test_where_nothing_is_off_all_is_on_and_no_daemon_is_needed(fresh: Home) -> None:
    (clone,) = fresh.repository("shop")
    done = fresh.mash("projects", str(clone))
    assert [line.split()[-1] for line in done.out.splitlines()[-3:]] == ["on", "on", "on"]
    assert "is no project" in fresh.mash("projects", "/").out
    gone = fresh.mash("projects", "/nonexistent")
    assert (gone.code, gone.out) == (1, "")
    assert gone.err.startswith("mash: There is no folder /nonexistent")
    assert not fresh.mash_home.exists()


def test_a_narrow_terminal_keeps_the_headings_and_gets_no_empty_lines(fresh: Home) -> None:
    (clone,) = fresh.repository("shop")
    environment = {**fresh.environment, "COLUMNS": "50", "TERM": "dumb"}
    _, shown = at_terminal(["mash", "projects", str(clone)], environment, fresh.home, [""])
    table = shown.replace("\r\n", "\n").partition("What")[2].rstrip("\n").splitlines()
    assert table == [
        "",
        "  Why",
        "reading its chats  on",
        "saving  on",
        "recalling its records  on",
    ]


def test_a_person_sees_what_of_a_project_goes_and_is_asked(fresh: Home, clone: Path) -> None:
    done = fresh.mash("forget-project", str(clone))
    assert done.code == 2
    assert "--yes" in done.err
    code, shown = on_a_terminal(fresh, "n\n", "mash", "forget-project", IDENTITY)
    assert code == 1
    for part in (CHAT, STATEMENT, "New chats there ARE read", "Nothing was changed."):
        assert part in shown, shown
    assert (statements(fresh), chats(fresh)) == ([STATEMENT], [CHAT])
    done = fresh.mash("forget-project", str(clone), "--yes", "--json")
    assert len(json.loads(done.out)["records"]) == 1
    fresh.mash("index")
    assert (statements(fresh), chats(fresh)) == ([], [])
    done = fresh.mash("forget-project", ".", "--yes", cwd=clone)
    assert (done.code, "The index has no chat" in done.err) == (1, True)


def test_chats_alone_go_once_they_are_not_read_any_more(fresh: Home, clone: Path) -> None:
    done = fresh.mash("forget-project", str(clone), "--keep-records", "--yes")
    assert done.code == 1
    assert "would come back" in done.err
    (clone / ".mash").write_text("index = off\n")
    done = fresh.mash("forget-project", IDENTITY, "--keep-records", "--yes")
    assert done.code == 0, done
    assert "Records  all stay" in done.out
    fresh.mash("index")
    assert chats(fresh) == []
    assert statements(fresh) == [STATEMENT]


def test_an_entry_that_can_name_nothing_is_told(fresh: Home, clone: Path) -> None:
    config = fresh.mash_home / "config.toml"
    config.write_text('[projects]\ndeny = ["shop", "/shop", "host.example/other/*"]\n')
    problems = [e for e in fresh.mash("projects", str(clone)).out.splitlines() if "PROBLEM" in e]
    assert len(problems) == 1, problems
    assert "projects.deny: 'shop' is not an absolute path or host/owner/name" in problems[0]


@pytest.mark.parametrize("name", ["nothing", "a:b:c//", "./nothing", "/"])
def test_what_names_no_project_is_told(fresh: Home, clone: Path, name: str) -> None:
    done = fresh.mash("forget-project", name, "--yes")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert chats(fresh) == [CHAT]
