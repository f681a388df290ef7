"""The rules alone: a store of dictionaries that asks them about every change."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from mash_plugin.errors import (
    DuplicateRecord,
    EndorsementNotByPerson,
    EvidenceRequired,
    Forgotten,
    MashError,
    NotFound,
    OperationConflict,
    QuoteNotFound,
    RevisionConflict,
)
from mash_plugin.records.authority import Cited, check_authority
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.evidence import status_of
from mash_plugin.records.lifecycle import is_in_force, status_of_record
from mash_plugin.records.model import Body, Evidence, RecordStatus, Revision, Scope
from mash_plugin.records.transitions import (
    End,
    check_created_state,
    check_link,
    check_revision,
    check_supersede,
    choice_of,
    counted_by_confirm,
    may_forget_at_once,
)
from tests.lifecycle.machine import Seen
from tests.lifecycle.model import Change, Json, Model, Say
from tests.lifecycle.tables import FACT, KIND
from tests.lifecycle.talk import Cites, Speaker, text_of

ROLES: dict[Speaker, tuple[Any, Any]] = {
    "words": ("user", "person"),
    "bare": ("user", "person"),
    "proposal": ("assistant", "agent"),
    "agent": ("assistant", "agent"),
    "tool": ("tool", "automated"),
    "notice": ("user", "automated"),
}
SCOPES = (Scope("chat", "chat-1"), Scope("local_project", "/w/shop"))


@dataclass
class Kept:
    """One record as revisions, and what confirmed its head."""

    scope: Scope
    revisions: list[Revision]
    confirmed: list[str] = field(default_factory=list)
    is_hidden: bool = False


class Rules:
    """The pure rules behind the interface of a store."""

    def __init__(self) -> None:
        self.records: dict[str, Kept | None] = {}
        self.links: set[tuple[str, str, str]] = set()
        self.receipts: dict[str, tuple[Change, Json, tuple[str, ...]]] = {}
        self.edited: set[str] = set()
        self.ids = count(1)

    def apply(self, operation: str, change: Change, now: int) -> Json:
        try:
            if known := self.receipts.get(operation):
                return self._replay(known, change)
            receipt, records = getattr(self, f"_{change.action}")(change, now)
        except MashError as error:
            return {"error": error.as_json()}
        answer = {
            "operation_id": operation,
            "action": change.action,
            **receipt,
            "recorded_at": now,
            "replayed": False,
        }
        self.receipts[operation] = (change, answer, records)
        return answer

    def read(self, record_id: str, now: int) -> Seen | str:
        try:
            kept = self._kept(record_id)
        except MashError as error:
            return error.code
        body = kept.revisions[-1].body
        return Seen(
            len(kept.revisions),
            body.review,
            body.state,
            body.statement,
            self._status(kept, now),
            sum(message not in self.edited for message in kept.confirmed),
            self._is_conflicted(record_id, now),
        )

    def set_clock(self, now: int) -> None:
        """Each call brings its time along."""

    def edit(self, message: tuple[Speaker, int], is_changed: bool) -> None:
        assert is_changed == (_id(message) not in self.edited)
        self.edited ^= {_id(message)}

    def check(self, model: Model) -> None:
        """There is nothing more to read."""

    def _replay(self, known: tuple[Change, Json, tuple[str, ...]], change: Change) -> Json:
        first, answer, records = known
        if any((kept := self.records[i]) is None or kept.is_hidden for i in records):
            raise Forgotten
        if first != change:
            raise OperationConflict
        return {**answer, "replayed": True}

    def _create(self, change: Change, now: int) -> tuple[Json, tuple[str, ...]]:
        body, cited, scope = (
            body_of(change.say),
            self.cited(change.cites or ()),
            SCOPES[change.scope],
        )
        _need_evidence(cited)
        check_created_state(body)
        check_authority(body, cited)
        same = interpretation_hash(scope, body)
        for record_id, kept in self.records.items():
            if kept is None or kept.is_hidden or kept.revisions[-1].body.is_retired:
                continue
            if interpretation_hash(kept.scope, kept.revisions[-1].body) == same:
                revision = len(kept.revisions)
                if not change.reuse:
                    raise DuplicateRecord(id=record_id, revision=revision)
                return {"id": record_id, "revision": revision, "reused": True}, (record_id,)
        record_id = self._insert(scope, body, cited, now)
        return {"id": record_id, "revision": 1, "reused": False}, (record_id,)

    def _revise(self, change: Change, now: int) -> tuple[Json, tuple[str, ...]]:
        kept, body, cited = (
            self._expected(change),
            body_of(change.say),
            self.cited(change.cites or ()),
        )
        _need_evidence(cited)
        check_revision(kept.revisions[-1].body, body, cited)
        number = len(kept.revisions) + 1
        kept.revisions.append(Revision(number, body, now, _evidence(cited)))
        kept.confirmed = []
        return {"id": change.record, "revision": number}, (change.record,)

    def _supersede(self, change: Change, now: int) -> tuple[Json, tuple[str, ...]]:
        kept, body, cited = (
            self._expected(change),
            body_of(change.say),
            self.cited(change.cites or ()),
        )
        _need_evidence(cited)
        head = kept.revisions[-1]
        check_supersede(head.body, body, cited)
        retired = Revision(
            head.revision + 1, head.body._replace(state="superseded"), now, head.evidence
        )
        kept.revisions.append(retired)
        kept.confirmed = []
        new = self._insert(kept.scope, body, cited, now)
        self.links.add((new, change.record, "supersedes"))
        old = {"id": change.record, "revision": retired.revision}
        return {"id": new, "revision": 1, "superseded": old}, (new,)

    def _confirm(self, change: Change, now: int) -> tuple[Json, tuple[str, ...]]:
        kept, cited = self._expected(change), self.cited(change.cites or ())
        _need_evidence(cited)
        counted = counted_by_confirm(kept.revisions[-1], self._status(kept, now), cited)
        new = [message for message in counted if message not in kept.confirmed]
        kept.confirmed += new
        receipt = {
            "id": change.record,
            "revision": len(kept.revisions),
            "confirmations_added": len(new),
            "confirmations_total": sum(m not in self.edited for m in kept.confirmed),
        }
        return receipt, (change.record,)

    def _forget(self, change: Change, _now: int) -> tuple[Json, tuple[str, ...]]:
        kept, cited = self._expected(change), self.cited(change.cites or ())
        if may_forget_at_once(kept.revisions[-1].body, cited):
            self.records[change.record] = None
            self.links = {link for link in self.links if change.record not in link}
        else:
            kept.is_hidden = True
        return {"id": change.record, "revision": len(kept.revisions), "forgotten": True}, ()

    def _link(self, change: Change, now: int) -> tuple[Json, tuple[str, ...]]:
        source, target = self._expected(change), self._expected_target(change)
        check_link(
            self._end(change.record, source, now),
            self._end(change.target, target, now),
            change.relation,
            "me",
        )
        link = (change.record, change.target, change.relation)
        reused = link in self.links
        self.links.add(link)
        return {**self._linked(change), "reused": reused}, (change.record, change.target)

    def _end(self, record_id: str, kept: Kept, now: int) -> End:
        body = kept.revisions[-1].body
        whose = choice_of(body.kind, body.decided_by)
        return End(record_id, "me", kept.scope, self._status(kept, now), whose)

    def _unlink(self, change: Change, _now: int) -> tuple[Json, tuple[str, ...]]:
        self._expected(change)
        self._expected_target(change)
        link = (change.record, change.target, change.relation)
        if link not in self.links:
            raise NotFound
        self.links.remove(link)
        return self._linked(change), (change.record, change.target)

    def _linked(self, change: Change) -> Json:
        return {
            "id": change.record,
            "revision": change.revision,
            "target": {"id": change.target, "revision": change.target_revision},
            "relation": change.relation,
        }

    def _insert(self, scope: Scope, body: Body, cited: Sequence[Cited], now: int) -> str:
        record_id = f"r{next(self.ids)}"
        self.records[record_id] = Kept(scope, [Revision(1, body, now, _evidence(cited))])
        return record_id

    def _kept(self, record_id: str) -> Kept:
        if record_id not in self.records:
            raise NotFound
        kept = self.records[record_id]
        if kept is None or kept.is_hidden:
            raise Forgotten
        return kept

    def _expected(self, change: Change) -> Kept:
        return self._at(change.record, change.revision)

    def _expected_target(self, change: Change) -> Kept:
        return self._at(change.target, change.target_revision)

    def _at(self, record_id: str, revision: int) -> Kept:
        kept = self._kept(record_id)
        if len(kept.revisions) != revision:
            raise RevisionConflict(current_revision=len(kept.revisions))
        return kept

    def _status(self, kept: Kept, now: int) -> RecordStatus:
        head = kept.revisions[-1]
        stale = any(self._evidence_status(e) != "matching" for e in head.evidence)
        return status_of_record(_in_force(head.body, now), stale, head.body.review)

    def _evidence_status(self, evidence: Evidence) -> str:
        text = "Other words." if evidence.message_id in self.edited else evidence.message_text
        return status_of(evidence, text, evidence.role, evidence.author)

    def _is_conflicted(self, record_id: str, now: int) -> bool:
        for *ends, relation in self.links:
            if relation == "contradicts" and record_id in ends:
                kept = [self.records[end] for end in ends]
                if all(
                    k and not k.is_hidden and _in_force(k.revisions[-1].body, now) for k in kept
                ):
                    return True
        return False

    def cited(self, cites: Cites) -> list[Cited]:
        """The citations as they are found; raises what is wrong with them."""
        found = []
        for cite in cites:
            if _id(cite.message) in self.edited:
                raise QuoteNotFound
            role, author = ROLES[cite.speaker]
            if cite.purpose == "endorsement" and author != "person":
                raise EndorsementNotByPerson
            text = text_of(*cite.message)
            evidence = Evidence("chat-1", _id(cite.message), text, cite.purpose, role, author, text)
            before = _id(("proposal", cite.round)) if cite.speaker == "bare" else None
            found.append(Cited(evidence, author == "person", before))
        return found


def _id(message: tuple[Speaker, int]) -> str:
    return f"{message[0]}-{message[1]}"


def _need_evidence(cited: Sequence[Cited]) -> None:
    """As the tool's schema does: a change without a citation never comes to the rules."""
    if not cited:
        raise EvidenceRequired


def _evidence(cited: Sequence[Cited]) -> tuple[Evidence, ...]:
    return tuple(c.evidence for c in cited)


def _in_force(body: Body, now: int) -> bool:
    return is_in_force(body.is_retired, body.effective_at, body.valid_until, now)


def body_of(say: Say | None) -> Body:
    """What a request says, as the rules see it."""
    assert say
    return Body(
        kind=KIND[say.table],  # type: ignore[arg-type]
        state=say.state,  # type: ignore[arg-type]
        statement=say.statement,
        recorded_by="agent",
        review=say.review,  # type: ignore[arg-type]
        effective_at=say.effective_at,
        decided_by="agent" if say.table == "7.2" else None,
        reported_by="The page" if say.table == FACT else None,
        valid_until=say.valid_until,
    )
