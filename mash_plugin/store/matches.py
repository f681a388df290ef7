"""Read the newest heads of a kind with what a new statement is compared with."""

from typing import NamedTuple

from mash_plugin.records.model import Kind, Scope
from mash_plugin.store.queries import load
from mash_plugin.store.records import Head, place_key
from mash_plugin.store.sqlite import Connection

_SQL = load("matches")


class Comparable(NamedTuple):
    """A head with its statement and the hash of its interpretation."""

    head: Head
    statement: str
    interpretation_hash: bytes


def newest_of_kind(
    db: Connection, owner: str, scope: Scope, kind: Kind, count: int
) -> list[Comparable]:
    """The newest heads of a scope and kind: retired, stale and unconfirmed ones too."""
    key = {**place_key(owner, scope), "kind": kind, "count": count}
    return [
        Comparable(Head(*row[:-2]), row[-2], bytes(row[-1]))
        for row in db.all(_SQL.newest_of_kind, key)
    ]
