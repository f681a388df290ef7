"""The daemon publishes by itself, goes on after anything, and does not live for it for ever."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import Node
from mash_plugin.daemon.publishing import Publishing
from mash_plugin.daemon.workers import Workers
from mash_plugin.errors import SharedUnavailable
from mash_plugin.group import deadline
from mash_plugin.paths import Paths
from mash_plugin.store.backup import newest_good
from mash_plugin.store.restore import restore
from tests.conftest import NOW, Memory, Shop
from tests.setup.terminals import at_terminal
from tests.support.groups import Group, running_group, running_server
from tests.support.killed_publications import Member, check, kill_server
from tests.support.polling import eventually
from tests.support.publications import heads, join, publisher

pytestmark = pytest.mark.slow

LOCKED = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = %s"


@pytest.fixture
def anna(group: Group, tmp_path: Path) -> Iterator[Member]:
    """A member with a daemon of her own."""
    member = Member(tmp_path / "anna", group, "anna")
    member.start()
    yield member
    member.place.close()


def test_a_change_is_published_without_being_asked_for(anna: Member, group: Group) -> None:
    anna.create("Published by itself.")
    eventually(lambda: len(heads(group)) == 1, "the daemon did not publish")
    anna.create("So is the next one.")
    eventually(lambda: len(heads(group)) == 2, "the daemon did not publish again")
    check(group, anna)


def test_the_command_publishes_and_tells(anna: Member, group: Group) -> None:
    anna.create("Keep the parser whole.")
    done = anna.mash("publish", "--now")
    assert done.returncode == 0, done.stderr
    assert "as anna" in done.stdout
    assert "0 records" in done.stdout
    check(group, anna)
    told = json.loads(anna.mash("publish", "--status", "--json").stdout)
    assert (told["waiting"], told["set_aside"], told["last_failure"]) == (0, 0, None)
    assert told["last_published_at"]
    assert told["group"]["member"] == "anna"


def test_the_command_tells_what_stays_here_and_why(anna: Member, group: Group) -> None:
    anna.create("Keep the parser whole.")
    anna.configure(group, 'publish = "all"\n[privacy]\nextra_patterns = ["parser"]')
    done = anna.mash("publish", "--now")
    [record] = anna.expected
    assert f"Stays here: {record}: a text of it holds a credential" in done.stdout
    assert "parser" not in done.stdout
    assert heads(group) == {}


def test_without_a_group_the_command_says_so(anna: Member) -> None:
    Path(anna.place.paths.config_file).write_text("")
    assert "No group is joined" in anna.mash("publish").stdout
    done = anna.mash("publish", "--now")
    assert done.returncode == 1
    assert "No group is joined" in done.stderr


def test_what_would_go_out_is_told_before_and_on_joining(anna: Member, group: Group) -> None:
    anna.create("Keep the parser whole.")
    config = Path(anna.place.paths.config_file)
    config.write_text('[group]\npublish = "all"\n')
    anna.restart()
    (place,) = anna.place.call("publication_status", {"places": True})["places"]
    assert place["records"] == 1
    goes = f"1 record ({place['place']} 1)"
    told = " ".join(anna.mash("publish").stdout.split())
    assert f"Once you join one, {goes} would go out at once." in told
    done = anna.mash("group", "join", "-", "--yes", answer=group.dsns["anna"])
    told = " ".join(done.stdout.split())
    assert f"Goes out at once under the name anna: {goes}, settled and unconfirmed, each" in told
    assert "Never: what belongs to a folder without a remote" in told


def test_nothing_goes_out_before_somebody_at_the_terminal_agreed(
    anna: Member, group: Group, tmp_path: Path
) -> None:
    config = Path(anna.place.paths.config_file)
    config.write_text('[group]\npublish = "all"\n')
    anna.restart()
    anna.create("Keep the parser whole.")
    dsn = tmp_path / "anna.dsn"
    dsn.write_text(group.dsns["anna"])
    mash = shlex.join([sys.executable, "-m", "mash_plugin", "group", "join", "-"])
    command = ["/bin/sh", "-c", f"exec {mash} <{shlex.quote(str(dsn))}"]
    environment = anna.place.environment | anna.environment

    alone = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, start_new_session=True
    )
    assert alone.returncode == 2
    assert "there is no terminal to ask on" in " ".join(alone.stderr.split())
    code, shown = at_terminal(command, environment, tmp_path, ["\n"])
    assert (code, "Nothing was changed." in shown) == (1, True)
    assert config.read_text() == '[group]\npublish = "all"\n'
    assert not (config.parent / "group.dsn").exists()
    code, shown = at_terminal(command, environment, tmp_path, ["y\n"])
    assert code == 0, shown
    assert shown.index("1 record") < shown.index("publish that? [y/N]") < shown.index("Joined")
    eventually(lambda: heads(group), "agreeing published nothing", timeout_s=20)


def test_where_nothing_would_go_out_nobody_is_asked(anna: Member, group: Group) -> None:
    Path(anna.place.paths.config_file).write_text("")
    anna.restart()
    done = anna.mash("group", "join", "-", answer=group.dsns["anna"])
    assert done.returncode == 0, done.stderr
    assert "0 records" in done.stdout


def test_options_that_exclude_each_other_are_refused(anna: Member) -> None:
    assert anna.mash("publish", "--now", "--status").returncode == 2
    assert anna.mash("publish", "--take-over").returncode == 2


def test_a_group_that_was_left_is_noted_for_no_longer(anna: Member, group: Group) -> None:
    anna.create("Keep the parser whole.")
    anna.settle()
    Path(anna.place.paths.config_file).write_text("")
    anna.restart()
    anna.create("Nobody else's business.")

    def outbox() -> list[object]:
        told = anna.place.call("publication_status")
        return [told["configured"], told["waiting"], told["last_published_at"]]

    eventually(lambda: outbox() == [False, 0, None], f"still noted: {outbox()}")
    assert len(heads(group)) == 1


def test_a_copied_home_tells_and_waits_until_it_is_to_take_over(
    anna: Member, group: Group, tmp_path: Path
) -> None:
    anna.create("Keep the parser whole.")
    anna.settle()
    anna.kill()
    target, without = tmp_path / "copy" / "mash", shutil.ignore_patterns("run")
    shutil.copytree(anna.place.mash_home, target, ignore=without)
    copy = Member(tmp_path / "copy", group, "anna")
    copy.session, copy.expected = anna.session, dict(anna.expected)
    try:
        copy.start()
        copy.create("Made in the copy.")
        done = copy.mash("publish", "--now")
        assert done.returncode == 1
        assert "--take-over" in done.stdout
        check(group, anna)
        assert copy.mash("publish", "--now", "--take-over").returncode == 0
        check(group, copy)
        anna.start()
        assert anna.mash("publish", "--now").returncode == 1
        check(group, copy)
    finally:
        copy.place.close()


def test_a_restored_store_takes_back_what_was_published_since(anna: Member, group: Group) -> None:
    anna.create("Before the backup.")
    anna.settle()
    anna.place.call("backup")
    before = dict(anna.expected)
    anna.create("After the backup.")
    anna.settle()
    anna.place.call("stop")
    for child in anna.place.children:
        child.wait(60)
    assert newest_good(anna.place.paths.backups)
    restore(anna.place.paths, None, NOW, wait_s=60)
    anna.expected = before
    anna.settle()
    check(group, anna)


def test_a_restored_server_is_given_what_it_lost(anna: Member, group: Group) -> None:
    anna.create("Before the server's backup.")
    anna.settle()
    anna.kill()
    snapshot = f"{group.database}_old"
    group.server.run(f'CREATE DATABASE "{snapshot}" TEMPLATE "{group.database}"', "postgres")
    anna.start()
    anna.create("After it.")
    anna.settle()
    anna.kill()
    group.server.run(f'DROP DATABASE "{group.database}" WITH (FORCE)', "postgres")
    group.server.run(f'ALTER DATABASE "{snapshot}" RENAME TO "{group.database}"', "postgres")
    assert len(heads(group)) == 1
    anna.settle()
    check(group, anna)


def test_a_group_that_is_joined_gets_what_was_saved_before(anna: Member, group: Group) -> None:
    Path(anna.place.paths.config_file).write_text('[group]\npublish = "all"\n')
    anna.create("Saved before.")
    done = anna.mash("group", "join", "-", "--yes", answer=group.dsns["anna"])
    assert done.returncode == 0, done.stderr
    eventually(lambda: heads(group), "joining published nothing", timeout_s=20)
    check(group, anna)
    assert anna.mash("group", "leave").returncode == 0
    assert heads(group) == {}


def test_without_a_group_no_thread_is_begun(home: Paths) -> None:
    Path(home.run).mkdir(parents=True)
    node = Node(home, NOW, {})
    workers = Workers(node, Log(home.log))
    workers._look_after_group()
    assert workers._publishing is None
    assert not [one for one in threading.enumerate() if one.name == "publishing"]
    workers.close()
    node.close()


def test_nothing_is_published_before_all_chats_are_read(home: Paths, group: Group) -> None:
    for folder in (home.run, Path(home.config_file).parent):
        Path(folder).mkdir(parents=True, exist_ok=True)
    Path(home.config_file).write_text(f'[group]\ndsn_file = "{group.dsn_file("anna")}"\n')
    node, is_read = Node(home, NOW, {}), threading.Event()
    publishing = Publishing(node, Log(home.log), is_read.is_set)
    publishing.ask(take_over=False, again=False)
    assert not publishing._is_due()
    assert publishing.is_busy()
    assert group.run("SELECT 1 FROM nodes") == []
    is_read.set()
    eventually(lambda: group.run("SELECT 1 FROM nodes"), "it has not begun to publish")
    publishing.close()
    node.close()


def test_a_server_that_is_away_is_gone_on_with_when_it_is_back(tmp_path: Path) -> None:
    with running_server() as server, running_group(server, tmp_path / "group") as group:
        anna = Member(tmp_path / "anna", group, "anna")
        try:
            anna.start("--idle-s", "3")
            anna.create("Published before.")
            anna.settle()
            kill_server(server)
            anna.create("Made while it was away.")
            done = anna.mash("publish", "--now")
            assert done.returncode == 1
            assert "PROBLEM" in done.stdout
            told = anna.place.call("publication_status")
            assert told["last_failure"]["code"] == "shared_unavailable"
            assert told["waiting"] == 1
            assert told["next_try_at"]
            [daemon] = anna.place.children
            assert daemon.wait(60) == 0  # nobody waits for ever
            server.start()
            anna.settle()
            check(group, anna)
        finally:
            anna.place.close()


def test_a_daemon_does_not_end_while_the_server_takes_what_waits(
    anna: Member, group: Group
) -> None:
    anna.settle()
    anna.create("Slowly.")
    anna.kill()
    with psycopg.connect(group.admin_dsn) as lock:
        lock.execute(f"SET search_path = {group.roles.schema}")
        lock.execute("SELECT 1 FROM nodes FOR UPDATE")
        anna.start("--idle-s", "0.3")
        daemon = anna.place.children[-1]
        anna.begin_to_publish()
        eventually(lambda: group.run(LOCKED, group.database), "it does not wait for the row")
        with pytest.raises(subprocess.TimeoutExpired):
            daemon.wait(2)
        lock.rollback()
        assert daemon.wait(60) == 0
    check(group, anna)


def test_who_leaves_while_it_is_published_waits_for_nothing(anna: Member, group: Group) -> None:
    anna.settle()
    anna.create("Slowly.")
    with psycopg.connect(group.admin_dsn) as lock:
        lock.execute(f"SET search_path = {group.roles.schema}")
        lock.execute("SELECT 1 FROM nodes FOR UPDATE")
        found: list[subprocess.CompletedProcess[str]] = []
        waiting = threading.Thread(target=lambda: found.append(anna.mash("publish", "--now")))
        waiting.start()
        eventually(lambda: group.run(LOCKED, group.database), "it does not wait for the row")
        assert anna.mash("group", "leave", "--keep").returncode == 0
        waiting.join(60)
        lock.rollback()
    [done] = found
    assert (done.returncode, done.stderr) == (0, "")
    assert "No group is joined" in done.stdout


@pytest.mark.spec("R-173")
@pytest.mark.row(66)
def test_a_server_that_was_stopped_in_the_middle_is_left(
    memory: Memory, shop: Shop, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "SILENT_S", 0.5)
    monkeypatch.setattr(deadline, "LOOK_EVERY_S", 0.1)
    memory.index()
    join(memory, group, "anna")
    publisher(memory).run()
    made = memory.established("Use Qdrant for local search.")
    stopped: list[int] = []

    def stop(name: str) -> None:
        [(pid,)] = group.run("SELECT pid FROM pg_stat_activity WHERE application_name = 'mash'")
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)

    monkeypatch.setattr("mash_plugin.group.publisher.failpoint", stop)
    try:
        with pytest.raises(SharedUnavailable, match="went away"):
            publisher(memory).run()
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    monkeypatch.undo()
    publisher(memory).run()
    assert heads(group) == {made["id"]: 1}


def test_one_that_died_in_a_transaction_does_not_stop_the_next(
    memory: Memory, shop: Shop, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.index()
    join(memory, group, "anna")
    made = memory.established("Use Qdrant for local search.")
    reached, go_on = threading.Event(), threading.Event()

    def hold(name: str) -> None:
        if name == "publishing_before_commit" and not reached.is_set():
            reached.set()
            assert go_on.wait(60)

    monkeypatch.setattr("mash_plugin.group.publisher.failpoint", hold)
    older, newer = (threading.Thread(target=publisher(memory).run) for _ in range(2))
    older.start()
    assert reached.wait(60)
    newer.start()  # as the next daemon does, while the server still serves the one that died
    eventually(lambda: group.run(LOCKED, group.database), "it does not wait for the older one")
    go_on.set()
    older.join(60)
    newer.join(60)
    assert heads(group) == {made["id"]: 1}
