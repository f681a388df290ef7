"""After a removal no byte of the text is left in any file, also when the daemon was killed."""

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from mash_plugin.cli.stopping import end_daemon
from mash_plugin.errors import DaemonUnavailable, Forgotten
from mash_plugin.memory import forget_chat as forgetting
from mash_plugin.memory.forget import KEEP_HIDDEN_MS, purge_hidden
from mash_plugin.paths import Paths
from mash_plugin.store.backup import make, verify
from mash_plugin.store.forgotten import scrub_deleted
from mash_plugin.store.scrub import zero_gaps
from mash_plugin.store.sqlite import Database
from tests.conftest import Json, Memory
from tests.crash.faults import Faults
from tests.store.conftest import opened
from tests.store.saving import save
from tests.support.bytes_left import files_with, word
from tests.support.daemons import Place
from tests.support.polling import eventually
from tests.support.transcripts import ClaudeTranscript

pytestmark = pytest.mark.slow

PERSONAL = {"kind": "personal"}


def words_of(name: str) -> list[str]:
    """Every word by which a record, its message and its operation could be found."""
    return [word(f"{kind} {name}") for kind in ("statement", "quote", "around", "operation")]


def message_of(name: str) -> str:
    _, quote, around, _ = words_of(name)
    return f"{around} before. We take {quote} Größe {quote} then. And {around} after."


def request_of(name: str, session_id: str) -> Json:
    statement, quote, _, operation = words_of(name)
    return {
        "operation_id": f"op {operation} ü",
        "change": {
            "action": "create",
            "scope": PERSONAL,
            "body": {
                "statement": f"Use {statement} für {statement.upper()} always.",
                "details": {
                    "kind": "decision",
                    "state": "proposed",
                    "alternatives": [f"not {statement}"],
                },
            },
            "evidence": [{"session_id": session_id, "quote": f"We take {quote}"}],
        },
    }


def forget_of(record: Json) -> Json:
    return {
        "operation_id": f"forget-{record['id']}",
        "change": {
            "action": "forget",
            "expected": {"id": record["id"], "revision": record["revision"]},
        },
    }


def chat(memory: Memory, name: str, count: int = 1) -> ClaudeTranscript:
    project = str(memory.projects / "w" / "shop")
    transcript = ClaudeTranscript(memory.claude_root, project, name)
    for number in range(count):
        transcript.person(message_of(f"{name}/{number}"))
    return transcript


def forget_chat(memory: Memory, name: str) -> Json:
    going = forgetting.find_going(memory.call, f"claude-code-{name}")
    return forgetting.forget_chat(memory.call, going)


@pytest.mark.spec("R-052")
def test_nothing_of_a_forgotten_record_is_left_among_many(memory: Memory, home: Paths) -> None:
    chat(memory, "s-1", 240)
    made = {n: memory.record(request_of(f"s-1/{n}", "s-1")) for n in range(240)}
    for database in (memory.call.store, memory.call.chats.database):
        database.checkpoint("PASSIVE")
    gone = range(0, 240, 2)
    statements = [word(f"statement s-1/{n}") for n in gone]
    assert len(files_with(Path(home.data), statements)) >= len(statements)
    for number in gone:
        memory.record(forget_of(made[number]))
    assert files_with(Path(home.data), statements) == []
    forget_chat(memory, "s-1")
    assert files_with(Path(home.data), [w for n in range(240) for w in words_of(f"s-1/{n}")]) == []


@pytest.mark.spec("R-052", "R-178")
def test_nothing_of_a_forgotten_chat_is_left_among_many(memory: Memory, home: Paths) -> None:
    for number in range(60):
        chat(memory, f"s-{number}", 12)
    memory.index()
    for number in range(0, 60, 3):
        memory.record(request_of(f"s-{number}/5", f"s-{number}"))
    gone = [f"s-{number}" for number in range(0, 60, 4)]
    words = [w for name in gone for n in range(12) for w in words_of(f"{name}/{n}")]
    assert files_with(Path(home.data), words)
    for name in gone:
        assert forget_chat(memory, name)["is_scrubbed"] is True
    assert files_with(Path(home.data), words) == []
    with memory.call.chats.database.writing() as db:
        db.run("INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')")
        assert db.all("PRAGMA integrity_check") == [("ok",)]
    kept = word("quote s-1/3")
    with memory.call.chats.database.reading() as db:
        found = db.all("SELECT rowid FROM messages_fts WHERE messages_fts MATCH :w", {"w": kept})
    assert len(found) == 1


