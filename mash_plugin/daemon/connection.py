"""One client of the daemon: what it has said so far, and its reply on the way."""

import _socket as socket  # see lifecycle

from mash_plugin.daemon.delivery import Delivery
from mash_plugin.daemon.frames import Incoming


class Connection:
    """Owns the socket of one client until its reply is out."""

    def __init__(self, accepted: socket.socket, since: float) -> None:
        self.socket = accepted
        self.since = since
        """When it connected, or when its reply was ready."""
        self.incoming = Incoming()
        self.outgoing = b""
        self.is_working = False
        self.is_lease = False
        self.has_left = False
        """Whether it was gone before its reply, which the loop finds out once more."""
        self.unread: Delivery | None = None
        """The way of a reply that was sent, but perhaps never read."""

    def say(self, reply: bytes) -> bytes:
        """Send what goes out at once, from the thread that made it; returns the rest."""
        try:
            if reply:
                reply = reply[self.socket.send(reply) :]
            if not reply:
                self.socket.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            self.has_left = bool(reply)
        except OSError:
            return reply  # a full buffer: the loop sends the rest
        return reply
