"""The files that copies of a group's records lie in."""

import os

import pytest

from mash_plugin.config import Settings
from mash_plugin.group import cache as caches
from mash_plugin.group.cache import GroupCache, membership_of
from mash_plugin.memory.group_copy import GroupRecord

MEMBERSHIP = ("/home/dev/group.dsn", 1, 2, 3)
SHOP = "github.com/acme/shop"
NOW = 1_796_100_000_000


def record(number, statement="Ports are even.", **more):
    told = GroupRecord(
        id=f"r{number}",
        node_id="n1",
        owner="anna",
        kind="fact",
        revision=1,
        state="current",
        statement=statement,
        recorded_by="an agent",
        recorded_at=NOW,
        confirmations=0,
        decided_by=None,
        effective_at=None,
        valid_until=None,
        reported_by=None,
        alternatives=[],
        consequences=[],
        conditions=[],
        is_suspicious=False,
        statement_tokens="port are even",
        strong_tokens="port are even",
        weak_tokens="",
    )
    return told._replace(**more)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "group"


def read(folder, identity=SHOP, membership=MEMBERSHIP):
    """What a new daemon finds."""
    copy = GroupCache(str(folder)).look(identity, membership)
    return None if copy is None else list(copy.records)


def test_what_was_kept_is_found_by_the_next_daemon(folder):
    kept = [record(1, "Порты — чётные \ud83d\n", conditions=["a", "б"]), record(2)]
    GroupCache(str(folder)).keep(SHOP, kept, MEMBERSHIP, NOW)
    found = GroupCache(str(folder)).look(SHOP, MEMBERSHIP)
    assert found.read_at == NOW
    assert list(found.records) == [kept[0]._replace(statement="Порты — чётные ?\n"), kept[1]]
    assert list(found.records) == list(found.records)


def test_only_their_owner_can_read_the_files(folder):
    before = os.umask(0)
    try:
        GroupCache(str(folder)).keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    finally:
        os.umask(before)
    [file] = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_renewed_copy_says_the_same_at_a_later_time(folder):
    cache = GroupCache(str(folder))
    cache.keep(SHOP, [record(1)], MEMBERSHIP, NOW, "state")
    cache.renew(SHOP, MEMBERSHIP, NOW + 1)
    [kept] = GroupCache(str(folder)).kept()
    assert (kept.read_at, kept.state, kept.records) == (NOW + 1, "state", 1)
    assert read(folder) == [record(1)]
    assert cache.state_of(SHOP, MEMBERSHIP) == "state"
    assert cache.state_of(SHOP, ("/another", 1, 2, 3)) is None
    cache.renew("github.com/acme/none", MEMBERSHIP, NOW)
    assert len(cache.kept()) == 1


def test_an_empty_copy_is_a_copy(folder):
    GroupCache(str(folder)).keep(SHOP, [], MEMBERSHIP, NOW)
    assert read(folder) == []


@pytest.mark.parametrize("place", ["mark", "header", "record", "end", "empty", "binary", "folder"])
def test_a_file_that_is_not_what_was_written_is_thrown_away(folder, place):
    GroupCache(str(folder)).keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    [file] = folder.iterdir()
    whole = file.read_bytes()
    damaged = {
        "mark": b"x" + whole[1:],
        "header": whole.replace(b"group.dsn", b"group.dsm"),
        "record": whole.replace(b"even", b"evem"),
        "end": whole[:-1],
        "empty": b"",
        "binary": bytes(range(256)),
    }
    if place == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(damaged[place])
    assert read(folder) is None
    assert not file.is_file()
    assert GroupCache(str(folder)).kept() == []


def test_a_copy_speaks_only_for_its_repository_and_its_membership(folder):
    cache = GroupCache(str(folder))
    cache.keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    assert read(folder, "github.com/acme/shop2") is None
    assert read(folder, membership=("/home/dev/other.dsn", 1, 2, 3)) is None
    [file] = folder.iterdir()
    file.rename(cache._path("github.com/acme/shop2"))
    assert read(folder, "github.com/acme/shop2") is None
    assert list(folder.iterdir()) == []


def test_a_writer_that_died_leaves_nothing_behind(folder):
    cache = GroupCache(str(folder))
    cache.keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    [file] = folder.iterdir()
    file.with_name(f"{file.name}.4711").write_bytes(file.read_bytes())
    assert [one.identity for one in cache.kept()] == [SHOP]
    cache.drop_damaged()
    assert list(folder.iterdir()) == [file]


def test_copies_are_bounded_in_number_and_size(folder, monkeypatch):
    monkeypatch.setattr(caches, "MOST_REPOSITORIES", 3)
    monkeypatch.setattr(caches, "MOST_RECORDS", 5)
    monkeypatch.setattr(caches, "MOST_BYTES", 2_000)
    monkeypatch.setattr(caches, "KEPT_IN_MEMORY", 2)
    cache = GroupCache(str(folder))
    for number in range(6):
        cache.keep(f"host/owner/{number}", [record(n) for n in range(9)], MEMBERSHIP, NOW + number)
        os.utime(cache._path(f"host/owner/{number}"), (number, number))
    kept = cache.kept()
    assert [(one.identity[-1], one.records) for one in kept] == [("5", 5), ("4", 5), ("3", 5)]
    cache.keep("host/owner/large", [record(n, "é" * 600) for n in range(9)], MEMBERSHIP, NOW + 9)
    assert cache.kept()[0].records == 1
    assert len(cache._copies) <= 2


def test_what_is_dropped_is_gone_from_memory_too(folder):
    cache = GroupCache(str(folder))
    cache.keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    cache.drop(SHOP)
    assert cache.look(SHOP, MEMBERSHIP) is None
    cache.keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    cache.clear()
    assert cache.look(SHOP, MEMBERSHIP) is None
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_fails_and_leaves_what_was_there(folder):
    cache = GroupCache(str(folder))
    cache.keep(SHOP, [record(1)], MEMBERSHIP, NOW)
    [file] = folder.iterdir()
    os.symlink("/etc/passwd", f"{file}.{os.getpid()}")
    with pytest.raises(OSError, match=file.name):
        cache.keep(SHOP, [record(2)], MEMBERSHIP, NOW)
    assert [one.id for one in read(folder)] == ["r1"]


def test_the_membership_is_the_connection_file_as_it_stands(tmp_path):
    config = tmp_path / "config.toml"
    settings = Settings(group_dsn_file="group.dsn", file=str(config))
    assert membership_of(settings) is None
    assert membership_of(Settings(file=str(config))) is None
    (tmp_path / "group.dsn").write_text("one")
    first = membership_of(settings)
    assert first == membership_of(settings)
    (tmp_path / "group.dsn").write_text("another")
    assert membership_of(settings) != first
