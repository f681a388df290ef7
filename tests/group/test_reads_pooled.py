"""Which pools of a real pgbouncer a group works through, and what it says through the others."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from mash_plugin.config import Settings
from mash_plugin.errors import MashError, SharedUnavailable
from mash_plugin.group.kept import KeptGroup
from mash_plugin.group.publisher import Publisher
from mash_plugin.group.reads import find_page
from mash_plugin.protocol import validate
from tests.conftest import NOW, Memory, Shop
from tests.support.groups import Group
from tests.support.pgbouncer import pooled
from tests.support.published import Node

REQUEST = validate("list_records", {"shared": True})
PAGES = 12
"""More than psycopg would run before it prepares a statement of its own accord."""
OURS = {"ignore_startup_parameters": "options"}


def pages(settings: Settings) -> int:
    """Read many pages over one connection; how many records the last one had."""
    kept = KeptGroup(os.environ)
    try:
        for _ in range(PAGES):
            found = kept.ask(settings, lambda db: find_page(db, REQUEST, NOW))
        return len(found.rows)
    finally:
        kept.close()


@contextmanager
def through(group: Group, mode: str, **settings: str) -> Iterator[Callable[[str], Settings]]:
    """The settings of members whose connection files name the pool."""
    with pooled(group, mode, "anna", "bob", **settings) as dsns:
        files = {member: group.dsn_file(member) for member in dsns}
        for member, file in files.items():
            file.write_text(dsns[member])
        yield lambda member: Settings(group_dsn_file=str(files[member]))


@pytest.mark.parametrize(("mode", "size"), [("session", 2), ("transaction", 1), ("statement", 1)])
def test_two_read_at_once_through_a_small_pool(group: Group, mode: str, size: int) -> None:
    with group.connect("anna") as connection:
        Node(connection, "node-a").put("r1")
    pool = through(group, mode, default_pool_size=str(size), **OURS)
    with pool as settings, ThreadPoolExecutor(2) as readers:
        assert [*readers.map(pages, [settings("anna")] * 2)] == [1, 1]


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_members_publish_through_a_pool_under_their_own_logins(
    group: Group, memory: Memory, shop: Shop, mode: str
) -> None:
    memory.index()
    with through(group, mode, **OURS) as settings:
        memory.set(group_dsn_file=settings("anna").group_dsn_file)
        made = memory.established("Use Qdrant.")
        Publisher(lambda: memory.call, "home", os.environ).run()
        assert pages(settings("bob")) == 1
    [row] = group.run(
        "SELECT r.record_id, n.role_name FROM pub_records r JOIN nodes n USING (node_id)"
    )
    assert row == (made["id"], group.roles.login("anna"))


def test_nobody_publishes_through_a_pool_of_statements(
    group: Group, memory: Memory, shop: Shop
) -> None:
    memory.index()
    with through(group, "statement", **OURS) as settings:
        memory.set(group_dsn_file=settings("anna").group_dsn_file)
        memory.established("Use Qdrant.")
        with pytest.raises(MashError):
            Publisher(lambda: memory.call, "home", os.environ).run()
    assert group.run("SELECT count(*) FROM pub_records") == [(0,)]


def test_a_pool_that_refuses_our_settings_says_which(group: Group) -> None:
    refusal = pytest.raises(SharedUnavailable, match="unsupported startup parameter: options")
    with through(group, "session") as settings, refusal:
        pages(settings("anna"))
