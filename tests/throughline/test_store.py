"""What the store keeps of sessions, and for how long."""

import os
import sqlite3

import pytest

from mash_plugin.errors import ReadOnly, StoreDamaged, UpgradeNeeded
from mash_plugin.throughline import queue
from mash_plugin.throughline.database import FILE, open_file
from tests.throughline.conftest import AGENT, CHAT, NOW, SESSION, both, lines_of

HOUR = 3_600_000


def keep(workspace, text, at=NOW, **environment):
    """Capture and drain a session, each at this time."""
    now = {"MM_TEST_NOW_MS": str(at)}
    workspace.capture(workspace.write(text), **now)
    return workspace.drain(**now, **environment)


def promote(workspace, at, **environment):
    where = ("--agent-id", AGENT, "--promote-only", "--config-dir", workspace.path)
    return workspace.run("consolidate", *where, MM_TEST_NOW_MS=str(at), **environment)


@both
@pytest.mark.spec("R-204", "R-189", "R-205")
def test_a_grown_session_has_its_new_summary_and_its_best_four_lines(workspace):
    keep(workspace, CHAT)
    before = {row[0] for row in workspace.rows()}
    more = [("assistant", f"Decided to use berth {n}.") for n in range(4)]
    done = keep(workspace, CHAT + lines_of(*more), at=NOW + HOUR)
    assert done.out == "consolidate: 5 drained, 0 already stored, 0 failed\n"
    told = workspace.call("mm_session_recall", session_id=SESSION).splitlines()
    assert [line.split()[2] for line in told[1:]] == [
        *("[summary]", "[keyline-m5-l0]", "[keyline-m6-l0]", "[keyline-m7-l0]", "[keyline-m8-l0]")
    ]
    assert "9 messages" in told[1]
    assert told[1].split("`")[1] in before
    assert workspace.rows("SELECT COUNT(*) FROM mm_memories") == [(5,)]
    words = workspace.rows("SELECT word FROM mm_words WHERE word = 'zephyr'")
    assert words == []


@both
def test_a_known_line_keeps_its_time_when_the_session_grows(workspace):
    keep(workspace, CHAT)
    keep(workspace, CHAT + lines_of(("assistant", "Decided to use berth 1.")), at=NOW + HOUR)
    stored = dict(workspace.rows("SELECT artifact_key, stored_at FROM mm_memories"))
    assert stored == {
        "summary": NOW + HOUR,
        "keyline-m2-l0": NOW,
        "keyline-m3-l0": NOW,
        "keyline-m5-l0": NOW + HOUR,
    }


def test_a_key_line_that_changed_at_its_place_is_replaced(workspace):
    keep(workspace, lines_of(("assistant", "Decided to sell the boat.")))
    keep(workspace, lines_of(("assistant", "Decided to keep the boat.")))
    texts = [row for (row,) in workspace.rows("SELECT text FROM mm_memories")]
    assert "Decided to keep the boat." in texts
    assert len(texts) == 2
    assert b"sell" not in (workspace.folder / FILE).read_bytes()


@both
def test_the_last_capture_holds_when_several_of_a_session_wait(workspace):
    for text in ("Decided to sell.", "Decided to keep.", "Decided to sell."):
        workspace.capture(workspace.write(lines_of(("assistant", text))))
    assert len(workspace.queued) == 3
    workspace.drain()
    assert "Decided to sell." in workspace.call("mm_session_recall", session_id=SESSION)


@both
@pytest.mark.spec("R-215")
def test_with_everything_off_nothing_ever_expires(workspace):
    keep(workspace, CHAT)
    year = NOW + 366 * 24 * HOUR
    assert promote(workspace, year).out == "consolidate: 0 promoted, 0 expired\n"
    assert workspace.drain(MM_TEST_NOW_MS=str(year)).code == 0
    assert len(workspace.rows()) == 3
    assert not (workspace.folder / "MEMORY.md").exists()


@both
@pytest.mark.spec("R-220", "R-221")
@pytest.mark.parametrize(
    ("age_min", "hours", "left"),
    [(71 * 60 + 59, None, 3), (72 * 60 + 1, None, 0), (61, "1", 0), (59, "1", 3)],
)
def test_working_memories_expire_by_the_time_since_their_capture(workspace, age_min, hours, left):
    keep(workspace, CHAT)
    on = {"MM_WORKING_PROMOTE": "1", "MM_WORKING_COPY_PROMOTE": "0"}
    if hours:
        on["MM_WORKING_TTL_HOURS"] = hours
    done = promote(workspace, NOW + age_min * 60_000, **on)
    assert done.out == f"consolidate: 0 promoted, {3 - left} expired\n"
    assert len(workspace.rows()) == left
    assert bool(workspace.rows("SELECT 1 FROM mm_words")) is bool(left)


