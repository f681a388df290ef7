"""A group on a real Postgres server, with the logins of its members, for tests."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from mash_plugin.config import Settings
from mash_plugin.group.database import GroupDatabase
from mash_plugin.group.founding import found_group
from mash_plugin.group.members import add_member, remove_member
from mash_plugin.group.names import Roles
from mash_plugin.group.session import open_group
from tests.support.postgres import Server, running_server

NOW = 1_796_100_000_000
SHOP = "github.com/acme/shop"


@dataclass
class Group:
    """A group in a database of its own; `add` gives a member a login."""

    server: Server
    folder: Path
    """Where the connection files are written."""
    name: str = field(default_factory=lambda: f"g{secrets.token_hex(4)}")
    database: str = ""
    dsns: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.database:
            self.database = self.name
            self.server.run(f'CREATE DATABASE "{self.database}"', "postgres")
        found_group(self.admin_dsn, self.name, NOW)

    @property
    def roles(self) -> Roles:
        return Roles(self.name)

    @property
    def admin_dsn(self) -> str:
        return self.server.dsn(self.database)

    def add(self, member: str, *, read_only: bool = False) -> str:
        """The connection string of a new member."""
        added = add_member(
            *(self.admin_dsn, member, NOW),
            group=self.name,
            read_only=read_only,
            new_password=True,
        )
        assert added.dsn is not None
        self.dsns[member] = added.dsn
        return added.dsn

    def remove(self, member: str, *, purge: bool = False) -> None:
        remove_member(self.admin_dsn, member, NOW, group=self.name, purge=purge)

    def dsn_file(self, member: str) -> Path:
        """A file that only this user can read, as `mash group join` writes it."""
        if member not in self.dsns:
            self.add(member)
        file = self.folder / f"{member}.dsn"
        file.write_text(self.dsns[member] + "\n")
        file.chmod(0o600)
        return file

    def settings(self, member: str, **more: Any) -> Settings:
        return Settings(group_dsn_file=str(self.dsn_file(member)), **more)

    def open(self, member: str, *, to_write: bool = True) -> GroupDatabase:
        """A connection as mash makes it."""
        return open_group(self.settings(member), os.environ, to_write=to_write)

    def connect(self, member: str) -> "psycopg.Connection[tuple[Any, ...]]":
        """A connection as anybody with the connection string can make it, free to try all."""
        if member not in self.dsns:
            self.add(member)
        return psycopg.connect(self.dsns[member], autocommit=True)

    def run(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Execute as the administrator, whom no policy binds."""
        options = f"-c search_path={self.roles.schema},public"
        with psycopg.connect(self.admin_dsn, options=options, autocommit=True) as connection:
            found = connection.execute(sql, parameters or None)
            return found.fetchall() if found.description else []

    def end(self) -> None:
        """End every connection, and drop the database: kept ones would fill the memory."""
        self.server.run(f'DROP DATABASE "{self.database}" WITH (FORCE)', "postgres")

    def drop_roles(self) -> None:
        """Remove the group from a database that stays."""
        for role in (self.roles.owner, self.roles.member, self.roles.writer):
            self.run(f'DROP OWNED BY "{role}" CASCADE')
        pattern = rf"mash\_{self.name}\_%"
        roles = self.server.run(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE %s", "postgres", pattern
        )
        for (role,) in roles:
            self.server.run(f'DROP ROLE "{role}"', "postgres")


@contextmanager
def running_group(server: Server, folder: Path, *add: str) -> Iterator[Group]:
    """A group with these members on a server that runs; nobody is connected to it afterwards."""
    group = Group(server, folder)
    try:
        for member in add:
            group.add(member)
        yield group
    finally:
        group.end()


def published(db: GroupDatabase, node: str, *records: str, scope: str = SHOP) -> None:
    """Register the node and publish records of one revision, by plain SQL."""
    db.run(
        "INSERT INTO nodes (node_id, role_name, label) VALUES (:node, session_user, 'laptop')"
        " ON CONFLICT DO NOTHING",
        {"node": node},
    )
    for record in records:
        key = {"scope": scope, "node": node, "record": record}
        db.run(
            "INSERT INTO pub_records VALUES (:scope, :node, :record, 'repository', 'fact', 1, 1,"
            " 'established', 'current', 0, NULL, NULL, NULL, 1, 0, 0, '', '', 'digest')",
            key,
        )
        db.run(
            "INSERT INTO pub_revisions VALUES (:scope, :node, :record, 1, 'Ports are even.', 'a',"
            " 'established', 'current', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'tool')",
            key,
        )


__all__ = ["Group", "Server", "published", "running_group", "running_server"]
