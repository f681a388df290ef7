"""Joining a group on this machine, looking at it, and leaving it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from mash_plugin.config import read_settings
from mash_plugin.errors import SharedNotConfigured
from mash_plugin.group.joining import join_group, leave_group
from mash_plugin.group.session import open_group
from mash_plugin.paths import find_paths
from mash_plugin.postgres.dsn import parsed
from mash_plugin.store.open import open_store
from mash_plugin.store.publication import node_id
from tests.support.groups import NOW, Group, published
from tests.support.processes import end_processes_of

OWN_LINES = """# My own settings.
[records]   # what is kept
capture = true   # yes

[group]
# Candidates, too.
publish = "all"
"""


@pytest.fixture
def joined(group, person):
    done = person.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"])
    assert done.code == 0, done.err
    return person


@pytest.fixture
def node(person):
    """The ID of the person's store."""
    store = open_store(find_paths({"MASH_HOME": str(person.home)}), NOW)
    with store.reading() as db:
        found = node_id(db)
    store.close()
    return found


def settings_of(person):
    return read_settings(str(person.config), {})


def status(person):
    done = person.mash("group", "status", "--json")
    return done.code, json.loads(done.out)


def test_joining_keeps_the_connection_for_this_user_alone_and_every_own_line(group, person):
    person.config.write_text(OWN_LINES)
    done = person.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"] + "\n")
    assert (done.code, done.err) == (0, "")
    assert f"Joined {group.name} as anna" in done.out
    told = " ".join(done.out.split())
    assert "Goes out at once under the name anna: the records of your repositories, settled" in told
    assert parsed(group.dsns["anna"])["password"] not in done.out
    assert person.dsn_file.read_text() == group.dsns["anna"] + "\n"
    assert stat.S_IMODE(person.dsn_file.stat().st_mode) == 0o600
    assert person.config.read_text() == OWN_LINES + 'dsn_file = "group.dsn"\n'
    with closing(open_group(settings_of(person), {}, to_write=True)) as db:
        assert db.member == "anna"


def test_joining_again_takes_the_new_password(group, joined):
    group.add("anna")
    again = joined.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"])
    assert again.code == 0
    assert status(joined)[0] == 0


def test_a_place_that_the_person_chose_is_written_to(group, person, tmp_path):
    person.config.write_text('[group]\ndsn_file = "../own/team.dsn"\n')
    done = person.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"])
    assert done.code == 0, done.err
    chosen = tmp_path / "own" / "team.dsn"
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o600
    assert person.config.read_text() == '[group]\ndsn_file = "../own/team.dsn"\n'
    assert person.mash("group", "leave", "--keep").code == 0
    assert chosen.exists()
    assert person.config.read_text() == ""


def test_a_second_group_is_refused_until_the_first_is_left(group, joined, tmp_path):
    other = Group(group.server, tmp_path / "other")
    try:
        dsn = other.add("anna")
        refused = joined.mash("group", "join", "-", "--yes", stdin=dsn)
        assert refused.code == 1
        assert f"is in the group {group.name}" in " ".join(refused.err.split())
        assert joined.mash("group", "leave").code == 0
        assert joined.mash("group", "join", "-", "--yes", stdin=dsn).code == 0
    finally:
        other.end()


def test_a_connection_that_does_not_work_changes_nothing_and_says_why(group, person):
    password = parsed(group.dsns["anna"])["password"]
    for dsn, word in (
        (group.dsns["anna"].replace(password, "wrong-one"), "password authentication failed"),
        (group.admin_dsn, "is no member's"),
        (group.dsns["anna"].replace(f"dbname={group.name}", "dbname=postgres"), "no group"),
        (group.dsns["anna"].replace("port=54321", "port=54322"), "cannot be used"),
        ("host=db.example sslmode=require user=mash_a_m_b", "sslmode=verify-full"),
    ):
        done = person.mash("group", "join", "-", "--yes", stdin=dsn)
        assert (done.code, done.out) == (1, "")
        assert word in " ".join(done.err.split())
        assert "wrong-one" not in done.err
        assert os.listdir(person.home) == []


