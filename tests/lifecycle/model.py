"""What a store must do, kept in dictionaries: records, evidence, links, receipts and the clock.

Written from the specification (sections 3.3, 3.5 to 3.7 and 7), not from the code. It judges a
change before the tested system sees it, and takes over what must have happened.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tests.lifecycle.tables import AGENT, FACT, KIND, LIVE, PERSON, PREFERENCE, Standing, rows_for
from tests.lifecycle.talk import Cite, Cites, Speaker, misattributed, says_to_what, want_of

Json = dict[str, Any]
Action = Literal["create", "revise", "supersede", "confirm", "forget", "link", "unlink"]
PURGE_MS = 24 * 3_600_000


class Say(NamedTuple):
    """A body, as far as the rules look at it."""

    table: str
    review: str
    state: str
    statement: str
    effective_at: int | None = None
    valid_until: int | None = None

    @property
    def standing(self) -> Standing:
        return Standing(self.table, self.review, self.state)

    @property
    def is_live(self) -> bool:
        return self.state in LIVE[self.table]

    def as_json(self) -> Json:
        """The body of a request."""
        details: Json = {"kind": KIND[self.table], "state": self.state}
        if self.table == "7.2":
            details["decided_by"] = "agent"
        if self.table == FACT:
            details["reported_by"] = "The page"
        if self.valid_until is not None:
            details["valid_until"] = self.valid_until
        body: Json = {"statement": self.statement, "review": self.review, "details": details}
        return body if self.effective_at is None else {**body, "effective_at": self.effective_at}


class Change(NamedTuple):
    """One change; which fields count depends on the action."""

    action: Action
    scope: int = 0
    record: str = ""
    revision: int = 0
    say: Say | None = None
    cites: Cites | None = None
    target: str = ""
    target_revision: int = 0
    relation: str = ""
    reuse: bool = False


class Verdict(NamedTuple):
    """What must come of a change: refused with one of the codes, or done when there are none."""

    codes: frozenset[str]
    row: str


@dataclass
class Revised:
    """One revision with the messages that confirmed it and when."""

    say: Say
    cites: Cites
    at: int
    confirmed: dict[tuple[Speaker, int], int] = field(default_factory=dict)
    supports: set[Cite] = field(default_factory=set)
    """What confirmations cited, counted or not."""


@dataclass
class Record:
    """One record that is known to the store."""

    scope: int
    revisions: list[Revised]
    hidden_at: int | None = None

    @property
    def head(self) -> Revised:
        return self.revisions[-1]

    @property
    def say(self) -> Say:
        return self.head.say


@dataclass
class Receipt:
    """What was answered to an operation, for its retries."""

    change: Change
    answer: Json | None
    records: tuple[str, ...]


class Model:
    """One store that keeps every rule."""

    def __init__(self, now: int, taken: Counter[str]) -> None:
        self.now, self.taken = now, taken
        self.records: dict[str, Record] = {}
        self.gone: dict[str, None] = {}
        self.links: dict[tuple[str, str, str], int] = {}
        self.receipts: dict[str, Receipt] = {}
        self.changed: set[tuple[Speaker, int]] = set()
        """Messages whose words were edited after they were cited."""

    # What a record looks like now

    def seen(self) -> list[str]:
        """The records that can be read."""
        return [i for i, record in self.records.items() if record.hidden_at is None]

    def why_not_current(self, record: Record) -> str | None:
        """The reason of table 7.5 that comes first, None for an established current record."""
        say = record.say
        if not say.is_live:
            return "retired"
        if say.valid_until is not None and say.valid_until <= self.now:
            return "expired"
        if say.effective_at is not None and say.effective_at > self.now:
            return "not begun"
        if any(c.message in self.changed for c in record.head.cites):
            return "stale"
        return "candidate" if say.review == "candidate" else None

    def is_in_force(self, record: Record) -> bool:
        return self.why_not_current(record) not in ("retired", "expired", "not begun")

    def status(self, record: Record) -> str:
        """The derived status (7.5)."""
        why = self.why_not_current(record)
        if why == "stale":
            return "stale_evidence"
        if why in (None, "candidate"):
            return why or "current"
        return "inactive"

    def is_conflicted(self, record_id: str) -> bool:
        """Whether a contradiction with it has both ends in force."""
        return any(
            relation == "contradicts"
            and record_id in (source, target)
            and self.is_in_force(self.records[source])
            and self.is_in_force(self.records[target])
            for source, target, relation in self.links
            if {source, target} <= set(self.seen())
        )

    def confirmations(self, record: Record) -> int:
        """Those whose words still stand."""
        return sum(message not in self.changed for message in record.head.confirmed)

    def duplicates(self, scope: int, say: Say) -> set[str]:
        """The live records that say exactly this (R-066 to R-070)."""
        return {
            i
            for i in self.seen()
            if self.records[i].scope == scope
            and self.records[i].say == say
            and self.records[i].say.is_live
        }

    def observe(self, record_id: str) -> None:
        """Count the status of a record as a row of table 7.5."""
        record = self.records[record_id]
        status, why = self.status(record), self.why_not_current(record)
        self.taken[f"7.5 {status}: {why}" if status == "inactive" else f"7.5 {status}"] += 1
        if self.is_conflicted(record_id):
            self.taken["7.5 conflicted"] += 1

    # What must come of a change

    def judge(self, change: Change) -> Verdict:
        """The verdict of the tables on a change."""
        lost = self._lost(change)
        judged = getattr(self, f"_judge_{change.action}")(change, not lost)
        assert isinstance(judged, Verdict)
        if not lost:
            return judged
        return Verdict(judged.codes | lost, f"{change.action} refused: {', '.join(sorted(lost))}")

    def _lost(self, change: Change) -> frozenset[str]:
        codes = set()
        ends = [(change.record, change.revision)]
        if change.action in ("link", "unlink"):
            ends.append((change.target, change.target_revision))
        for record_id, revision in ends if change.action != "create" else ():
            if record_id in self.gone:
                codes.add("forgotten")
            elif record_id not in self.records:
                codes.add("not_found")
            elif self.records[record_id].hidden_at is not None:
                codes.add("forgotten")
            elif len(self.records[record_id].revisions) != revision:
                codes.add("revision_conflict")
        return frozenset(codes)

    def _cited(self, change: Change) -> set[str]:
        """What is wrong with the citations themselves."""
        cites = change.cites or ()
        codes = set()
        if misattributed(cites):
            codes.add("endorsement_not_by_person")
        if any(c.message in self.changed for c in cites):
            codes.add("quote_not_found")
        return codes

    def _judge_create(self, change: Change, _known: bool) -> Verdict:
        assert change.say
        return self._moved(None, change)

    def _judge_revise(self, change: Change, known: bool) -> Verdict:
        assert change.say
        head = self.records[change.record].say.standing if known else None
        return self._moved(head, change) if known else self._unknown(change)

    def _judge_supersede(self, change: Change, known: bool) -> Verdict:
        return self._judge_revise(change, known)

    def _moved(self, head: Standing | None, change: Change) -> Verdict:
        assert change.say
        assert change.cites is not None
        new, cites = change.say.standing, change.cites
        codes = self._cited(change)
        rows = rows_for(head, change.action, new)
        what = f"{head.table if head else new.table} anything else: {change.action} is refused"
        name = rows[0].name if rows else what
        for row in rows:
            if row.needs == "never":
                codes.add(row.refused)
            elif want := want_of(row.needs, cites):
                codes.add(want)
        if change.action != "revise" and not change.say.is_live:
            codes.add("invalid_state")  # a record begins in a live state
        is_over = head is not None and head.state not in LIVE[head.table]
        if head and (not rows or (is_over and any(row.needs == "never" for row in rows))):
            codes.add("invalid_transition")
            if head and KIND[head.table] != KIND[new.table]:
                codes |= {"invalid_argument"}
        if (
            codes & {row.refused for row in rows}
            or not rows
            or any(row.needs == "never" for row in rows)
        ):
            codes |= self._body_wants(change)
        if change.action == "create" and not codes and self.duplicates(change.scope, change.say):
            if not change.reuse:
                codes.add("duplicate_record")
            name = f"3.7 duplicate: {'reuse' if change.reuse else 'report'}"
        return Verdict(frozenset(codes), name)

    def _unknown(self, change: Change) -> Verdict:
        codes = self._cited(change) | self._body_wants(change)
        return Verdict(frozenset(codes | {"invalid_transition", "invalid_state"}), "")

    def _body_wants(self, change: Change) -> set[str]:
        """What the new body lacks by itself: which fault is told first is not laid down."""
        assert change.say
        needs = "E0"
        if change.say.table == "7.2":
            needs = "EA"
        elif change.say.review == "established":
            needs = "PW" if change.say.table == FACT else "EP"
        want = want_of(needs, change.cites or ())
        return {want} if want else set()

    def _judge_confirm(self, change: Change, known: bool) -> Verdict:
        assert change.cites is not None
        codes = self._cited(change)
        record = self.records.get(change.record) if known else None
        wanted: set[str] = set()
        if not change.cites:
            wanted = {"evidence_required"}
        elif not self.counting(record, change.cites):
            wanted = {"endorsement_required", "evidence_required"}
        if record is None:
            return Verdict(frozenset(codes | wanted | {"not_current"}), "")
        table, why = record.say.table, self.why_not_current(record)
        if why:
            row = f"{table} {why}: confirm is refused"
            return Verdict(frozenset({"not_current"} | codes | wanted), row)
        return Verdict(frozenset(codes | wanted), f"{table} established, current: confirm")

    def counting(self, record: Record | None, cites: Cites) -> list[Cite]:
        """The citations that support a record of this kind (R-051)."""
        is_fact = record is not None and record.say.table == FACT
        return [
            c
            for c in cites
            if (c.purpose == "endorsement" and c.is_persons and says_to_what(c, cites))
            or (is_fact and c.purpose == "report")
        ]

    def _judge_forget(self, change: Change, known: bool) -> Verdict:
        codes = self._cited(change)
        if not known:
            return Verdict(frozenset(codes), "")
        say, cites = self.records[change.record].say, change.cites or ()
        if self._is_settled(say) and want_of("EP", cites) == "evidence_required" and cites:
            codes.add("evidence_required")  # a bare approval: to what?
        unasked = " unasked" if self._is_hidden_by(say, cites) else ""
        return Verdict(frozenset(codes), f"{say.table} {say.review}: forget{unasked}")

    def _is_settled(self, say: Say) -> bool:
        return say.table in (PERSON, PREFERENCE, FACT) and say.review == "established"

    def _is_hidden_by(self, say: Say, cites: Cites) -> bool:
        """Without the person's endorsement it is only put out of sight (decisions 3.6)."""
        return self._is_settled(say) and want_of("EP", cites) is not None

    def _judge_link(self, change: Change, known: bool) -> Verdict:
        if change.record == change.target:
            return Verdict(frozenset({"invalid_argument"}), "link to itself")
        if not known:
            return Verdict(frozenset({"link_endpoint_invalid"}), "")
        ends = [self.records[change.record], self.records[change.target]]
        wrong = [why for end in ends if (why := self.why_not_current(end))]
        if ends[0].scope != ends[1].scope:
            wrong.append("other scope")
        if wrong:
            return Verdict(frozenset({"link_endpoint_invalid"}), f"link refused: {wrong[0]}")
        if change.relation == "contradicts" and self._is_agent_against_person(ends):
            return Verdict(frozenset({"decided_by_person"}), "link refused: agent against person")
        again = " again" if self._link(change) in self.links else ""
        return Verdict(frozenset(), f"link{again}")

    def _is_agent_against_person(self, ends: list[Record]) -> bool:
        """The agent's choice never stands against the person's (T-08)."""
        tables = {end.say.table for end in ends}
        return AGENT in tables and bool(tables & {PERSON, PREFERENCE})

    def _judge_unlink(self, change: Change, known: bool) -> Verdict:
        if not known:
            return Verdict(frozenset({"not_found"}), "")
        if self._link(change) in self.links:
            return Verdict(frozenset(), "unlink")
        return Verdict(frozenset({"not_found"}), "unlink of none")

    def _link(self, change: Change) -> tuple[str, str, str]:
        return change.record, change.target, change.relation

    # What happens when it is done

    def settle(self, operation: str, change: Change, verdict: Verdict, answer: Json) -> None:
        """Compare an answer with the verdict, and take over what it did."""
        told = answer.get("error")
        where = f"{change} judged {verdict}, answered {answer}"
        if verdict.codes:
            assert told, where
            assert told["code"] in verdict.codes, where
            if told["code"] == "revision_conflict":
                self._check_told_revision(change, told)
            if told["code"] == "duplicate_record":
                assert change.say
                assert told["details"]["id"] in self.duplicates(change.scope, change.say), where
            self.taken[f"{verdict.row} [{told['code']}]"] += 1
            return
        assert not told, where
        assert answer["replayed"] is False, where
        assert answer["recorded_at"] == self.now, where
        assert answer["operation_id"] == operation, where
        assert answer["action"] == change.action, where
        touched = getattr(self, f"_do_{change.action}")(change, answer)
        self.receipts[operation] = Receipt(change, answer, touched)
        self.taken[verdict.row] += 1

    def _check_told_revision(self, change: Change, told: Json) -> None:
        current = told["details"]["current_revision"]
        ends = [i for i in (change.record, change.target) if i in self.records]
        assert current in {len(self.records[i].revisions) for i in ends}, told

    def retry(self, operation: str, answer: Json) -> None:
        """The same request again: its receipt, or nothing once its record is gone."""
        known = self.receipts[operation]
        if self._is_forgotten(known):
            assert answer["error"]["code"] == "forgotten", answer
            self.taken["3.6 retry after forgetting"] += 1
        else:
            assert answer == {**(known.answer or {}), "replayed": True}, (known, answer)
            self.taken["3.6 retry"] += 1

    def conflict(self, operation: str, answer: Json) -> None:
        """Another request under a known operation ID (R-062)."""
        is_gone = self._is_forgotten(self.receipts[operation])
        assert answer["error"]["code"] == ("forgotten" if is_gone else "operation_conflict"), answer
        self.taken["3.6 other request, same operation"] += 1

    def _is_forgotten(self, receipt: Receipt) -> bool:
        return receipt.answer is None or any(
            self.records[i].hidden_at is not None for i in receipt.records if i in self.records
        )

    def pass_time(self, milliseconds: int) -> None:
        """The clock goes on; what was hidden for a day is removed."""
        self.now += milliseconds
        for record_id, record in list(self.records.items()):
            if record.hidden_at is not None and record.hidden_at + PURGE_MS <= self.now:
                self._remove(record_id)
                self.taken["3.6 purged a day after an unasked forget"] += 1

    def _revised(self, change: Change) -> Revised:
        assert change.say
        return Revised(change.say, change.cites or (), self.now)

    def _do_create(self, change: Change, answer: Json) -> tuple[str, ...]:
        assert change.say
        same = self.duplicates(change.scope, change.say)
        assert answer["reused"] is bool(same), answer
        if same:
            assert answer["id"] in same, answer
            assert answer["revision"] == len(self.records[answer["id"]].revisions), answer
        else:
            assert answer["id"] not in self.records.keys() | self.gone.keys(), answer
            assert answer["revision"] == 1, answer
            self.records[answer["id"]] = Record(change.scope, [self._revised(change)])
        return (answer["id"],)

    def _do_revise(self, change: Change, answer: Json) -> tuple[str, ...]:
        record = self.records[change.record]
        record.revisions.append(self._revised(change))
        assert answer["id"] == change.record, answer
        assert answer["revision"] == len(record.revisions), answer
        return (change.record,)

    def _do_supersede(self, change: Change, answer: Json) -> tuple[str, ...]:
        old = self.records[change.record]
        old.revisions.append(
            Revised(old.say._replace(state="superseded"), old.head.cites, self.now)
        )
        assert answer["superseded"] == {"id": change.record, "revision": len(old.revisions)}, answer
        assert answer["id"] not in self.records.keys() | self.gone.keys(), answer
        assert answer["revision"] == 1, answer
        self.records[answer["id"]] = Record(old.scope, [self._revised(change)])
        self.links[(answer["id"], change.record, "supersedes")] = self.now
        return (answer["id"],)  # what the request said is in the new record alone

    def _do_confirm(self, change: Change, answer: Json) -> tuple[str, ...]:
        record = self.records[change.record]
        before = self.confirmations(record)
        known = {c.message for c in record.head.cites}
        for cite in self.counting(record, change.cites or ()):
            if cite.message not in known:
                record.head.confirmed.setdefault(cite.message, self.now)
        record.head.supports |= set(change.cites or ()) - set(record.head.cites)
        assert answer["revision"] == change.revision, answer
        assert answer["confirmations_total"] == self.confirmations(record), answer
        assert answer["confirmations_added"] == self.confirmations(record) - before, answer
        return (change.record,)

    def _do_forget(self, change: Change, answer: Json) -> tuple[str, ...]:
        record = self.records[change.record]
        assert answer["forgotten"] is True, answer
        assert answer["revision"] == change.revision, answer
        if self._is_hidden_by(record.say, change.cites or ()):
            record.hidden_at = self.now
        else:
            self._remove(change.record)
        return ()

    def _remove(self, record_id: str) -> None:
        del self.records[record_id]
        self.gone[record_id] = None
        self.links = {link: at for link, at in self.links.items() if record_id not in link}
        for receipt in self.receipts.values():
            if record_id in receipt.records:
                receipt.answer = None

    def _do_link(self, change: Change, answer: Json) -> tuple[str, ...]:
        assert answer["reused"] is (self._link(change) in self.links), answer
        self.links.setdefault(self._link(change), self.now)
        return self._linked(change, answer)

    def _do_unlink(self, change: Change, answer: Json) -> tuple[str, ...]:
        del self.links[self._link(change)]
        return self._linked(change, answer)

    def _linked(self, change: Change, answer: Json) -> tuple[str, ...]:
        assert answer["id"] == change.record, answer
        assert answer["revision"] == change.revision, answer
        assert answer["target"] == {"id": change.target, "revision": change.target_revision}, answer
        assert answer["relation"] == change.relation, answer
        return (change.record, change.target)
