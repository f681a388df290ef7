"""Work that makes, replaces or takes in whole files: stores, backups, exports, settings."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from mash_plugin.errors import InvalidArgument, StoreDamaged
from mash_plugin.file_writing import replace_file
from mash_plugin.memory.forget_chat import find_going, finish_forgetting, forget_chat
from mash_plugin.paths import find_paths
from mash_plugin.store import backup, migrate
from mash_plugin.store.faults import translated_files
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.restore import restore
from mash_plugin.transfer.candidates_in import take_in as take_in_rules
from mash_plugin.transfer.export import Wanted, export_store
from tests.conftest import CHOICE, NOW, QUESTION
from tests.crash.workloads import Records, State, Workload, assert_whole
from tests.store.saving import save, saved
from tests.support.bytes_left import files_with, word
from tests.support.cut_transfers import close
from tests.support.killed_transfers import add_record, forget_since_backup, records_of
from tests.support.migrating import migrate_all, schemas, write_migrations
from tests.support.schema_fixtures import contents, fixtures, served, unpack
from tests.support.transcripts import ClaudeTranscript
from tests.transfer.conftest import a_memory, chats_of, rows_of, take_in


class Opening(Workload):
    """A first opening, a write, and a clean end."""

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.root = self.folder / "person"
        self.root.mkdir()
        self.paths = find_paths({"MASH_HOME": str(self.root / "new" / "mash")})

    def run(self) -> Iterator[None]:
        with closing(open_store(self.paths, NOW)) as store, closing(open_chats(self.paths)):
            yield
            if not saved(store):
                save(store, 1)
            yield
        yield

    def look(self, done: int) -> State:  # noqa: ARG002 - the same whatever was done
        with closing(open_store(self.paths, NOW)) as store, closing(open_chats(self.paths)):
            assert store.problem is None, store.problem
            with store.reading() as db:
                assert db.one("SELECT count(*) FROM owners") == (1,)
            return {"saved": sorted(saved(store))}


class Backups(Workload):
    """More backups than are kept, with writes between them."""

    is_atomic = False
    ROUNDS = 5

    def prepare(self) -> None:
        super().prepare()
        self.paths = find_paths({"MASH_HOME": str(self.root)})
        store = open_store(self.paths, NOW)
        with store.writing() as db:
            add_record(db, "kept")
        close(store)

    def run(self) -> Iterator[None]:
        with closing(open_store(self.paths, NOW)) as store:
            for number in range(self.ROUNDS):
                if number not in saved(store):
                    save(store, number)
                backup.make(store, self.paths.backups, NOW + number)
                yield

    def look(self, done: int) -> State:
        store = open_store(self.paths, NOW)
        assert store.problem is None, store.problem
        found = saved(store)
        close(store)
        assert found >= set(range(done))
        kept = backup.backups(self.paths.backups)
        counts = [backup.verify(one.path).counts["receipts"] for one in kept]
        assert len(kept) >= min(done, backup.KEEP)
        assert not done or max(counts) >= done, "the newest backup is not there"
        return {"saved": sorted(found)}


class Restoring(Workload):
    """A restore of a backup that holds what was forgotten since."""

    is_atomic = False

    def prepare(self) -> None:
        super().prepare()
        self.paths = find_paths({"MASH_HOME": str(self.root)})
        forget_since_backup(self.paths)

    def run(self) -> Iterator[None]:
        done = restore(self.paths, None, NOW)
        assert done.forgotten_again is not None
        yield

    def look(self, done: int) -> State:
        store = open_store(self.paths, NOW)
        problem = store.problem
        close(store)
        if problem is None:
            return {"records": records_of(self.paths)}
        assert not done, problem
        assert isinstance(problem, StoreDamaged)
        assert problem.details["restore"], "nobody is told what to do"
        return {"records": "to be restored"}


class Importing(Records):
    """An export with records and chats, taken in by an empty store."""

    lagging = frozenset()
    """Nobody could read these chats again."""
    ahead = frozenset({"chats"})
    MODE: ClassVar[Any] = "identity"

    def prepare(self) -> None:
        source = Records(self.folder / "source")
        source.prepare()
        source.finish()
        self.file = self.folder / "export"
        with a_memory(source.folder, "s") as memory:
            export_store(memory.call_now(), str(self.file), Wanted())
        self.root.mkdir()
        with a_memory(self.folder):
            pass

    def run(self) -> Iterator[None]:
        with a_memory(self.folder) as memory:
            take_in(memory, self.file, self.MODE)
            yield

    def look(self, done: int) -> State:  # noqa: ARG002 - the same whatever was done
        with a_memory(self.folder, "x") as memory:
            assert_whole(memory)
            finish_forgetting(memory.call)
            return {"records": rows_of(memory), "chats": chats_of(memory)}


class ImportingRules(Records):
    """A file of rules is taken in: candidates, and a chat of its own that they quote."""

    lagging = frozenset()
    ahead = frozenset({"chats"})

    def prepare(self) -> None:
        super().prepare()
        self.file = self.folder / "projects" / "shop" / "CLAUDE.md"
        self.file.write_text("- Prefer small functions.\n- Use tabs in Makefiles.\n")

    def run(self) -> Iterator[None]:
        with a_memory(self.folder) as memory:
            take_in_rules(memory.call_now(), "rules", str(self.file), None)
            yield


class Exporting(Workload):
    """An export of a store to a file."""

    def prepare(self) -> None:
        source = Records(self.folder)
        source.prepare()
        source.finish()

    def run(self) -> Iterator[None]:
        with a_memory(self.folder) as memory:
            try:
                export_store(memory.call_now(), str(self.root / "out"), Wanted())
            except InvalidArgument as error:
                assert "there already" in error.message  # noqa: PT017 - any other is a fault
            yield

    def look(self, done: int) -> State:  # noqa: ARG002 - the same whatever was done
        if not (self.root / "out").exists():
            return {"exported": None}
        other = self.folder / "other"
        shutil.rmtree(other, ignore_errors=True)
        other.mkdir()
        with a_memory(other) as memory:
            take_in(memory, self.root / "out", "identity")
            return {"exported": rows_of(memory)}


class Forgetting(Workload):
    """A chat is forgotten with its records, and its text goes from both files."""

    is_atomic = False
    lagging = frozenset({"chats"})

    def prepare(self) -> None:
        super().prepare()
        self.words = [word("said in a chat that is forgotten")]
        for name, text in (("s-1", QUESTION), ("s-2", f"We take {self.words[0]}, do we?")):
            transcript = ClaudeTranscript(self.folder / "claude", str(self.folder), name)
            transcript.person(text)
            transcript.person(CHOICE)
        with a_memory(self.folder) as memory:
            memory.index()
            for name in ("s-1", "s-2"):
                evidence = [{"session_id": name, "quote": CHOICE}]
                body = {"statement": f"Use {name}.", "details": DECISION}
                memory.create(body, evidence, scope={"kind": "personal"})

    def run(self) -> Iterator[None]:
        with a_memory(self.folder) as memory:
            forget_chat(memory.call, find_going(memory.call, "claude-code-s-2"))
            yield

    def look(self, done: int) -> State:
        with a_memory(self.folder, "x") as memory:
            finish_forgetting(memory.call)
            memory.index()
            assert_whole(memory)
            state = {"records": rows_of(memory)["records"], "chats": len(chats_of(memory))}
        if done:
            assert not files_with(self.root, self.words), "forgotten text is on the disk"
        return state


DECISION = {"kind": "decision", "state": "proposed"}


class Indexing(Workload):
    """Transcripts that grow are taken in, some by some."""

    lagging = frozenset({"chats"})
    ROUNDS = 4

    def prepare(self) -> None:
        super().prepare()
        for number in range(self.ROUNDS):
            self._transcript(number)
        with a_memory(self.folder):
            pass

    def run(self) -> Iterator[None]:
        with a_memory(self.folder) as memory:
            for number in range(self.ROUNDS):
                memory.call.chats.refresh_session(f"s-{number}", NOW)
                if number == 1:
                    memory.call.chats.database.checkpoint("PASSIVE")
                yield
            memory.index()
            yield

    def look(self, done: int) -> State:  # noqa: ARG002 - the same whatever was done
        with a_memory(self.folder, "x") as memory:
            assert_whole(memory)
            return {"chats": chats_of(memory)}

    def _transcript(self, number: int) -> None:
        transcript = ClaudeTranscript(self.folder / "claude", str(self.folder), f"s-{number}")
        for line in range(6):
            transcript.person(f"Question {line} of {number}? <private>{word('x')}</private>")
            transcript.agent(f"Answer {line}, which is longer: " + "so it is. " * 200)


class Migrating(Workload):
    """Both stores of the newest fixture are brought to the next schema."""

    is_atomic = False

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.paths = find_paths({"MASH_HOME": str(self.root)})
        unpack(fixtures()[-1], self.paths)
        self.migrations = write_migrations(self.folder / "migrations")
        self.before = schemas(self.paths)

    def run(self) -> Iterator[None]:
        usual = migrate._FOLDER
        try:
            migrate_all(self.paths, self.migrations)
        finally:
            migrate._FOLDER = usual
        yield

    def look(self, done: int) -> State:
        found = schemas(self.paths)
        for family, number in found.items():
            wanted = self.before[family] + 1
            assert number == wanted or (number == wanted - 1 and not done), found
        if any(found[family] > self.before[family] for family in found):
            kept = backup.newest_good(self.paths.backups)
            assert kept or found["records"] == self.before["records"], "no backup came before"
        return {"told": self._told()}

    def _told(self) -> Any:
        usual = migrate._FOLDER
        try:
            migrate._FOLDER = str(self.migrations)
            copy = find_paths({"MASH_HOME": str(self.folder / "copy")})
            shutil.rmtree(self.folder / "copy", ignore_errors=True)
            shutil.copytree(self.root, self.folder / "copy")
            with served(copy, self.folder) as call:
                return contents(call)
        finally:
            migrate._FOLDER = usual


class Settings(Workload):
    """A file of the person's is replaced."""

    OLD, NEW = b"[recall]\nauto = true\n" * 40, b"[recall]\nauto = false\n" * 50

    def prepare(self) -> None:
        super().prepare()
        self.file = Path(self.root, "config.toml")
        self.file.write_bytes(self.OLD)

    def run(self) -> Iterator[None]:
        with translated_files(str(self.file)):
            replace_file(self.file, self.NEW)
        yield

    def look(self, done: int) -> State:  # noqa: ARG002 - the same whatever was done
        content = self.file.read_bytes()
        assert content in (self.OLD, self.NEW), f"{len(content)} bytes of neither"
        return {"content": content}
