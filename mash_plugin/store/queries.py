"""SQL by name: `-- name: insert_record` begins a statement in sql/TOPIC.sql."""

import os
from types import SimpleNamespace

# Neither `re` nor importlib.resources: both are on the way to a hook's first answer.
_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
_MARK = "-- name: "
_loaded: dict[str, SimpleNamespace] = {}


def load(topic: str) -> SimpleNamespace:
    """The statements of sql/TOPIC.sql as attributes; parameters are written `:name`."""
    if topic not in _loaded:
        _loaded[topic] = _read(topic)
    return _loaded[topic]


def _read(topic: str) -> SimpleNamespace:
    with open(os.path.join(_FOLDER, f"{topic}.sql"), encoding="utf-8") as file:
        parts = ("\n" + file.read()).split("\n" + _MARK)[1:]
    statements = {}
    for part in parts:
        head, _, body = part.partition("\n")
        statements[head.split()[0].rstrip(":;,-")] = body.strip()
    return SimpleNamespace(**statements)
