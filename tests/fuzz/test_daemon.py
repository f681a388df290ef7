"""A real daemon lives through everything that its socket may be sent."""

import json
import socket

from hypothesis import given, settings

from tests.fuzz.talk_targets import frames
from tests.support.daemons import CEILING_S, Place

EXAMPLES = 150


def said(place: Place, data: bytes) -> bytes:
    """What the daemon answers to one connection that sends this and then nothing more."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(CEILING_S)
        connection.connect(place.paths.socket)
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except (BrokenPipeError, ConnectionResetError):  # refused before all of it was read
            return b""


def test_no_bytes_on_its_socket_end_a_daemon_or_get_more_than_one_line(place: Place) -> None:
    child = place.start()

    @settings(max_examples=EXAMPLES)
    @given(frames())
    def run(data: bytes) -> None:
        answer = said(place, data[1:])
        assert answer.count(b"\n") == bool(answer)
        if answer:
            assert isinstance(json.loads(answer), dict)

    run()
    assert child.poll() is None
    assert place.call("ping")["pid"] == child.pid
    assert "Traceback" not in "".join(path.read_text() for path in place.root.rglob("*.log*"))
