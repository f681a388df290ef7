"""The socket that clients come in by, out of descriptors."""

import os
import resource
import selectors
import socket
from pathlib import Path

import pytest

from mash_plugin.daemon.listener import Listener
from mash_plugin.daemon.log import Log


def test_one_that_turned_a_client_away_for_want_of_descriptors_can_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    listening, client = (socket.socket(socket.AF_UNIX) for _ in range(2))
    listening.bind("socket")
    listening.listen()
    listening.setblocking(False)
    with selectors.DefaultSelector() as selector, client:
        listener = Listener(listening, selector, Log(str(tmp_path / "log")))
        client.connect("socket")
        client.settimeout(10)
        first_free = os.open(os.devnull, os.O_RDONLY)
        os.close(first_free)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, limits[1]))
        try:
            let_in = list(listener.waiting())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert (let_in, listener.is_paused) == ([], True)
        assert client.recv(1) == b""
        assert "out-of-descriptors" in (tmp_path / "log").read_text()
        listener.close()
        assert not selector.get_map()
