"""What the doctor finds of the group that is joined: each fault planted, on a real server."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote

import pytest

from mash_plugin.doctor import group as checks
from mash_plugin.doctor.examination import _safely
from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.group.cache import GroupCache, membership_of
from mash_plugin.postgres.dsn import driver_command
from mash_plugin.store import publication
from mash_plugin.store.open import open_store
from tests.doctor.machines import NOW, machine_at
from tests.support.groups import Group, running_group, running_server

HOUR = 3_600_000
DAY = 24 * HOUR
SHOP = "github.com/acme/shop"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("group")
    with running_server() as server, running_group(server, folder, "bob") as made:
        yield made


@pytest.fixture
def group(running: Group) -> Group:
    if "bob" not in running.dsns:
        running.add("bob")
    return running


@pytest.fixture
def join(tmp_path: Path) -> Callable[[str], Machine]:
    """A home with this connection string."""

    def joined(dsn: str) -> Machine:
        home = tmp_path / "mash"
        home.mkdir(exist_ok=True)
        (home / "group.dsn").write_text(dsn)
        (home / "group.dsn").chmod(0o600)
        settings = '[group]\ndsn_file = "group.dsn"\n[recall]\ngroup = true\n'
        (home / "config.toml").write_text(settings)
        return machine_at(tmp_path)

    return joined


def found(machine: Machine) -> list[Finding]:
    checked = (checks.check_connection, checks.check_publication, checks.check_copies)
    return [one for check in checked for one in _safely(check, machine)]


def faults(machine: Machine) -> dict[str, Finding]:
    return {one.name: one for one in found(machine) if one.severity != "ok"}


def test_without_a_group_there_is_nothing_to_find(tmp_path: Path) -> None:
    assert [(one.name, one.severity) for one in found(machine_at(tmp_path))] == [
        ("group-off", "ok")
    ]


def test_a_connection_file_that_no_setting_names_is_told_with_the_command_that_joins(
    tmp_path: Path, join: Callable[[str], Machine]
) -> None:
    settings = Path(join("host=127.0.0.1").paths.config_file)
    settings.write_text("[recall]\ngroup = true\n")
    machine = machine_at(tmp_path)
    told = faults(machine)["group-file-left"]
    assert told.next == f"mash group join - < {quote(f'{settings.parent}/group.dsn')}"
    settings.write_text("[recall\n")
    assert faults(machine_at(tmp_path)) == {}, "what cannot be read may name it"


def test_a_group_that_answers_is_in_order(group: Group, join: Callable[[str], Machine]) -> None:
    machine = join(group.dsns["bob"])
    told = {one.name: one.what for one in found(machine)}
    assert told["group"].startswith(f"{group.name} as bob, at ")
    assert faults(machine) == {}


def test_a_server_that_is_away_is_a_warning_within_seconds(join: Callable[[str], Machine]) -> None:
    before = time.monotonic()
    fault = faults(join("host=/nowhere dbname=x user=mash_team_m_bob"))["group-unreachable"]
    assert (fault.severity, fault.next) == ("warning", "mash group status")
    assert time.monotonic() - before < 10


def test_a_server_that_says_nothing_is_left_after_the_time_limit(
    join: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(checks, "LIMIT_S", 0.3)
        port = silent.getsockname()[1]
        machine = join(f"host=127.0.0.1 port={port} dbname=x user=mash_team_m_bob")
        before = time.monotonic()
        assert "group-unreachable" in faults(machine)
        assert time.monotonic() - before < 10


def test_a_server_that_proves_not_who_it_is_is_told_apart(join: Callable[[str], Machine]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def refuse_tls() -> None:
            connection, _ = plain.accept()
            with connection:
                connection.recv(8)
                connection.sendall(b"N")
                connection.recv(1)

        thread = threading.Thread(target=refuse_tls, daemon=True)
        thread.start()
        port = plain.getsockname()[1]
        where = f"host=127.0.0.1 port={port} dbname=x user=mash_team_m_bob"
        machine = join(f"{where} sslmode=verify-full sslrootcert=system")
        assert "sslrootcert" in faults(machine)["group-tls"].next
        thread.join(10)


def test_a_login_that_the_server_refuses(group: Group, join: Callable[[str], Machine]) -> None:
    dsn = group.dsns["bob"]
    password = dsn.partition("password=")[2].split()[0]
    fault = faults(join(dsn.replace(password, "wrong")))["group-login"]
    assert "mash group join -" in fault.next
    machine = join(dsn)
    group.remove("bob")
    del group.dsns["bob"]
    assert "group-login" in faults(machine)


def test_a_schema_of_another_version(group: Group, join: Callable[[str], Machine]) -> None:
    machine = join(group.dsns["bob"])
    group.run("UPDATE group_schema SET version = version + 1")
    try:
        assert "group-schema" in faults(machine)
    finally:
        group.run("UPDATE group_schema SET version = version - 1")


def test_an_administrators_login_and_tables_open_to_all_are_refused(
    group: Group, join: Callable[[str], Machine]
) -> None:
    assert "group-unusable" in faults(join(group.admin_dsn))
    machine = join(group.dsns["bob"])
    schema = group.roles.schema
    group.run(f"ALTER TABLE {schema}.pub_records NO FORCE ROW LEVEL SECURITY")
    try:
        fault = faults(machine)["group-unusable"]
        assert "pub_records" in fault.what
    finally:
        group.run(f"ALTER TABLE {schema}.pub_records FORCE ROW LEVEL SECURITY")


def test_a_connection_file_that_others_can_read_is_not_used_and_can_be_closed(
    group: Group, join: Callable[[str], Machine]
) -> None:
    machine = join(group.dsns["bob"])
    file = Path(machine.paths.config_file).with_name("group.dsn")
    file.chmod(0o644)
    fault = faults(machine)["group-file-open"]
    assert fault.next == f"chmod 600 {file}"
    assert fault.repair is not None
    fault.repair.run()
    assert file.stat().st_mode & 0o777 == 0o600
    assert faults(machine) == {}
    file.unlink()
    assert "mash group join -" in faults(machine)["group-unusable"].next
    file.mkdir()
    assert "is a folder, not a regular file" in faults(machine)["group-unusable"].what


def test_without_the_driver_the_command_that_brings_it_is_named(
    join: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    fault = faults(join("host=localhost user=mash_team_m_bob"))["group-driver"]
    assert fault.next == driver_command()


def test_a_clock_that_is_wrong(
    group: Group, join: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = join(group.dsns["bob"])
    real = time.time
    monkeypatch.setattr(checks.time, "time", lambda: real() + 290)
    assert "4 min behind" in faults(machine)["group-clock"].what
    monkeypatch.setattr(checks.time, "time", lambda: real() - 30)
    assert faults(machine) == {}


def test_changes_that_wait_for_long_and_those_that_are_refused(
    group: Group, join: Callable[[str], Machine]
) -> None:
    machine = join(group.dsns["bob"])
    store = open_store(machine.paths, NOW)
    with store.writing() as db:
        publication.join(db, publication.Membership("g1"))
        publication.queue(db, ["r1", "r2", "r3"], NOW - HOUR)
    assert faults(machine) == {}
    with store.writing() as db:
        publication.queue(db, ["r0"], NOW - 3 * HOUR)
        publication.set_aside(db, publication.waiting(db, 1)[0], "too large")
    store.close()
    told = faults(machine_at(Path(machine.paths.home or "").parent))
    assert told["group-backlog"].what == "3 changed records not published for 3 h"
    assert told["group-set-aside"].what.startswith("1 record set aside")


def test_copies_tell_how_old_they_are(group: Group, join: Callable[[str], Machine]) -> None:
    machine = join(group.dsns["bob"])
    membership = membership_of(machine.settings)
    assert membership is not None
    cache = GroupCache(machine.paths.group)
    cache.keep(SHOP, [], membership, NOW - DAY)
    assert faults(machine) == {}
    cache.keep(SHOP, [], membership, NOW - DAY - 1)
    told = faults(machine)["group-copies-old"]
    assert (told.severity, "a week" in told.why) == ("note", False)
    cache.keep(SHOP, [], membership, NOW - 8 * DAY)
    assert "a week" in faults(machine)["group-copies-old"].why
