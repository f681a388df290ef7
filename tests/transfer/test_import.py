"""What an import brings: as another owner's, as the person's own, or the store itself."""

import os
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import (
    EndorsementNotByPerson,
    Forgotten,
    InvalidArgument,
    PrivateText,
    RecordsDisabled,
)
from mash_plugin.memory.forget_chat import find_going, forget_chat
from mash_plugin.memory.freshness import recheck
from mash_plugin.records.model import Scope
from mash_plugin.store.operations import identity_of
from mash_plugin.transfer.names import Mode
from tests.conftest import CHOICE, NOW, QUESTION, SHOP, Memory, Shop
from tests.memory.test_terminal import by_hand
from tests.transfer.conftest import Json, chats_of, edited, export, rows_of, take_in


@pytest.fixture
def file(memory: Memory, told: Json, tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl.gz"
    export(memory, path)
    return path


def owner_of(memory: Memory) -> str:
    with memory.call.store.reading() as db:
        return identity_of(db).owner


def texts(memory: Memory) -> list[tuple[str, str]]:
    """Statement and state of every record, whoever owns it."""
    found = memory.pages(include_inactive=True, limit=50)["records"]
    return sorted((item["statement"], item["state"]) for item in found)


@pytest.mark.spec("R-161", "R-163", "R-064")
def test_a_store_comes_back_as_itself(
    memory: Memory, other: Memory, told: Json, file: Path
) -> None:
    done = take_in(other, file, "identity")
    assert "Retire the original" in done["notice"]
    assert rows_of(other) == rows_of(memory)
    assert chats_of(other) == chats_of(memory)
    with memory.call.store.reading() as a, other.call.store.reading() as b:
        generation = "SELECT value FROM meta WHERE key = 'generation'"
        assert a.one(generation) != b.one(generation)


@pytest.mark.spec("R-163", "R-064", "R-065")
@pytest.mark.row(40)
def test_a_retry_of_an_old_operation_gets_its_receipt_from_the_restored_store(
    memory: Memory, shop: Shop, other: Memory, tmp_path: Path
) -> None:
    memory.index()
    first = memory.established("Use Qdrant.", operation_id="the first")
    gone = memory.candidate("Forget this.", operation_id="gone")
    memory.change("forget", gone)
    export(memory, tmp_path / "out")
    take_in(other, tmp_path / "out", "identity")
    assert other.established("Use Qdrant.", operation_id="the first") == {**first, "replayed": True}
    with pytest.raises(Forgotten):
        other.candidate("Forget this.", operation_id="gone")


@pytest.mark.spec("R-012", "R-162", "R-064")
def test_a_normal_import_is_a_new_owners_under_new_ids(
    memory: Memory, other: Memory, told: Json, file: Path
) -> None:
    done = take_in(other, file)
    assert done["counts"]["records"] == 5
    assert texts(other) == texts(memory)
    theirs = rows_of(other)
    ids = {row["record_id"] for row in theirs["records"]}
    assert not ids & {row["record_id"] for row in rows_of(memory)["records"]}
    owners = {row["owner_id"] for row in theirs["records"]}
    assert not owners & {owner_of(other), owner_of(memory)}
    assert {r["origin"] for r in theirs["owners"] if r["owner_id"] in owners} == {"import"}
    assert theirs["receipts"] == theirs["record_tombstones"] == []
    assert len(theirs["links"]) == len(rows_of(memory)["links"])
    assert all({row["from_record"], row["to_record"]} <= ids for row in theirs["links"])
    assert other.recall(scope={"kind": "repository", "identity": SHOP})["records"] == []
    listed = other.pages(include_inactive=True, limit=50)["records"]
    assert {item["owner"] for item in listed} == owners
    assert other.get(listed[0]["id"])["record"]["owner"] in owners
    assert "owner" not in str(memory.pages(include_inactive=True, limit=50)["records"])


@pytest.mark.spec("R-162")
def test_the_same_store_can_hold_both_sets(memory: Memory, told: Json, file: Path) -> None:
    before = rows_of(memory)
    take_in(memory, file)
    after = rows_of(memory)
    for table in ("records", "revisions", "evidence", "confirmations", "links"):
        assert len(after[table]) == 2 * len(before[table])
    mine = [row for row in after["records"] if row["owner_id"] == owner_of(memory)]
    assert mine == before["records"]
    new = {row["record_id"] for row in after["records"] if row not in mine}
    links = [row for row in after["links"] if row not in before["links"]]
    assert all({row["from_record"], row["to_record"]} <= new for row in links)


@pytest.mark.spec("R-162")
def test_what_is_mine_is_recalled_as_mine(memory: Memory, other: Memory, file: Path) -> None:
    take_in(other, file, "mine")
    scope = {"kind": "repository", "identity": SHOP}
    ours = {item["statement"]: item["status"] for item in memory.recall(scope=scope)["records"]}
    found = other.recall(scope=scope)["records"]
    assert {item["statement"]: item["status"] for item in found} == ours
    assert len(found) == 4


@pytest.mark.spec("R-161", "R-163", "R-025")
@pytest.mark.parametrize("mode", ["mine", "identity"])
def test_what_was_brought_back_by_hand_alone_comes_in_as_it_stands(
    memory: Memory, shop: Shop, other: Memory, tmp_path: Path, mode: Mode
) -> None:
    made = memory.established("Use Qdrant.")
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    recheck(memory.call, memory.index())
    by_hand(memory, "establish", made["id"])
    export(memory, tmp_path / "file")
    take_in(other, tmp_path / "file", mode)
    [item] = other.recall(scope={"kind": "repository", "identity": SHOP})["records"]
    assert (item["statement"], item["revision"], item["status"]) == ("Use Qdrant.", 2, "current")
    newest, first = other.get(item["id"], history=True)["revisions"]
    assert newest["origin"] == "by the person at the terminal"
    assert newest["evidence"] == []
    assert first["evidence"][0]["status"] == "changed"


@pytest.mark.spec("R-162", "R-066")
def test_what_says_the_same_is_kept_once_and_links_lead_there(
    memory: Memory, told: Json, file: Path
) -> None:
    before = rows_of(memory)
    counts = take_in(memory, file, "mine")["counts"]
    assert counts["same_records"] == 4
    assert counts["records"] == 1  # the superseded one: a retired choice is no duplicate
    after = rows_of(memory)
    assert [r for r in after["records"] if r in before["records"]] == before["records"]
    [link] = [row for row in after["links"] if row not in before["links"]]
    assert link["from_record"] == told["new"]["id"]


@pytest.mark.spec("R-161", "R-162")
@pytest.mark.parametrize("mode", ["export", "mine", "identity"])
@pytest.mark.row(62)
def test_the_same_file_is_taken_in_once(
    memory: Memory, other: Memory, told: Json, file: Path, mode: Any
) -> None:
    first = take_in(other, file, mode)
    before = rows_of(other), chats_of(other)
    again = take_in(other, file, mode)
    assert again["already"] == {
        "import_id": first["counts"]["import_id"],
        "records": 5,
        "imported_at": NOW,
    }
    assert (rows_of(other), chats_of(other)) == before


@pytest.mark.spec("R-162")
def test_a_later_export_of_a_store_brings_only_what_is_new(
    memory: Memory, other: Memory, told: Json, file: Path, tmp_path: Path
) -> None:
    take_in(other, file)
    memory.candidate("A later wish.")
    export(memory, tmp_path / "later")
    counts = take_in(other, tmp_path / "later")["counts"]
    assert (counts["records"], counts["known_records"]) == (1, 5)
    assert texts(other) == texts(memory)


@pytest.mark.spec("R-065", "R-179")
@pytest.mark.parametrize("mode", ["export", "mine"])
def test_a_forgotten_record_does_not_come_back_with_an_older_file(
    memory: Memory, told: Json, file: Path, mode: Any
) -> None:
    memory.change("forget", told["wish"])
    counts = take_in(memory, file, mode)["counts"]
    assert counts["forgotten_records"] == 1
    assert "Perhaps use Milvus." not in str(rows_of(memory))


@pytest.mark.spec("R-065", "R-179")
def test_what_was_forgotten_of_an_import_does_not_come_back_with_a_later_file(
    memory: Memory, other: Memory, told: Json, file: Path, tmp_path: Path
) -> None:
    take_in(other, file, "mine")
    found = other.pages(include_inactive=True, limit=50)["records"]
    [wish] = [item for item in found if item["statement"] == "Perhaps use Milvus."]
    other.change("forget", wish)
    memory.candidate("A later wish.")
    export(memory, tmp_path / "later")
    counts = take_in(other, tmp_path / "later", "mine")["counts"]
    assert counts["forgotten_records"] == 1
    assert "Perhaps use Milvus." not in str(rows_of(other))


@pytest.mark.spec("R-178", "R-179", "R-180")
def test_a_forgotten_chat_stays_out_with_all_that_cites_it(
    memory: Memory, told: Json, file: Path
) -> None:
    forget_chat(memory.call_now(), find_going(memory.call_now(), "claude-code-s-1"))
    counts = take_in(memory, file)["counts"]
    assert (counts["records"], counts["chats"]) == (0, 0)
    assert (counts["forgotten_records"], counts["forgotten_chats"]) == (5, 1)
    assert rows_of(memory)["records"] == []
    assert chats_of(memory) == []


@pytest.mark.spec("R-163", "R-180")
def test_what_the_source_forgot_the_restored_store_has_forgotten(
    memory: Memory, told: Json, other: Memory, shop: Shop, tmp_path: Path
) -> None:
    forget_chat(memory.call_now(), find_going(memory.call_now(), "claude-code-s-1"))
    export(memory, tmp_path / "out")
    take_in(other, tmp_path / "out", "identity")
    os.renames(memory.claude_root, other.claude_root.parent / "moved")
    (other.claude_root).rmdir()
    os.rename(other.claude_root.parent / "moved", other.claude_root)
    other.index()
    assert chats_of(other) == []


@pytest.mark.spec("R-163")
@pytest.mark.row(37)
def test_an_identity_is_kept_in_an_empty_store_alone(
    memory: Memory, other: Memory, shop: Shop, file: Path, tmp_path: Path
) -> None:
    before = rows_of(memory)
    with pytest.raises(InvalidArgument, match="needs an empty store"):
        take_in(memory, file, "identity")
    assert rows_of(memory) == before
    export(memory, tmp_path / "some", scopes=(Scope("repository", SHOP),))
    with pytest.raises(InvalidArgument, match="of some scopes alone"):
        take_in(other, tmp_path / "some", "identity")
    export(memory, tmp_path / "masked", is_masked=True)
    with pytest.raises(InvalidArgument, match="is masked"):
        take_in(other, tmp_path / "masked", "identity")
    assert take_in(other, tmp_path / "masked")["counts"]["records"] == 5


@pytest.mark.spec("R-162", "R-029")
@pytest.mark.row(47)
def test_another_persons_words_establish_nothing_here(
    memory: Memory, other: Memory, told: Json, file: Path
) -> None:
    take_in(other, file)
    assert {m[3] for _chat, messages in chats_of(other) for m in messages} == {"unknown", "agent"}
    with pytest.raises(EndorsementNotByPerson):
        other.create(
            {
                "statement": "Mine now.",
                "review": "established",
                "details": {"kind": "decision", "state": "accepted"},
            },
            [{"message_id": message_of(other, CHOICE), "quote": CHOICE, "purpose": "endorsement"}],
        )


def message_of(memory: Memory, text: str) -> str:
    with memory.call.chats.database.reading() as db:
        row = db.one("SELECT message_id FROM messages WHERE text = :text", {"text": text})
    assert row
    return str(row[0])


@pytest.mark.spec("R-161")
def test_a_chat_that_is_known_stays_and_one_on_disk_goes_on(
    memory: Memory, other: Memory, shop: Shop, tmp_path: Path
) -> None:
    memory.index()
    export(memory, tmp_path / "out")
    take_in(other, tmp_path / "out", "mine")
    assert chats_of(other)[0][1] == chats_of(memory)[0][1]
    os.rename(memory.claude_root, tmp_path / "moved")
    other.claude_root.rmdir()
    os.rename(tmp_path / "moved", other.claude_root)
    other.index()
    assert [m[4] for m in chats_of(other)[0][1]] == [m[4] for m in chats_of(memory)[0][1]]
    assert take_in(other, tmp_path / "out")["counts"]["known_chats"] == 1


@pytest.mark.spec("R-176")
def test_private_text_is_known_again_after_a_restore(
    memory: Memory, other: Memory, shop: Shop, tmp_path: Path
) -> None:
    shop.transcript.person("Well: <private>the violet heron sings at noon</private> so it is.")
    memory.index()
    export(memory, tmp_path / "out")
    assert b"heron" not in Path(tmp_path / "out").read_bytes()
    take_in(other, tmp_path / "out", "identity")
    assert chats_of(other) == chats_of(memory)
    statement = "Note that the violet heron sings at noon."
    for at in (memory, other):
        with pytest.raises(PrivateText, match="repeats private text"):
            at.create(
                {"statement": statement, "details": {"kind": "decision", "state": "proposed"}},
                [{"message_id": shop.question, "quote": QUESTION}],
            )


@pytest.mark.spec("R-161")
@pytest.mark.parametrize("mode", ["export", "mine", "identity"])
def test_a_dry_run_counts_and_changes_nothing(
    memory: Memory, other: Memory, told: Json, file: Path, mode: Any
) -> None:
    before = rows_of(other), chats_of(other)
    tried = take_in(other, file, mode, is_dry_run=True)
    assert tried["dry_run"]
    assert (rows_of(other), chats_of(other)) == before
    done = take_in(other, file, mode)
    names = tried["counts"].keys() - {"import_id"}
    assert {n: tried["counts"][n] for n in names} == {n: done["counts"][n] for n in names}


@pytest.mark.spec("R-161")
@pytest.mark.row(61)
def test_links_and_old_links_of_files_are_refused(
    memory: Memory, other: Memory, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(InvalidArgument, match="is a link"):
        take_in(other, tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgument, match="is no file"):
        take_in(other, tmp_path / "pipe")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        take_in(other, tmp_path / "nothing")


def test_the_file_of_another_user_is_refused(
    other: Memory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)
    with pytest.raises(InvalidArgument, match=f"belongs to user {real}"):
        take_in(other, file)


@pytest.mark.spec("R-139")
def test_nothing_but_the_store_itself_comes_in_while_records_are_off(
    other: Memory, file: Path
) -> None:
    other.set(records_enabled=False)
    for mode in ("export", "mine"):
        with pytest.raises(RecordsDisabled):
            take_in(other, file, mode)  # type: ignore[arg-type]  # both are modes
    assert take_in(other, file, "identity")["counts"]["records"] == 5


def test_chats_of_a_project_that_is_not_indexed_here_stay_out(
    memory: Memory, other: Memory, file: Path
) -> None:
    other.set(no_index=(SHOP,))
    counts = take_in(other, file)["counts"]
    assert (counts["chats"], counts["switched_off_chats"]) == (0, 1)
    assert chats_of(other) == []
    assert counts["records"] == 5


@pytest.mark.spec("R-156")
def test_a_message_that_another_chat_holds_in_other_words_gets_an_id_of_its_own(
    memory: Memory, other: Memory, shop: Shop, tmp_path: Path
) -> None:
    memory.index()
    export(memory, tmp_path / "first")

    def fork(found: list[Json]) -> None:
        chat = next(line for line in found if line["is"] == "chat")
        chat |= {"id": "claude-code-s-2", "session": "s-2"}
        first = next(line for line in found if line["is"] == "message")
        first["text"] = "Other words."

    take_in(other, tmp_path / "first")
    take_in(other, edited(tmp_path / "first", tmp_path / "fork", fork))

    def third(found: list[Json]) -> None:
        fork(found)
        chat = next(line for line in found if line["is"] == "chat")
        chat |= {"id": "claude-code-s-3", "session": "s-3"}

    take_in(other, edited(tmp_path / "first", tmp_path / "third", third))
    texts = [[message[4] for message in messages] for _chat, messages in chats_of(other)]
    assert texts[1] == texts[2] == ["Other words.", *texts[0][1:]]
    assert [m[1] for _c, ms in chats_of(other) for m in ms].count(shop.choice) == 3


@pytest.mark.parametrize("mode", ["export", "identity"])
@pytest.mark.row(62)
def test_of_two_imports_at_once_one_finds_it_done(other: Memory, file: Path, mode: Mode) -> None:
    real = other.call.store.writing

    def after_another(**options: Any) -> Any:
        other.call.store.writing = real  # type: ignore[method-assign]
        take_in(other, file, mode)
        return real(**options)

    other.call.store.writing = after_another  # type: ignore[method-assign]
    assert take_in(other, file, mode)["already"]["records"] == 5
    assert len(rows_of(other)["records"]) == 5