def test_settings_that_cannot_be_changed_leave_no_connection_behind(group, person):
    person.config.write_text("group = 3\n")
    done = person.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"])
    assert done.code == 1
    assert "group is not a table" in " ".join(done.err.split())
    assert not person.dsn_file.exists()
    person.config.write_text("[group\n")
    done = person.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"])
    assert done.code == 1
    assert "Correct or move it" in done.err
    assert not person.dsn_file.exists()


def test_what_was_joined_before_is_back_when_joining_again_is_broken_off(
    group, joined, monkeypatch
):
    before = joined.dsn_file.read_text()
    monkeypatch.setattr("mash_plugin.group.joining.edit_settings", interrupt)
    with pytest.raises(KeyboardInterrupt):
        join_group(group.add("anna"), settings_of(joined), {}, lambda _: None)
    assert joined.dsn_file.read_text() == before
    assert set(os.listdir(joined.home)) == {"config.toml", "group.dsn"}


def interrupt(*_):
    raise KeyboardInterrupt


def test_one_who_breaks_off_while_the_server_is_silent_has_joined_nothing(person):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dsn = f"host=127.0.0.1 port={silent.getsockname()[1]} user=mash_a_m_b dbname=x password=y"
        process = subprocess.Popen(
            [sys.executable, "-m", "mash_plugin", "group", "join", "-", "--yes"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "MASH_HOME": str(person.home), "MASH_TESTING": "1"},
        )
        process.stdin.write(dsn.encode())
        process.stdin.close()
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        with connection, process.stderr:
            assert process.wait(30) == 130
            assert b"interrupted" in process.stderr.read()
    assert os.listdir(person.home) == []


@pytest.mark.row(66)
def test_those_who_join_at_one_time_leave_one_good_connection(group, person):
    person.config.write_text(OWN_LINES)
    command = [sys.executable, "-m", "mash_plugin", "group", "join", "-", "--yes"]
    given = {"PATH": os.environ["PATH"], "MASH_HOME": str(person.home), "MASH_TESTING": "1"}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    running = [subprocess.Popen(command, env=given, **streams) for _ in range(3)]
    for process in running:
        process.stdin.write(group.dsns["anna"].encode())
        process.stdin.close()
    assert [process.wait(60) for process in running] == [0, 0, 0]
    end_processes_of(person.home)
    assert person.config.read_text() == OWN_LINES + 'dsn_file = "group.dsn"\n'
    assert set(os.listdir(person.home)) - {"data", "run"} == {"config.toml", "group.dsn"}
    assert status(person)[0] == 0


def test_a_server_that_takes_the_connection_and_says_nothing_is_given_up(person):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dsn = f"host=127.0.0.1 port={silent.getsockname()[1]} user=mash_a_m_b dbname=x password=y"
        done = person.mash("group", "join", "-", "--yes", stdin=dsn)
    assert done.code == 1
    assert "cannot be used" in " ".join(done.err.split()) or "within" in done.err
    assert os.listdir(person.home) == []


def test_an_agents_session_cannot_join(group, person):
    done = person.mash(
        "group", "join", "-", "--yes", stdin=group.dsns["anna"], CLAUDE_CODE_SESSION_ID="s-1"
    )
    assert done.code == 2
    assert "publishes your records to others" in " ".join(done.err.split())
    assert os.listdir(person.home) == []


def test_the_status_tells_who_is_in_the_group_and_what_each_published(group, joined, node):
    with closing(group.open("bob")) as bob:
        published(bob, "n-bob", "r1", "r2")
    with closing(group.open("anna")) as anna:
        published(anna, node, "r3")
    group.remove("bob")
    code, told = status(joined)
    assert (code, told["is_joined"], told["problem"]) == (0, True, None)
    assert (told["group"], told["member"], told["publish"]) == (group.name, "anna", "established")
    assert told["node"]["records"] == 1
    assert [(m["member"], m["records"], m["is_removed"]) for m in told["members"]] == [
        ("anna", 1, False),
        ("bob", 2, True),
    ]
    shown = joined.mash("group", "status").out
    assert f"Group {group.name} as anna (publishes: established)" in shown
    assert "Published from here: 1 record" in shown


