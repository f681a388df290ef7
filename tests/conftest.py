"""What many tests share: a home of its own, open stores, a clock, and the standard chats."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from mash_plugin.chats.forget import forgotten_test
from mash_plugin.chats.index import ChatIndex
from mash_plugin.config import Settings
from mash_plugin.memory.call import Call, Caller
from mash_plugin.memory.reading import get_record, list_records
from mash_plugin.memory.recall import recall_records
from mash_plugin.memory.record import apply_change
from mash_plugin.memory.terminal import change as change_by_hand
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import Paths, find_paths
from mash_plugin.protocol import validate
from mash_plugin.store.open import open_chats, open_store
from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript, CodexTranscript, write_repository

# The same cases everywhere: a gate that draws new ones is red for no change of ours.
settings.register_profile("gate", derandomize=True, database=None, deadline=None)
settings.load_profile("gate")

# A shell starts what runs in the background with ^C ignored, and nohup ignores hangups: every child
# would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

SHARED = ("acceptance", "dashboard", "doctor", "group", "throughline")
"""Folders of which each test needs a home, a server or a browser that all of them can use."""
UNTRACED = ("crash", "fuzz")
"""Coverage would slow these most and tell nothing new: what they spoil and kill, others test."""

NOW = 1_796_100_000_000
SHOP = "github.com/acme/shop"
QUESTION = "Which vector store should we use locally?"
PROPOSAL = "I propose Qdrant for local search."
CHOICE = "Yes, let's use Qdrant."
SPLIT = "I split the index code into two modules because the parser is reused."
Json = dict[str, Any]


class SharedFolders(LoadFileScheduling):
    """A process runs a file as a whole, or a folder whose tests share what is slow to make."""

    def _split_scope(self, nodeid: str) -> str:
        file = PurePath(super()._split_scope(nodeid))
        return str(file.parent if file.parent.name in SHARED else file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharedFolders:
    return SharedFolders(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first: run side by side, none is left to end alone."""
    for item in items:
        if item.path.parent.name in UNTRACED:
            item.add_marker(pytest.mark.no_cover)
    items.sort(key=_when)


def _when(item: pytest.Item) -> tuple[bool, bool]:
    return item.get_closest_marker("slow") is None, item.path.parent.name not in SHARED


@dataclass
class Clock:
    """The time that calls see; tests move it."""

    now: int = NOW

    def advance(self, milliseconds: int) -> int:
        self.now += milliseconds
        return self.now


@dataclass
class Memory:
    """The use cases over open stores, called as the daemon calls them."""

    call: Call
    clock: Clock
    claude_root: Path
    codex_root: Path
    projects: Path
    waited: list[float] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def call_now(self) -> Call:
        """The call at the moment that the clock shows."""
        return self.call._replace(now=self.clock.now)

    def record(self, request: Json) -> Json:
        return apply_change(self.call_now(), validate("record", request))

    def recall(self, **request: Any) -> Json:
        return recall_records(self.call_now(), validate("recall_records", request))

    def get(self, record_id: str, **request: Any) -> Json:
        return get_record(self.call_now(), validate("get_record", {"id": record_id, **request}))

    def pages(self, **request: Any) -> Json:
        return list_records(self.call_now(), validate("list_records", request))

    def create(self, body: Json, evidence: list[Json], **change: Any) -> Json:
        """Create under an operation ID of its own; the scope is the shop's repository."""
        change = {"scope": {"kind": "repository", "identity": SHOP}, **change}
        operation_id = change.pop("operation_id", f"operation-{next(self.numbers)}")
        return self.record(
            {
                "operation_id": operation_id,
                "change": {"action": "create", "body": body, "evidence": evidence, **change},
            }
        )

    def change(self, action: str, expected: Json, **fields: Any) -> Json:
        """Change a record that a receipt names, under an operation ID of its own."""
        operation_id = fields.pop("operation_id", f"operation-{next(self.numbers)}")
        at = {"id": expected["id"], "revision": expected["revision"]}
        return self.record(
            {"operation_id": operation_id, "change": {"action": action, "expected": at, **fields}}
        )

    def undo(self, expected: Json) -> Json:
        """Bring a hidden record back, as the person does at the terminal."""
        at = {"id": expected["id"], "revision": expected["revision"]}
        return change_by_hand(self.call_now(), {"action": "undo", **at})

    def candidate(self, statement: str, session_id: str = "s-1", **change: Any) -> Json:
        """A candidate decision that rests on the first question of a session."""
        return self.create(
            {"statement": statement, "details": {"kind": "decision", "state": "proposed"}},
            [{"session_id": session_id, "quote": QUESTION}],
            **change,
        )

    def established(self, statement: str, **change: Any) -> Json:
        """An accepted decision that the person endorsed."""
        return self.create(
            {
                "statement": statement,
                "review": "established",
                "details": {"kind": "decision", "state": "accepted"},
            },
            [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}],
            **change,
        )

    def count_records(self) -> int:
        with self.call.store.reading() as db:
            row = db.one("SELECT count(*) FROM records")
        assert row is not None
        return int(row[0])

    def chat_ids(self) -> set[str]:
        with self.call.chats.database.reading() as db:
            return {row[0] for row in db.all("SELECT chat_id FROM chats")}

    def set(self, **settings: Any) -> None:
        """Change settings."""
        self.call = self.call._replace(settings=self.call.settings._replace(**settings))

    def come_from(self, **caller: Any) -> None:
        """Change who calls."""
        self.call = self.call._replace(caller=Caller(**caller))

    def on_wait(self, act: Callable[[float], None]) -> None:
        """What happens while the daemon waits for a host to flush."""

        def wait(seconds: float) -> None:
            self.waited.append(seconds)
            act(seconds)

        self.call = self.call._replace(wait=wait)

    def index(self) -> tuple[str, ...]:
        """Index everything; the chats that were rewritten."""
        return self.call.chats.refresh_all(self.clock.now).rewritten


