"""Arbitrary lives of records in a store that is exported after each, and taken in elsewhere."""

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mash_plugin.errors import MashError
from mash_plugin.memory.forget import purge_hidden
from mash_plugin.memory.freshness import recheck
from tests.conftest import Memory
from tests.lifecycle.machine import START
from tests.lifecycle.model import Json, Model
from tests.lifecycle.runs import run_lives
from tests.lifecycle.served import Served
from tests.transfer.conftest import a_memory, chats_of, export, rows_of, take_in


def export_lives(folder: Path, runs: int, seed: int) -> list[dict[str, int]]:
    """The rows by table after each run. Raises where something did not come back as it was."""
    seen: list[dict[str, int]] = []
    with a_memory(folder / "lived") as memory:
        memory.call.chats.on_rebuilt = lambda chat_id: _recheck(memory, chat_id)
        talk = folder / "talk"
        (talk / "home").mkdir(parents=True)
        (talk / "home" / ".claude").symlink_to(memory.claude_root)
        world = run_lives(lambda number: Here(memory, talk, number, seen), runs, seed, shrink=False)
    assert world.runs == runs
    return seen


class Here(Served):
    """One run's conversation and scopes in an open store of this process."""

    def __init__(self, memory: Memory, root: Path, number: int, seen: list[dict[str, int]]) -> None:
        self._memory, self._root, self._seen = memory, root, seen
        memory.clock.now = START
        place = SimpleNamespace(root=root, home=root / "home", paths=None)
        (root / "home").mkdir(exist_ok=True)
        super().__init__(SimpleNamespace(place=place), number)  # type: ignore[arg-type]

    def set_clock(self, now: int) -> None:
        self._memory.clock.now = now
        purge_hidden(self._memory.call_now())

    def ask(self, method: str, params: Json) -> Json:
        memory = self._memory
        memory.come_from(agent="claude-code", session_id=self.session)
        asked: Any = {"record": memory.record, "list_records": lambda p: memory.pages(**p)}
        asked["get_record"] = lambda p: memory.get(p.pop("id"), **p)
        asked["recall_records"] = lambda p: memory.recall(**p)
        try:
            answer = asked[method](dict(params))
        except MashError as error:
            return {"error": error.as_json()}
        assert isinstance(answer, dict)
        return answer

    def check(self, model: Model) -> None:  # noqa: ARG002 - the store alone is compared
        """Export the store, take it into an empty one, and compare all that was remembered."""
        before = rows_of(self._memory)
        self._seen.append({name: len(rows) for name, rows in before.items()})
        with tempfile.TemporaryDirectory(dir=self._root) as folder:
            file = Path(folder) / "export"
            export(self._memory, file)
            with a_memory(Path(folder) / "new") as new:
                take_in(new, file, "identity")
                assert rows_of(new) == before
                assert chats_of(new) == chats_of(self._memory)
                export(new, Path(folder) / "again")
                with a_memory(Path(folder) / "third", "t") as third:
                    take_in(third, Path(folder) / "again", "identity")
                    assert rows_of(third) == before
            with a_memory(Path(folder) / "other") as other:
                assert len(self._alike(other, file, before)) > 0

    def _alike(self, other: Memory, file: Path, before: Json) -> list[Json]:
        """What a normal import brings is the same but for IDs and owner, without hidden records."""
        take_in(other, file)
        found = rows_of(other)
        hidden = {row["record_id"] for row in before["records"] if row["hidden_at"] is not None}
        for table, id_name in (("revisions", "record_id"), ("evidence", "record_id")):
            wanted = [row for row in before[table] if row[id_name] not in hidden]
            assert sorted(map(_said, found[table])) == sorted(map(_said, wanted))
        ends = ("from_record", "to_record")
        links = [r for r in before["links"] if not hidden.intersection(r[end] for end in ends)]
        assert len(found["links"]) == len(links)
        return found["revisions"]


def _recheck(memory: Memory, chat_id: str) -> None:
    """As the daemon does when a transcript turns out to be rewritten."""
    recheck(memory.call_now(), [chat_id])


def _said(row: Json) -> str:
    return str({name: row[name] for name in row if name not in ("record_id", "checksum")})
