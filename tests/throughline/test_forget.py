"""`meaning-memory forget`: a session or one memory is gone from every place that held its text."""

import json
import os
import random

import pytest

from mash_plugin.store.connect import connect
from mash_plugin.throughline.bridge import forget_sessions
from mash_plugin.throughline.database import FILE
from mash_plugin.throughline.forget import Wanted, forget
from mash_plugin.throughline.tools import Place, call_tool
from tests.support.bytes_left import files_with, word
from tests.throughline.conftest import AGENT, NOW, SESSION, both, lines_of


def said(name):
    return f"Decided to keep {word(name)} for good."


def capture(workspace, name, session=SESSION, text=None):
    transcript = workspace.write(lines_of(("assistant", text or said(name))), f"{name}.jsonl")
    return workspace.capture(transcript, session=session)


def remember(workspace, name, **more):
    asked = {"text": f"Keep {word(name)}.", **more}
    call_tool("mm_remember", asked, Place(AGENT, workspace.settings, NOW))


def let_go(workspace, *options, **environment):
    where = ("--config-dir", workspace.path, "--agent", AGENT)
    return workspace.run("forget", *where, *options, "--yes", **environment)


def left(workspace, *names):
    """Which files of the workspace, not of the transcripts beside it, hold these words."""
    return files_with(workspace.folder, [word(name) for name in names])


@both
@pytest.mark.spec("R-226")
def test_a_forgotten_session_is_gone_and_can_be_captured_anew(workspace):
    capture(workspace, "stored")
    capture(workspace, "other", session="s-2")
    remember(workspace, "noted", session_id=SESSION)
    workspace.drain()
    assert left(workspace, "noted")
    capture(workspace, "waiting")
    done = let_go(workspace, "--session-id", SESSION)
    assert (done.code, done.out) == (0, "forget: 3 memories and 1 queued capture removed\n")
    assert left(workspace, "stored", "waiting", "noted") == []
    assert [row[0] for row in workspace.rows("SELECT DISTINCT session_id FROM mm_memories")] == [
        "s-2"
    ]
    assert " 2 artifact(s) queued " in capture(workspace, "stored").out
    assert workspace.drain().out.startswith("consolidate: 2 drained")


def leave_in_gaps(workspace):
    """Rows under random keys, every third deleted again: words that only gaps of pages hold."""
    chance = random.Random(52)  # noqa: S311 - always the same
    raw = connect(str(workspace.folder / FILE), "FULL")
    with raw:
        raw.execute("CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        for number in range(1500):
            text = f"{word(f'gap {number}')}{' x' * chance.randrange(1, 400)}"
            raw.execute("INSERT INTO texts VALUES (?, ?)", (f"{chance.getrandbits(128):x}", text))
    gone = [f"gap {number}" for number in range(0, 1500, 3)]
    with raw:
        for name in gone:
            raw.execute("DELETE FROM texts WHERE text LIKE ?", (f"{word(name)} %",))
    raw.close()
    return gone


@pytest.mark.parametrize("is_of_a_chat", [False, True])
def test_what_sqlite_leaves_in_its_gaps_is_overwritten(workspace, is_of_a_chat):
    remember(workspace, "gone", session_id="s-1", channel="codex:shop")
    workspace.drain()
    names = leave_in_gaps(workspace)
    assert left(workspace, *names), "SQLite cleans its gaps now: scrub.py can go"
    if is_of_a_chat:
        forget_sessions(AGENT, workspace.settings, ["codex"], lambda *_: True, NOW)
    else:
        forget(workspace.settings, Wanted(AGENT, ("s-1",)), NOW)
    assert left(workspace, "gone", *names) == []
    assert workspace.rows("PRAGMA integrity_check") == [("ok",)]
    assert workspace.rows("SELECT count(*) FROM texts") == [(1000,)]


def test_a_reader_in_the_way_is_told_and_doing_it_again_makes_it_good(workspace):
    remember(workspace, "gone", session_id="s-1")
    workspace.drain()
    reader = connect(str(workspace.folder / FILE), "FULL")
    reader.execute("BEGIN")
    list(reader.execute("SELECT * FROM mm_memories"))
    wanted = Wanted(AGENT, ("s-1",))
    done = forget(workspace.settings, wanted, NOW)
    assert done.memories == 1
    assert "Run this again later" in done.notes[-1]
    assert left(workspace, "gone")
    reader.close()
    assert forget(workspace.settings, wanted, NOW) == (0, 0, ())
    assert left(workspace, "gone") == []


def test_what_was_set_aside_of_a_session_goes_with_it(workspace):
    capture(workspace, "broken")
    (file,) = workspace.queued
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 9}))
    assert "set aside" in workspace.drain().err
    assert left(workspace, "broken")
    done = let_go(workspace, "--session-id", SESSION)
    assert done.out == "forget: 0 memories and 1 queued capture removed\n"
    assert left(workspace, "broken") == []


