"""Take the records of an export into the store: checked, and never one that was forgotten."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw

from mash_plugin.memory.drafts import tokens_of
from mash_plugin.privacy.credentials import credential_kind
from mash_plugin.privacy.spans import split_private
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import (
    LIVE_STATES,
    RETIRED_STATES,
    Body,
    Evidence,
    Kind,
    Revision,
    Scope,
)
from mash_plugin.store.changes import add_revision, insert_record, recompute_head
from mash_plugin.store.forgotten import has_mark
from mash_plugin.store.queries import load
from mash_plugin.store.records import get_head, is_forgotten
from mash_plugin.store.revision_rows import checksum_of, revision_row
from mash_plugin.store.sqlite import Connection
from mash_plugin.transfer.lines import Numbered
from mash_plugin.transfer.names import Names

MOST_CITATIONS = 32
RULE_CHARS = 120
MOST_ITEMS, ITEM_CHARS, NAME_CHARS = 16, 500, 300
_SCOPE = ("scope_kind", "scope_value")
_LISTS = ("alternatives", "consequences", "conditions")
_EVIDENCE = tuple(Evidence._fields)
_SQL = load("transfer")
Json = dict[str, Any]


class Gate(NamedTuple):
    """What may not come in; a store that comes back as itself is let in as it was."""

    is_open: bool
    extra_patterns: tuple[str, ...] = ()

    def problem(self, revision: Revision) -> str | None:
        """Why this revision may not be saved, without its text, or None."""
        if self.is_open:
            return None
        texts = (
            *revision.body.texts,
            revision.body.recorded_by,
            *(e.quote for e in revision.evidence),
        )
        for text in texts:
            if kind := credential_kind(text, self.extra_patterns):
                return f"holds a credential ({kind})"
            if split_private(text)[0] != text:
                return "holds a private span"
        return None


class RecordsIn:
    """Writes records with their revisions and links, inside one write of the store."""

    def __init__(self, db: Connection, names: Names, gate: Gate, import_id: str) -> None:
        self._db = db
        self._names = names
        self._gate = gate
        self._import_id = import_id
        self.new = self.known = self.forgotten = self.same = self.links = self.copies = 0
        """`copies`: of the new ones, those that the person has as records of their own."""
        self.supersedes: set[str] = set()
        self._gone: set[str] = set()
        """New IDs of records that are left out."""
        self._others: dict[str, str] = {}
        """New ID → the record of ours that says the same."""
        self._line: Numbered | None = None
        self._is_left_out = False
        self._revision = 0

    def record(self, here: Numbered) -> None:
        """Begin the next record."""
        self.finish()
        if here.line["kind"] not in LIVE_STATES:
            raise here.fault(f"a record is one of {', '.join(LIVE_STATES)}")
        self._line, self._is_left_out, self._revision = here, False, 0
        record_id = self._names.record(here.line["id"])
        is_gone = is_forgotten(self._db, here.line["id"]) or is_forgotten(self._db, record_id)
        if is_gone or self._is_hidden(here.line):
            self._leave_out(record_id)
        elif self._db.one(_SQL.import_of_record, {"record_id": record_id}) == (self._import_id,):
            raise here.fault(f"the record {here.line['id'][:80]!r} stands twice in the file")
        elif get_head(self._db, record_id):
            self.known += 1
            self._is_left_out = True

    def revision(self, here: Numbered) -> None:
        """Add the next revision of the record."""
        if self._line is None:
            raise here.fault("a revision stands before any record")
        self._revision += 1
        if here.line["revision"] != self._revision:
            raise here.fault(f"revision {self._revision} of its record should stand here")
        revision = revision_of(here, self._line.line["kind"])
        place = tuple(self._line.line[n] for n in ("id", "owner", "kind", *_SCOPE))
        if (
            checksum_of(place, revision_row(revision), revision.evidence).hex()
            != (here.line["checksum"])
        ):
            raise here.fault(f"the checksum of a revision of {place[0][:80]!r} does not hold")
        if problem := self._gate.problem(revision):
            raise here.fault(f"the record {place[0][:80]!r} {problem}")
        if not self._is_left_out:
            self._add(here, revision)

    def finish(self) -> None:
        """Bring the record to its end."""
        if self._line is None:
            return
        line = self._line.line
        if not self._revision:
            raise self._line.fault(f"the record {line['id'][:80]!r} has no revision")
        record_id = self._names.record(line["id"])
        if not self._is_left_out:
            recompute_head(self._db, record_id)
            if line["hidden_at"] is not None:
                key = {"hidden_at": line["hidden_at"], "hidden_by": line["hidden_by"]}
                self._db.run(_SQL.set_hidden, {"record_id": record_id, **key})
            self._drop_if_known(record_id)
            self.copies += self._is_copy(line["id"], record_id)
        self._line = None

    def link(self, here: Numbered) -> None:
        """Join two records of the file."""
        line = here.line
        ends = [self._names.record(line[name]) for name in ("from", "to")]
        if self._gone.intersection(ends):
            return
        ends = [self._others.get(end, end) for end in ends]
        for end, name in zip(ends, ("from", "to"), strict=True):
            if get_head(self._db, end) is None:
                raise here.fault(f"a link leads to {line[name][:80]!r}, which is not in the file")
        if ends[0] == ends[1] and line["from"] != line["to"]:
            return
        row = line | {"from": ends[0], "to": ends[1]}
        is_fresh = all(self._came_now(end) for end in ends)
        with constrained(here):
            is_new = self._db.run(_SQL.insert_link if is_fresh else _SQL.insert_known_link, row)
        self.links += is_new > 0
        if line["relation"] == "supersedes":
            self.supersedes.add(ends[0])

    def refuse_cycles(self, here: Numbered) -> None:
        """Raise when a record replaces itself by way of others."""
        for record_id in self.supersedes:
            if self._db.one(_SQL.supersedes_cycle, {"record_id": record_id}):
                raise here.fault("records supersede each other in a circle")

    def _add(self, here: Numbered, revision: Revision) -> None:
        assert self._line is not None  # noqa: S101 - `revision` has asked
        line = self._line.line
        record_id = self._names.record(line["id"])
        chats = {e.chat_id for e in revision.evidence}
        if line["scope_kind"] == "chat":
            chats.add(line["scope_value"])
        if any(has_mark(self._db, chat) for chat in chats):
            self._db.run(_SQL.drop_record, {"record_id": record_id})
            self._leave_out(record_id)
            return
        scope = Scope(line["scope_kind"], line["scope_value"])
        same = interpretation_hash(scope, revision.body)
        own = tuple(e for e in revision.evidence if e.added_by == "revision")
        tokens = tokens_of(revision._replace(evidence=own))
        with constrained(here):
            if revision.revision == 1:
                owner = self._names.owner(line["owner"])
                insert_record(self._db, record_id, owner, scope, revision, same, tokens)
                came = {"record_id": record_id, "import_id": self._import_id}
                self._db.run(_SQL.insert_imported, came)
                self.new += 1
            else:
                head = get_head(self._db, record_id)
                assert head is not None  # noqa: S101 - its first revision was just written
                add_revision(self._db, head, revision, same, tokens)
            for message_id, at, session in here.line["confirmations"]:
                key: Json = {"record_id": record_id, "revision": revision.revision}
                key |= {"message_id": message_id, "confirmed_at": at, "session_id": session}
                self._db.run(_SQL.insert_confirmation, key)

    def _drop_if_known(self, record_id: str) -> None:
        """Keep one of two records of the person that say the same (R-066)."""
        head = get_head(self._db, record_id)
        if self._names.mode != "mine" or head is None or head.retired:
            return
        other = self._db.one(_SQL.twins_of, {"record_id": record_id})
        if other is not None:
            self._db.run(_SQL.drop_record, {"record_id": record_id})
            self._others[record_id] = other[0]
            self.new -= 1
            self.same += 1

    def _is_copy(self, there: str, here: str) -> bool:
        """Whether another owner's record is the person's own too; both sets stay (R-162)."""
        if self._names.mode != "export":
            return False
        owner = self._names.identity.owner
        own = get_head(self._db, there)
        if own is not None and own.owner == owner:
            return True
        return self._db.one(_SQL.own_twin, {"record_id": here, "owner_id": owner}) is not None

    def _leave_out(self, record_id: str) -> None:
        if self._revision > 1:
            self.new -= 1
        self.forgotten += 1
        self._gone.add(record_id)
        self._is_left_out = True

    def _is_hidden(self, line: Mapping[str, Any]) -> bool:
        """Whether its removal was asked for there: only the store itself waits out the day."""
        return line["hidden_at"] is not None and self._names.mode != "identity"

    def _came_now(self, record_id: str) -> bool:
        found = self._db.one(_SQL.import_of_record, {"record_id": record_id})
        return found == (self._import_id,)


@contextmanager
def constrained(here: Numbered) -> Iterator[None]:
    """Tell what the tables' own rules refuse by the number of the line."""
    try:
        yield
    except (apsw.ConstraintError, apsw.MismatchError) as error:
        rule = " ".join(str(error).split())[:RULE_CHARS]
        raise here.fault(f"a rule of the store is broken ({rule})") from error


