"""The queue: whole files, many writers, and nothing lost or stored twice."""

import errno
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from mash_plugin.errors import DiskFull, InvalidArgument, ReadOnly, TooLarge
from mash_plugin.store.faults import disk_message
from mash_plugin.throughline import queue, store, stored
from mash_plugin.throughline.artifacts import Artifact
from mash_plugin.throughline.database import FILE
from mash_plugin.throughline.drain import drain
from mash_plugin.throughline.entries import Entry
from tests.support.killed_captures import kill_captures
from tests.throughline.conftest import AGENT, CHAT, NOW, SESSION, both

pytestmark = pytest.mark.slow


def entry(session=SESSION, text="Decided to sell.", at=NOW, agent=AGENT):
    artifact = Artifact("keyline-m0-l0", "decision", 0.65, text, None)
    return Entry(agent, at, session, "c", "chat", "working", None, True, (artifact,))


def test_an_entry_comes_back_as_it_was_put(workspace):
    queue.put(workspace.path, entry())
    (name,) = queue.pending(workspace.path, AGENT)
    assert queue.read(workspace.path, name) == entry()
    assert os.stat(workspace.queued[0]).st_mode & 0o777 == 0o600


def test_entries_come_in_the_order_in_which_they_were_put_also_when_the_clock_goes_back(workspace):
    for text, at in (("one", NOW), ("two", NOW), ("three", NOW - 7_200_000), ("four", 0)):
        queue.put(workspace.path, entry(text=text, at=at))
    names = queue.pending(workspace.path, AGENT)
    texts = [queue.read(workspace.path, name).artifacts[0].text for name in names]
    assert texts == ["one", "two", "three", "four"]


def test_an_agent_sees_its_own_entries_alone(workspace):
    queue.put(workspace.path, entry())
    assert queue.pending(workspace.path, "other-bot") == []


def test_many_writers_lose_nothing(workspace):
    chat = workspace.write(CHAT)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: workspace.capture(chat, session=f"s{n}"), range(8)))
    assert {one.code for one in done} == {0}
    assert len(workspace.queued) == 8
    assert workspace.drain().out == "consolidate: 24 drained, 0 already stored, 0 failed\n"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "format is 2"),
        ({"agent_id": "other"}, "does not belong"),
        ({"stage": "deep"}, "stage"),
        ({"source_kind": "web"}, "source_kind"),
        ({"queued_at": "now"}, "queued_at"),
        ({"artifacts": [1]}, "TypeError|not subscriptable|indices"),
        ({"session": None}, "without a session"),
    ],
)
def test_an_entry_that_is_none_is_told_with_its_fault(workspace, change, why):
    queue.put(workspace.path, entry())
    (file,) = workspace.queued
    file.write_text(json.dumps(json.loads(file.read_bytes()) | change))
    with pytest.raises(InvalidArgument, match=why):
        queue.read(workspace.path, file.name)


@both
@pytest.mark.spec("R-201")
@pytest.mark.row(64)
def test_a_poison_entry_is_set_aside_by_name_and_the_rest_is_drained(workspace):
    workspace.capture(workspace.write(CHAT))
    (good,) = workspace.queued
    poison = good.with_name(good.name.replace("-c-", "-c-0"))
    poison.write_bytes(b"\x00\xff")
    done = workspace.drain()
    assert done.code == 1
    assert done.out == "consolidate: 3 drained, 0 already stored, 1 failed\n"
    assert poison.name in done.err
    assert (workspace.folder / "queue" / "set-aside" / poison.name).exists()
    again = workspace.drain()
    assert (again.code, again.out) == (0, "consolidate: 0 drained, 0 already stored, 0 failed\n")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_among_the_entries_keeps_no_drain_waiting(workspace, make):
    workspace.capture(workspace.write(CHAT))
    (good,) = workspace.queued
    make(good.with_name(good.name.replace("-c-", "-c-0")))
    done = workspace.drain()
    assert done.out == "consolidate: 3 drained, 0 already stored, 1 failed\n"
    assert "it is no file" in done.err
    assert workspace.queued == []


