"""SQL by name: `-- name: insert_record` begins a statement in sql/TOPIC.sql."""

import re
from importlib import resources
from types import SimpleNamespace

_NAME = re.compile(r"^-- name: (\w+).*$", re.MULTILINE)


def load(topic: str) -> SimpleNamespace:
    """The statements of sql/TOPIC.sql as attributes; parameters are written `:name`."""
    text = (resources.files("mash_plugin.store") / "sql" / f"{topic}.sql").read_text("utf-8")
    parts = _NAME.split(text)[1:]
    names, bodies = parts[::2], parts[1::2]
    return SimpleNamespace(**{n: b.strip() for n, b in zip(names, bodies, strict=True)})