def test_the_status_says_what_is_wrong_and_ends_with_1(group, joined):
    group.remove("anna")
    code, told = status(joined)
    assert code == 1
    assert told["problem"]["code"] == "shared_auth_failed"
    assert "PROBLEM" in joined.mash("group", "status").out
    joined.dsn_file.chmod(0o644)
    assert "chmod 600" in status(joined)[1]["problem"]["message"]
    joined.dsn_file.unlink()
    assert "mash group join" in status(joined)[1]["problem"]["message"]


@pytest.mark.row(66)
@pytest.mark.timeout(60)
def test_a_connection_file_that_is_none_holds_up_nobody(joined):
    joined.dsn_file.unlink()
    os.mkfifo(joined.dsn_file, 0o600)
    assert "not a regular file" in status(joined)[1]["problem"]["message"]
    joined.dsn_file.unlink()
    joined.dsn_file.symlink_to("/dev/zero")
    assert "not a regular file" in status(joined)[1]["problem"]["message"]
    joined.dsn_file.unlink()
    joined.dsn_file.mkdir(0o700)
    assert "is a folder" in status(joined)[1]["problem"]["message"]


def test_without_a_group_the_status_says_how_to_join_and_leaving_is_an_error(person):
    assert status(person) == (0, {"is_joined": False})
    assert "mash group join -" in person.mash("group", "status").out
    left = person.mash("group", "leave")
    assert left.code == 1
    assert "No group is joined" in left.err
    with pytest.raises(SharedNotConfigured):
        open_group(settings_of(person), {}, to_write=False)


def test_leaving_withdraws_what_this_node_published_and_no_more(group, joined, node):
    joined.config.write_text(OWN_LINES + 'dsn_file = "group.dsn"\n')
    with closing(group.open("anna")) as anna:
        published(anna, node, "r1", "r2")
        published(anna, "my-other-machine", "r1")
    with closing(group.open("bob")) as bob:
        published(bob, "n-bob", "r1")
    left = joined.mash("group", "leave")
    assert (left.code, left.err) == (0, "")
    assert "2 published records withdrawn" in left.out
    assert group.run("SELECT node_id FROM pub_records ORDER BY 1") == [
        ("my-other-machine",),
        ("n-bob",),
    ]
    assert joined.config.read_text() == OWN_LINES
    assert not joined.dsn_file.exists()


def test_leaving_may_keep_what_was_published(group, joined, node):
    with closing(group.open("anna")) as anna:
        published(anna, node, "r1")
    group.server.stop()
    try:
        refused = joined.mash("group", "leave")
        assert refused.code == 1
        assert "--keep" in refused.err
        assert status(joined)[1]["is_joined"]
        assert joined.mash("group", "leave", "--keep").code == 0
    finally:
        group.server.start()
    assert group.run("SELECT count(*) FROM pub_records") == [(1,)]
    assert status(joined) == (0, {"is_joined": False})


def test_leaving_that_fails_half_way_has_left_nothing(group, joined, node, monkeypatch):
    before = joined.config.read_text()
    monkeypatch.setattr("mash_plugin.group.joining._withdraw", interrupt)
    with pytest.raises(KeyboardInterrupt):
        leave_group(settings_of(joined), {}, node)
    assert joined.config.read_text() == before
    assert status(joined)[0] == 0


def test_one_who_may_only_read_leaves_and_is_told_what_it_cannot_withdraw(group, joined, node):
    with closing(group.open("anna")) as anna:
        published(anna, node, "r1")
    joined.dsn_file.write_text(group.add("anna", read_only=True))
    refused = joined.mash("group", "leave")
    assert refused.code == 1
    assert "anna may only read by now, so 1 record" in " ".join(refused.err.split())
    assert "remove anna --purge" in " ".join(refused.err.split())
    assert status(joined)[0] == 0
    group.run("DELETE FROM nodes")
    left = joined.mash("group", "leave")
    assert (left.code, left.err) == (0, "")
    assert "0 published records withdrawn" in left.out
    assert status(joined) == (0, {"is_joined": False})


def test_one_who_was_removed_can_still_leave(group, joined):
    group.remove("anna")
    refused = joined.mash("group", "leave")
    assert refused.code == 1
    assert "--keep" in refused.err
    assert joined.mash("group", "leave", "--keep").code == 0