def test_an_entry_that_may_not_be_read_stays_and_the_rest_is_drained(workspace, monkeypatch):
    workspace.capture(workspace.write(CHAT))
    workspace.capture(workspace.write(CHAT), session="another")
    foreign, _ = workspace.queued

    def open_unless_foreign(workspace, name, read=queue.read):
        if name == foreign.name:
            raise PermissionError(13, "Permission denied")
        return read(workspace, name)

    monkeypatch.setattr(queue, "read", open_unless_foreign)
    done = drain(workspace.settings, AGENT, NOW)
    assert (done.drained, done.failed) == (3, 1)
    assert f"{foreign.name} stays queued: Permission denied" in done.faults[0]
    assert workspace.queued == [foreign]


def test_a_workspace_that_cannot_be_written_is_named(workspace, monkeypatch):
    def refused(*_arguments):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(queue.ReadOnly, match=r"queue cannot be written.*--workspace"):
        queue.put(workspace.path, entry())


@pytest.mark.row(63)
def test_without_space_nothing_is_queued_and_the_place_is_named(workspace, monkeypatch):
    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(queue.DiskFull, match="nothing was queued"):
        queue.put(workspace.path, entry())
    assert [one.name for one in (workspace.folder / "queue").iterdir()] == []


def test_a_file_that_may_not_grow_leaves_no_half_entry(workspace):
    chat = workspace.write(CHAT)
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64));"
        "from mash_plugin.cli.meaning_memory import main; main()"
    )
    options = ["--agent", "a", "--session-id", "s", "--channel", "c", "--source-kind", "chat"]
    where = ["--transcript", chat, "--config-dir", workspace.path]
    done = subprocess.run(
        [sys.executable, "-c", program, "capture-session", *options, *where],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "nothing was queued" in done.stderr
    assert [one.name for one in (workspace.folder / "queue").iterdir()] == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 64


def test_what_a_killed_writer_left_is_cleared_after_an_hour(workspace):
    queue.put(workspace.path, entry())
    old, new = (workspace.folder / "queue" / f"{queue.TEMPORARY}{n}" for n in "ab")
    for file in (old, new):
        file.write_text("{")
    os.utime(old, (NOW / 1000 - 4000, NOW / 1000 - 4000))
    os.utime(new, (NOW / 1000, NOW / 1000))
    workspace.drain()
    assert (old.exists(), new.exists()) == (False, True)


@both
@pytest.mark.spec("R-200", "R-201")
@pytest.mark.parametrize(
    "failpoint",
    ["before_queue_rename", "before_drain_commit", "after_drain_commit", "before_queue_remove"],
)
@pytest.mark.row(64)
def test_killed_anywhere_an_acknowledged_artifact_is_stored_once(workspace, failpoint):
    chat = workspace.write(CHAT)
    killing = {"MASH_FAILPOINT": f"{failpoint}:kill"}
    killed = workspace.capture(chat, **killing)
    if failpoint == "before_queue_rename":
        assert killed.code == -signal.SIGKILL
        assert workspace.queued == []
        assert workspace.capture(chat).out.startswith("capture-session: 3 artifact(s) queued")
    else:
        assert killed.code == 0
        assert workspace.drain(**killing).code == -signal.SIGKILL
    assert "0 artifact(s) queued" in workspace.capture(chat).out
    done = workspace.drain()
    assert done.code == 0
    assert "0 failed" in done.out
    assert "3 row(s)" in workspace.call("mm_session_recall", session_id=SESSION)
    assert workspace.queued == []
    assert "0 artifact(s) queued" in workspace.capture(chat).out


@both
@pytest.mark.spec("R-200", "R-201")
def test_drains_killed_at_random_moments_lose_and_double_nothing(workspace):
    random = Random(7)  # noqa: S311 - moments, not secrets
    for n in range(300):
        queue.put(workspace.path, entry(session=f"s{n}", text=f"Decided to use berth {n}."))
    killed = 0
    for _ in range(20):
        with workspace.start_drain() as drain:
            try:
                drain.wait(random.uniform(0.05, 0.25))
            except subprocess.TimeoutExpired:
                drain.kill()
                killed += 1
    assert killed
    done = workspace.drain()
    assert done.code == 0
    assert workspace.queued == []
    found = json.loads(
        workspace.run(
            *("call", "--agent", AGENT, "--config-dir", workspace.path, "mm_search"),
            json.dumps({"memory_stage": "working", "budget": 200}),
        ).out
    )
    assert "| 200 entries |" in found["text"]
    texts = workspace.rows("SELECT text FROM mm_memories")
    assert sorted(texts) == sorted((f"Decided to use berth {n}.",) for n in range(300))


@pytest.mark.spec("R-200", "R-203")
@pytest.mark.row(63)
def test_captures_killed_at_random_moments_lose_and_halve_nothing(tmp_path):
    found = kill_captures(tmp_path, 20, Random(3))  # noqa: S311 - moments, not secrets
    assert sum(found.values()) == 20


@both
@pytest.mark.spec("R-201")
@pytest.mark.row(64)
def test_two_drains_at_once_store_everything_once(workspace):
    chat = workspace.write(CHAT)
    for n in range(20):
        queue.put(workspace.path, entry(session=f"s{n}"))
    workspace.capture(chat)
    command = ("consolidate", "--agent-id", AGENT, "--drain-only", "--config-dir", workspace.path)
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: workspace.run_process(*command), range(3)))
    assert [one.code for one in done] == [0, 0, 0]
    counts = [int(one.out.split()[1]) for one in done]
    assert sum(counts) == 23


