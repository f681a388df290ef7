"""What a record becomes by the person's own hand, at the terminal. Pure.

Nobody else's authority is asked for: whoever calls these knows that the person is there.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from mash_plugin.errors import InvalidArgument, InvalidState, InvalidTransition
from mash_plugin.records.evidence import is_fresh
from mash_plugin.records.model import Body, Evidence

THE_PERSON = "the person at the terminal"
"""Who recorded a wording that was typed there."""


class Saved(NamedTuple):
    """Who saved one revision, in the order of the revisions."""

    revision: int
    session_id: str | None
    origin: Literal["tool", "terminal"]


class TakenBack(NamedTuple):
    """What becomes of a record when everything that a session saved is taken back."""

    action: Literal["withdraw", "restore", "keep"]
    revision: int | None = None
    """The wording that comes back, or the later one for which the record is kept."""


def established(head: Body, is_stale: bool = False) -> Body:
    """The record as the person's own settled choice; a proposal is accepted by it.

    Stale: its quotes changed since, so that there is something to do even where it is settled.
    Raises InvalidTransition or InvalidState.
    """
    if head.is_retired:
        raise InvalidTransition(
            f"The record is {head.state}; going back to it is a new record, with its own words."
        )
    new = head._replace(review="established")
    if head.kind == "decision":
        new = new._replace(state="accepted", decided_by=head.decided_by and "person")
    if new == head and not is_stale:
        raise InvalidState("The record is established already, as yours; nothing is left to do.")
    return new


def reworded(head: Body, statement: str, is_stale: bool = False) -> Body:
    """The record with another statement and all else as it was; raises InvalidArgument."""
    if statement == head.statement:
        is_out = is_stale and not head.is_retired
        back = " `mash establish ID` brings it back as it is." if is_out else ""
        raise InvalidArgument(f"The statement is the same as before; nothing was changed.{back}")
    return head._replace(statement=statement, recorded_by=THE_PERSON)


def still_cited(new: Body, cited: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """What a wording by the person's hand rests on beside that hand.

    What is settled by it needs no words that changed since: they stay with the earlier wordings.
    """
    is_settled = new.review == "established" and not new.is_retired and new.decided_by != "agent"
    own = (e for e in cited if e.added_by == "revision")
    return tuple(e for e in own if is_fresh(e) or not is_settled)


def withdrawn(head: Body) -> Body:
    """The record out of force; raises InvalidTransition."""
    if head.is_retired:
        raise InvalidTransition(f"The record is {head.state} already.")
    return head._replace(state="retracted" if head.kind == "fact" else "withdrawn")


def taken_back(saved: Sequence[Saved], session_id: str, is_retired: bool) -> TakenBack:
    """What to do with a record of which the session saved at least one revision."""
    head = saved[-1]
    if head.session_id != session_id:
        return TakenBack("keep", head.revision)
    others = [one.revision for one in saved if one.session_id != session_id]
    if others:
        return TakenBack("restore", others[-1])
    return TakenBack("keep", head.revision) if is_retired else TakenBack("withdraw")
