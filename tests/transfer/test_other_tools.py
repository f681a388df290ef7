"""What other tools remember comes in as candidates that quote it, and can be taken back."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import Forgotten, InvalidArgument, NotFound, RecordsDisabled, TooLarge
from mash_plugin.memory.forget_chat import find_going, forget_chat
from mash_plugin.records.model import Scope
from mash_plugin.transfer.candidates_in import take_back, take_in
from mash_plugin.transfer.claude_mem import read_observations
from mash_plugin.transfer.rules import read_rules
from tests.conftest import SHOP, Memory, Shop
from tests.support.transcripts import write_repository, write_work_tree
from tests.transfer.conftest import Json, a_memory, chats_of, export, rows_of
from tests.transfer.conftest import take_in as take_in_export

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "others"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
REPOSITORY = Scope("repository", SHOP)


@pytest.fixture
def rules(memory: Memory) -> Path:
    """The rules of the shop's repository."""
    path = memory.projects / "w" / "shop" / "CLAUDE.md"
    path.write_text((FIXTURES / "CLAUDE.md").read_text().replace("GHTOKEN", TOKEN))
    return path


@pytest.fixture
def folder(memory: Memory, shop: Shop) -> Path:
    """The auto memory beside the transcripts of the shop."""
    memory.index()
    path = next(memory.claude_root.rglob("*.jsonl")).parent / "memory"
    shutil.copytree(FIXTURES / "memory", path)
    return path


def bring(memory: Memory, source: str, path: Path, scope: Scope | None = None, **more: Any) -> Json:
    return take_in(memory.call_now(), source, str(path), scope, **more)


def statements(memory: Memory) -> list[str]:
    return [row["statement"] for row in rows_of(memory)["revisions"]]


def test_the_lines_that_are_rules_become_candidates(memory: Memory, rules: Path) -> None:
    done = bring(memory, "rules", rules)
    assert [record["statement"] for record in done["records"]] == [
        "Prefer small functions.",
        "Use tabs in Makefiles, spaces elsewhere.",
        "Never push to `main`.",
        "Open a branch first.",
        "Après le café, lance les tests.",
    ]
    assert done["scope"] == list(REPOSITORY)
    assert done["left_out"] == {
        "paragraphs of more than three lines": 1,
        "with a credential": 1,
        "with private text": 1,
    }
    assert TOKEN not in str(rows_of(memory)) + str(chats_of(memory))


@pytest.mark.spec("R-001", "R-028", "R-029")
def test_each_is_a_candidate_whose_quote_stands_in_the_file(memory: Memory, rules: Path) -> None:
    bring(memory, "rules", rules)
    text = rules.read_text()
    found = rows_of(memory)
    assert {row["review"] for row in found["records"]} == {"candidate"}
    assert all(row["quote"] in text for row in found["evidence"])
    assert {row["author"] for row in found["evidence"]} == {"unknown"}
    [(chat, messages)] = chats_of(memory)
    assert (chat[1], chat[4]) == ("import", "Import of CLAUDE.md")
    assert {row["chat_id"] for row in found["evidence"]} == {chat[0]}
    assert "door" not in messages[0][4]
    items = memory.recall(scope={"kind": "repository", "identity": SHOP})["records"]
    assert {item["status"] for item in items} == {"candidate"}
    assert len(items) == 5


def test_a_preview_saves_nothing(memory: Memory, rules: Path) -> None:
    tried = bring(memory, "rules", rules, is_dry_run=True)
    assert (rows_of(memory)["records"], chats_of(memory)) == ([], [])
    done = bring(memory, "rules", rules)
    assert [r["statement"] for r in tried["records"]] == [r["statement"] for r in done["records"]]


def test_an_import_is_taken_back_as_if_it_had_never_been(memory: Memory, rules: Path) -> None:
    done = bring(memory, "rules", rules)
    assert take_back(memory.call_now(), done["import_id"])["removed"] == 5
    found = rows_of(memory)
    assert found["records"] == found["receipts"] == found["record_tombstones"] == []
    assert chats_of(memory) == []
    assert len(bring(memory, "rules", rules)["records"]) == 5
    with pytest.raises(NotFound):
        take_back(memory.call_now(), done["import_id"])


def test_what_the_person_has_changed_stays(memory: Memory, rules: Path) -> None:
    done = bring(memory, "rules", rules)
    first = done["records"][0]["id"]
    evidence = [{"message_id": rows_of(memory)["evidence"][0]["message_id"], "quote": "Prefer"}]
    body = {
        "statement": "Prefer tiny functions.",
        "details": {"kind": "preference", "state": "active"},
    }
    memory.change("revise", {"id": first, "revision": 1}, body=body, evidence=evidence)
    undone = take_back(memory.call_now(), done["import_id"])
    assert (undone["removed"], undone["kept"]) == (4, [first])
    assert len(chats_of(memory)) == 1


