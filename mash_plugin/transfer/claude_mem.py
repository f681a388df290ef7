"""What claude-mem 13.25.3 (npm) remembers, as its worker gives it out.

Two shapes of JSON were seen by running it. `GET /api/observations?limit=100` answers one page,
`{"items": [...], "hasMore": false, "offset": 0, "limit": 100}`; what `POST /api/import` takes is
`{"sessions": [...], "summaries": [...], "observations": [...], "prompts": [...]}`. An observation
has `id` (a page alone), `project` (the last part of a path), `type`, `title`, `subtitle`,
`narrative`, `text`, `facts` and `concepts` (JSON lists inside a text), `created_at_epoch`.

Of the types, a `decision` becomes a proposed decision and a `discovery` a fact; `bugfix`,
`feature`, `refactor` and `change` tell what was done once, and are passed over.
"""

from collections import Counter
from typing import Any

import orjson

from mash_plugin.errors import InvalidArgument
from mash_plugin.records.model import Kind
from mash_plugin.transfer.items import Found, Source, add, visible

KINDS: dict[str, Kind] = {"decision": "decision", "discovery": "fact"}
QUOTE_CHARS = 2_000


def read_observations(data: bytes, project: str | None) -> Found:
    """The observations of one file; `project`: only those of a folder of that name."""
    found = Found([], Counter())
    for number, observation in enumerate(_observations(data), 1):
        if not isinstance(observation, dict):
            raise _no_export(f"observation {number} is no object")
        kind = KINDS.get(str(observation.get("type")))
        if kind is None:
            found.left_out["that only tell what was done"] += 1
        elif project is not None and observation.get("project") != project:
            found.left_out[f"of other projects than {project}"] += 1
        else:
            _add(found, kind, observation, number)
    return found


def _observations(data: bytes) -> list[Any]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _no_export(f"it is no JSON ({error})") from error
    if isinstance(body, dict):
        body = body.get("observations", body.get("items"))
    if not isinstance(body, list):
        raise _no_export("it has neither `observations` nor `items`")
    return body


def _add(found: Found, kind: Kind, observation: dict[str, Any], number: int) -> None:
    texts = [observation.get(name) for name in ("title", "subtitle", "narrative", "text")]
    said = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    if not said:
        found.left_out["without text"] += 1
        return
    source = Source(str(observation.get("id", number)), visible("\n".join(said)))
    lines = source.text.split("\n")
    statement = lines[0] if len(lines) == 1 or len(said) == 1 else f"{lines[0]}: {lines[1]}"
    add(found, kind, source.text[:QUOTE_CHARS].rstrip(), source, statement)


def _no_export(why: str) -> InvalidArgument:
    return InvalidArgument(f"This is nothing that claude-mem gives out: {why}.")
