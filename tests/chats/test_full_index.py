"""A long index run reads in a process of its own, and survives its end."""

import os
import threading
from pathlib import Path

import pytest

from mash_plugin.agents.events import Message
from mash_plugin.chats import full_index, read_ahead
from mash_plugin.chats.reading_process import main, stretch_from_json
from mash_plugin.chats.report import Progress
from mash_plugin.chats.stretch import From, read_stretch
from tests.chats.conftest import NOW, Chats

SESSIONS, PARTS = 12, 10


@pytest.fixture
def many(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> Chats:
    """Transcripts that are worth a process, each of several stretches."""
    monkeypatch.setattr(full_index, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(full_index, "STRETCH_BYTES", 2_000)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for number in range(SESSIONS):
        t = chats.transcript(f"s-{number}")
        for part in range(PARTS):
            t.person(f"Part {part} of {number}. <private>hidden {part}</private>" + "x" * 300)
        t.tool_call("Read", {}, "toolu_7")
    return chats


def is_complete(chats: Chats) -> bool:
    return chats.stored() == SESSIONS * (PARTS + 1) and all(
        len(chats.texts(f"s-{number}")) == PARTS + 1 for number in range(SESSIONS)
    )


def test_two_processes_index_the_same_as_one(many: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    original = read_ahead.ReadAhead.__init__

    def note(self: read_ahead.ReadAhead) -> None:
        original(self)
        started.append(self.process.pid)

    monkeypatch.setattr(read_ahead.ReadAhead, "__init__", note)
    report = many.index.refresh_all(NOW)
    assert len(started) == 1
    assert is_complete(many)
    assert (report.files, report.new_messages) == (SESSIONS, SESSIONS * (PARTS + 1))
    with_two = [(c.fingerprint, c.message_count) for c in map(many.chat, _sessions())]
    seen = many.messages("s-3")
    monkeypatch.setattr(full_index, "WORTH_A_PROCESS", 1 << 60)
    with many.database.writing() as db:
        db.run("UPDATE files SET reader_version = -1")
    again = many.index.refresh_all(NOW)
    assert len(again.rewritten) == SESSIONS
    assert [(c.fingerprint, c.message_count) for c in map(many.chat, _sessions())] == with_two
    assert many.messages("s-3") == seen


def _sessions() -> list[str]:
    return [f"s-{number}" for number in range(SESSIONS)]


def test_the_end_of_the_reading_process_loses_nothing(
    many: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = read_ahead.ReadAhead.next
    calls: list[int] = []

    def die(self: read_ahead.ReadAhead) -> object:
        calls.append(1)
        if len(calls) == 5:
            self.process.kill()
        return original(self)

    monkeypatch.setattr(read_ahead.ReadAhead, "next", die)
    report = many.index.refresh_all(NOW)
    assert is_complete(many)
    assert report.files == SESSIONS


def test_a_process_that_cannot_start_costs_nothing(
    many: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    many.index.refresh_all(NOW)
    assert is_complete(many)


def test_a_citing_call_overtakes_the_reading_process(many: Chats) -> None:
    cited: list[str | None] = []

    def cite(_progress: Progress) -> None:
        if len(cited) < SESSIONS:
            session = f"s-{len(cited)}"
            worker = threading.Thread(target=lambda: cited.append(many.refresh(session)))
            worker.start()
            worker.join(10)

    report = many.index.refresh_all(NOW, progress=cite)
    assert cited
    assert all(cited)
    assert is_complete(many)
    assert report.rewritten == ()


def test_a_file_that_vanishes_on_the_way_is_passed_over(many: Chats) -> None:
    removed: list[Path] = []

    def remove(_progress: Progress) -> None:
        if not removed:
            removed.extend(sorted(many.claude.rglob("*.jsonl"))[:3])
            for path in removed:
                path.unlink()

    many.index.refresh_all(NOW, progress=remove)
    assert removed
    many.index.refresh_all(NOW)
    whole = [s for s in _sessions() if len(many.texts(s)) == PARTS + 1]
    assert len(whole) >= SESSIONS - 3


def test_every_field_of_a_message_crosses_between_the_processes(
    many: Chats, tmp_path: Path
) -> None:
    file = many.index._transcripts.of_session("s-1")
    assert file is not None
    host = many.index._transcripts.agent_named(file.agent)
    assert host is not None
    at = From(0, "{}", b"")
    job = (
        f'{{"agent":"{file.agent}","path":"{file.path}","session":"s-1","is_subagent":false,'
        f'"offset":0,"reader":"{{}}","sums":"","size":999999,"roots":["{many.claude}"],'
        '"budget":99999999}\n'
    )
    given, wanted = tmp_path / "given", tmp_path / "wanted"
    given.write_text(job + job.replace(file.path, "/etc/passwd"))
    with given.open("rb") as source, wanted.open("wb") as target:
        main(source, target)
    data = wanted.read_bytes()
    size = int.from_bytes(data[:8], "big")
    crossed = stretch_from_json(data[8 : 8 + size])
    with open(file.path, "rb") as handle:
        direct = read_stretch(handle, file, host, at, 99_999_999)
    assert crossed == direct
    assert any(m.private_text for m in direct.messages)
    assert any(m.tool_use_ids for m in direct.messages)
    assert len(Message._fields) == 11
    assert stretch_from_json(data[16 + size :]) is None
