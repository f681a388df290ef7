"""The window of a scope, kept while nothing that recall answers from can have changed.

Hooks ask for the same few scopes again and again; fetching and preparing 256 heads is most of
what an answer costs.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from mash_plugin.memory.items import status_of_head
from mash_plugin.records.lifecycle import tier_of
from mash_plugin.records.model import Revision, Scope
from mash_plugin.records.ranking import (
    Placed,
    Ranked,
    StartBoosts,
    standing,
    standings_change_at,
)
from mash_plugin.store.records import (
    Head,
    conflicted_among,
    owner_and_version,
    window,
    window_changes_at,
)
from mash_plugin.store.sqlite import Connection

WINDOW = 256
KEPT = 16
"""Windows in memory: about 150 KB each when full."""
Files = tuple[str, ...]


class StartOrder(NamedTuple):
    """A window in the order of a session's start, and why; it holds until a moment."""

    ordered: list[Placed]
    boosts: dict[str, StartBoosts]
    since: int
    until: int | None

    def holds(self, now: int) -> bool:
        return self.since <= now and (self.until is None or now < self.until)


class Window(NamedTuple):
    """The newest heads of one scope that recall may return, best first."""

    heads: dict[str, Head]
    ordered: list[Placed]
    conflicts: frozenset[str]
    scan_limited: bool
    text: str
    """The words of all records in this order, a line each: one look finds those with a word."""
    starts: list[int]
    """Where each record's line begins."""
    revisions: dict[str, Revision]
    """Heads that were read, and found undamaged, since the window was made."""
    start_orders: dict[Files, StartOrder]
    """The order for each set of files that a branch changed when a session started."""

    def holding(self, parts: Sequence[str]) -> list[Placed]:
        """Those records whose words hold all these words; the rarest word should come first."""
        if not parts:
            return self.ordered
        found = []
        at = self.text.find(parts[0])
        while at >= 0:
            number = bisect_right(self.starts, at) - 1
            _, ranked = self.ordered[number]
            if {*ranked.strong_tokens.split(), *ranked.weak_tokens.split()}.issuperset(parts):
                found.append(self.ordered[number])
            at = self.text.find(parts[0], self.starts[number + 1])
        return found


class _Kept(NamedTuple):
    """A window and when it is what reading it again would give."""

    window: Window
    version: int
    since: int
    until: int | None

    def holds(self, version: int, now: int) -> bool:
        is_in_time = self.since <= now and (self.until is None or now < self.until)
        return version == self.version and is_in_time


class Windows:
    """The windows of default recall that were asked for last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Scope], _Kept] = {}

    def find(self, db: Connection, scopes: Iterable[Scope], now: int) -> list[Window]:
        """The windows of these scopes at this moment, in the snapshot of `db`."""
        owner, version = owner_and_version(db)
        return [self._get(db, owner, version, scope, now) for scope in scopes]

    def _get(self, db: Connection, owner: str, version: int, scope: Scope, now: int) -> Window:
        kept = self._kept.get((owner, scope))
        if kept is not None and kept.holds(version, now):
            return kept.window
        made = current_window(db, owner, scope, now)
        if len(self._kept) >= KEPT:
            self._kept.clear()
        changes = (
            window_changes_at(db, owner, scope, now),
            standings_change_at((ranked for _, ranked in made.ordered), now),
        )
        until = min((at for at in changes if at is not None), default=None)
        self._kept[owner, scope] = _Kept(made, version, now, until)
        return made


def current_window(db: Connection, owner: str, scope: Scope, now: int) -> Window:
    """What default recall may return: in force, fresh and without conflict."""
    found = window(db, owner, scope, now, WINDOW + 1, include_review=False)
    return prepared(found, frozenset(), now)


def review_window(db: Connection, owner: str, scope: Scope, now: int) -> Window:
    """All records of a scope, those included that need a review."""
    found = window(db, owner, scope, now, WINDOW + 1, include_review=True)
    return prepared(found, conflicted_among(db, [head.id for head in found], now), now)


def prepared(found: Sequence[Head], conflicts: frozenset[str], now: int) -> Window:
    """The window of these heads, the newest first, of which the first 256 count."""
    heads = {head.id: head for head in found[:WINDOW]}
    all_ranked = [_ranked(head, head.id in conflicts, now) for head in heads.values()]
    ordered = sorted((standing(ranked, now), ranked) for ranked in all_ranked)
    lines = [f"{ranked.strong_tokens} {ranked.weak_tokens}\n" for _, ranked in ordered]
    starts = [0, *accumulate(map(len, lines))]
    return Window(heads, ordered, conflicts, len(found) > WINDOW, "".join(lines), starts, {}, {})


def _ranked(head: Head, conflicted: bool, now: int) -> Ranked:
    return Ranked(
        head.id,
        tier_of(status_of_head(head, now), conflicted),
        head.recorded_at,
        head.confirmations,
        head.decided_by == "agent",
        head.strong_tokens,
        head.weak_tokens,
    )
