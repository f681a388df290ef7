"""One page for others: a selection of records with their evidence and history, inert and masked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from markupsafe import Markup

from mash_plugin.dashboard import filters
from mash_plugin.dashboard.memory_pages import Step, steps_of
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import render
from mash_plugin.errors import InvalidArgument
from mash_plugin.memory.masking import Masking

PAGE = 200
MOST = 5_000
PLACE = ("after", "n")
"""Of an address: where in the list it stands."""
Json = dict[str, Any]


def selection_of(text: str) -> dict[str, str]:
    """The filters of an address or of its part behind `?`.

    Raises InvalidArgument for what is no filter: passed over, it would write too much.
    """
    query = text.partition("?")[2] if text.startswith(("http://", "/", "?")) else text
    found: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in PLACE or (name == "q" and not value):
            continue
        if name not in filters.NAMES or not value or name in found:
            raise InvalidArgument(
                f"--select cannot use '{name}={value}'; it takes each of"
                f" {', '.join(filters.NAMES)} once, such as 'kind=decision&scope=personal'."
            )
        found[name] = value
    return found


def export_page(place: Place, query: Mapping[str, str]) -> tuple[str, int]:
    """The page of everything that fits these filters, and how many records stand in it.

    Credentials are masked whatever the settings say. Raises InvalidArgument for too many records.
    """
    shown = Masking(is_on=True)
    request = filters.request_of(query, PAGE)
    records: list[tuple[Json, list[Step]]] = []
    while True:
        found = place.ask("view_records", request)
        if found["total"] > MOST:
            raise InvalidArgument(
                f"{found['total']} records fit; one page holds {MOST}. Select fewer, such as"
                " --select 'kind=decision&scope=personal'."
            )
        records += [_record(place, one["id"], shown) for one in found["records"]]
        if found["next"] is None:
            break
        request["after"] = found["next"]
    style = (Path(__file__).parent / "static" / "dash.css").read_text("utf-8")
    page = render(
        "export.html",
        place,
        records=records,
        active=[label for label, _ in filters.active(shown.whole(query), "")],
        style=Markup(style),  # noqa: S704 - our own file
    )
    return page, len(records)


def _record(place: Place, record_id: str, shown: Masking) -> tuple[Json, list[Step]]:
    """A record with its whole history."""
    request: Json = {"id": record_id}
    found = shown.whole(place.ask("terminal_show", request))
    revisions = list(found["revisions"])
    following = found["next_before_revision"]
    while following is not None:
        page = shown.whole(place.ask("terminal_show", {**request, "before_revision": following}))
        revisions += page["revisions"]
        following = page["next_before_revision"]
    return found["record"], steps_of(revisions)
