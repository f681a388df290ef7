"""After the change to Postgres one command moves what the file holds: everything, once."""

import json
import threading

import pytest

from mash_plugin.throughline import moving
from mash_plugin.throughline.stored import noted_in_file
from tests.throughline.conftest import AGENT, CHAT, NOW, SESSION, lines_of

FILE = {"MM_BACKEND": "file"}
HOUR = 3_600_000
ROWS = (
    "SELECT mem_id, session_id, channel, text, event_at, stored_at, sort_at, artifact_key, words"
    " FROM mm_memories ORDER BY mem_id"
)
pytestmark = pytest.mark.parametrize("backend", ["postgres"], indirect=True)


def move_command(workspace, *more, agent=AGENT, **environment):
    where = ("--agent-id", agent, "--config-dir", workspace.path, *more)
    return workspace.run("consolidate", "--file-to-postgres", *where, **environment)


def remember(workspace, text, **more):
    asked = json.dumps({"text": text, **more})
    where = ("--agent", AGENT, "--config-dir", workspace.path)
    assert workspace.run("call", *where, "mm_remember", asked).code == 0


def in_file(workspace, query=ROWS):
    server, workspace.server = workspace.server, None
    try:
        return workspace.rows(query)
    finally:
        workspace.server = server


def in_postgres(workspace):
    return workspace.rows(ROWS)


def rest(workspace, at=NOW + HOUR):
    """The doctor's words on what is left behind."""
    told = workspace.run("doctor", "--config-dir", workspace.path, MM_TEST_NOW_MS=str(at))
    lines = told.out.splitlines()
    return [line.split(maxsplit=1)[1] for line in lines if "still in" in line], told.code


@pytest.fixture
def left(workspace):
    """A workspace that changed to Postgres with five memories in its file."""
    workspace.capture(workspace.write(CHAT))
    remember(workspace, "The shop closes on Mondays.")
    remember(workspace, "The till was counted.", memory_stage="working", session_id=SESSION)
    assert workspace.drain(**FILE).out.startswith("consolidate: 5 drained")
    return workspace


def test_everything_is_moved_as_it_was_and_once(left):
    before = in_file(left)
    assert rest(left)[1] == 1
    admin = ("setup-postgres", "--admin-dsn", "-", "--agent", AGENT, "--config-dir", left.path)
    assert "--file-to-postgres" in left.run(*admin, stdin=left.server.dsn().encode()).out
    done = move_command(left)
    assert (done.code, done.out) == (
        0,
        "consolidate: 5 moved from memories.db to Postgres, 0 already there\n",
    )
    assert in_postgres(left) == before
    assert in_file(left) == in_file(left, "SELECT * FROM mm_words") == []
    assert rest(left) == ([], 0)
    assert "till" in left.call("mm_search", query="till counted", memory_stage="working")
    assert "Mondays" in (left.folder / "MEMORY.md").read_text()
    again = json.loads(move_command(left, "--json").out)
    assert again == {"moved": 0, "known": 0}


def test_a_move_under_a_wrong_name_says_whose_memories_there_are(left):
    done = move_command(left, agent="support-bt")
    assert (done.code, done.out.startswith("consolidate: 0 moved")) == (0, True)
    assert f"Nothing of support-bt is in memories.db, but of: {AGENT}" in done.err


def test_the_doctor_and_an_empty_answer_name_the_command(left):
    (told,), _ = rest(left)
    assert told.startswith(f"5 memories of {AGENT} are still in ")
    where = ("call", "--agent", AGENT, "--config-dir", left.path)
    assert "--file-to-postgres" in left.run(*where, "mm_search", "{}").err


@pytest.mark.parametrize("where", ["before_move_commit", "after_move_commit"])
def test_a_move_that_is_killed_is_made_good_by_the_next(left, where):
    before = in_file(left)
    fails = {"MASH_TESTING": "1", "MASH_FAILPOINT": f"{where}:kill"}
    arguments = ("--agent-id", AGENT, "--file-to-postgres", "--config-dir", left.path)
    assert left.run_process("consolidate", *arguments, **fails).code == -9
    assert move_command(left).code == 0
    assert in_postgres(left) == before
    assert in_file(left) == []


