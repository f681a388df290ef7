"""Older backups, rewritten without what was forgotten since they were made."""

import os
from pathlib import Path

import apsw
import pytest

from mash_plugin.memory import forget_chat as forgetting
from mash_plugin.paths import Paths
from mash_plugin.store import restore as restoring
from mash_plugin.store import rewrite
from mash_plugin.store.backup import backups, locked, make, verify
from mash_plugin.store.forgotten import Marks, has_mark
from mash_plugin.store.open import open_store
from mash_plugin.store.records import is_forgotten
from mash_plugin.store.restore import restore
from tests.conftest import QUESTION, Memory, Shop
from tests.support.bytes_left import files_with, word
from tests.support.transcripts import ClaudeTranscript


def forget_record(memory: Memory, record_id: str) -> None:
    memory.record(
        {
            "operation_id": f"forget-{record_id}",
            "change": {"action": "forget", "expected": {"id": record_id, "revision": 1}},
        }
    )


def rewritten(memory: Memory, home: Paths) -> list[rewrite.Rewritten]:
    return rewrite.rewrite_backups(home, memory.clock.now)


@pytest.mark.spec("R-052", "R-065")
def test_a_forgotten_record_goes_from_every_backup_and_the_others_stay(
    memory: Memory, shop: Shop, home: Paths
) -> None:
    gone, kept = word("gone"), word("kept")
    forgotten = memory.candidate(f"Use {gone}.", operation_id=f"op {word('operation')}")["id"]
    memory.candidate(f"Use {kept}.")
    for _ in range(2):
        make(memory.call.store, home.backups, memory.clock.now)
    forget_record(memory, forgotten)
    assert len(files_with(Path(home.backups), [gone])) == 2
    done = rewritten(memory, home)
    assert [(one.outcome, one.records, one.problem) for one in done] == [("rewritten", 1, None)] * 2
    assert files_with(Path(home.data), [gone]) == []
    for backup in backups(home.backups):
        assert verify(backup.path).counts == {
            "records": 1,
            "revisions": 1,
            "evidence": 1,
            "links": 0,
            "receipts": 2,
            "record_tombstones": 1,
        }
        assert os.stat(backup.path).st_mode & 0o777 == 0o600
    assert len(files_with(Path(home.backups), [kept])) == 2
    assert [one.outcome for one in rewritten(memory, home)] == ["unchanged"] * 2


@pytest.mark.spec("R-178", "R-180")
def test_a_forgotten_chat_goes_with_its_records_and_hook_rows_and_stays_out_after_a_restore(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript, home: Paths
) -> None:
    memory.candidate("Use Qdrant.")
    memory.create(
        {"statement": "Keep Qdrant.", "details": {"kind": "decision", "state": "proposed"}},
        [{"session_id": "s-2", "quote": "Qdrant works well"}],
    )
    with memory.call.store.writing() as db:
        for session in ("s-1", "s-2"):
            db.run(
                "INSERT INTO hook_sessions (session_id, agent, first_seen_at, last_activity_at)"
                " VALUES (:s, 'claude-code', 0, 0)",
                {"s": session},
            )
        db.run(
            "INSERT INTO checkpoints SELECT owner_id, :chat, 'personal', '', 'f', 0, 0 FROM owners",
            {"chat": shop.chat},
        )
    make(memory.call.store, home.backups, memory.clock.now)
    forgetting.forget_chat(memory.call, forgetting.find_going(memory.call, shop.chat))
    (done,) = rewritten(memory, home)
    assert (done.outcome, done.records, done.chats) == ("rewritten", 1, 1)
    memory.call.store.close()
    restore(home, None, memory.clock.now)
    store = open_store(home, memory.clock.now)
    with store.reading() as db:
        assert db.all("SELECT statement FROM revisions") == [("Keep Qdrant.",)]
        assert db.all("SELECT session_id FROM hook_sessions") == [("s-2",)]
        assert db.all("SELECT * FROM checkpoints") == []
        assert has_mark(db, shop.chat)
    store.close()
    with Path(home.store).open("rb") as file:
        assert QUESTION.encode() not in file.read()


@pytest.mark.spec("R-052", "R-065")
def test_an_older_backup_that_is_restored_brings_nothing_forgotten_back(
    memory: Memory, shop: Shop, home: Paths
) -> None:
    gone, kept = word("gone"), word("kept")
    forgotten = memory.candidate(f"Use {gone}.")["id"]
    memory.candidate(f"Use {kept}.")
    make(memory.call.store, home.backups, memory.clock.now)
    forget_record(memory, forgotten)
    memory.call.store.close()
    done = restore(home, None, memory.clock.now)
    assert (done.forgotten_again, done.counts["records"]) == (1, 1)
    store = open_store(home, memory.clock.now)
    with store.reading() as db:
        assert is_forgotten(db, forgotten)
        assert db.all("SELECT statement FROM revisions") == [(f"Use {kept}.",)]
    store.close()
    assert [p for p in files_with(Path(home.data), [gone]) if "/backups/" not in p] == []