@pytest.mark.spec("R-202")
def test_an_empty_drain_touches_no_store_and_imports_none(workspace):
    assert workspace.drain().out == "consolidate: 0 drained, 0 already stored, 0 failed\n"
    assert list(workspace.folder.iterdir()) == []
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    store = workspace.folder / "memories.db"
    before = (store.stat().st_mtime_ns, store.read_bytes())
    workspace.drain()
    assert (store.stat().st_mtime_ns, store.read_bytes()) == before
    program = (
        "import sys; from mash_plugin.cli.meaning_memory import cli;"
        "cli.main(sys.argv[1:], standalone_mode=False);"
        "print([m for m in ('apsw', 'orjson', 'pydantic', 're2', 'mcp') if m in sys.modules])"
    )
    where = ["--drain-only", "--config-dir", workspace.path]
    done = subprocess.run(
        [sys.executable, "-c", program, "consolidate", "--agent-id", AGENT, *where],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@both
@pytest.mark.spec("R-200", "R-203", "R-226")
def test_nothing_is_found_before_the_drain_and_everything_after_it_once(workspace):
    chat = workspace.write(CHAT)
    for _ in range(2):
        workspace.capture(chat)
    assert "0 row(s)" in workspace.call("mm_session_recall", session_id=SESSION)
    workspace.drain()
    workspace.capture(chat)
    workspace.drain()
    assert "3 row(s)" in workspace.call("mm_session_recall", session_id=SESSION)


@both
def test_the_store_refusing_one_entry_keeps_it_queued_and_drains_the_others(workspace):
    long = Artifact("keyline-m0-l0", "decision", 0.65, "Decided.", 1 << 47)
    bad = entry(session="bad")._replace(artifacts=(long, long))
    queue.put(workspace.path, bad)
    workspace.capture(workspace.write(CHAT))
    done = workspace.drain()
    assert done.code == 1
    assert done.out == "consolidate: 3 drained, 0 already stored, 2 failed\n"
    assert "stays queued" in done.err
    assert len(workspace.queued) == 1


def test_a_queue_that_nobody_drains_takes_no_more(workspace, monkeypatch):
    monkeypatch.setattr(queue, "MOST_WAITING", 3)
    for number in range(3):
        queue.put(workspace.path, entry(session=f"s{number}"))
    with pytest.raises(TooLarge, match=r"3 entries wait in .*; nothing was queued.*consolidate"):
        queue.put(workspace.path, entry(session="one more"))
    assert len(workspace.queued) == 3
    workspace.drain()
    queue.put(workspace.path, entry(session="one more"))


def test_of_stored_sessions_the_last_ones_are_noted(workspace, monkeypatch):
    monkeypatch.setattr(stored, "MOST_NOTES", 3)
    (workspace.folder / FILE).touch()
    for number in range(5):
        stored.note(workspace.path, entry(session=f"s{number}"))
        [noted] = [
            f for f in Path(workspace.path, "queue/stored").iterdir() if f.stat().st_mtime > 9
        ]
        os.utime(noted, (number, number))
    stored.drop_oldest(workspace.path)
    known = [bool(stored.known_artifacts(workspace.path, AGENT, f"s{n}")) for n in range(5)]
    assert known == [False, False, True, True, True]


def test_a_drain_of_a_workspace_that_does_not_exist_is_an_error_of_usage(workspace):
    mistyped = f"{workspace.path}-x"
    where = ("--workspace", mistyped, "--config-dir", workspace.path)
    done = workspace.run("consolidate", "--agent-id", AGENT, "--drain-only", *where)
    assert (done.code, done.out) == (2, "")
    assert f"{mistyped} does not exist; nothing was drained" in done.err
    assert not os.path.exists(mistyped)


def damaged(path):
    with open(path, "wb") as file:
        file.write(b"no database at all" * 300)


def newer(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize(("spoil", "why"), [(damaged, "damaged"), (newer, "schema 99")])
def test_a_store_that_takes_nothing_leaves_all_queued_and_says_so(workspace, spoil, why):
    workspace.capture(workspace.write(CHAT))
    spoil(workspace.folder / FILE)
    done = workspace.drain()
    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert "What was not stored stays queued." in done.err
    assert len(workspace.queued) == 1


def test_a_full_disk_leaves_all_queued_and_says_so(workspace, monkeypatch):
    workspace.capture(workspace.write(CHAT))

    def full(_db, _entry):
        raise DiskFull(disk_message(workspace.path))

    monkeypatch.setattr(store, "store_capture", full)
    with pytest.raises(DiskFull) as raised:
        drain(workspace.settings, AGENT, NOW)
    assert "run the drain again. What was not stored stays queued." in raised.value.message
    assert "operation ID" not in raised.value.message
    assert len(workspace.queued) == 1


def test_a_limit_on_the_size_of_files_is_not_told_as_a_full_disk(workspace, monkeypatch):
    transcript = workspace.write(CHAT)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refusing(errno.EFBIG))
        with pytest.raises(DiskFull, match=r"limit on the size of files.*; nothing was queued"):
            queue.put(workspace.path, entry())
    assert workspace.queued == []
    workspace.capture(transcript)
    drain = [sys.executable, "-m", "mash_plugin.cli.meaning_memory", "consolidate", "--drain-only"]
    where = ["--agent", AGENT, "--config-dir", workspace.path]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *drain, *where],
        capture_output=True,
        text=True,
        # Python would leave half of a compiled module behind.
        env={"PATH": os.environ["PATH"], "HOME": workspace.path, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "limit on the size of files" in done.stderr
    assert "is full" not in done.stderr
    assert len(workspace.queued) == 1
    assert workspace.drain().out.startswith("consolidate: 3 drained")


def test_a_queue_that_cannot_be_emptied_is_told_once_and_truly(workspace, monkeypatch):
    workspace.capture(workspace.write(CHAT))
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refusing(errno.EACCES))
        with pytest.raises(ReadOnly) as raised:
            drain(workspace.settings, AGENT, NOW)
    assert "what was read from it is stored, and the next drain finds it so" in raised.value.message
    assert "stays queued" not in raised.value.message
    assert workspace.drain().out == "consolidate: 0 drained, 3 already stored, 0 failed\n"
    assert workspace.queued == []


def refusing(number):
    """A call of the system that fails so."""

    def refuse(*_arguments, **_named):
        raise OSError(number, os.strerror(number))

    return refuse