def established(name: str, session_id: str) -> Json:
    request = request_of(name, session_id)
    body = request["change"]["body"] | {"review": "established"}
    body["details"] = {"kind": "decision", "state": "accepted"}
    request["change"] |= {"body": body}
    request["change"]["evidence"][0]["purpose"] = "endorsement"
    return request


@pytest.mark.spec("R-052")
def test_a_hidden_record_leaves_nothing_once_its_day_is_over(memory: Memory, home: Paths) -> None:
    chat(memory, "s-1", 2)
    made = [memory.record(established(f"s-1/{n}", "s-1")) for n in range(2)]
    assert all("removed_at" in memory.record(forget_of(record)) for record in made)
    statement = word("statement s-1/0")
    assert files_with(Path(home.data), [statement])
    later = memory.call._replace(now=memory.clock.now + KEEP_HIDDEN_MS + 1)
    assert set(purge_hidden(later)) == {record["id"] for record in made}
    assert files_with(Path(home.data), [word(f"statement s-1/{n}") for n in range(2)]) == []


@pytest.mark.spec("R-178")
def test_a_hidden_record_goes_at_once_with_its_chat(memory: Memory, home: Paths) -> None:
    chat(memory, "s-1", 1)
    memory.record(forget_of(memory.record(established("s-1/0", "s-1"))))
    assert len(forget_chat(memory, "s-1")["records"]) == 1
    assert memory.count_records() == 0
    assert files_with(Path(home.data), words_of("s-1/0")) == []