@pytest.mark.spec("R-220")
@pytest.mark.parametrize("hours", ["0", "-1", "1.5", "soon", "9" * 5000])
def test_a_time_limit_without_meaning_is_refused_and_nothing_expires(workspace, hours):
    keep(workspace, CHAT)
    on = {"MM_WORKING_PROMOTE": "1", "MM_WORKING_COPY_PROMOTE": "0", "MM_WORKING_TTL_HOURS": hours}
    done = promote(workspace, NOW + 1000 * HOUR, **on)
    assert done.code == 2
    assert "MM_WORKING_TTL_HOURS" in done.err
    assert len(workspace.rows()) == 3


@pytest.mark.spec("R-221")
def test_copying_on_the_file_backend_stops_with_a_hint_and_nothing_expires(workspace):
    keep(workspace, CHAT)
    done = promote(workspace, NOW + 1000 * HOUR, MM_WORKING_PROMOTE="1")
    assert done.code == 2
    assert "MM_WORKING_COPY_PROMOTE=0" in done.err
    assert len(workspace.rows()) == 3


@pytest.mark.spec("R-201")
def test_the_environment_wins_over_the_file_but_off_in_either_means_off(workspace):
    table = "[throughline]\nworking_promote = true\nworking_compile = true\nworking_ttl_hours = 5\n"
    (workspace.folder / "config.toml").write_text(table)
    assert workspace.settings[2:7] == (True, False, True, True, 5)
    workspace.environment |= {"MM_WORKING_PROMOTE": "off", "MM_WORKING_TTL_HOURS": "7"}
    workspace.environment |= {"MM_WORKING_COPY_PROMOTE": "no", "MM_WORKING_AUTO_REFRESH": "Yes"}
    assert workspace.settings[2:7] == (True, True, False, False, 7)


def test_a_time_limit_of_the_file_is_named_with_it_and_the_doctor_tells_the_rest(workspace):
    file = workspace.folder / "config.toml"
    file.write_text('[throughline]\nworking_ttl_hours = "many"\n')
    fault = f"working_ttl_hours in {file} = 'many' is no whole number"
    assert fault in promote(workspace, NOW).err
    told = workspace.run("doctor", "--config-dir", workspace.path)
    assert (told.code, f"error    {fault}" in told.out) == (1, True)
    assert "the store comes with the first drain" in told.out
    assert "MM_WORKING_TTL_HOURS =" not in told.out


def test_a_backend_or_a_file_without_meaning_is_an_error_of_usage(workspace):
    assert workspace.drain(MM_BACKEND="tape").code == 2
    (workspace.folder / "config.toml").write_text("workspace = 3\n")
    done = workspace.run("consolidate", "--agent-id", AGENT, "--config-dir", workspace.path)
    assert done.code == 2
    assert "workspace = 3" in done.err


def test_a_newer_schema_is_refused_and_everything_stays_queued(workspace):
    keep(workspace, CHAT)
    connection = sqlite3.connect(workspace.folder / FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UpgradeNeeded, match="schema 99"):
        open_file(workspace.path, to_write=True)
    workspace.capture(workspace.write(lines_of(("assistant", "Decided to sell."))), session="b")
    done = workspace.drain()
    assert done.code == 1
    assert "upgrade" in done.err
    assert len(queue.pending(workspace.path, AGENT)) == 1


def test_a_file_that_is_no_store_is_told_and_left(workspace):
    (workspace.folder / FILE).write_bytes(b"not a database, but long enough to be read as one" * 99)
    with pytest.raises(StoreDamaged, match="damaged"):
        open_file(workspace.path, to_write=False)


def test_a_store_of_another_user_is_told_as_one(workspace, monkeypatch):
    keep(workspace, CHAT)
    monkeypatch.setattr(os, "access", lambda *_: False)  # the user of the tests may read all
    with pytest.raises(ReadOnly, match="cannot be read by this user; it belongs to another one"):
        open_file(workspace.path, to_write=False)


def test_looking_creates_no_store(workspace):
    assert "0 row(s)" in workspace.call("mm_session_recall", session_id="none")
    assert list(workspace.folder.iterdir()) == []


def test_the_doctor_tells_what_each_setting_does_and_what_waits(workspace):
    where = ("doctor", "--category", "throughline", "--config-dir", workspace.path)
    told = workspace.run(*where, MM_WORKING_COMPILE="1")
    assert told.code == 0
    for name in ("MM_BACKEND", "MM_WORKING_PROMOTE", "MM_WORKING_TTL_HOURS"):
        assert name in told.out
    assert "MM_WORKING_COMPILE = on" in told.out
    assert "need Postgres" in told.out
    workspace.capture(workspace.write(CHAT))
    late = {"MM_TEST_NOW_MS": str(NOW + HOUR)}
    waiting = workspace.run(*where, "--agent-id", AGENT, **late)
    assert waiting.code == 1
    assert "has waited for 60 minutes" in waiting.out


