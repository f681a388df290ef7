"""Whose process is at the other end of a connection on this machine, where Linux tells.

A browser is started with the address in its arguments, which every user of the machine can read:
whoever is first with the token must therefore be this user.
"""

import os
import sys

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LOOPBACK = ("0100007F", "01000000") if sys.byteorder == "little" else ("7F000001", "00000001")
"""How the addresses 127.0.0.1, also within IPv6, and ::1 end in those tables."""
_LOCAL, _REMOTE, _USER = 1, 2, 7


def is_another_user(client_port: int, server_port: int) -> bool:
    """Whether another user holds this connection; the superuser, who sees everything, does not.

    Windows reaches a Linux of its own by a process of the superuser. Where nothing is told of the
    connection, nobody is turned away.
    """
    user = user_of(client_port, server_port)
    return user is not None and user not in (os.getuid(), 0)


def user_of(client_port: int, server_port: int) -> int | None:
    """The user whose socket has these ports, None where the system does not say."""
    ends = (f":{client_port:04X}", f":{server_port:04X}")
    for table in TABLES:
        try:
            with open(table, encoding="ascii") as file:
                for line in file:
                    words = line.split()
                    if len(words) > _USER and _is_between(words[_LOCAL], words[_REMOTE], ends):
                        return int(words[_USER])
        except (OSError, ValueError):  # another system, or a table of another form
            continue
    return None


def _is_between(local: str, remote: str, ends: tuple[str, str]) -> bool:
    return all(
        place.endswith(end) and place.removesuffix(end).endswith(_LOOPBACK)
        for place, end in zip((local, remote), ends, strict=True)
    )
