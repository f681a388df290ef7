"""The window of a scope, kept while nothing that recall answers from can have changed.

Hooks ask for the same few scopes again and again; fetching and preparing 256 heads is most of
what an answer costs.
"""

from typing import NamedTuple

from mash_plugin.memory.items import status_of_head
from mash_plugin.records.lifecycle import tier_of
from mash_plugin.records.model import Scope
from mash_plugin.records.ranking import Ranked
from mash_plugin.store.records import (
    Head,
    conflicted_among,
    record_version,
    window,
    window_changes_at,
)
from mash_plugin.store.sqlite import Connection

WINDOW = 256
KEPT = 16
"""Windows in memory: about 150 KB each when full."""


class Window(NamedTuple):
    """The newest heads of one scope that recall may return, ready to be ranked."""

    heads: dict[str, Head]
    ranked: list[Ranked]
    conflicts: frozenset[str]
    scan_limited: bool


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

    def get(self, db: Connection, owner: str, scope: Scope, now: int) -> Window:
        """The window of this moment, in the snapshot of `db`."""
        version = record_version(db)
        kept = self._kept.get((owner, scope))
        if kept is not None and kept.holds(version, now):
            return kept.window
        made = current_window(db, owner, scope, now)
        if len(self._kept) >= KEPT:
            self._kept.clear()
        until = window_changes_at(db, owner, scope, now)
        self._kept[owner, scope] = _Kept(made, version, now, until)
        return made


def current_window(db: Connection, owner: str, scope: Scope, now: int) -> Window:
    """What default recall may return: in force, fresh and without conflict."""
    found = window(db, owner, scope, now, WINDOW + 1, include_review=False)
    return _ready(found, frozenset(), now)


def review_window(db: Connection, owner: str, scope: Scope, now: int) -> Window:
    """All records of a scope, those included that need a review."""
    found = window(db, owner, scope, now, WINDOW + 1, include_review=True)
    return _ready(found, conflicted_among(db, [head.id for head in found], now), now)


def _ready(found: list[Head], conflicts: frozenset[str], now: int) -> Window:
    heads = {head.id: head for head in found[:WINDOW]}
    ranked = [_ranked(head, head.id in conflicts, now) for head in heads.values()]
    return Window(heads, ranked, conflicts, len(found) > WINDOW)


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
