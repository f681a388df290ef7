"""Opening the stores in whatever state they are."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import StoreBusy, StoreDamaged, UpgradeNeeded
from mash_plugin.paths import Paths
from mash_plugin.store import backup
from mash_plugin.store.migrate import schema_number
from mash_plugin.store.open import open_chats, open_store
from tests.store.conftest import finish_check, opened
from tests.store.saving import DAY, NOW, mode, save, saved


def leave_unclean(paths: Paths, word: bytes = b"open\n") -> None:
    Path(paths.store + "-open").write_bytes(word)


def damage_last_pages(path: str) -> None:
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size - 8 * 4096)  # the schema is at the front
        file.write(b"\xa5" * 8 * 4096)


def back_up(paths: Paths, *numbers: int) -> backup.Backup:
    with opened(paths) as store:
        for number in numbers:
            save(store, number)
        made = backup.daily(store, paths.backups, NOW)
    assert made
    return made


@pytest.mark.spec("R-182")
def test_a_new_store_is_private_and_knows_who_it_is(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        with store.reading() as db:
            meta = dict(db.all("SELECT key, value FROM meta"))
            owner = db.one("SELECT owner_id, origin FROM owners")
        names = sorted(os.listdir(paths.data))
        modes = {n: mode(os.path.join(paths.data, n)) for n in names}
    assert owner == (meta["owner_id"].decode(), "local")
    assert len(meta["receipt_secret"]) == 32
    assert {"records.db", "records.db-wal", "records.db-shm", "records.db-reserve"} <= set(names)
    assert set(modes.values()) == {0o600}
    assert mode(paths.data) == 0o700


@pytest.mark.spec("R-182")
def test_a_folder_that_others_may_read_is_closed_to_them(paths: Paths) -> None:
    os.makedirs(paths.data, mode=0o755)
    os.chmod(paths.data, 0o755)  # noqa: S103
    with opened(paths):
        assert mode(paths.data) == 0o700


def test_a_clean_close_leaves_neither_log_nor_mark(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
    assert sorted(os.listdir(paths.data)) == ["records.db", "records.db-reserve"]
    with opened(paths) as store:
        assert saved(store) == {1}
        assert not store.is_unchecked


@pytest.mark.spec("R-181")
@pytest.mark.row(22)
def test_a_second_process_is_refused_while_one_serves_the_store(paths: Paths) -> None:
    with opened(paths) as store:
        with pytest.raises(StoreBusy, match="mash daemon stop"):
            open_store(paths, NOW)
        save(store, 1)
        code = (
            "import sys; from mash_plugin.paths import find_paths\n"
            "from mash_plugin.store.open import open_store\n"
            "from mash_plugin.errors import StoreBusy\n"
            "try: open_store(find_paths({'MASH_HOME': sys.argv[1]}), 0)\n"
            "except StoreBusy: sys.exit(7)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(paths.home)], timeout=30)
        assert done.returncode == 7
    with opened(paths) as store:
        assert saved(store) == {1}


def test_a_mark_that_goes_while_it_is_taken_is_taken_again(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.makedirs(paths.data)
    flock, calls = fcntl.flock, []

    def after_the_holder_left(fd: int, how: int) -> None:
        flock(fd, how)
        calls.append(fd)
        if len(calls) == 1:
            os.unlink(paths.store + "-open")

    monkeypatch.setattr(fcntl, "flock", after_the_holder_left)
    with opened(paths):
        assert len(calls) == 2
        with pytest.raises(StoreBusy):
            open_store(paths, NOW)


def test_a_half_made_new_store_is_made_afresh(paths: Paths) -> None:
    os.makedirs(paths.data)
    Path(paths.store + ".new").write_bytes(b"half")
    with opened(paths) as store:
        assert saved(store) == set()
    assert not os.path.exists(paths.store + ".new")


@pytest.mark.parametrize("spoil", ["empty", "garbage", "cut", "foreign", "zeroed page one"])
@pytest.mark.row(36)
def test_a_spoilt_file_is_kept_as_it_is_and_the_backup_is_read(paths: Paths, spoil: str) -> None:
    made = back_up(paths, 1, 2)
    content = spoilt(Path(paths.store), spoil)
    with opened(paths) as store:
        assert saved(store) == {1, 2}
        with pytest.raises(StoreDamaged) as caught:
            save(store, 3)
        assert "mash restore" in caught.value.details["restore"]
        assert "Nothing was saved" in caught.value.message
        assert made.path in caught.value.message
        assert not store.must_exit
    assert Path(paths.store).read_bytes() == content
    with opened(paths) as store:
        assert store.problem


@pytest.mark.parametrize("spoil", ["empty", "garbage", "cut", "foreign"])
@pytest.mark.row(36)
def test_a_spoilt_file_without_a_backup_is_refused_and_kept(paths: Paths, spoil: str) -> None:
    with opened(paths) as store:
        save(store, 1)
    content = spoilt(Path(paths.store), spoil)
    with pytest.raises(StoreDamaged, match="No good backup"):
        open_store(paths, NOW)
    assert Path(paths.store).read_bytes() == content


def spoilt(store: Path, how: str) -> bytes:
    whole = store.read_bytes()
    match how:
        case "empty":
            store.write_bytes(b"")
        case "garbage":
            store.write_bytes(b"\xa5" * len(whole))
        case "cut":
            store.write_bytes(whole[: len(whole) // 3])
        case "zeroed page one":
            store.write_bytes(bytes(4096) + whole[4096:])
        case _:
            store.unlink()
            other = apsw.Connection(str(store))
            other.execute("CREATE TABLE theirs (x)")
            other.close()
    return store.read_bytes()


@pytest.mark.spec("R-183")
def test_a_store_deleted_beside_its_backups_is_not_begun_anew(paths: Paths) -> None:
    made = back_up(paths, 1)
    os.unlink(paths.store)
    with opened(paths) as store:
        assert saved(store) == {1}
        with pytest.raises(StoreDamaged, match="missing") as caught:
            save(store, 2)
        assert caught.value.details["restore"] in caught.value.message
        assert made.path in caught.value.message
    assert not os.path.exists(paths.store)


@pytest.mark.row(36)
def test_a_log_without_its_store_is_not_taken_for_a_new_memory(paths: Paths) -> None:
    os.makedirs(paths.data)
    Path(paths.store + "-wal").write_bytes(b"something")
    with pytest.raises(StoreDamaged, match="log"):
        open_store(paths, NOW)
    assert Path(paths.store + "-wal").read_bytes() == b"something"


def test_a_newer_schema_is_refused_and_left_alone(paths: Paths) -> None:
    with opened(paths) as store, store.writing() as db:
        db.run("PRAGMA user_version = 99")
    before = Path(paths.store).read_bytes()
    with pytest.raises(UpgradeNeeded, match="99"):
        open_store(paths, NOW)
    assert Path(paths.store).read_bytes() == before
    assert not os.path.exists(paths.store + "-open")


@pytest.mark.spec("R-183")
@pytest.mark.row(36)
def test_damage_found_after_a_crash_stops_writing_then_the_backup_serves(paths: Paths) -> None:
    with opened(paths) as store:
        for number in range(200):
            save(store, number, size=500)
        backup.daily(store, paths.backups, NOW)
    damage_last_pages(paths.store)
    leave_unclean(paths)
    store = open_store(paths, NOW)
    finish_check(store)
    assert store.must_exit
    with pytest.raises(StoreDamaged):
        save(store, 1000)
    store.close()
    with opened(paths) as store:
        assert saved(store) == set(range(200))
        assert store.problem


def test_a_sound_store_after_a_crash_is_checked_and_then_counts_as_clean(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
    leave_unclean(paths)
    store = open_store(paths, NOW)
    finish_check(store)
    assert not store.is_unchecked
    store.close()
    assert not os.path.exists(paths.store + "-open")


def test_a_close_breaks_an_endless_check_off_and_leaves_the_mark(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(paths) as store:
        save(store, 1)
    leave_unclean(paths)
    endless = (
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    )
    monkeypatch.setattr(backup, "quick_check", lambda raw: list(raw.execute(endless)))
    store = open_store(paths, NOW)
    save(store, 2)
    store.close()
    assert store.check
    assert not store.check.is_alive()
    assert store.is_unchecked
    assert os.path.exists(paths.store + "-open")
    monkeypatch.undo()
    with opened(paths) as store:
        finish_check(store)
        assert saved(store) == {1, 2}
    assert not os.path.exists(paths.store + "-open")


def test_a_suspect_store_that_is_sound_is_trusted_again(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
    leave_unclean(paths, b"suspect\n")
    with opened(paths) as store:
        save(store, 2)
    assert not os.path.exists(paths.store + "-open")


def test_an_older_schema_is_backed_up_before_it_is_migrated(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(paths) as store:
        save(store, 1)
    newest = schema_number("records")
    with opened(paths) as store, store.writing() as db:
        db.run("PRAGMA user_version = 0; DROP TABLE publication")
    from mash_plugin.store import migrate

    files = ["SELECT 1"] * (newest - 1) + ["CREATE TABLE publication (x)"]
    monkeypatch.setattr(migrate, "_migrations", lambda _: files)
    with opened(paths, NOW + DAY) as store:
        assert saved(store) == {1}
        with store.reading() as db:
            assert db.one("PRAGMA user_version") == (newest,)
    (made,) = backup.backups(paths.backups)
    assert backup.verify(made.path).schema == 0


def test_a_damaged_chat_index_is_set_aside_and_begun_anew(paths: Paths) -> None:
    open_chats(paths).close()
    Path(paths.chats).write_bytes(b"\xa5" * 9000)
    chats = open_chats(paths)
    with chats.writing() as db:
        db.run("INSERT INTO meta VALUES ('k', x'01')")
    chats.close()
    assert Path(paths.chats + ".damaged-1").read_bytes() == b"\xa5" * 9000
    chats = open_chats(paths)
    with chats.reading() as db:
        assert db.one("SELECT count(*) FROM meta WHERE key = 'k'") == (1,)
    chats.close()


def test_of_damaged_chat_indexes_the_last_one_is_kept(paths: Paths) -> None:
    for number in range(3):
        open_chats(paths).close()
        Path(paths.chats).write_bytes(bytes([number]) * 9000)
    open_chats(paths).close()
    [kept] = Path(paths.data).glob("chats.db.damaged-*")
    assert kept.read_bytes() == b"\2" * 9000


def test_opening_loads_nothing_heavy(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
    code = (
        "import sys; from mash_plugin.paths import find_paths\n"
        "from mash_plugin.store.open import open_chats, open_store\n"
        "paths = find_paths({'MASH_HOME': sys.argv[1]})\n"
        "open_store(paths, 0).close(); open_chats(paths).close()\n"
        "heavy = {'pydantic', 'logging', 'importlib.resources', 'datetime', 'click', 'shlex'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)\n"
    )
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.')\n{code}"]
    done = subprocess.run([*command, str(paths.home)], timeout=30, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_opening_a_store_makes_one_connection(paths: Paths) -> None:
    with opened(paths):
        pass
    with opened(paths):
        found = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
        # A reader for the schema alone would be a second one, and 0.4 ms of a cold start.
        assert found.count(os.path.realpath(paths.store)) == 1
