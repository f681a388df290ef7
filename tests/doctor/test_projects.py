"""Records of a project that was moved."""

from pathlib import Path

import pytest

from tests.cli.test_chats_commands import SESSION, write_chat
from tests.doctor.examined import Json, examined, is_gone, named, shell
from tests.setup.terminals import at_terminal
from tests.support.homes import Home
from tests.support.saved import record
from tests.support.transcripts import write_repository

WORDS = "We render invoices with Typst from now on, that's decided."


@pytest.fixture
def moved(home: Home) -> tuple[Home, Path, Path]:
    """A project without a remote whose folder was moved after a record was saved."""
    old = home.root / "work/shop"
    (old / ".git").mkdir(parents=True)
    (old / ".git/HEAD").write_text("ref: refs/heads/main\n")
    write_chat(home, old, WORDS)
    home.mash("init", "--yes", "--no-agents")
    save_in(home, old)
    new = home.root / "work/later/shop"
    new.parent.mkdir()
    old.rename(new)
    return home, old, new


def save_in(home: Home, folder: Path) -> Json:
    details = {"kind": "decision", "state": "accepted"}
    change = {
        "action": "create",
        "scope": {"kind": "local_project", "path": str(folder)},
        "body": {"statement": WORDS, "review": "established", "details": details},
        "evidence": [{"session_id": SESSION, "purpose": "endorsement", "quote": WORDS}],
    }
    return record(home, change)


def recalled(home: Home, folder: Path) -> list[Json]:
    answer = home.call("recall_records", {"scope": {"kind": "local_project", "path": str(folder)}})
    found = answer["records"]
    assert isinstance(found, list)
    return found


def test_records_of_a_moved_project_follow_it_by_the_printed_command(
    moved: tuple[Home, Path, Path],
) -> None:
    home, old, new = moved
    assert recalled(home, new) == []
    found = named(home, "projects", "scope-orphaned")
    assert found["severity"] == "warning"
    assert f"1 record of {old}, which is gone" in found["what"]
    assert found["next"] == f"mash rebind {old} {new}"
    code, shown = at_terminal(found["next"].split(), home.environment, home.home, ["y\n"])
    assert code == 0, shown
    assert is_gone(home, "projects", "scope-orphaned")
    assert [one["statement"] for one in recalled(home, new)] == [WORDS]


def test_fix_moves_records_only_when_a_person_says_so(moved: tuple[Home, Path, Path]) -> None:
    home, old, new = moved
    report = examined(home, "--category", "projects", "--fix")[1]
    assert [one["done"] for one in report["repairs"]] == [False]
    assert recalled(home, new) == []
    command = ["mash", "doctor", "--category", "projects", "--fix"]
    code, shown = at_terminal(command, home.environment, home.home, ["y\n"])
    assert code == 0, shown
    assert f"Move 1 record from {old} to {new}?" in " ".join(shown.split())
    assert [one["statement"] for one in recalled(home, new)] == [WORDS]


def test_a_project_that_nobody_finds_again_is_a_note_with_the_shape_of_the_command(
    moved: tuple[Home, Path, Path],
) -> None:
    home, old, new = moved
    new.rename(new.with_name("bakery"))
    found = named(home, "projects", "scope-orphaned")
    assert found["severity"] == "note"
    assert found["next"] == f"mash rebind {old} NEW_FOLDER"
    shell(home, f"mash rebind {old} {new.with_name('bakery')} --yes")
    assert is_gone(home, "projects", "scope-orphaned")


def test_of_two_likely_places_none_is_chosen(moved: tuple[Home, Path, Path]) -> None:
    home, _old, _new = moved
    (home.root / "work/copy/shop").mkdir(parents=True)
    found = named(home, "projects", "scope-orphaned")
    assert found["severity"] == "note"
    assert "work/copy/shop" in found["why"]
    assert not found["fixable"]


def test_records_of_a_folder_that_got_a_remote_follow_it_by_the_printed_command(
    home: Home,
) -> None:
    shop = home.root / "work/shop"
    shop.mkdir(parents=True)
    write_chat(home, shop, WORDS)
    home.mash("init", "--yes", "--no-agents")
    save_in(home, shop)
    write_repository(shop, "git@github.com:acme/shop.git")
    found = named(home, "projects", "scope-left")
    assert found["severity"] == "note"
    assert f"1 record of {shop}, saved before it had a remote" in found["what"]
    shell(home, f"{found['next']} --yes")
    assert is_gone(home, "projects", "scope-left")
