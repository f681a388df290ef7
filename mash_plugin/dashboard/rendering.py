"""Templates: everything is escaped, and what cannot be seen is left out of every text."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from mash_plugin.dashboard import labels
from mash_plugin.dashboard.place import Place
from mash_plugin.render.text import local_date, seen

BRIEF = 320
"""Characters of a statement in a list, so that a page of the longest ones stays light."""
DIGITS = 18
"""Of the largest number that an address may name: it fits where JSON and SQLite keep it."""


def render(template: str, place: Place, **values: Any) -> str:  # noqa: ANN401 - what they show
    """The page that a template makes of these values."""
    environment = _environment(os.path.join(place.paths.run, "pages"))
    return environment.get_template(template).render(zone=_zone(), at=place.at, **values)


class _Compiled(FileSystemBytecodeCache):
    """Templates as they were compiled last; where none can be kept, they are compiled each time."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            super().dump_bytecode(bucket)


@cache
def _environment(compiled: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        auto_reload=False,
        bytecode_cache=_Compiled(compiled),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.globals |= {"labels": labels, "counted": _counted}
    environment.filters |= {"day": _day, "moment": _moment, "many": _many, "kb": _size}
    environment.filters |= {"brief": _brief}
    return environment


def _finalize(value: object) -> object:
    return seen(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _moment(at_ms: int | None, form: str = "%-d %b %Y, %H:%M") -> Markup:
    """A moment in local time; the full form with its zone is told on hovering."""
    if at_ms is None:
        return Markup("time unknown")
    try:
        at = time.localtime(at_ms // 1000)
    except (ValueError, OverflowError, OSError):
        return Markup("time unknown")
    shown = time.strftime(form, at)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.strftime("%Y-%m-%dT%H:%M:%S%z", at), local_date(at_ms), shown
    )


def _day(at_ms: int | None) -> Markup:
    return _moment(at_ms, "%-d %b %Y")


def _many(number: int) -> str:
    return f"{number:,}"


def _brief(text: str) -> str:
    return text if len(text) <= BRIEF else f"{text[:BRIEF].rstrip()}…"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    return f"{number:,} B" if number < 1_000 else f"{number / 1000:,.1f} kB"


def _zone() -> str:
    return local_date(int(time.time() * 1000)).rpartition(" ")[2]


def number_of(text: str | None) -> int | None:
    """The number that a part of an address is; None where it is none."""
    return int(text) if text and text.isdecimal() and len(text) <= DIGITS else None


def query_of(values: Mapping[str, str | None]) -> str:
    """The part of an address behind `?`, without what is empty."""
    from urllib.parse import urlencode

    found = urlencode({name: value for name, value in values.items() if value})
    return f"?{found}" if found else ""


def page_links(
    path: str,
    kept: Mapping[str, str | None],
    onward: Mapping[str, str | None] | None,
    *,
    is_first: bool,
) -> dict[str, str | None]:
    """Where a page of a list leads: to the `older` ones behind it, and back to the `newest`."""
    return {
        "older": path + query_of({**kept, **onward}) if onward else None,
        "newest": None if is_first else path + query_of(kept),
    }
