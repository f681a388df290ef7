"""Where the dashboard listens: loopback alone, on a port that nobody can guess."""

import socket
from contextlib import suppress

from mash_plugin.errors import InvalidArgument

TOKEN = "token"  # noqa: S105 - the name of a parameter
BACKLOG = 64


def listen(port: int) -> list[socket.socket]:
    """Sockets on one port (0: a free one), for IPv4 and where it can be for IPv6.

    Raises InvalidArgument for a port that is taken or not allowed.
    """
    first = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        first.bind(("127.0.0.1", port))
        first.listen(BACKLOG)
    except OSError as error:
        first.close()
        raise InvalidArgument(
            f"Port {port} cannot be used ({error.strerror}); leave --port out to get a free one."
        ) from error
    return [first, *_second(first.getsockname()[1])]


def origins_of(port: int) -> frozenset[str]:
    """What a browser calls the dashboard."""
    return frozenset(f"http://{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))


def _second(port: int) -> list[socket.socket]:
    with suppress(OSError):  # no IPv6 here, or the port is taken there
        found = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            found.bind(("::1", port))
            found.listen(BACKLOG)
        except OSError:
            found.close()
            raise
        return [found]
    return []
