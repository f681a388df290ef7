"""What was decided when, under the calendar of everything that was saved."""

from collections.abc import Mapping
from datetime import datetime
from itertools import groupby
from typing import Any

from mash_plugin.dashboard import filters, labels, plots
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import page_links, render

PAGE = 100
YEAR_MS = 372 * 86_400_000
Json = dict[str, Any]


def timeline(place: Place, query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """Decisions by month, the newest first, of all projects or of one."""
    wanted = {"kind": "decision", "scope": query.get("scope", ""), "after": query.get("after", "")}
    found = place.ask("view_records", filters.request_of(wanted, PAGE))
    now = datetime.now().astimezone()
    # The same all day, so that the daemon need not count again.
    since = int(now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000) - YEAR_MS
    asked: Json = {"since": since}
    if wanted["scope"]:
        asked["scope"] = labels.scope_of_key(wanted["scope"])
    days = place.ask("view_days", asked)["days"]
    kept, after = {"scope": place.echoed(wanted)["scope"]}, filters.cursor_of(found["next"])
    path = place.at("/timeline")
    projects = [f for f in filters.facets(kept, found["counts"], path) if f.name == "Project"]
    return render(
        "timeline.html",
        place,
        nav="timeline",
        strip=plots.strip({day["day"]: day["records"] for day in days}, now.date()),
        months=_months(found["records"]),
        total=found["total"],
        scope_name=labels.scope_name(labels.scope_of_key(kept["scope"])) if wanted["scope"] else "",
        projects=projects[0] if projects else None,
        **page_links(path, kept, {"after": after} if after else None, is_first=not wanted["after"]),
    )


def _months(records: list[Json]) -> list[tuple[str, list[Json]]]:
    def month(record: Json) -> str:
        return f"{datetime.fromtimestamp(record['recorded_at'] / 1000).astimezone():%B %Y}"

    return [(name, list(found)) for name, found in groupby(records, month)]
