"""A home with a daemon, and a conversation that records can rest on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import MashError
from tests.lifecycle.talk import Cite, Speaker, messages, text_of
from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript

Json = dict[str, Any]
SESSION = "s-1"


class Shop:
    """One daemon's home with one session; requests about its records."""

    def __init__(self, place: Place) -> None:
        self.place = place
        transcript = ClaudeTranscript(place.home / ".claude", str(place.root / "work"), SESSION)
        say = {"words": transcript.person, "bare": transcript.person}
        self.messages: dict[tuple[Speaker, int], str] = {
            (speaker, number): say.get(speaker, transcript.agent)(text)
            for speaker, number, text in messages()
            if speaker in ("words", "bare", "proposal", "agent")
        }

    def record(self, operation_id: str, change: Json) -> Json:
        """The receipt, or the error."""
        return self.ask("record", {"operation_id": operation_id, "change": change})

    def ask(self, method: str, params: Json) -> Json:
        """The result of one method, or its error; no daemon is started for it."""
        try:
            caller = {"session_id": SESSION}
            answer = self.place.call(method, params, caller=caller, start=False)
            assert isinstance(answer, dict)
            return answer
        except MashError as error:
            return {"error": error.as_json()}

    def head(self, record_id: str) -> Json:
        item = self.ask("get_record", {"id": record_id})["record"]
        assert isinstance(item, dict)
        return item

    def everything(self) -> list[Json]:
        """Every record of the store, whatever its state."""
        page = self.ask("list_records", {"include_inactive": True, "limit": 50})
        assert page["next_offset"] is None
        records = page["records"]
        assert isinstance(records, list)
        return records

    def cite(self, cite: Cite) -> Json:
        quote = text_of(*cite.message)
        return {
            "message_id": self.messages[cite.message],
            "quote": quote,
            "purpose": cite.purpose,
        }

    def endorsed(self, number: int = 0) -> list[Json]:
        return [self.cite(Cite("words", number, "endorsement"))]

    def create(self, statement: str) -> Json:
        """A change that saves an established preference."""
        body = preference(statement)
        scope = {"kind": "personal"}
        return {"action": "create", "scope": scope, "body": body, "evidence": self.endorsed()}

    def change(self, action: str, record_id: str, revision: int, **fields: Any) -> Json:
        """A change of a record at a revision."""
        expected = {"id": record_id, "revision": revision}
        return {"action": action, "expected": expected, **fields}

    def revise(self, record_id: str, revision: int, statement: str, action: str = "revise") -> Json:
        body, evidence = preference(statement), self.endorsed()
        return self.change(action, record_id, revision, body=body, evidence=evidence)

    def link(self, source: Json, target: Json, relation: str = "contradicts") -> Json:
        """A link between the records of two receipts, as they were then."""
        at = {"id": target["id"], "revision": target["revision"]}
        return self.change("link", source["id"], source["revision"], target=at, relation=relation)


def preference(statement: str) -> Json:
    details = {"kind": "preference", "state": "active"}
    return {"statement": statement, "review": "established", "details": details}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A home without a daemon yet."""
    place = Place(tmp_path)
    yield Shop(place)
    place.close()
