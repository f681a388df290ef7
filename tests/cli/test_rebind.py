"""`mash rebind` shows what moves, asks, and tells how it is taken back."""

import json
import shutil

from tests.cli.test_chats_commands import write_chat
from tests.doctor.test_projects import recalled, save_in
from tests.setup.terminals import at_terminal
from tests.support.homes import Home
from tests.support.transcripts import write_repository

WORDS = "We render invoices with Typst from now on, that's decided."


def test_it_shows_asks_moves_and_can_be_taken_back(fresh: Home) -> None:
    old, new = fresh.root / "work/shop", fresh.root / "work/store front"
    (old / ".git").mkdir(parents=True)
    (old / ".git/HEAD").write_text("ref: refs/heads/main\n")
    write_chat(fresh, old, WORDS)
    fresh.mash("init", "--yes", "--no-agents")
    save_in(fresh, old)
    old.rename(new)
    line = ["mash", "rebind", str(old), str(new)]
    done = fresh.run(*line)
    assert done.code == 2
    assert "add --yes" in done.err
    code, shown = at_terminal(line, fresh.environment, fresh.home, ["n\n"])
    assert code == 1
    assert "Move 1 record to" in " ".join(shown.split())
    assert "Nothing was changed." in shown
    told = json.loads(fresh.run(*line, "--dry-run", "--json").out)
    assert (told["records"], told["done"], told["old_exists"]) == (1, False, False)
    assert recalled(fresh, new) == []
    code, shown = at_terminal(line, fresh.environment, fresh.home, ["y\n"])
    assert code == 0, shown
    assert len(recalled(fresh, new)) == 1
    back = fresh.run("sh", "-c", f"mash rebind '{new}' {old} --yes")
    assert back.code == 0, back
    assert f"`mash rebind {old} '{new}'` takes it back" in back.out
    assert recalled(fresh, new) == []
    assert len(recalled(fresh, old)) == 1


def test_a_folder_that_got_a_remote_gives_its_records_to_every_clone(fresh: Home) -> None:
    shop = fresh.root / "work/shop"
    write_repository(shop, None)
    write_chat(fresh, shop, WORDS)
    fresh.mash("init", "--yes", "--no-agents")
    save_in(fresh, shop)
    shutil.rmtree(shop)
    write_repository(shop, "git@github.com:acme/shop.git")
    everywhere = {"scope": {"kind": "repository", "identity": "github.com/acme/shop"}}
    assert fresh.call("recall_records", everywhere)["records"] == []
    for command in (["publish"], ["projects", str(shop)], ["doctor", "--category", "projects"]):
        told = " ".join(fresh.mash(*command).out.split())
        assert f"1 record of {shop}, saved before it had a remote" in told, command
        assert f"mash rebind {shop}" in told
    line = ["mash", "rebind", str(shop)]
    done = fresh.mash(*line[1:], "--yes", env={"CLAUDE_CODE_SESSION_ID": "s-1"})
    assert (done.code, "an agent's session" in " ".join(done.err.split())) == (2, True)
    code, shown = at_terminal(line, fresh.environment, fresh.home, ["y\n"])
    assert code == 0, shown
    assert "No command takes it back" in " ".join(shown.split())
    assert "Move 1 record to github.com/acme/shop?" in " ".join(shown.split())
    (record,) = fresh.call("recall_records", everywhere)["records"]
    assert record["statement"] == WORDS
    assert "had a remote" not in fresh.mash("publish").out


def test_a_folder_without_records_is_one_line(home: Home) -> None:
    done = home.mash("rebind", "/none", "/other")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert "No records belong to /none" in done.err


def test_no_tool_moves_records(home: Home) -> None:
    answer = home.call("terminal_rebind", {"old": "/a", "new": "/b"})
    assert answer["error"]["code"] == "invalid_argument"