def doctor(workspace, *more, **environment):
    return workspace.run("doctor", "--config-dir", workspace.path, *more, **environment)


def test_the_doctor_finds_a_workspace_that_is_not_there(workspace):
    lost = str(workspace.folder / "mistyped")
    told = workspace.run("doctor", "--config-dir", lost)
    assert told.code == 1
    assert f"the workspace {lost} does not exist" in told.out
    assert "can be read" not in told.out
    fresh = doctor(workspace)
    assert (fresh.code, "comes with the first drain" in fresh.out) == (0, True)


@pytest.mark.spec("R-221")
def test_the_doctor_says_of_promotion_what_the_command_says(workspace):
    told = doctor(workspace, MM_WORKING_PROMOTE="1")
    assert told.code == 1
    assert "Set MM_WORKING_COPY_PROMOTE=0" in told.out
    assert "COPY_PROMOTE = on, which the file backend cannot do" in told.out
    assert "COPY_PROMOTE = on, without effect until" in doctor(workspace).out


def test_the_doctor_names_an_agent_whose_captures_nobody_drains(workspace):
    workspace.capture(workspace.write(CHAT))
    late = {"MM_TEST_NOW_MS": str(NOW + HOUR)}
    for more in ((), ("--agent", "suport-bot")):
        told = doctor(workspace, *more, **late)
        assert told.code == 1
        assert "captures of support-bot have waited for 60 minutes" in told.out
        assert "Is the name support-bot right?" in told.out


def test_the_doctor_finds_an_entry_that_cannot_be_read(workspace):
    workspace.capture(workspace.write(CHAT))
    (entry,) = workspace.queued
    entry.write_text("{")
    told = doctor(workspace, "--agent", AGENT)
    assert told.code == 1
    assert f"The queue's entry {entry.name} cannot be read" in told.out


def test_the_doctor_tells_where_the_memory_file_is(workspace):
    (workspace.folder / "MEMORY.md").write_text("mine")
    told = doctor(workspace, "--agent", AGENT)
    assert f"is in {workspace.folder}/MEMORY-{AGENT}.md" in " ".join(told.out.split())


def test_a_forgotten_backend_is_told_where_a_postgres_login_waits(workspace):
    del workspace.environment["MM_BACKEND"]
    (workspace.folder / "postgres.dsn").write_text("host=localhost user=mm_support_bot")
    workspace.capture(workspace.write(CHAT))
    assert "nothing names the backend" in workspace.drain().err
    assert workspace.drain().err == ""
    assert "nothing names the backend" in doctor(workspace).out
    assert "nothing names the backend" not in doctor(workspace, MM_BACKEND="file").out


@pytest.mark.spec("R-203", "R-226")
def test_what_was_drained_into_files_is_not_known_to_captures_for_postgres(workspace):
    transcript = workspace.write(CHAT)
    workspace.capture(transcript)
    workspace.drain()
    assert "0 artifact(s) queued" in workspace.capture(transcript).out
    assert "3 artifact(s) queued" in workspace.capture(transcript, MM_BACKEND="postgres").out


def test_quiet_commands_print_nothing_unless_something_is_wrong(workspace):
    done = workspace.capture(workspace.write(CHAT), "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert len(workspace.queued) == 1
    quiet = ("consolidate", "--agent", AGENT, "--quiet", "--config-dir", workspace.path)
    done = workspace.run(*quiet)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert workspace.queued == []
    workspace.capture(workspace.write(CHAT), session="b")
    workspace.queued[0].write_text("{")
    done = workspace.run(*quiet)
    assert (done.code, done.out) == (1, "")
    assert "set aside" in done.err


@pytest.mark.parametrize("name", ["--agent", "--agent-id"])
def test_every_command_takes_both_names_of_the_agent(workspace, name):
    where = (name, AGENT, "--config-dir", workspace.path)
    capture = ("--session-id", "a", "--channel", "c", "--source-kind", "cron", "--plain", "-")
    assert workspace.run("capture-session", *where, *capture, stdin=b"done\n").code == 0
    assert workspace.run("consolidate", *where).code == 0
    assert workspace.run("call", *where, "mm_search").code == 0
    assert workspace.run("doctor", *where).code == 0


def test_every_setting_stands_in_the_help(workspace):
    told = workspace.run("consolidate", "--help").out
    for name in ("COMPILE", "AUTO_REFRESH", "PROMOTE", "COPY_PROMOTE", "TTL_HOURS"):
        assert f"MM_WORKING_{name}" in told