def test_two_moves_at_once_leave_each_memory_once(left, monkeypatch):
    monkeypatch.setattr(moving, "BATCH", 1)
    before, done = in_file(left), []
    settings = left.settings

    def run():
        done.append(moving.move(settings, AGENT, NOW))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(done), sum(one.moved for one in done), sum(one.known for one in done)) == (2, 5, 0)
    assert in_postgres(left) == before


def test_what_was_captured_again_on_postgres_is_not_put_back(left):
    longer = CHAT + lines_of(("assistant", "Decided to ship on Friday."))
    left.capture(left.write(longer), MM_TEST_NOW_MS=str(NOW + HOUR))
    remember(left, "The shop closes on Mondays.")
    left.drain()
    newest = in_postgres(left)
    assert move_command(left).out.startswith("consolidate: 1 moved from memories.db")
    moved = [row for row in in_postgres(left) if row not in newest]
    assert [row[3] for row in moved] == ["The till was counted."]
    assert len(in_postgres(left)) == len(newest) + 1


def test_a_later_capture_in_the_file_takes_the_place_of_an_earlier_one(workspace):
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    longer = CHAT + lines_of(("assistant", "Decided to ship on Friday."))
    at = {"MM_TEST_NOW_MS": str(NOW + HOUR)}
    workspace.capture(workspace.write(longer), **at, **FILE)
    workspace.drain(**at, **FILE)
    before = in_file(workspace)
    move_command(workspace)
    assert in_postgres(workspace) == before


def test_what_was_forgotten_stays_forgotten_and_can_be_captured_anew(left):
    forget = ("forget", "--agent", AGENT, "--session-id", SESSION, "--yes")
    assert left.run(*forget, "--config-dir", left.path).code == 0
    assert move_command(left).out.startswith("consolidate: 1 moved")
    assert [row[3] for row in in_postgres(left)] == ["The shop closes on Mondays."]


def test_a_moved_session_is_known_and_a_forgotten_one_can_be_captured_again(left):
    move_command(left)
    assert noted_in_file(left.path) == []
    left.capture(left.write(CHAT))
    assert left.drain().out == "consolidate: 0 drained, 3 already stored, 0 failed\n"
    forget = ("forget", "--agent", AGENT, "--session-id", SESSION, "--yes")
    left.run(*forget, "--config-dir", left.path)
    left.capture(left.write(CHAT))
    assert left.drain().out.startswith("consolidate: 3 drained")


def test_memories_remembered_on_both_sides_of_a_session_get_numbers_of_their_own(left):
    remember(left, "The door was locked.", memory_stage="working", session_id=SESSION)
    left.drain()
    assert move_command(left).code == 0
    told = left.call("mm_session_recall", session_id=SESSION)
    assert "[remember-1]" in told
    assert "[remember-2]" in told


def test_the_rows_of_another_agent_stay_for_its_own_login(left):
    done = move_command(left, agent="other-bot")
    assert (done.code, done.out[:21]) == (0, "consolidate: 0 moved ")
    assert len(in_file(left)) == 5
    in_file(left, "UPDATE mm_memories SET agent_id = 'other-bot'")
    refused = move_command(left, agent="other-bot")
    assert refused.code == 1
    assert "the login is not that agent's" in refused.err
    assert "is still in" in refused.err
    assert (len(in_file(left)), in_postgres(left)) == (5, [])
    assert rest(left)[0][0].endswith(": other-bot (5)")


def test_with_the_file_as_the_store_nothing_is_moved(left):
    done = move_command(left, **FILE)
    assert done.code == 2
    assert "MM_BACKEND=postgres" in done.err
    assert move_command(left, "--drain-only").code == 2
    assert len(in_file(left)) == 5
