"""Names of a group and its members, and of the schema and roles that they have on the server.

A login's name says its group: `mash_NAME_m_MEMBER` reads schema `mash_NAME`. So a connection
string alone is enough to join.
"""

import re
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument

_GROUP = re.compile(r"[a-z][a-z0-9_]{0,30}")
_MEMBER = re.compile(r"[a-z0-9][a-z0-9_-]{0,22}")
_LOGIN = re.compile(r"mash_([a-z][a-z0-9_]*?)_m_([a-z0-9][a-z0-9_-]*)")


class Roles(NamedTuple):
    """What a group is called on the server."""

    group: str

    @property
    def schema(self) -> str:
        return f"mash_{self.group}"

    @property
    def owner(self) -> str:
        """Nobody's login: owns the tables."""
        return f"mash_{self.group}_owner"

    @property
    def member(self) -> str:
        """Nobody's login: may read."""
        return f"mash_{self.group}_member"

    @property
    def writer(self) -> str:
        """Nobody's login: may read, and write what is its own."""
        return f"mash_{self.group}_writer"

    def login(self, member: str) -> str:
        """The login of one member."""
        return f"mash_{self.group}_m_{member}"


def roles_of(group: str) -> Roles:
    """The roles of a group. Raises InvalidArgument for a name that cannot be one."""
    # A part `m` would let a login be taken for that of another group.
    if not _GROUP.fullmatch(group) or "m" in group.split("_"):
        raise InvalidArgument(
            f"{group!r:.80} cannot be a group's name: a-z, 0-9 and _, a letter first, at most"
            " 31 characters, and no lone m between underscores."
        )
    return Roles(group)


def check_member(member: str) -> str:
    """A member's name. Raises InvalidArgument."""
    if not _MEMBER.fullmatch(member):
        raise InvalidArgument(
            f"{member!r:.80} cannot be a member's name: a-z, 0-9, - and _, a letter or digit"
            " first, at most 23 characters."
        )
    return member


def _shown(user: str) -> str:
    # Anything else may be a connection string that was put together wrongly, password and all.
    return repr(user) if re.fullmatch(r"[\w.-]{0,63}", user) else "in the connection string"


def roles_of_login(user: str) -> Roles:
    """The roles of the group that a login belongs to. Raises InvalidArgument for any other."""
    found = _LOGIN.fullmatch(user)
    if found is None:
        raise InvalidArgument(
            f"The login {_shown(user)} is no member's; those are called mash_GROUP_m_MEMBER. Use"
            " the connection string that `mash group add` printed for you."
        )
    return Roles(found[1])
