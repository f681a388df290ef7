"""Stores of every schema that there was: brought to the newest whole, or left as they were."""

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import UpgradeNeeded
from mash_plugin.paths import Paths
from mash_plugin.store import migrate
from mash_plugin.store.backup import backups
from mash_plugin.store.open import open_chats, open_store
from tests.store.saving import NOW, paths_in
from tests.support.migrating import (
    FAILPOINTS,
    LONGEST_S,
    cut,
    migrate_all,
    schemas,
    write_migrations,
)
from tests.support.schema_fixtures import (
    FAMILIES,
    Json,
    contents,
    fixtures,
    hashes,
    is_released,
    newest,
    served,
    unpack,
)

RANDOM_KILLS = 11


@pytest.fixture(params=fixtures())
def old(paths: Paths, request: pytest.FixtureRequest) -> Json:
    """What the stores of a fixture told when they were made; they lie in the home."""
    return unpack(request.param, paths)


@pytest.fixture
def next_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program that knows one migration more of each family."""
    folder = write_migrations(tmp_path / "migrations")
    monkeypatch.setattr(migrate, "_FOLDER", str(folder))
    return folder


def assert_tells(now: object, then: object, where: str = "") -> None:
    """Whatever was told then is told now; new fields may stand beside it."""
    if isinstance(then, dict):
        assert isinstance(now, dict), where
        for key, value in then.items():
            assert key in now, f"{where}/{key} is gone"
            assert_tells(now[key], value, f"{where}/{key}")
    elif isinstance(then, list):
        assert isinstance(now, list), where
        assert len(now) == len(then), where
        for number, (one, value) in enumerate(zip(now, then, strict=True)):
            assert_tells(one, value, f"{where}/{number}")
    else:
        assert now == then, where


def told_by(paths: Paths) -> Json:
    with served(paths, Path(paths.data)) as call:
        return contents(call)


def layout(path: str) -> list[tuple[object, ...]]:
    """The tables, indexes, views and triggers of a file, but for white space."""
    raw = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    rows = list(raw.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"))
    raw.close()
    return [(kind, name, " ".join((sql or "").split())) for kind, name, sql in rows]


def test_a_store_of_any_schema_tells_the_same_after_an_upgrade(
    paths: Paths, old: Json, tmp_path: Path
) -> None:
    assert_tells(told_by(paths), old["contents"])
    fresh = paths_in(tmp_path / "fresh")
    open_store(fresh, NOW).close()
    open_chats(fresh).close()
    for attribute in FAMILIES.values():
        assert layout(getattr(paths, attribute)) == layout(getattr(fresh, attribute))
        raw = apsw.Connection(getattr(paths, attribute))
        assert list(raw.execute("PRAGMA integrity_check")) == [("ok",)]
        assert list(raw.execute("PRAGMA foreign_key_check")) == []
        raw.close()


def test_the_newest_schemas_have_a_fixture() -> None:
    name = "-".join(f"{number:04}" for number in newest().values())
    assert name in fixtures(), "run scripts/schema-fixture and commit what it writes"


def test_a_migration_that_stores_were_made_with_is_not_edited(old: Json) -> None:
    advice = "run scripts/schema-fixture and commit what it writes"
    if is_released():
        advice = "a released migration stays as it is: add the next number instead"
    for family, made_with in old["migrations"].items():
        assert hashes(family, len(made_with)) == made_with, advice


def test_a_backup_is_made_before_a_store_is_changed(
    paths: Paths, old: Json, next_migrations: Path
) -> None:
    migrate_all(paths, next_migrations)
    (backup,) = backups(paths.backups)
    assert schemas(paths) == {family: number + 1 for family, number in newest().items()}
    assert_tells(told_by(paths), old["contents"])
    kept = apsw.Connection(backup.path)
    assert next(iter(kept.execute("PRAGMA user_version"))) == (newest()["records"],)
    assert next(iter(kept.execute("SELECT count(*) FROM records")))[0] > 0
    kept.close()


@pytest.mark.parametrize("kill", [*FAILPOINTS, *range(RANDOM_KILLS)])
@pytest.mark.row(35)
def test_a_migration_that_is_killed_anywhere_is_gone_on_with(
    tmp_path: Path, next_migrations: Path, kill: str | int
) -> None:
    paths = paths_in(tmp_path / "mash")
    old = unpack(fixtures()[-1], paths)
    if isinstance(kill, str):
        cut(paths, next_migrations, failpoint=kill)
    else:
        chance = random.Random(kill)  # noqa: S311 - only chooses the moment
        cut(paths, next_migrations, after_s=chance.uniform(0, LONGEST_S))
    schemas(paths)
    assert_tells(told_by(paths), old["contents"])
    assert schemas(paths) == {family: number + 1 for family, number in newest().items()}
    assert_tells(told_by(paths), old["contents"])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_store_of_a_newer_program_is_refused_and_not_touched(
    paths: Paths, old: Json, family: str
) -> None:
    raw = apsw.Connection(getattr(paths, FAMILIES[family]))
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = {p.name: p.read_bytes() for p in Path(paths.data).iterdir()}
    with pytest.raises(UpgradeNeeded) as caught:
        _ = open_store(paths, NOW) if family == "records" else open_chats(paths)
    knows = f"schema 99, this one knows {newest()[family]}"
    for part in (getattr(paths, FAMILIES[family]), knows, "nothing was changed", "mash upgrade"):
        assert part in caught.value.message
    assert {p.name: p.read_bytes() for p in Path(paths.data).iterdir()} == before


def test_a_row_that_an_upgrade_loses_is_noticed(paths: Paths, old: Json) -> None:
    raw = apsw.Connection(paths.store)
    raw.execute("DELETE FROM links")
    raw.close()
    with pytest.raises(AssertionError):
        assert_tells(told_by(paths), old["contents"])
