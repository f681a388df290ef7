"""Published copies as results show them: somebody else's text, of which nothing is believed.

A row that no record of ours can be is left out; a text is cut where ours end, and loses what
nobody sees: escape sequences, direction marks, tag characters.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, get_args

from mash_plugin.memory.items import item_of, status_of_head
from mash_plugin.memory.masking import Masking
from mash_plugin.records.model import (
    LIVE_STATES,
    RETIRED_STATES,
    Author,
    Body,
    Evidence,
    EvidenceStatus,
    MessageRole,
    Purpose,
    Revision,
)
from mash_plugin.render.text import seen, shorten
from mash_plugin.store.records import Head

STATEMENT, LISTED, LISTED_TEXTS, NAME, REPORTER, QUOTE = 2000, 500, 16, 200, 300, 4000
"""The limits of our own records, which a published row need not keep."""
HEAD_COLUMNS = 15
Row = Sequence[Any]
Item = dict[str, Any]
Said = TypeVar("Said", bound=str)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Copy(NamedTuple):
    """One record as a node published it."""

    node_id: str
    owner: str
    head: Head
    revision: Revision
    is_contradicted: bool
    """Whether it contradicts, or is contradicted by, a copy of the same node that is in force."""

    def item(self, reader: str, now: int, shown: Masking) -> Item:
        """What a list or a page shows of it, with whose it is."""
        status = status_of_head(self.head, now)
        is_conflicted = self.is_contradicted and status != "inactive"
        item = item_of(self.head, self.revision, status, is_conflicted, shown)
        item |= {"owner": self.owner, "node_id": self.node_id}
        return (
            item if self.owner == reader else item | {"label": _label(self.owner, self.head.review)}
        )


def copy_of(node_id: str, row: Row) -> Copy | None:
    """The copy in a row of `heads`; None where it is none."""
    told, is_contradicted, wording = row[:HEAD_COLUMNS], row[HEAD_COLUMNS], row[HEAD_COLUMNS + 1 :]
    head = Head._make((*told, "", "", None))  # neither tokens nor hidden ones are read
    if wording[0] is None:  # its newest wording is not there
        return None
    revision = revision_of(head.kind, wording, ())
    if revision is None or not _ID.fullmatch(head.id):
        return None
    body = revision.body
    said = (body.review, body.state, body.decided_by, body.effective_at, body.valid_until)
    copied = (head.review, head.state, head.decided_by, head.effective_at, head.valid_until)
    if said != copied or body.is_retired != bool(head.retired):
        return None
    return Copy(node_id, head.owner, head, revision, bool(is_contradicted))


def revision_of(kind: str, row: Row, evidence: Sequence[Evidence]) -> Revision | None:
    """The wording in a row of `revisions`; None where no record of that kind can say so."""
    number, statement, recorded_by, review, state, decided_by, begins, ends = row[:8]
    reporter, *lists, recorded_at, origin = row[8:]
    known = next((one for one in LIVE_STATES if one == kind), None)
    if known is None or not inert(statement):
        return None
    if state not in LIVE_STATES[known] + RETIRED_STATES[known]:
        return None
    alternatives, consequences, conditions = map(_texts, lists)
    body = Body(
        kind=known,
        state=state,
        statement=inert(statement),
        recorded_by=inert(recorded_by, NAME),
        review=review,
        effective_at=begins,
        decided_by=decided_by,
        alternatives=alternatives,
        consequences=consequences,
        conditions=conditions,
        reported_by=inert(reporter, REPORTER) if reporter else None,
        valid_until=ends,
    )
    return Revision(number, body, recorded_at, tuple(evidence), None, origin)


def evidence_of(row: Row) -> Evidence:
    """The citation in a row of `evidence`; a word that we do not know counts as unknown."""
    chat_id, message_id, quote, purpose, role, author, status, added_by, recorded_at = row
    return Evidence(
        inert(chat_id, NAME),
        inert(message_id, NAME),
        inert(quote, QUOTE),
        _one_of(purpose, get_args(Purpose), "unknown"),
        _one_of(role, get_args(MessageRole), "unknown"),
        _one_of(author, get_args(Author), "unknown"),
        "",
        _one_of(status, get_args(EvidenceStatus), "missing"),
        added_by,
        recorded_at,
    )


def _label(owner: str, review: str) -> str:
    if review == "candidate":
        return f"from {owner}, not from this person; unconfirmed"
    return f"established by {owner}, not by this person"


def inert(text: str, limit: int = STATEMENT) -> str:
    """The text without what nobody sees, and no longer than ours are."""
    return shorten(seen(text).strip(), limit)


def _texts(listed: str | None) -> tuple[str, ...]:
    try:
        found = json.loads(listed) if listed else ()
    except (ValueError, RecursionError):
        return ()
    texts = found if isinstance(found, list) else ()
    return tuple(inert(text, LISTED) for text in texts[:LISTED_TEXTS] if isinstance(text, str))


def _one_of(said: str, known: Sequence[Said], other: Said) -> Said:
    return next((word for word in known if word == said), other)