def revision_of(here: Numbered, kind: Kind) -> Revision:
    """The revision that a line tells. Raises InvalidArgument where no store has one like it."""
    line = here.line
    if line["state"] not in LIVE_STATES[kind] + RETIRED_STATES[kind]:
        raise here.fault(f"no {kind} is {line['state'][:20]!r}")
    # By the person's hand a later wording may stand where the quotes of the first have changed.
    least = 0 if line["origin"] == "terminal" and line["revision"] > 1 else 1
    cited = sum(e["added_by"] == "revision" for e in line["evidence"])
    if not least <= cited <= MOST_CITATIONS:
        raise here.fault(f"a revision has {least} to {MOST_CITATIONS} citations")
    lists: Json = {name: tuple(line[name]) for name in _LISTS}
    names = (line["recorded_by"], line["reported_by"] or "")
    if max(map(len, names)) > NAME_CHARS or any(
        len(texts) > MOST_ITEMS or max(map(len, texts), default=0) > ITEM_CHARS
        for texts in lists.values()
    ):
        raise here.fault("a text of a record is longer than any that mash saves")
    body = Body(
        kind=kind,
        **{n: line[n] for n in Body._fields if n in line and n not in _LISTS},
        **lists,
    )
    evidence = tuple(Evidence(**{name: e[name] for name in _EVIDENCE}) for e in line["evidence"])
    return Revision(
        line["revision"], body, line["recorded_at"], evidence, line["session_id"], line["origin"]
    )
