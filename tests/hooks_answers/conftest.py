import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.daemon import hooks
from mash_plugin.daemon.delivery import Delivery
from mash_plugin.daemon.node import Node
from mash_plugin.memory import heads
from mash_plugin.memory.call import Caller
from mash_plugin.paths import find_paths
from mash_plugin.records.model import Body, Evidence, Revision, Scope, State
from mash_plugin.store.changes import add_link, add_revision, insert_record
from mash_plugin.store.operations import identity_of
from mash_plugin.tokens import words

NOW = 1_796_021_684_000
MINUTE = 60_000
IDENTITY = "github.com/acme/shop"


@dataclass
class Desk:
    """A daemon's node in this process, a project beside it, and the hooks of both hosts."""

    root: Path
    node: Node
    project: Path
    now: int = NOW
    switches: dict[str, str] = field(default_factory=dict)
    queued: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=count)

    def reopen(self) -> None:
        """What a new daemon finds after an orderly end of the old one."""
        self.node.hook_state.flush(self.now)
        self.node.close()
        self.node = open_node(self.root)
        self.begun.clear()
        self.listen()

    def listen(self) -> None:
        self.node.on_transcript = lambda agent, path: self.queued.append((agent, path))
        self.node.on_hook_failure = lambda hook, what: self.failures.append((hook, what))

    def raw(self, hook: str, body: bytes, agent: str = "claude-code") -> bytes:
        switches = {"MASH_TEST_NOW_MS": str(self.now), **self.switches}
        return hooks.answer(self.node, hook, agent, switches, body)

    def say(self, hook: str, event: str, agent: str = "claude-code", **fields: Any) -> str:
        """The context that this hook gives, or nothing."""
        raw = {"session_id": "s-1", "cwd": str(self.project), "hook_event_name": event, **fields}
        reply = self.raw(hook, json.dumps(raw).encode(), agent)
        if not reply:
            return ""
        output = json.loads(reply)["hookSpecificOutput"]
        assert output["hookEventName"] == event
        assert len(reply) < 9_000
        return str(output["additionalContext"])

    def start(self, session: str = "s-1", source: str = "startup", **fields: Any) -> str:
        return self.say(
            "session-start", "SessionStart", session_id=session, source=source, **fields
        )

    def prompt(self, text: str = "Fix the failing test", session: str = "s-1", **more: Any) -> str:
        """A prompt of a session whose start, of which these tests know nothing, did arrive."""
        if session not in self.begun:
            self.begun.add(session)
            arrived = threading.Event()
            arrived.set()
            state = self.node.hook_state
            state.touch(session, "claude-code", "session-start", self.now, start=arrived)
        return self.say(
            "prompt-submit", "UserPromptSubmit", session_id=session, prompt=text, **more
        )

    def read(self, path: str, session: str = "s-1", **fields: Any) -> str:
        tool = {"tool_name": "Read", "tool_input": {"file_path": path}, **fields}
        return self.say("file-read", "PreToolUse", session_id=session, **tool)

    def cat(self, command: str, session: str = "s-1", **fields: Any) -> str:
        tool = {"tool_name": "Bash", "tool_input": {"command": command}, **fields}
        return self.say("file-read", "PostToolUse", "codex", session_id=session, **tool)

    def keep(self, statement: str, scope: Scope | None = None, age: int = 0, **fields: Any) -> str:
        """Put a record into the store, as `record` would."""
        body = {"kind": "decision", "state": "accepted", "review": "established"} | fields
        words_of = " ".join(words(statement))
        evidence = Evidence(
            "c", "m", statement[:50], "endorsement", "user", "person", statement, "matching"
        )
        # The same in every run: a random one may look like the beginning of a credential.
        record_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{statement} {next(self.numbers)}").hex
        revision = Revision(
            1, Body(statement=statement, recorded_by="a test", **body), self.now - age, (evidence,)
        )
        with self.node.store.writing() as db:
            insert_record(
                db,
                record_id,
                identity_of(db).owner,
                scope or Scope("repository", IDENTITY),
                revision,
                uuid.uuid4().bytes,
                (words_of, ""),
            )
        return record_id

    def retire(self, record_id: str, state: State = "withdrawn") -> None:
        """Take a record out of force."""
        with self.node.store.writing() as db:
            head = heads.visible_head(db, record_id)
            last = heads.intact_revision(self.node.call(Caller(), self.now, {}), db, head)
            body = last.body._replace(state=state)
            over = last._replace(revision=2, body=body, recorded_at=self.now)
            assert add_revision(db, head, over, uuid.uuid4().bytes, ("", ""))

    def link(self, source: str, relation: str, target: str) -> None:
        with self.node.store.writing() as db:
            ends = [heads.visible_head(db, record_id) for record_id in (source, target)]
            assert add_link(db, *ends, relation, self.now, None)

    def take_over(self, old: str, statement: str) -> str:
        """Put a record in the place of an older one."""
        self.retire(old, "superseded")
        new = self.keep(statement)
        self.link(new, "supersedes", old)
        return new

    def chat(self, title: str, session: str, cwd: Path | None = None) -> None:
        """Let Claude Code have had a chat, and index it."""
        folder = self.root / "home" / ".claude" / "projects" / "-p"
        folder.mkdir(parents=True, exist_ok=True)
        line = {
            "type": "user",
            "uuid": str(uuid.uuid4()),
            "sessionId": session,
            "cwd": str(cwd or self.project),
            "timestamp": "2026-11-29T10:00:00.000Z",
            "origin": {"kind": "human"},
            "promptSource": "typed",
            "turnOrigin": "human",
            "message": {"role": "user", "content": title},
        }
        path = folder / f"{session}.jsonl"
        path.write_text(json.dumps(line) + "\n", "utf-8")
        self.node.chats.refresh_path("claude-code", str(path), self.now)


def open_node(root: Path) -> Node:
    environ = {"MASH_TESTING": "1", "HOME": str(root / "home")}
    return Node(find_paths({"MASH_HOME": str(root / "mash")}), NOW, environ)


def make_repository(folder: Path, remote: str = f"https://{IDENTITY}.git") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    return folder


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("MASH_TESTING", "1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hooks, "BUDGET_S", 10.0)  # a busy machine is not what is tested
    project = make_repository(tmp_path / "shop")
    found = Desk(tmp_path, open_node(tmp_path), project)
    found.listen()
    yield found
    found.node.close()


@pytest.fixture
def told(desk):
    """With a file that a record and a chat speak of."""
    (desk.project / "a.py").write_text("x\n")
    desk.keep("Keep a.py small.")
    desk.chat("What is a.py for?", "old-1")
    return desk


@pytest.fixture
def lose(monkeypatch):
    """Let the next answer be made and get lost, since its hook is gone; what it held."""
    kept = hooks.answer

    def lose_one(say, *arguments, **fields):
        delivery = Delivery()
        with monkeypatch.context() as patch:
            patch.setattr(hooks, "answer", lambda *words: kept(*words, delivery))
            text = say(*arguments, **fields)
        delivery.fail()
        delivery.end()
        return text

    return lose_one
