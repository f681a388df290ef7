"""A home with a daemon, planted chats, and a stand-in for the client that reviews them."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.agents.headless import REVIEWERS
from mash_plugin.backfill.offer import Chosen
from mash_plugin.backfill.plan import Plan, make_plan
from mash_plugin.backfill.run import Options, Result, run
from tests.support import stub_reviewer
from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript

HOUR_MS = 3_600_000
Json = dict[str, Any]


class Bench:
    """One person, their chats, and what the stand-in was started for."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.now = int(time.time() * 1000)
        self.log = place.root / "starts.jsonl"
        folder = place.root / "bin"
        folder.mkdir()
        client = folder / "claude"
        client.write_text(f'#!/bin/sh\nexec {sys.executable} {stub_reviewer.__file__} "$@"\n')
        client.chmod(0o755)
        place.environment |= {
            "PATH": f"{folder}:{place.environment['PATH']}",
            "STUB_LOG": str(self.log),
            "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
        }

    def chat(self, text: str, name: str, hours_ago: float = 1) -> ClaudeTranscript:
        """A chat of one prompt and one answer, in a folder of its own."""
        transcript = ClaudeTranscript(self.place.home / ".claude", str(self.folder(name)), name)
        transcript.start = self.now - int(hours_ago * HOUR_MS)
        transcript.person(text)
        transcript.agent("Understood.")
        return transcript

    def folder(self, name: str) -> Path:
        return self.place.root / "work" / name

    def index(self) -> None:
        run_number = self.place.call("index")["run"]
        while (state := self.place.call("index_progress"))["running"]:
            assert state["run"] == run_number

    def plan(self, hours: float = 72, chat_id: str | None = None) -> Plan:
        self.index()
        return make_plan(self.place.paths, self.now - int(hours * HOUR_MS), chat_id)

    def chosen(self) -> Chosen:
        reviewer = REVIEWERS["claude-code"]
        return Chosen(reviewer, reviewer.find_place(self.place.environment))

    def run(self, plan: Plan, options: Options | None = None, **environment: str) -> Result:
        environ = self.place.environment | environment
        return run(self.place.paths, self.chosen(), plan, environ, options or Options())

    def starts(self) -> list[Json]:
        """What every start of the stand-in saw."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def records(self) -> list[Json]:
        found = self.place.call("list_records", {"include_inactive": True, "limit": 50})
        records = found["records"]
        assert isinstance(records, list)
        return records


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    place = Place(tmp_path)
    made = Bench(place)
    place.start(CLAUDE_CONFIG_DIR=str(place.home / ".claude"))
    for name in ("MASH_HOME", "MASH_TESTING", "MASH_TEST_NOW_MS", "MASH_FAILPOINT"):
        monkeypatch.delenv(name, raising=False)
    assert os.environ.get("HOME")
    yield made
    place.close()