@dataclass
class Shop:
    """FX-CHAT: the IDs of its messages."""

    transcript: ClaudeTranscript
    question: str
    proposal: str
    choice: str
    split: str
    chat: str = "claude-code-s-1"


@pytest.fixture
def home(tmp_path: Path) -> Paths:
    """The paths of a MASH_HOME of its own, outside any work tree."""
    return find_paths({"MASH_HOME": str(tmp_path / "mash home")})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(home: Paths, clock: Clock, tmp_path: Path) -> Iterator[Memory]:
    """Open stores over empty transcript roots, and two clones of the shop."""
    claude_root, codex_root = tmp_path / "claude", tmp_path / "codex"
    claude_root.mkdir()
    codex_root.mkdir()
    store, chats = open_store(home, clock.now), open_chats(home)
    index = ChatIndex(
        chats,
        lambda: [("claude-code", str(claude_root)), ("codex", str(codex_root))],
        is_forgotten=forgotten_test(store),
    )
    ids = count(1)
    call = Call(store, index, Settings(), clock.now, lambda: f"r{next(ids):031}", Windows())
    made = Memory(call, clock, claude_root, codex_root, tmp_path / "projects")
    made.on_wait(lambda _seconds: None)
    write_repository(made.projects / "w" / "shop", f"git@{SHOP.replace('/', ':', 1)}.git")
    write_repository(made.projects / "w3" / "shop", f"https://{SHOP}")
    (made.projects / "w2" / "shop").mkdir(parents=True)
    yield made
    store.close()
    chats.close()


@pytest.fixture
def shop(memory: Memory) -> Shop:
    """FX-CHAT, written and not indexed."""
    transcript = ClaudeTranscript(memory.claude_root, str(memory.projects / "w" / "shop"), "s-1")
    return Shop(
        transcript,
        transcript.person(QUESTION),
        transcript.agent(PROPOSAL),
        transcript.person(CHOICE),
        transcript.agent(SPLIT),
    )


@pytest.fixture
def second_shop(memory: Memory) -> ClaudeTranscript:
    """FX-CHAT2: a later session of the same project."""
    transcript = ClaudeTranscript(memory.claude_root, str(memory.projects / "w" / "shop"), "s-2")
    transcript.person("Qdrant works well, keep it.")
    return transcript


@pytest.fixture
def other_shop(memory: Memory) -> ClaudeTranscript:
    """FX-OTHER: a folder of the same name without a repository."""
    transcript = ClaudeTranscript(memory.claude_root, str(memory.projects / "w2" / "shop"), "s-9")
    transcript.person(QUESTION)
    return transcript


@pytest.fixture
def codex_shop(memory: Memory) -> CodexTranscript:
    """FX-CODEX: the same conversation in Codex, in another clone."""
    transcript = CodexTranscript(
        memory.codex_root,
        str(memory.projects / "w3" / "shop"),
        "01a22b46-ef78-7e32-8ff3-ca6f94ba9da4",
    )
    transcript.person(QUESTION)
    transcript.agent(PROPOSAL)
    transcript.person(CHOICE)
    transcript.agent(SPLIT)
    return transcript


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A home without a daemon; whatever comes up there is ended."""
    made = Place(tmp_path)
    yield made
    made.close()
