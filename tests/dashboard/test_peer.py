"""Whose connection it is, read from what Linux tells of all of them."""

import socket
import sys
from pathlib import Path

import pytest

from mash_plugin.dashboard import peer

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
)
REST = "00000000:00000000 00:00000000 00000000"
little = pytest.mark.skipif(sys.byteorder != "little", reason="the sample is of such a machine")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tcp"
    monkeypatch.setattr(peer, "TABLES", (str(tmp_path / "missing"), str(path)))
    return path


@little
@pytest.mark.parametrize(
    "address",
    ["0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"],
)
def test_a_connection_is_told_by_both_its_ends(table: Path, address: str) -> None:
    table.write_text(
        HEAD
        + f"   0: {address}:1F90 00000000:0000 0A {REST}     7        0 1 1 0\n"
        + f"   1: {address}:1F90 {address}:D431 01 {REST}  1000        0 1 1 0\n"  # our own end
        + f"   2: 0A00000A:D431 0B00000A:1F90 01 {REST}     8        0 1 1 0\n"  # another machine
        + f"   3: {address}:D431 {address}:1F90 01 {REST}  1001        0 1 1 0\n"
    )
    assert peer.user_of(0xD431, 0x1F90) == 1001
    assert peer.is_another_user(0xD431, 0x1F90)
    assert peer.user_of(0xD432, 0x1F90) is None
    assert not peer.is_another_user(0xD432, 0x1F90)


@pytest.mark.parametrize("text", ["", "nothing\n", HEAD + "1: x\n", "é" * 100])
def test_where_nothing_is_told_nobody_is_turned_away(table: Path, text: str) -> None:
    table.write_text(text)
    assert not peer.is_another_user(1, 2)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_connection_of_our_own_is_ours(family: socket.AddressFamily) -> None:
    here = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((here, 0), family=family) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((here, port)) as mine:
            assert peer.user_of(mine.getsockname()[1], port) is not None
            assert not peer.is_another_user(mine.getsockname()[1], port)