@pytest.mark.spec("R-052")
def test_a_large_store_is_scrubbed_in_the_background(
    memory: Memory, home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mash_plugin.memory.forget.SCRUBBED_AT_ONCE", 4096)
    asked: list[bool] = []
    memory.call.store.on_unclean = lambda: asked.append(True)
    chat(memory, "s-1", 1)
    memory.record(forget_of(memory.record(request_of("s-1/0", "s-1"))))
    assert asked == [True]
    assert files_with(Path(home.data), [word("statement s-1/0")])
    assert forgetting.finish_forgetting(memory.call)
    assert files_with(Path(home.data), [word("statement s-1/0")]) == []


@pytest.mark.spec("R-052")
def test_a_reader_that_is_in_the_way_only_delays_it(memory: Memory, home: Paths) -> None:
    chat(memory, "s-1", 3)
    memory.index()
    words = [word(f"around s-1/{n}") for n in range(3)]
    unclean: list[bool] = []
    memory.call.chats.database.on_unclean = lambda: unclean.append(True)
    begun, may_end = threading.Event(), threading.Event()

    def read() -> None:
        with memory.call.chats.database.reading() as db:
            db.all("SELECT text FROM messages")
            begun.set()
            may_end.wait(60)

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait(60)
    assert forget_chat(memory, "s-1")["is_scrubbed"] is False
    assert unclean
    assert files_with(Path(home.data), words)
    may_end.set()
    reader.join(60)
    assert forgetting.finish_forgetting(memory.call) is True
    assert files_with(Path(home.data), words) == []


def fill_and_delete(store: Database) -> list[str]:
    """Many rows under random keys, every third deleted again: trees are balanced on the way."""
    chance = random.Random(52)  # noqa: S311 - always the same
    keys = [f"{chance.getrandbits(128):032x}" for _ in range(1500)]
    with store.writing() as db:
        db.run("CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT) STRICT, WITHOUT ROWID")
        for key in keys:
            text = word(key) + " x" * chance.randrange(1, 400)
            db.run("INSERT INTO texts VALUES (:key, :text)", {"key": key, "text": text})
    with store.writing() as db:
        for key in keys[::3]:
            db.run("DELETE FROM texts WHERE key = :key", {"key": key})
    store.checkpoint("TRUNCATE")
    return [word(key) for key in keys[::3]]


@pytest.mark.spec("R-052")
def test_what_secure_delete_leaves_in_the_gaps_of_pages_is_zeroed(paths: Paths) -> None:
    with opened(paths) as store:
        gone = fill_and_delete(store)
        assert files_with(Path(paths.data), gone), "SQLite cleans its gaps now: scrub.py can go"
        assert store.scrub()
        assert files_with(Path(paths.data), gone) == []
        with store.writing() as db:
            db.run("UPDATE texts SET text = text || 'y'")  # from the cache, as the file has it
        store.checkpoint("TRUNCATE")
        assert files_with(Path(paths.data), gone) == []
        with store.reading() as db:
            assert db.one("PRAGMA integrity_check") == ("ok",)
            assert db.one("SELECT count(*) FROM texts") == (1000,)


@pytest.mark.spec("R-052")
def test_a_backup_holds_nothing_of_the_gaps_even_before_the_scrubbing(paths: Paths) -> None:
    with opened(paths) as store:
        gone = fill_and_delete(store)
        save(store, 1)
        make(store, paths.backups, 0)
        assert files_with(Path(paths.store).parent, gone)
        assert files_with(Path(paths.backups), gone) == []


@pytest.mark.spec("R-052")
@pytest.mark.parametrize("site", ["xWrite", "xSync"])
def test_a_full_disk_while_scrubbing_fails_no_forget_and_is_made_good(
    faults: Faults, memory: Memory, home: Paths, monkeypatch: pytest.MonkeyPatch, site: str
) -> None:
    chat(memory, "s-1", 2)
    made = memory.record(request_of("s-1/0", "s-1"))
    scrub, asked = Database.scrub, []

    def late(database: Database) -> bool:
        faults.arm(site, 1, apsw.SQLITE_FULL, is_lasting=True)
        try:
            return scrub(database)
        finally:
            faults.disarm()

    monkeypatch.setattr(Database, "scrub", late)
    memory.call.store.on_unclean = lambda: asked.append(True)
    assert memory.record(forget_of(made))["forgotten"] is True
    monkeypatch.undo()
    assert asked == [True]
    assert forgetting.finish_forgetting(memory.call)
    assert memory.call.store.problem is None
    assert files_with(Path(home.data), [word("statement s-1/0")]) == []


def test_zeroing_changes_no_page_that_anyone_reads(memory: Memory, home: Paths) -> None:
    chat(memory, "s-1", 80)
    made = [memory.record(request_of(f"s-1/{n}", "s-1")) for n in range(80)]
    for record in made[::3]:
        memory.record(forget_of(record))

    def dump() -> list[Any]:
        with memory.call.store.reading() as db:
            tables = ("records", "revisions", "evidence", "receipts", "record_tombstones")
            return [db.all(f"SELECT * FROM {t} ORDER BY 1, 2") for t in tables]  # noqa: S608

    before = dump()
    with memory.call.store.writing() as db:
        db.run("UPDATE meta SET value = value")
    assert memory.call.store.scrub()
    assert dump() == before
    assert verify(home.store)


def test_a_gap_beyond_the_first_chunk_is_zeroed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mash_plugin.store.scrub.CHUNK", 8192)
    database = Database(str(tmp_path / "x.db"), "NORMAL")
    with database.writing() as db:
        db.run("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
        for number in range(200):
            db.run("INSERT INTO t VALUES (:n, :t)", {"n": number, "t": word(str(number)) * 20})
    steps: list[int | None] = [0]
    assert database.scrub()
    while steps[-1] is not None:
        steps.append(zero_gaps(database.path, steps[-1]))
    assert len(steps) > 4
    with database.reading() as db:
        assert db.one("PRAGMA integrity_check") == ("ok",)
    database.close()


@pytest.mark.spec("R-052")
def test_a_log_that_a_killed_process_left_is_scrubbed_at_the_next_start(
    memory: Memory, home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(memory, "s-1")
    made = memory.record(request_of("s-1/0", "s-1"))
    monkeypatch.setattr(Database, "scrub", lambda _self: False)
    memory.record(forget_of(made))
    monkeypatch.undo()
    assert files_with(Path(home.data), [word("statement s-1/0")])
    assert scrub_deleted(memory.call.store)
    assert files_with(Path(home.data), [word("statement s-1/0")]) == []


def transcript_in(place: Place, name: str, count: int) -> None:
    transcript = ClaudeTranscript(place.home / ".claude", str(place.root / "work"), name)
    for number in range(count):
        transcript.person(message_of(f"{name}/{number}"))


def is_clean(place: Place, words: list[str]) -> bool:
    """Whether no file holds them but the day's backup, which a slow test may see made before."""
    return [p for p in files_with(place.mash_home, words) if "/backups/" not in p] == []


@pytest.mark.spec("R-052", "R-065")
@pytest.mark.parametrize("point", ["after_commit_before_scrub", "after_truncate_before_scrub"])
def test_a_daemon_killed_after_the_commit_of_a_forget_finishes_when_it_starts(
    place: Place, point: str
) -> None:
    transcript_in(place, "s-1", 60)
    daemon = place.start()
    made = [place.call("record", request_of(f"s-1/{n}", "s-1")) for n in range(60)]
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.wait(20)
    daemon = place.start(MASH_FAILPOINT=f"{point}:kill")
    with pytest.raises(DaemonUnavailable):
        place.call("record", forget_of(made[0]), start=False)
    assert daemon.wait(20) == -signal.SIGKILL
    statement, _, _, operation = words_of("s-1/0")
    if point == "after_commit_before_scrub":
        assert not is_clean(place, [statement])
    assert is_clean(place, [operation])
    place.start()
    place.call("ping")
    eventually(lambda: is_clean(place, [statement, operation]), "text is left")
    replay = place.call("record", forget_of(made[0]))
    assert (replay["forgotten"], replay["replayed"]) == (True, True)
    with_id = request_of("s-1/0", "s-1")
    with pytest.raises(Forgotten):
        place.call("record", with_id)
    assert is_clean(place, [statement, operation])


@pytest.mark.spec("R-178", "R-180")
@pytest.mark.parametrize(
    "point", ["after_commit_before_scrub", "between_stores", "after_truncate_before_scrub"]
)
def test_a_daemon_killed_while_it_forgets_a_chat_finishes_when_it_starts(
    place: Place, point: str
) -> None:
    transcript_in(place, "s-1", 40)
    transcript_in(place, "s-2", 5)
    daemon = place.start()
    for number in range(10):
        place.call("record", request_of(f"s-1/{number}", "s-1"))
    place.call("record", request_of("s-2/0", "s-2"))
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.wait(20)
    daemon = place.start(MASH_FAILPOINT=f"{point}:kill")
    with pytest.raises(DaemonUnavailable):
        place.call("forget_chat", {"id": "claude-code-s-1"}, start=False)
    assert daemon.wait(20) == -signal.SIGKILL
    words = [w for n in range(40) for w in words_of(f"s-1/{n}")]
    assert not is_clean(place, words)
    place.start()
    place.call("ping")
    eventually(lambda: is_clean(place, words), "text is left", timeout_s=40)
    place.index()
    assert is_clean(place, words)
    assert [c["id"] for c in place.call("list_chats")["chats"]] == ["claude-code-s-2"]
    assert place.call("status")["counts"]["records"] == 1


@pytest.mark.spec("R-052", "R-178")
def test_a_daemon_comes_back_to_what_another_program_kept_it_from(place: Place) -> None:
    transcript_in(place, "s-1", 3)
    place.start()
    place.call("record", request_of("s-1/0", "s-1"))
    readers = [apsw.Connection(path) for path in (place.paths.store, place.paths.chats)]
    for reader in readers:
        reader.execute("BEGIN")
        list(reader.execute("SELECT count(*) FROM sqlite_schema"))
    assert place.call("forget_chat", {"id": "claude-code-s-1"})["is_scrubbed"] is False
    words = [w for n in range(3) for w in words_of(f"s-1/{n}")]
    assert not is_clean(place, words)
    for reader in readers:
        reader.close()
    eventually(lambda: is_clean(place, words), "text is left", timeout_s=30)


@pytest.mark.spec("R-178", "R-052")
def test_no_log_receipt_or_backup_of_a_daemon_keeps_what_was_forgotten(place: Place) -> None:
    transcript_in(place, "s-1", 5)
    place.start()
    for number in range(5):
        place.call("record", request_of(f"s-1/{number}", "s-1"))
    told = place.call("forget_chat", {"id": "claude-code-s-1"})
    assert len(told["records"]) == 5
    assert told["is_scrubbed"] is True
    words = [w for n in range(5) for w in words_of(f"s-1/{n}")]
    assert is_clean(place, words)
    end_daemon(place.paths)
    assert is_clean(place, words)
    if not told["older_copies"]:  # the day's backup is made when the first record is there
        assert files_with(place.mash_home, words) == []


def test_a_full_disk_still_lets_a_forget_through(paths: Paths) -> None:
    with opened(paths) as store:
        with store.writing(may_use_reserve=True) as db:
            db.run("INSERT OR REPLACE INTO meta VALUES ('unclean', x'00')")
        assert not os.path.exists(paths.store + "-reserve")
        assert scrub_deleted(store)
        with store.reading() as db:
            assert db.one("SELECT 1 FROM meta WHERE key = 'unclean'") is None