def test_the_same_file_is_taken_in_once_and_a_changed_one_for_what_is_new(
    memory: Memory, rules: Path
) -> None:
    first = bring(memory, "rules", rules)
    again = bring(memory, "rules", rules)
    assert again["already"]["import_id"] == first["import_id"]
    with rules.open("a") as file:
        file.write("\n- Write tests first.\n")
    more = bring(memory, "rules", rules)
    assert [record["statement"] for record in more["records"]] == ["Write tests first."]
    assert more["left_out"]["that came with an earlier import"] == 5


@pytest.mark.spec("R-179")
def test_what_was_forgotten_does_not_come_back(memory: Memory, rules: Path) -> None:
    done = bring(memory, "rules", rules)
    memory.change("forget", {"id": done["records"][0]["id"], "revision": 1})
    with rules.open("a") as file:
        file.write("\n- Write tests first.\n")
    more = bring(memory, "rules", rules)
    assert more["left_out"]["that you have forgotten"] == 1
    assert "Prefer small functions." not in statements(memory)


@pytest.mark.spec("R-178", "R-179")
def test_its_chat_can_be_forgotten_with_all_that_came(memory: Memory, rules: Path) -> None:
    done = bring(memory, "rules", rules)
    forget_chat(memory.call_now(), find_going(memory.call_now(), done["chat_id"]))
    assert (rows_of(memory)["records"], chats_of(memory)) == ([], [])
    with memory.call.store.writing() as db:
        db.run("DELETE FROM imports")
    with pytest.raises(Forgotten, match="restore-chat"):
        bring(memory, "rules", rules)


def test_what_a_record_says_already_is_left_out(memory: Memory, shop: Shop, rules: Path) -> None:
    memory.index()
    body = {
        "statement": "Prefer small functions.",
        "details": {"kind": "preference", "state": "active"},
    }
    memory.create(body, [{"session_id": "s-1", "quote": "Yes"}])
    assert bring(memory, "rules", rules)["left_out"]["that a record says already"] == 1


def test_auto_memory_belongs_to_the_project_whose_transcripts_lie_beside_it(
    memory: Memory, folder: Path
) -> None:
    done = bring(memory, "claude-memory", folder)
    assert done["scope"] == list(REPOSITORY)
    assert [(record["kind"], record["statement"]) for record in done["records"]] == [
        ("preference", "Run the linter before each push."),
        ("preference", "Keep commit subjects under fifty letters, and say why in the body."),
        ("fact", 'The ledger keeps amounts as whole cents; "12.50" is a display form.'),
    ]
    assert done["left_out"] == {"with private text": 1}
    evidence = rows_of(memory)["evidence"]
    texts = [path.read_text() for path in folder.glob("*.md")]
    assert all(any(row["quote"] in text for text in texts) for row in evidence)
    assert "Lisbon" not in str(rows_of(memory)) + str(chats_of(memory))


def test_a_place_that_tells_no_project_needs_a_scope(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="--scope"):
        bring(memory, "rules", Path("/AGENTS.md"))
    with pytest.raises(InvalidArgument, match="--scope"):
        bring(memory, "claude-memory", tmp_path)
    path = tmp_path / "AGENTS.md"
    path.write_text("- Use tabs always.\n")
    assert bring(memory, "rules", path)["scope"] == ["local_project", str(tmp_path)]
    assert bring(memory, "rules", path, Scope("personal"))["scope"] == ["personal", ""]


def test_rules_in_a_linked_work_tree_hold_where_its_sessions_look(
    memory: Memory, tmp_path: Path
) -> None:
    main = write_repository(tmp_path / "main", None)
    path = write_work_tree(main, tmp_path / "tree") / "AGENTS.md"
    path.write_text("- Use tabs always.\n")
    assert bring(memory, "rules", path)["scope"] == ["local_project", str(main)]


def test_the_persons_own_rules_are_personal_and_those_for_an_agent_the_projects(
    memory: Memory,
) -> None:
    own = memory.claude_root / "CLAUDE.md"
    of_project = memory.projects / "w" / "shop" / ".claude" / "CLAUDE.md"
    of_project.parent.mkdir()
    for path in (own, of_project):
        path.write_text("- Answer in French.\n")
    assert bring(memory, "rules", own)["scope"] == ["personal", ""]
    assert bring(memory, "rules", of_project)["scope"] == list(REPOSITORY)


