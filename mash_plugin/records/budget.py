"""Fit items into a count and a number of bytes."""

from collections.abc import Callable, Iterable
from itertools import chain, repeat
from typing import Any, Literal, TypeVar

from mash_plugin.compact_json import compact_json

Source = TypeVar("Source")
Item = dict[str, Any]
PAGE_BYTES = 32_768
"""What a tool gives on one page at most."""
Outcome = Literal["shown", "limit", "budget", "suspicious", "damaged"]
"""What becomes of a record: in the packet, no place left, too long, or not to be shown."""


def pack(
    relevant: Iterable[Source],
    rest: Iterable[Source],
    to_item: Callable[[Source], Item | Outcome],
    least_size: Callable[[Source], int],
    limit: int,
    byte_budget: int,
    scan_limited: bool,
    note: Callable[[Source, Outcome], None],
) -> Item:
    """The packet: whole items in order, then the best of the rest marked `matched: false`.

    What does not fit is skipped, smaller ones after it may still fit. Only a relevant record
    that was left out sets `truncated`. `to_item` tells why a record cannot be shown;
    `least_size` tells cheaply what surely does not fit; it is asked once something did not.
    `note` hears what became of each record, up to the first without a place.
    """
    # The value `false` is one byte longer than `true`, so the final result can only be shorter.
    size = size_of({"records": [], "truncated": False, "scan_limited": False})
    chosen: list[Item] = []
    left_out = {True: False, False: False}
    for source, is_relevant in chain(zip(relevant, repeat(True)), zip(rest, repeat(False))):
        if len(chosen) == limit:
            note(source, "limit")
            left_out[is_relevant] = True
            break
        outcome: Outcome = "budget"
        if not any(left_out.values()) or size + least_size(source) <= byte_budget:
            item = to_item(source)
            if isinstance(item, str):
                note(source, item)
                continue
            item |= {} if is_relevant else {"matched": False}
            if (grown := size + size_of(item) + bool(chosen)) <= byte_budget:
                outcome, size = "shown", grown
                chosen.append(item)
        note(source, outcome)
        left_out[is_relevant] |= outcome != "shown"
    return {"records": chosen, "truncated": left_out[True], "scan_limited": scan_limited}


def page(
    items: Iterable[Item], limit: int, byte_budget: int, envelope: Item
) -> tuple[list[Item], bool]:
    """As many whole items as fit, at least one, and whether all were taken (R-098)."""
    size = size_of(envelope)
    chosen: list[Item] = []
    for item in items:
        cost = size_of(item) + bool(chosen)
        if len(chosen) == limit or (chosen and size + cost > byte_budget):
            return chosen, False
        chosen.append(item)
        size += cost
    return chosen, True


def size_of(value: object) -> int:
    """Bytes of the compact JSON: non-ASCII characters as themselves."""
    return len(compact_json(value).encode())
