"""Figures by group, as both judges of `scripts/judge` tell them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Json = dict[str, Any]
Case = TypeVar("Case")


def grouped(
    cases: Sequence[Case], group_of: Callable[[Case], str], score: Callable[[Sequence[Case]], Json]
) -> dict[str, Json]:
    """The figures of each group, the largest first."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(group_of(case), []).append(case)
    return {name: score(groups[name]) for name in sorted(groups, key=lambda n: -len(groups[n]))}


def ratio(part: int, whole: int) -> float | None:
    """Rounded to three places; None where there is nothing to divide by."""
    return round(part / whole, 3) if whole else None
