"""Where a demonstration happens: a memory, two clones and two agents' sessions, all made up."""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mash_plugin import client, connecting
from mash_plugin.cli.plugin import source_folder
from mash_plugin.errors import DaemonUnavailable
from mash_plugin.paths import Paths, find_paths

REMOTE = "https://git.example/harbour/tides.git"
IDENTITY = "git.example/harbour/tides"
START_S, END_S = 20.0, 10.0
HOOK_S, TRIES = 10.0, 5
EVENTS = {
    "session-start": "SessionStart",
    "prompt-submit": "UserPromptSubmit",
    "file-read": "PreToolUse",
}
Json = dict[str, Any]


class DemoPlace:
    """A home of its own: the user's transcripts, settings and memory are not looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.claude, self.codex = folder / "claude", folder / "codex"
        self.paths: Paths = find_paths({"MASH_HOME": str(folder / "memory")})
        for made in (self.claude, self.codex, folder / "home"):
            made.mkdir()
        (folder / "memory").mkdir(mode=0o700)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "MASH_HOME": str(folder / "memory"),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "CODEX_HOME": str(self.codex),
        }

    @property
    def daemon_environment(self) -> dict[str, str]:
        """The same for the daemon, which looks for transcripts in HOME only where it is tested."""
        return {**self.environment, "MASH_TESTING": "1"}

    def clone(self, name: str) -> Path:
        """A clone of the repository, as far as its remote names it."""
        project = self.folder / name
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
        (project / "src").mkdir()
        (project / "src" / "tides.py").write_text("def tide_at(harbour, moment): ...\n")
        return project

    def hook(self, name: str, agent: str, event: Json) -> str:
        """What this hook puts before the agent, run as the agent runs it; "" for nothing.

        A hook that meets a busy machine keeps silent rather than let an agent wait: here it is
        run again.
        """
        for _ in range(TRIES):
            if said := self._run(name, agent, event):
                return said
        return ""

    def _run(self, name: str, agent: str, event: Json) -> str:
        executable = source_folder() / "hooks" / name
        command = [
            sys.executable,
            "-I",
            "-S",
            str(executable),
            agent,
            self.environment["MASH_HOME"],
        ]
        done = subprocess.run(
            command,
            input=json.dumps({"hook_event_name": EVENTS[name], **event}),
            env=self.environment,
            cwd=event["cwd"],
            capture_output=True,
            text=True,
            timeout=HOOK_S,
            check=False,
        )
        if not done.stdout:
            return ""
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])

    def call(self, method: str, request: Json) -> Json:
        """What the daemon answers an agent's tool. Raises MashError."""
        return client.call(method, request, paths=self.paths, start=False)


class ClaudeSession:
    """A session of Claude Code as it writes it (2.1.332); the person's words were typed."""

    def __init__(self, place: DemoPlace, project: Path) -> None:
        self.id = str(uuid.uuid4())
        self.project = project
        folder = place.claude / "projects" / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        self.transcript = folder / f"{self.id}.jsonl"

    @property
    def event(self) -> Json:
        """What its hooks are told of it."""
        transcript = str(self.transcript)
        return {"session_id": self.id, "transcript_path": transcript, "cwd": str(self.project)}

    def person_types(self, text: str) -> None:
        said = {"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"}
        self._write("user", {"role": "user", "content": text}, said)

    def agent_says(self, text: str) -> None:
        block = {"type": "text", "text": text}
        self._write("assistant", {"role": "assistant", "content": [block]}, {})

    def _write(self, kind: str, message: Json, more: Json) -> None:
        row: Json = {"type": kind, "uuid": str(uuid.uuid4()), "sessionId": self.id}
        row |= {"cwd": str(self.project), "version": "2.1.332", "isSidechain": False}
        row |= {"userType": "external", "timestamp": _now(), "message": message, **more}
        with self.transcript.open("a") as file:
            file.write(json.dumps(row) + "\n")


@contextmanager
def demo_place() -> Iterator[DemoPlace]:
    """A place with a daemon of its own, which ends with it. Raises DaemonUnavailable."""
    with tempfile.TemporaryDirectory(prefix="mash-demo-") as folder:
        place = DemoPlace(Path(folder).resolve())
        daemon = subprocess.Popen(
            [sys.executable, "-I", "-m", "mash_plugin.daemon", "--demo"],
            env=place.daemon_environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # ^C reaches this command alone, which ends the daemon
        )
        try:
            _wait_for(daemon, place)
            yield place
        finally:
            daemon.terminate()
            try:
                daemon.wait(END_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _wait_for(daemon: "subprocess.Popen[bytes]", place: DemoPlace) -> None:
    until = time.monotonic() + START_S
    while daemon.poll() is None and time.monotonic() < until:
        connection = connecting.connect(place.paths, until - time.monotonic())
        if connection is not None:
            connection.close()
            return
        time.sleep(0.01)
    raise DaemonUnavailable(
        "The daemon of the demonstration did not start; `mash doctor` tells why."
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
