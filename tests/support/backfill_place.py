"""A home with a daemon, planted chats, and a stand-in for the client that reviews them."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mash_plugin.agents.headless import REVIEWERS
from mash_plugin.agents.plugin import Place as HostPlace
from mash_plugin.agents.reviewing import Ending, Start, Task
from mash_plugin.backfill.offer import Chosen
from mash_plugin.backfill.plan import Plan, make_plan
from mash_plugin.backfill.run import Options, Result, run
from mash_plugin.client import call
from mash_plugin.paths import Paths
from mash_plugin.protocol.review import bound_request, read_review
from tests.support import stub_reviewer
from tests.support.daemons import Place
from tests.support.polling import eventually
from tests.support.processes import processes_of
from tests.support.transcripts import ClaudeTranscript
from tests.support.warm_starts import run_mash

HOUR_MS = 3_600_000
COMMAND = ("backfill", "--yes", "--json")
FAILPOINTS = (
    *("review_read", "review_prepared", "review_started"),
    *("review_ended", "review_told", "review_counted"),
)
"""Where a run can be killed, in their order."""
Json = dict[str, Any]


class Instant:
    """A reviewer that saves nothing new, and costs next to nothing, for runs over many chats."""

    NAME, TITLE, SIGN_IN = "claude-code", "Instant", "nothing to do"

    def __init__(self, paths: Paths) -> None:
        self.paths = paths

    def find_place(self, environ: Mapping[str, str]) -> HostPlace:
        return REVIEWERS[self.NAME].find_place(environ)

    def is_signed_in(self, *_: object) -> bool:
        return True

    def prepare(self, _place: HostPlace, task: Task, environ: Mapping[str, str]) -> Start:
        review = read_review(task.server[-1])
        marks = {"first_mark": review.first_mark, "last_mark": review.last_mark}
        call("extract_records", bound_request(review, {**marks, "records": []}), paths=self.paths)
        return Start(["true"], dict(environ), b"")

    def read_ending(self, *_: object) -> Ending:
        return Ending("none")


class BackfillPlace:
    """One person, their chats, and what the stand-in was started for."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.now = int(time.time() * 1000)
        self.log = place.root / "starts.jsonl"
        folder = place.root / "its own folder, für alle"
        folder.mkdir()
        self.client = client = folder / "claude"
        client.write_text(f'#!/bin/sh\nexec {sys.executable} {stub_reviewer.__file__} "$@"\n')
        client.chmod(0o755)
        root = {"CLAUDE_CONFIG_DIR": str(place.home / ".claude")}
        place.environment |= {
            "PATH": f"{folder}:{place.environment['PATH']}",
            "STUB_LOG": str(self.log),
            **root,
        }
        place.start(**root)

    def chat(self, text: str, name: str, hours_ago: float = 1) -> ClaudeTranscript:
        """A chat of one prompt and one answer, in a folder of its own."""
        transcript = ClaudeTranscript(self.place.home / ".claude", str(self.folder(name)), name)
        transcript.start = self.now - int(hours_ago * HOUR_MS)
        transcript.person(text)
        transcript.agent("Understood.")
        return transcript

    def folder(self, name: str) -> Path:
        return self.place.root / "work" / name

    def plan(self, hours: float = 72, chat_id: str | None = None) -> Plan:
        self.place.index()
        return make_plan(self.place.paths, self.now - int(hours * HOUR_MS), chat_id)

    def chosen(self) -> Chosen:
        reviewer = REVIEWERS["claude-code"]
        return Chosen(reviewer, reviewer.find_place(self.place.environment))

    def run(self, plan: Plan, options: Options | None = None, **environment: str) -> Result:
        environ = self.place.environment | environment
        return run(self.place.paths, self.chosen(), plan, environ, options or Options())

    def cut(self, *, failpoint: str | None = None, after_s: float = 60.0) -> int:
        """Run the command and kill it there, or then; its exit code once no agent goes on."""
        environment = {"MASH_FAILPOINT": f"{failpoint}:kill"} if failpoint else {}
        try:
            given = self.place.environment | environment
            code = run_mash(COMMAND, Path.cwd(), given, timeout_s=after_s).returncode
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        eventually(lambda: not self.agents(), "an agent of a killed run goes on")
        return code

    def agents(self) -> list[str]:
        """The stand-ins that run now."""
        running = processes_of(self.place.mash_home).values()
        return [command for command in running if "stub_reviewer" in command]

    def starts(self) -> list[Json]:
        """What every start of the stand-in saw."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def records(self) -> list[Json]:
        found: list[Json] = []
        offset: int | None = 0
        while offset is not None:
            asked = {"include_inactive": True, "limit": 50, "offset": offset}
            page = self.place.call("list_records", asked)
            found += page["records"]
            offset = page.get("next_offset")
        return found

    def state_of(self, name: str) -> tuple[str, int]:
        """Whether that chat is reviewed, and how many records cite it: never one without other."""
        chat_id = f"claude-code-{name}"
        (chat,) = self.plan(chat_id=chat_id).chats
        asked = {"chat": chat_id, "include_inactive": True}
        return chat.state, len(self.place.call("list_records", asked)["records"])