def test_a_restore_over_an_unreadable_store_says_that_it_does_not_know(
    memory: Memory, shop: Shop, home: Paths
) -> None:
    memory.candidate("Use Qdrant.")
    make(memory.call.store, home.backups, memory.clock.now)
    memory.call.store.close()
    Path(home.store).write_bytes(b"damaged")
    done = restore(home, None, memory.clock.now)
    assert (done.forgotten_again, done.counts["records"]) == (None, 1)


def test_a_read_that_fails_once_brings_nothing_forgotten_back(
    memory: Memory, shop: Shop, home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten = memory.candidate("Use Qdrant.")["id"]
    make(memory.call.store, home.backups, memory.clock.now)
    forget_record(memory, forgotten)
    memory.call.store.close()
    failures = [apsw.IOError("disk I/O error")]

    def read(store: str) -> Marks:
        if failures:
            raise failures.pop()
        return rewrite.marks_of(store)

    monkeypatch.setattr(restoring, "marks_of", read)
    done = restore(home, None, memory.clock.now)
    assert (done.forgotten_again, done.counts["records"]) == (1, 0)


def test_a_damaged_backup_is_left_alone_and_said_so(
    memory: Memory, shop: Shop, home: Paths
) -> None:
    made = memory.candidate("Use Qdrant.")["id"]
    damaged = Path(make(memory.call.store, home.backups, memory.clock.now).path)
    good = make(memory.call.store, home.backups, memory.clock.now).path
    content = damaged.read_bytes()[:8192] + b"\xff" * 4096
    damaged.write_bytes(content)
    forget_record(memory, made)
    done = {one.path: one for one in rewritten(memory, home)}
    assert (done[good].outcome, done[good].problem) == ("rewritten", None)
    assert done[str(damaged)].outcome == "damaged"
    assert str(damaged) in (done[str(damaged)].problem or "")
    assert damaged.read_bytes() == content


def test_a_fault_on_the_way_leaves_the_old_backup_and_nothing_else(
    memory: Memory, shop: Shop, home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = memory.candidate("Use Qdrant.")["id"]
    path = Path(make(memory.call.store, home.backups, memory.clock.now).path)
    before = path.read_bytes()
    forget_record(memory, made)
    monkeypatch.setattr(rewrite, "contents", lambda _db: None)
    (done,) = rewritten(memory, home)
    assert (done.outcome, done.records) == ("left", 0)
    assert path.read_bytes() == before
    assert list(Path(home.backups).iterdir()) == [path]


def test_what_a_killed_process_left_is_removed(memory: Memory, shop: Shop, home: Paths) -> None:
    memory.candidate("Use Qdrant.")
    path = make(memory.call.store, home.backups, memory.clock.now).path
    for name in (path + ".part", path + ".part-journal"):
        Path(name).write_text("left")
    rewritten(memory, home)
    assert [str(p) for p in Path(home.backups).iterdir()] == [path]


def test_stores_that_a_restore_set_aside_are_rewritten_and_indexes_are_named(
    memory: Memory, shop: Shop, home: Paths
) -> None:
    gone = word("gone")
    made = memory.candidate(f"Use {gone}.")["id"]
    aside = home.store + ".before-restore-1"
    os.rename(make(memory.call.store, home.backups, memory.clock.now).path, aside)
    Path(home.chats + ".damaged-1").write_text("an index")
    forget_record(memory, made)
    done = {one.path: one for one in rewritten(memory, home)}
    assert done[aside].outcome == "rewritten"
    assert files_with(Path(aside).parent, [gone]) == []
    assert done[home.chats + ".damaged-1"].outcome == "left"
    Path(aside + "-wal").write_text("a log")
    (left,) = [one for one in rewritten(memory, home) if one.path == aside]
    assert left.outcome == "left"
    assert "with its log" in (left.problem or "")


def test_without_backups_there_is_nothing_to_rewrite(memory: Memory, home: Paths) -> None:
    assert rewritten(memory, home) == []


def test_no_backup_is_made_while_they_are_rewritten(tmp_path: Path) -> None:
    import fcntl

    with locked(str(tmp_path)):
        fd = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(fd)