def test_decisions_and_discoveries_of_claude_mem_come_for_their_project(memory: Memory) -> None:
    path = FIXTURES / "claude-mem-page.json"
    with pytest.raises(InvalidArgument, match="--scope"):
        bring(memory, "claude-mem", path)
    done = bring(memory, "claude-mem", path, REPOSITORY)
    assert [(record["kind"], record["statement"]) for record in done["records"]] == [
        ("fact", "The bank's sandbox needs an idempotency key: A second charge otherwise"),
        ("decision", "Use Typst for invoices: Chosen over LaTeX"),
    ]
    assert done["left_out"] == {
        "of other projects than shop": 1,
        "that only tell what was done": 1,
    }
    assert {row["state"] for row in rows_of(memory)["records"]} == {"current", "proposed"}
    assert {row["reported_by"] for row in rows_of(memory)["revisions"]} == {"claude-mem", None}


def test_the_other_shape_of_claude_mem_is_read_too() -> None:
    data = (FIXTURES / "claude-mem-import.json").read_bytes()
    [item] = read_observations(data, "shop").items
    assert item.statement == item.quote == "Invoices carry the number of the order."


@pytest.mark.parametrize(
    "data", [b"", b"[[[", b"{}", b'{"items": 3}', b'{"items": [3]}', b"\xff" * 10, b"[" * 100_000]
)
def test_what_claude_mem_never_writes_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgument, match="nothing that claude-mem gives out"):
        read_observations(data, None)


def test_odd_observations_are_passed_over() -> None:
    data = b'{"items": [{"type": "decision", "title": 5}, {"type": ["x"]}, {"type": "discovery"}]}'
    found = read_observations(data, None)
    assert (found.items, found.left_out.total()) == ([], 3)


def test_links_large_files_and_unknown_sources_are_refused(memory: Memory, rules: Path) -> None:
    link = rules.with_name("AGENTS.md")
    link.symlink_to(rules)
    with pytest.raises(InvalidArgument, match="is a link"):
        bring(memory, "rules", link)
    with pytest.raises(InvalidArgument, match="source: one of"):
        bring(memory, "cursor", rules)
    with rules.open("wb") as file:
        os.truncate(file.fileno(), 5 << 20)
    with pytest.raises(TooLarge):
        bring(memory, "rules", rules)


@pytest.mark.parametrize("data", [b"- Use tabs.\n\xff\xfe", b"- Use tabs.\n\0", b"\x1f\x8b\x08"])
def test_what_is_no_text_holds_no_rules(memory: Memory, rules: Path, data: bytes) -> None:
    rules.write_bytes(data)
    with pytest.raises(InvalidArgument, match="is no text"):
        bring(memory, "rules", rules)


def test_a_file_whose_name_is_no_utf8_is_taken_in(memory: Memory, folder: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md"))
    odd.write_text("Deploys happen on Mondays.")
    done = bring(memory, "claude-memory", folder)
    (record,) = (r for r in done["records"] if r["statement"].startswith("Deploys"))
    assert record["from"] == "?.md"
    renamed = folder.rename(os.fsdecode(os.fsencode(folder.parent) + b"/\xff"))
    assert bring(memory, "claude-memory", renamed, REPOSITORY)["already"]


@pytest.mark.spec("R-139")
def test_nothing_comes_in_while_records_are_switched_off(memory: Memory, rules: Path) -> None:
    memory.set(records_enabled=False)
    with pytest.raises(RecordsDisabled):
        bring(memory, "rules", rules)


def test_long_rules_and_open_fences_are_no_rules() -> None:
    text = "- " + "long " * 500 + "\n- Short one.\n```\n- inside an open fence\n"
    found = read_rules("CLAUDE.md", text)
    assert [item.statement for item in found.items] == ["Short one."]
    assert found.left_out == {"over 2000 characters": 1}


@pytest.mark.spec("R-163")
def test_an_import_can_be_taken_back_after_the_store_has_moved(
    memory: Memory, rules: Path, tmp_path: Path
) -> None:
    done = bring(memory, "rules", rules)
    export(memory, tmp_path / "out")
    with a_memory(tmp_path / "new") as new:
        take_in_export(new, tmp_path / "out", "identity")
        assert bring(new, "rules", rules)["already"]["import_id"] == done["import_id"]
        assert take_back(new.call_now(), done["import_id"])["removed"] == 5
        assert rows_of(new)["records"] == rows_of(new)["receipts"] == []
