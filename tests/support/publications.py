"""What tests publish with, and what the server then holds."""

import os
from typing import Any

from mash_plugin.group.publisher import Publisher
from tests.conftest import Memory
from tests.support.groups import Group


def join(memory: Memory, group: Group, member: str, **more: Any) -> None:
    memory.set(group_dsn_file=str(group.dsn_file(member)), **more)


def publisher(memory: Memory, home: str = "home") -> Publisher:
    return Publisher(lambda: memory.call, home, os.environ)


def publish(memory: Memory, home: str = "home", **how: Any) -> None:
    publisher(memory, home).run(**how)


def heads(group: Group) -> dict[str, int]:
    """Record → revision, as the server holds them."""
    rows = group.run("SELECT record_id, head_revision FROM pub_records")
    assert len(rows) == len(dict(rows)), "a record is there twice"
    return dict(rows)
