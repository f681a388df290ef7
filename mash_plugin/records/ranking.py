"""The order of recall: matching words, tiers, bounded boosts."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mash_plugin.spellings import Spellings

DAY_MS = 86_400_000
TEXT_POINTS = 1000
WEAK_SHARE = 0.5
CONFIRMATION_POINTS, MOST_CONFIRMATIONS = 25, 4
RECENCY_POINTS, RECENCY_DAYS = 100, 90
BRANCH_POINTS = 60
CITED_POINTS, CITED_DAYS = 40, 7
"""At the start of a session, together as much as a boost of recall."""


class Ranked(NamedTuple):
    """What ranking needs to know of one record of the window; made 256 times in every recall."""

    id: str
    tier: int
    recorded_at: int
    confirmations: int
    is_agents_decision: bool
    strong_tokens: str
    """Words of the statement and the details, a space between."""
    weak_tokens: str
    """Words of the quotes."""


Standing = tuple[int, bool, int, int, str]
"""Sorts records: tier, the agent's after the person's, points, newest, ID."""
Placed = tuple[Standing, Ranked]


class Boosts(NamedTuple):
    """Points beside those for words: all together never outweigh a tier."""

    confirmations: int
    recency: int


class StartBoosts(NamedTuple):
    """What brings a record forward when a session starts."""

    branch_file: str | None
    """A file that the branch changes and the record names."""
    is_cited: bool
    """Whether it was cited or confirmed of late."""

    @property
    def parts(self) -> tuple[int, int]:
        """The points for each."""
        return BRANCH_POINTS * (self.branch_file is not None), CITED_POINTS * self.is_cited

    @property
    def points(self) -> int:
        return sum(self.parts)


def rank_records(
    window: Sequence[Placed], query_terms: Sequence[str], now: int
) -> tuple[list[Placed], list[Placed]]:
    """The relevant records and the rest, each best first; without terms all are relevant.

    The order is total: tier, the person's before the agent's inside the current tier, points,
    newest, ID.
    """
    if not query_terms:
        return sorted(window), []
    hits = _text_points([record for _, record in window], query_terms)
    pairs = list(zip(window, hits, strict=True))
    relevant = [(standing(r, now, points), r) for (_, r), points in pairs if points]
    return sorted(relevant), sorted(placed for placed, points in pairs if not points)


def boosts(record: Ranked, now: int) -> Boosts:
    """Points for confirmations and for a recent head: at most 100 each (R-075)."""
    confirmed = CONFIRMATION_POINTS * min(record.confirmations, MOST_CONFIRMATIONS)
    age_days = max(0, now - record.recorded_at) / DAY_MS
    return Boosts(confirmed, round(RECENCY_POINTS * max(0.0, 1 - age_days / RECENCY_DAYS)))


def cited_until(record: Ranked, confirmed_at: int | None) -> int:
    """Until when a record counts as cited of late."""
    return max(record.recorded_at, confirmed_at or 0) + CITED_DAYS * DAY_MS


def standings_change_at(window: Iterable[Ranked], now: int) -> int | None:
    """When the first of these records loses a point of its recency; None when none has any."""
    return min((at for r in window if (at := _loses_point_at(r, now)) is not None), default=None)


def _loses_point_at(record: Ranked, now: int) -> int | None:
    age = now - record.recorded_at
    points = round(RECENCY_POINTS * max(0.0, 1 - max(0, age) / DAY_MS / RECENCY_DAYS))
    if not points:
        return None
    # `round` gives this many points down to half a point less.
    last_age = RECENCY_DAYS * DAY_MS * (1 - (points - 0.5) / RECENCY_POINTS)
    return max(now + 1, record.recorded_at + math.floor(last_age))


def standing(record: Ranked, now: int, more_points: int = 0) -> Standing:
    """The place of one record in the order."""
    agents_last = record.tier == 0 and record.is_agents_decision
    points = more_points + sum(boosts(record, now))
    return (record.tier, agents_last, -points, -record.recorded_at, record.id)


def raised(place: Standing, points: int) -> Standing:
    """The place of the same record with more points."""
    tier, agents_last, minus_points, minus_recorded, record_id = place
    return (tier, agents_last, minus_points - points, minus_recorded, record_id)


def _text_points(window: Sequence[Ranked], terms: Sequence[str]) -> list[int]:
    """0 to 1000 for each record; at least 1 where a word matches."""
    from mash_plugin.spellings import spellings  # not before a hook's first answer

    distinct = tuple(dict.fromkeys(terms))
    held = [(r.strong_tokens.split(" "), r.weak_tokens.split(" ")) for r in window]
    wanted = spellings(distinct, set(chain.from_iterable(chain.from_iterable(held))))
    shares = [_matches(strong, weak, wanted) for strong, weak in held]
    weights = {
        term: math.log(1 + len(window) / (1 + sum(term in share for share in shares)))
        for term in distinct
    }
    total = sum(weights.values())
    return [
        max(
            1,
            round(TEXT_POINTS * sum(weights[t] * share[t] for t in distinct if t in share) / total),
        )
        if share
        else 0
        for share in shares
    ]


def _matches(strong: list[str], weak: list[str], wanted: "Spellings") -> dict[str, float]:
    fully = wanted.held_by(frozenset(strong))
    half = wanted.held_by(frozenset(weak)) - fully
    return dict.fromkeys(fully, 1.0) | dict.fromkeys(half, WEAK_SHARE)
