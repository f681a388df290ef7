"""A home of its own for the measurements: stores, transcripts, a project, a daemon."""

import contextlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from bench_data import Words, typed_line, write_transcripts
from bench_records import build_records, write_payload_files
from bench_timing import cpu_seconds, time_process

from mash_plugin.paths import Paths, find_paths
from mash_plugin.records.model import Scope
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.sqlite import Database

ROOT = Path(__file__).resolve().parent.parent
IDENTITY = "host.example/team/bench"
AGENT = "claude-code"
MESSAGES, LARGEST = 100_000, 1_000_000
PEER_ITEMS = 1_000
SETTLE_S = 30.0
RESTING_CPU_S = 0.02
"""What a resting daemon may take in a second."""


class Place:
    """Made when first needed, removed at the end."""

    def __init__(
        self,
        megabytes: int,
        records: int,
        messages: int = MESSAGES,
        *,
        largest: int = LARGEST,
        peer_items: int = PEER_ITEMS,
        deadline_s: float = math.inf,
    ) -> None:
        self.megabytes = megabytes
        self.messages_of_all = messages
        self.records = records
        self.largest = largest
        self.peer_items = peer_items
        self.deadline = time.monotonic() + deadline_s
        self.root = Path(tempfile.mkdtemp(prefix="mash-bench-")).resolve()
        self.python = sys.executable
        self.now = int(time.time() * 1000)
        home = self.root / "home"
        home.mkdir()
        (self.root / "mash").mkdir(mode=0o700)
        # What `mash init` writes when it sees CLAUDE_CONFIG_DIR.
        # The chats of `talk` lie apart: what indexing costs is told of the transcripts alone.
        config = f'[chats.roots]\nclaude = ["{self.root / "claude"}", "{self.root / "talk"}"]\n'
        (self.root / "mash" / "config.toml").write_text(config)
        self.env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "MASH_HOME": str(self.root / "mash"),
            "MASH_TESTING": "1",
            "CLAUDE_CONFIG_DIR": str(self.root / "claude"),
            "CODEX_HOME": str(self.root / "codex"),
        }

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_daemon()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def paths(self) -> Paths:
        return find_paths(self.env)

    @cached_property
    def project(self) -> Path:
        """A repository whose remote names it."""
        folder = self.root / "project"
        write_payload_files(folder)
        for words in (["init", "-q"], ["remote", "add", "origin", f"https://{IDENTITY}.git"]):
            subprocess.run(["git", *words], cwd=folder, env=self.env, check=True)
        return folder

    @cached_property
    def transcripts(self) -> list[Path]:
        """Transcripts of the size asked for, and a few short ones about the project."""
        root = self.root / "claude"
        files = write_transcripts(root, self.megabytes * 1_000_000)
        folder = root / "projects" / "bench"
        folder.mkdir()
        for number in range(12):
            session = str(uuid.UUID(int=number + 1, version=4))
            file = folder / f"{session}.jsonl"
            text = f"Why does src/ledger.py round twice? (question {number})"
            file.write_bytes(typed_line(session, str(self.project), text, number))
            files.append(file)
        return files

    def talk(self, messages: int) -> None:
        """More chats of nothing but prompts, one in eight of them in Chinese."""
        words = Words(random.Random(7))  # noqa: S311 - repeatable data
        folder = self.root / "talk" / "projects" / "talk"
        folder.mkdir(parents=True)
        for start in range(0, messages, 200):
            session = str(uuid.UUID(int=1_000 + start, version=4))
            write = words.prose if start // 200 % 8 else words.chinese
            lines = (
                typed_line(session, "/home/dev/talk", write(160), number)
                for number in range(start, min(start + 200, messages))
            )
            (folder / f"{session}.jsonl").write_bytes(b"".join(lines))

    def messages(self) -> int:
        """How many messages the index holds; the daemon must not be running."""
        chats = open_chats(self.paths)
        with chats.reading() as db:
            row = db.one("SELECT count(*) FROM messages")
        chats.close()
        return int(row[0]) if row else 0

    @cached_property
    def filled(self) -> "Place":
        """This place with records in the store and every transcript in the index."""
        assert self.transcripts
        Path(self.paths.data).mkdir(parents=True)
        scopes = [Scope("repository", IDENTITY)]
        scopes += [Scope("repository", f"{IDENTITY}-{number}") for number in range(1, 20)]
        self.fill_records(self.paths, scopes, self.records)
        self.start_daemon()
        self.mash("index")
        return self

    @cached_property
    def busy(self) -> "Place":
        """The filled place with as many chats more as make the messages asked for."""
        self.filled.stop_daemon()
        self.talk(max(0, self.messages_of_all - self.messages()))
        self.start_daemon()
        self.mash("index")
        return self

    @property
    def has_time(self) -> bool:
        """Whether something more may begin."""
        return time.monotonic() < self.deadline

    def sizes(self, sizes: Iterable[int]) -> Iterator[int]:
        """Those sizes up to the largest that can be reached in time, by what the last one took."""
        took, before = 0.0, 0
        for size in sizes:
            begin = time.monotonic()
            expected = took * size / before if before else 0
            if size > self.largest or begin + expected > self.deadline:
                return
            yield size
            took, before = time.monotonic() - begin, size

    def fill_records(self, paths: Paths, scopes: list[Scope], count: int) -> None:
        """Write records through the store that the daemon opens."""
        database = open_store(paths, self.now)
        try:
            self.fill_store(database, scopes, count)
        finally:
            database.close()

    def fill_store(
        self, database: Database, scopes: list[Scope], count: int, first: int = 0
    ) -> None:
        """Write so many records, numbered from the first, into an open store."""
        with database.reading() as db:
            row = db.one("SELECT owner_id FROM owners WHERE origin = 'local'")
        assert row is not None
        build_records(database, row[0], scopes, count, self.now, first)
        database.checkpoint("TRUNCATE")

    def mash(self, *words: str) -> str:
        """What one command of mash prints."""
        command = [self.python, "-m", "mash_plugin", *words]
        done = subprocess.run(
            command, cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"mash {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def start_daemon(self) -> int:
        """The id of the daemon, started when there is none."""
        self.mash("daemon", "start")
        return int(json.loads(self.mash("daemon", "status", "--json"))["pid"])

    def settled_daemon(self) -> int:
        """The id of the daemon, once it rests: what follows a start and an index run is over."""
        pid = self.start_daemon()
        begin, before = time.monotonic(), cpu_seconds(pid)
        while time.monotonic() - begin < SETTLE_S:
            time.sleep(1)
            after = cpu_seconds(pid)
            if after - before < RESTING_CPU_S:
                break
            before = after
        return pid

    def daemons(self) -> list[int]:
        """The ids of this place's daemons."""
        mark = f"MASH_HOME={self.root}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdigit() or mark not in (entry / "environ").read_bytes():
                    continue
                if b"mash_plugin.daemon" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def stop_daemon(self) -> None:
        """End the daemons of this place as a shutdown would, and wait until they are gone."""
        begin = time.monotonic()
        while pids := self.daemons():
            is_late = time.monotonic() - begin > 10
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
            time.sleep(0.01)

    @contextmanager
    def stopped_daemon(self) -> Iterator[None]:
        """The daemon hangs meanwhile."""
        pid = self.start_daemon()
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def hook(self, name: str) -> list[str]:
        """The command of an installed hook."""
        script = str(ROOT / "hooks" / name)
        return [self.python, "-I", "-S", script, AGENT, self.env["MASH_HOME"]]

    def floor(self) -> list[str]:
        return [self.python, "-I", "-S", "-c", "pass"]

    def payload(self, name: str) -> bytes:
        """What the host writes to this hook's stdin, for a session never seen before."""
        session = str(uuid.uuid4())
        transcript = self.root / "claude" / "projects" / "bench" / f"{session}.jsonl"
        common = {"session_id": session, "transcript_path": str(transcript)}
        common |= {"cwd": str(self.project), "hook_event_name": EVENTS[name]}
        return json.dumps(common | MORE[name](self.project)).encode()

    def told_payload(self, name: str) -> bytes:
        """The same of a session whose start was answered, which its first prompt brings else."""
        payload = self.payload(name)
        if name == "prompt-submit":
            start = json.loads(payload) | {"hook_event_name": EVENTS["session-start"]}
            time_process(
                self.hook("session-start"), json.dumps(start).encode(), self.env, self.project
            )
        return payload


EVENTS = {
    "session-start": "SessionStart",
    "prompt-submit": "UserPromptSubmit",
    "file-read": "PreToolUse",
    "reminder-timer": "Stop",
}
MORE = {
    "session-start": lambda _: {"source": "startup"},
    "prompt-submit": lambda _: {"prompt": "From now on always run the linter."},
    "file-read": lambda project: {
        "tool_name": "Read",
        "tool_input": {"file_path": str(project / "src" / "ledger.py")},
        "tool_use_id": f"toolu_{uuid.uuid4().hex[:20]}",
    },
    "reminder-timer": lambda _: {"stop_hook_active": False, "last_assistant_message": "done"},
}


def paths_at(root: Path) -> Paths:
    """A new home in this folder, for stores without a daemon."""
    root.mkdir()
    paths = Paths(str(root / "run"), str(root / "config.toml"), str(root / "data"), str(root))
    Path(paths.data).mkdir()
    return paths
