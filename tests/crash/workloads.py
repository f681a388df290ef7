"""Small pieces of work that a crash may hit, each told in steps that are acknowledged one by one.

Whoever goes on afterwards does the same work from its beginning, with the same operation IDs.
"""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, cast

from mash_plugin.errors import Forgotten
from mash_plugin.memory.forget_chat import finish_forgetting
from tests.conftest import CHOICE, NOW, PROPOSAL, QUESTION, SPLIT, Memory
from tests.support.bytes_left import files_with, word
from tests.support.transcripts import ClaudeTranscript, write_repository
from tests.transfer.conftest import _review, a_memory, chats_of, rows_of

Json = dict[str, Any]
State = dict[str, object]
AGAIN = "Yes, Qdrant it stays."
SECRET = word("a choice that is forgotten")


class Workload:
    """What a crash test needs to know of a piece of work. All of it lies below `root`."""

    lagging: ClassVar[frozenset[str]] = frozenset()
    """Parts of the state that may come back older: they can be made again."""
    ahead: ClassVar[frozenset[str]] = frozenset()
    """Parts that a refused step may have left: they do no harm, and a retry goes on with them."""
    is_atomic: ClassVar[bool] = True
    """Each step is there or not; otherwise only what comes of going on is told."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "mash"

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    def prepare(self) -> None:
        """Make what lies there before."""
        self.root.mkdir(parents=True)

    def run(self) -> Iterator[None]:
        """Do the work; each step is acknowledged when it yields."""
        raise NotImplementedError

    def look(self, done: int) -> State:
        """What the next process finds when so many steps were acknowledged.

        Raises where that is not whole.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Go on with whatever the crash left."""
        for _ in self.run():
            pass


class Records(Workload):
    """A record's whole life, checkpoints between, and the removal of its text."""

    lagging = frozenset({"chats"})
    FORGETS = 10
    """The step after which nothing of a text is left."""

    def prepare(self) -> None:
        super().prepare()
        shop = self.folder / "projects" / "shop"
        write_repository(shop, "git@github.com:acme/shop.git")
        transcript = ClaudeTranscript(self.folder / "claude", str(shop), "s-1")
        transcript.person(QUESTION)
        transcript.agent(PROPOSAL)
        transcript.person(CHOICE)
        transcript.agent(SPLIT)
        self.again = transcript.person(AGAIN)
        with a_memory(self.folder) as memory:
            memory.index()

    def run(self) -> Iterator[None]:
        with a_memory(self.folder) as memory:
            made: Json = {}
            for number, step in enumerate(self.steps()):
                ids = count(1)
                memory.clock.now = NOW + number
                memory.call = memory.call._replace(
                    new_id=lambda n=number, i=ids: f"{n:02}{next(i):030}"
                )
                try:
                    step(memory, made)
                except Forgotten:  # said again after a crash
                    made.setdefault("gone", {"id": f"{0:02}{1:030}", "revision": 1})
                yield

    def steps(self) -> list[Callable[[Memory, Json], None]]:
        return [
            self._propose,
            self._choose,
            self._keep,
            self._supersede,
            self._confirm,
            self._choose_second,
            self._link,
            lambda memory, _made: _checkpoint(memory, "PASSIVE"),
            self._revise,
            self._forget,
            lambda memory, _made: _review(memory, "claude-code-s-1"),
            self._unlink,
            lambda memory, _made: _checkpoint(memory, "TRUNCATE"),
            self._choose_again,
        ]

    def look(self, done: int) -> State:
        with a_memory(self.folder, "x") as memory:
            assert_whole(memory)
            finish_forgetting(memory.call)
            state = {"records": rows_of(memory), "chats": chats_of(memory)}
        if done >= self.FORGETS:
            assert not files_with(self.root, [SECRET]), "forgotten text is on the disk"
        return state

    def _propose(self, memory: Memory, made: Json) -> None:
        made["gone"] = memory.candidate(f"Perhaps {SECRET}.", operation_id="gone")

    def _choose(self, memory: Memory, made: Json) -> None:
        made["choice"] = memory.established("Use Qdrant for search.", operation_id="choice")

    def _keep(self, memory: Memory, made: Json) -> None:
        made["old"] = memory.candidate("Keep the parser whole.", operation_id="old")

    def _supersede(self, memory: Memory, made: Json) -> None:
        body = {"statement": "Split it.", "details": {"kind": "decision", "state": "proposed"}}
        evidence = [{"session_id": "s-1", "quote": QUESTION}]
        memory.change("supersede", made["old"], body=body, evidence=evidence, operation_id="new")

    def _confirm(self, memory: Memory, made: Json) -> None:
        evidence = [{"message_id": self.again, "quote": AGAIN, "purpose": "endorsement"}]
        memory.change("confirm", made["choice"], evidence=evidence, operation_id="confirm")

    def _choose_second(self, memory: Memory, made: Json) -> None:
        made["second"] = memory.established("Keep Qdrant.", operation_id="second")

    def _link(self, memory: Memory, made: Json) -> None:
        memory.change("link", made["choice"], operation_id="link", **_towards(made))

    def _revise(self, memory: Memory, made: Json) -> None:
        details = {"kind": "decision", "state": "proposed"}
        body = {"statement": f"Perhaps {SECRET}, once more.", "details": details}
        evidence = [{"session_id": "s-1", "quote": QUESTION}]
        change = {"body": body, "evidence": evidence, "operation_id": "revise"}
        made["gone"] |= {"revision": 1}
        made["gone"] = memory.change("revise", made["gone"], **change)

    def _forget(self, memory: Memory, made: Json) -> None:
        memory.change("forget", made["gone"] | {"revision": 2}, operation_id="forget")

    def _unlink(self, memory: Memory, made: Json) -> None:
        memory.change("unlink", made["choice"], operation_id="unlink", **_towards(made))

    def _choose_again(self, memory: Memory, _made: Json) -> None:
        memory.established("Qdrant 2, then.", operation_id="last")


