"""An open connection to a group's server, with what is known of its login. Imports psycopg."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from mash_plugin.errors import SharedAuthFailed
from mash_plugin.group.names import Roles
from mash_plugin.postgres.connection import Advice, PostgresDatabase, connect
from mash_plugin.postgres.dsn import place_of

ADVICE = Advice(
    login="Ask whoever runs the group for a new connection string, then `mash group join -`.",
    away="What is to be published stays queued; nothing local is shown in its place.",
    lost="what was not published stays queued.",
    set_up="whoever runs the group runs `mash group init --admin-dsn - NAME`.",
    denied="the login is no member that may do this; ask whoever runs the group",
    denied_as=SharedAuthFailed,
)


class GroupDatabase(PostgresDatabase):
    """Runs the named queries over one connection, under the login of one member."""

    schema: str
    group: str
    group_id: str
    member: str
    is_read_only: bool

    def cut(self) -> None:
        """End the connection under whoever waits in it; from any other thread."""
        # It may be closed by now, in psycopg's words.
        with suppress(Exception), socket.socket(fileno=os.dup(self.descriptor)) as ours:
            ours.shutdown(socket.SHUT_RDWR)

    @classmethod
    def connect(cls, options: Mapping[str, str], roles: Roles) -> "GroupDatabase":
        """Connect, without any check of the login. Raises SharedUnavailable, SharedAuthFailed."""
        db = cls(connect(options, ADVICE), place_of(options), ADVICE)
        db.schema = roles.schema
        return db
