"""A look into a database from another process, beside whoever serves it."""

from collections.abc import Iterator
from contextlib import contextmanager

from mash_plugin.store.connect import connect_reading
from mash_plugin.store.faults import translated
from mash_plugin.store.sqlite import Connection


@contextmanager
def looking_into(path: str) -> Iterator[Connection]:
    """A connection that only reads, and leaves no file behind."""
    with translated(path):
        raw = connect_reading(path)
        try:
            yield Connection(raw)
        finally:
            raw.close()