@both
def test_one_memory_goes_with_its_copy_and_leaves_its_session(workspace):
    capture(workspace, "one")
    workspace.drain()
    if workspace.server is not None:
        on = {"MM_WORKING_PROMOTE": "1"}
        workspace.run(
            *("consolidate", "--agent", AGENT, "--promote-only", "--config-dir", workspace.path),
            **on,
        )
        assert left(workspace, "one")
    chosen = "SELECT mem_id FROM mm_memories WHERE stage = 'working' AND category = 'decision'"
    [(mem_id,)] = workspace.rows(chosen)
    done = let_go(workspace, "--mem-id", mem_id)
    assert done.code == 0, done.err
    assert workspace.rows("SELECT category FROM mm_memories") == [("summary",)]
    assert left(workspace, "one") == []
    assert " 0 artifact(s) queued " in capture(workspace, "one").out


def test_a_memory_that_still_waits_is_forgotten_too(workspace):
    remember(workspace, "known")
    workspace.drain()
    [(mem_id,)] = workspace.rows("SELECT mem_id FROM mm_memories")
    remember(workspace, "known")
    assert workspace.queued
    assert let_go(workspace, "--mem-id", mem_id).code == 0
    assert left(workspace, "known") == []
    assert workspace.queued == []


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (("--session-id", "nobodys"), 1, "nothing of session nobodys is kept here for"),
        (("--session-id", "a", "--mem-id", "b"), 2, "either --session-id ID or --mem-id ID"),
        ((), 2, "either --session-id ID or --mem-id ID"),
    ],
)
def test_what_cannot_be_forgotten_is_told(workspace, options, code, why):
    done = let_go(workspace, *options)
    assert done.code == code
    assert why in done.err


def test_nothing_goes_unasked(workspace):
    capture(workspace, "kept")
    where = ("--config-dir", workspace.path, "--agent", AGENT, "--session-id", SESSION)
    done = workspace.run("forget", *where)
    assert done.code == 2
    assert "add --yes" in done.err
    assert left(workspace, "kept")
    assert "an agent's session" in let_go(workspace, *where[4:], CLAUDECODE="1").err
    assert left(workspace, "kept")


def test_a_damaged_store_that_was_set_aside_is_named(workspace):
    capture(workspace, "old")
    workspace.drain()
    aside = f"{FILE}.damaged-2026"
    os.rename(workspace.folder / FILE, workspace.folder / aside)
    capture(workspace, "new")
    assert f"May still hold it: {aside}" in let_go(workspace, "--session-id", SESSION).err


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_what_the_file_kept_after_the_change_to_postgres_goes_too(workspace):
    capture(workspace, "early")
    workspace.drain(MM_BACKEND="file")
    assert left(workspace, "early")
    assert let_go(workspace, "--session-id", SESSION).code == 0
    assert left(workspace, "early") == []


def test_who_has_no_memory_file_gets_none_by_forgetting(workspace):
    capture(workspace, "early")
    workspace.drain()
    assert (let_go(workspace, "--session-id", SESSION).code, workspace.rows()) == (0, [])
    assert not (workspace.folder / "MEMORY.md").exists()
