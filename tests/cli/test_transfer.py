"""`mash export` and `mash import` at the terminal."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin import client
from mash_plugin.errors import InvalidArgument
from mash_plugin.paths import find_paths
from tests.setup.terminals import on_a_terminal
from tests.store.saving import mode
from tests.support.homes import Home, person
from tests.support.saved import save, statements

pytestmark = pytest.mark.slow

STATEMENT = "Invoices are rendered with Typst."


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Home]:
    """Another machine of the same person, without any chat."""
    with person(tmp_path / "machine") as made:
        made.mash("init", "--yes", "--no-agents", "--no-index")
        yield made


@pytest.mark.spec("R-161", "R-164")
def test_an_export_is_private_and_says_so_on_standard_error(told: Home) -> None:
    done = told.mash("export", "--out", "mine.gz")
    assert done.code == 0, done
    assert done.err.startswith("mash: The file holds the text of records, quotes and chats")
    path = told.home / "mine.gz"
    assert done.out == (
        f"Wrote {path}: 1 record in 1 revision, 1 chat with 1 message, {path.stat().st_size}"
        " bytes.\n"
    )
    assert mode(str(path)) == 0o600
    assert "mash export --out my.gz" in told.mash("export", "my.gz").err
    clone = told.root / "work" / "shop-1"
    for command in ("export", "bug-report"):
        warned = told.mash(command, "-o", "report.gz" + command, cwd=clone)
        assert f"The file lies in the git work tree {clone}" in warned.err, command
    again = told.mash("export", "--out", "mine.gz")
    assert (again.code, again.out) == (1, "")
    assert "is there already" in again.err


def test_without_a_name_it_is_a_new_file_in_this_folder(told: Home) -> None:
    done = told.mash("export", "--json")
    path = Path(json.loads(done.out)["path"])
    assert path.parent == told.home
    assert re.fullmatch(r"mash-export-\d{8}-\d{6}\.jsonl\.gz", path.name)


def test_without_a_name_nothing_is_written_into_a_git_work_tree(told: Home) -> None:
    clone = told.root / "work" / "shop-1"
    before = sorted(clone.iterdir())
    for command, name in (("export", "mash-export-*"), ("bug-report", "mash-bug-report-*")):
        done = told.mash(command, cwd=clone)
        (made,) = told.home.glob(name)
        assert f"Wrote {made}: " in done.out
        assert "work tree" not in done.err
    assert sorted(clone.iterdir()) == before


def test_a_part_is_exported_by_scope_or_by_folder(told: Home) -> None:
    done = told.mash("export", "--scope", "personal", "--out", "none.gz", "--json")
    assert json.loads(done.out)["counts"].get("record") is None
    clone = told.root / "work" / "shop-1"
    done = told.mash("export", "--project", "--out", "shop.gz", "--json", cwd=clone)
    assert json.loads(done.out)["counts"]["record"] == 1
    assert told.mash("export", "--scope", "mine").code == 1
    assert "is no scope" in told.mash("export", "--scope", "repository:").err
    assert "is no project" in told.mash("export", "--project", cwd=Path("/")).err


@pytest.mark.spec("R-162")
def test_an_import_is_previewed_asked_for_and_done(told: Home, machine: Home) -> None:
    file = str(told.home / "mine.gz")
    told.mash("export", "--out", file)
    tried = machine.mash("import", file, "--dry-run")
    assert tried.code == 0, tried
    assert "Would take in 1 record, 0 links, 1 chat with 1 message." in tried.out
    asked = machine.mash("import", file)
    assert asked.code == 2
    assert "--yes" in asked.err
    code, shown = on_a_terminal(machine, "n\n", "mash", "import", file, "--as-mine")
    assert (code, "Nothing was changed." in shown) == (1, True)
    assert statements(machine) == []
    code, shown = on_a_terminal(machine, "y\n", "mash", "import", file, "--as-mine")
    assert code == 0, shown
    assert "Took in 1 record" in shown
    assert "All of it becomes your own word" in shown
    assert "Take all of it in as your own word? [y/N]" in shown
    assert statements(machine) == [STATEMENT]
    code, shown = on_a_terminal(machine, "", "mash", "import", file, "--as-mine")
    assert code == 0
    assert re.fullmatch(
        r"This was taken in .* \(1 record, import [0-9a-f]{32}\): nothing to do\.\r\n", shown
    )


@pytest.mark.spec("R-162")
def test_what_stays_another_owners_is_named_so_everywhere(told: Home, machine: Home) -> None:
    file = str(told.home / "mine.gz")
    told.mash("export", "--out", file)
    done = machine.mash("import", file, "--yes")
    assert "They stay another owner's and reach no agent; --as-mine" in done.out
    listed = machine.mash("records")
    assert "decision (another owner's)" in listed.out
    assert "0 records of yours, 1 of another owner: those reach no agent." in listed.err
    (clone,) = machine.repository("shop")
    explained = machine.mash("recall", "--explain", cwd=clone)
    assert "another owner's: it came with an import" in " ".join(explained.out.split())
    line = machine.mash("statusline", stdin=json.dumps({"cwd": str(clone)}))
    assert line.out.startswith("mash: 0 records and 1 of another owner")


@pytest.mark.spec("R-162")
def test_ones_own_export_has_nothing_new(told: Home) -> None:
    told.mash("export", "--out", "mine.gz")
    code, shown = on_a_terminal(told, "", "mash", "import", "mine.gz")
    assert code == 0, shown
    assert "Of these, 1 record you have as your own already." in shown
    assert "This is an export of this very store, and nothing in it is new" in shown
    assert len(statements(told)) == 1
    assert told.mash("import", "mine.gz", "--yes").code == 0
    assert "1 record of yours, 1 of another owner" in told.mash("records").err


def test_nothing_becomes_the_persons_own_without_the_person(told: Home, machine: Home) -> None:
    file = str(told.home / "mine.gz")
    told.mash("export", "--out", file)
    for options in ((), ("--yes",), ("--yes", "--json")):
        refused = machine.mash("import", file, "--as-mine", *options)
        assert (refused.code, refused.out) == (2, ""), options
        assert "in a terminal of your own" in refused.err
    # The word to leave out the question is an agent's too.
    code, shown = on_a_terminal(machine, "", "mash", "import", file, "--as-mine", "--yes")
    assert (code, "it asks you" in shown) == (2, True)
    tried = machine.mash("import", file, "--as-mine", "--dry-run", "--json")
    assert json.loads(tried.out)["counts"]["records"] == 1
    assert statements(machine) == []


def test_the_daemon_makes_the_persons_own_only_what_was_shown(told: Home, machine: Home) -> None:
    file = told.home / "mine.gz"
    told.mash("export", "--out", str(file))
    paths = find_paths({"MASH_HOME": str(machine.mash_home)})
    request = {"path": str(file), "mode": "mine"}
    with pytest.raises(InvalidArgument, match="Only what the person was shown"):
        client.call("import_export", request, paths=paths)
    shown = client.call("import_export", request | {"dry_run": True}, paths=paths)
    file.unlink()
    save(told, "candidate", "Something else.")
    told.mash("export", "--out", str(file))
    with pytest.raises(InvalidArgument, match="is not the file that you were shown"):
        client.call("import_export", request | {"checksum": shown["checksum"]}, paths=paths)
    assert statements(machine) == []


def test_no_agent_replaces_the_whole_memory(told: Home, machine: Home) -> None:
    file = str(told.home / "mine.gz")
    told.mash("export", "--out", file)
    backup = machine.home / "records.db"
    shutil.copy(told.mash_home / "data" / "records.db", backup)
    for variable, words in (
        ("CLAUDECODE", ("import", file, "--keep-identity", "--yes")),
        ("CODEX_THREAD_ID", ("restore", str(backup), "--yes")),
    ):
        refused = machine.mash(*words, env={variable: "1"})
        assert (refused.code, refused.out) == (2, "")
        assert f"this is an agent's session ({variable} is set)" in refused.err
    for words in (("import", file, "--as-mine"), ("restore", str(backup))):
        # On a terminal that the agent opened itself, too.
        command = ("env", "CLAUDECODE=1", "mash", *words)
        code, shown = on_a_terminal(machine, "y\n", *command)
        assert (code, "agent's session" in " ".join(shown.split())) == (2, True)
    assert statements(machine) == []


@pytest.mark.spec("R-163")
def test_a_store_moves_to_another_machine(told: Home, machine: Home) -> None:
    file = str(told.home / "mine.gz")
    told.mash("export", "--out", file)
    done = machine.mash("import", file, "--keep-identity", "--yes", "--json")
    assert done.code == 0, done
    assert "Retire the original" in done.err
    assert json.loads(done.out)["counts"]["records"] == 1
    assert machine.records("shop") == told.records("shop")
    refused = told.mash("import", file, "--keep-identity", "--yes")
    assert refused.code == 1
    assert refused.err.startswith("mash: --keep-identity needs an empty store")


@pytest.mark.spec("R-161")
def test_a_damaged_file_is_refused_in_one_line(told: Home) -> None:
    (told.home / "bad.gz").write_bytes(b"hello")
    done = told.mash("import", "bad.gz", "--yes")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "mash: This is no export of mash, or was cut off or damaged at its very beginning. Another"
        " tool's memory comes in with --from. Nothing was imported.\n"
    )
    gone = told.mash("import", "none.gz", "--yes")
    path = told.home / "none.gz"
    said = f"{path} cannot be read (no such file or directory). Nothing was imported."
    assert gone.err == f"mash: {said}\n"
    (told.home / "CLAUDE.md").write_text("- Prefer small functions.\n")
    rules = told.mash("import", "CLAUDE.md", "--yes")
    assert (rules.code, "mash import CLAUDE.md --from rules" in rules.err) == (2, True)


def test_rules_become_candidates_and_are_taken_back(told: Home) -> None:
    clone = told.root / "work" / "shop-1"
    (clone / "CLAUDE.md").write_text("- Prefer small functions.\n- Use tabs in Makefiles.\n")
    tried = told.mash("import", "CLAUDE.md", "--from", "rules", "--dry-run", cwd=clone)
    assert "Would become 2 candidates of host.example/team/shop:" in tried.out
    assert "    preference Prefer small functions.\n" in tried.out
    (told.home / "link").symlink_to(clone.parent)
    named = ("--scope", f"project:{told.home}/link", "--dry-run", "--json")
    tried = told.mash("import", "CLAUDE.md", "--from", "rules", *named, cwd=clone)
    assert json.loads(tried.out)["scope"] == ["local_project", str(clone.parent)]
    done = told.mash("import", "CLAUDE.md", "--from", "rules", "--yes", cwd=clone)
    assert done.code == 0, done
    assert len(statements(told)) == 3
    chat = json.loads(told.mash("chats", "--json").out)["chats"][-1]
    assert chat["title"] == "Import of CLAUDE.md"
    for words in (("chats",), ("chats", chat["id"]), ("status",), ("size",), ("records", "--all")):
        assert told.mash(*words).code == 0, words
    assert "Use tabs in Makefiles." in told.mash("chats", chat["id"]).out
    undo = done.out.rstrip().rpartition("To take it back: mash ")[2].split()
    assert told.mash(*undo).out == "Took back 2 candidates.\n"
    assert statements(told) == [STATEMENT]


def test_options_that_do_not_go_together_are_told(told: Home) -> None:
    for words in (
        ("x.gz", "--keep-identity", "--as-mine"),
        ("x.gz", "--from", "rules", "--as-mine"),
        ("x.gz", "--scope", "personal"),
        (),
        ("x.gz", "--from", "cursor"),
    ):
        assert told.mash("import", *words).code == 2, words


@pytest.mark.spec("R-163")
def test_no_tool_reaches_them(told: Home) -> None:
    for name in ("export", "import_export", "import_memory", "undo_import"):
        answer = told.call(name, {"path": "/tmp/x"})
        assert "the person's own commands alone" in answer["error"]["message"]
