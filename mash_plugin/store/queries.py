"""SQL by name: `-- name: insert_record` begins a statement in sql/TOPIC.sql."""

import os
from types import SimpleNamespace

# Neither `re` nor importlib.resources: both are on the way to a hook's first answer.
_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
_MARK = "-- name: "
_loaded: dict[str, SimpleNamespace] = {}


def load(topic: str, folder: str = _FOLDER) -> SimpleNamespace:
    """The statements of FOLDER/TOPIC.sql as attributes; parameters are written `:name`."""
    path = os.path.join(folder, f"{topic}.sql")
    if path not in _loaded:
        _loaded[path] = _read(path)
    return _loaded[path]


def _read(path: str) -> SimpleNamespace:
    with open(path, encoding="utf-8") as file:
        parts = ("\n" + file.read()).split("\n" + _MARK)[1:]
    statements = {}
    for part in parts:
        head, _, body = part.partition("\n")
        statements[head.split()[0].rstrip(":;,-")] = body.strip()
    return SimpleNamespace(**statements)