class Joined(Records):
    """The same while a group is joined: each change is noted for publication with it."""

    def prepare(self) -> None:
        super().prepare()
        with a_memory(self.folder) as memory, memory.call.store.writing() as db:
            db.run("INSERT INTO meta VALUES ('group_id', x'01')")

    def look(self, done: int) -> State:
        state = super().look(done)
        with a_memory(self.folder, "x") as memory, memory.call.store.reading() as db:
            rows = db.all("SELECT sequence, record_id, failure FROM publication ORDER BY 1")
        records = cast("Json", state["records"])
        records["publication"] = rows
        touched = {row["record_id"] for row in [*records["records"], *records["record_tombstones"]]}
        assert {record_id for _, record_id, _ in rows} == touched, "a change was not noted"
        return state


def _towards(made: Json) -> Json:
    return {"target": {"id": made["second"]["id"], "revision": 1}, "relation": "supports"}


def _checkpoint(memory: Memory, mode: Any) -> None:
    for database in (memory.call.store, memory.call.chats.database):
        database.checkpoint(mode)


def assert_whole(memory: Memory) -> None:
    """Both files are sound, every record fits its checksum, and receipts have their records."""
    store, chats = memory.call.store, memory.call.chats.database
    assert store.problem is None, store.problem
    damaged: list[str] = []
    memory.call = memory.call._replace(on_damaged=damaged.append)
    for database in (store, chats):
        if database.check:
            database.check.join()
        with database.reading() as db:
            assert db.all("PRAGMA integrity_check") == [("ok",)]
            assert db.all("PRAGMA foreign_key_check") == []
    with chats.writing() as db:
        db.run("INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')")
    assert store.problem is None, store.problem
    with store.reading() as db:
        ids = [row[0] for row in db.all("SELECT record_id FROM records WHERE hidden_at IS NULL")]
        orphans = db.all("SELECT record_id FROM revisions EXCEPT SELECT record_id FROM records")
    assert not orphans
    for record_id in ids:
        memory.get(record_id, history=True)
    assert not damaged
