"""The frames, byte for byte: golden files keep old hooks working with new daemons."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin import wire
from mash_plugin.daemon.frames import LEASE, NEWER_HOOK, HookFrame, Incoming, Refused, ToolFrame
from mash_plugin.errors import DaemonUnavailable, Internal, MashError, NotFound, UpgradeNeeded

FRAMES = Path(__file__).parent / "frames"
HOOKS = Path(__file__).resolve().parents[2] / "hooks"
BODY = b'{"session_id":"s-1"}'
SWITCHES = {
    "MASH_RECORD_CAPTURE": "off",
    "MASH_INTERNAL": "1",
    "CLAUDE_CONFIG_DIR": "/home/é ü/100%/.claude",
    "MASH_TEST_NOW_MS": "@/tmp/now",
}


def golden(name: str) -> bytes:
    return (FRAMES / name).read_bytes()


def test_the_relay_sends_the_golden_hook_line() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(HOOKS)!r}); import posix, relay\n"
        "line = relay.header('session-start', sys.argv, posix.environ); posix.write(1, line)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, "claude-code", "-"]
    environment = SWITCHES | {"MASH_TESTING": "1", "ANTHROPIC_API_KEY": "sk"}
    assert subprocess.check_output(command, env=environment) == golden("hook.bin")
    del environment["MASH_TESTING"]
    line = subprocess.check_output(command, env=environment)
    assert line == golden("hook.bin").replace(b" MASH_TEST_NOW_MS=%40/tmp/now", b"")


def test_the_daemon_reads_the_golden_hook_frame() -> None:
    frame = Incoming().feed(golden("hook.bin") + BODY)
    assert frame == HookFrame("session-start", "claude-code", SWITCHES, BODY)


def test_a_request_is_written_and_read_as_in_the_golden_file() -> None:
    params = {"query": "Qdrant für 用户", "limit": 3}
    caller = {"agent": "codex", "session_id": "s-1"}
    assert wire.request_line("recall_records", params, caller) == golden("request.json")
    assert Incoming().feed(golden("request.json")) == ToolFrame("recall_records", params, caller)


def test_replies_are_written_and_read_as_in_the_golden_files() -> None:
    assert wire.result_line({"records": [], "truncated": False}) == golden("result.json")
    assert wire.read_reply(golden("result.json")) == {"records": [], "truncated": False}
    error = NotFound("No record r1.", id="r1")
    assert wire.error_line(error) == golden("error.json")
    with pytest.raises(NotFound, match="No record r1") as caught:
        wire.read_reply(golden("error.json"))
    assert caught.value.details == {"id": "r1"}


def test_the_lease_line_is_the_golden_one() -> None:
    assert golden("lease.bin") == wire.LEASE_LINE
    assert Incoming().feed(golden("lease.bin")) == LEASE


def test_an_error_code_of_a_later_version_becomes_internal() -> None:
    assert type(wire.rebuilt({"code": "invented_later", "message": "m"})) is Internal


@pytest.mark.parametrize(
    "line", [b"", b"{}\n", b"[]\n", b'{"v":1,"result":7}\n', b"\xff\n", b'{"error":{}}', b"["]
)
@pytest.mark.row(12)
def test_a_reply_that_cannot_be_read_leaves_the_outcome_unknown(line: bytes) -> None:
    with pytest.raises((DaemonUnavailable, MashError)):
        wire.read_reply(line)


@given(st.text())
def test_any_value_survives_the_percent_signs(text: str) -> None:
    value = os.fsdecode(text.encode("utf-8", "surrogatepass"))
    escaped = wire.escape(value)
    assert set(escaped) <= set("%") | {chr(c) for c in wire.PLAIN}
    assert wire.unescape(escaped.encode()) == value


@given(st.binary(max_size=200), st.integers(1, 7))
def test_no_bytes_make_the_reader_fail(data: bytes, step: int) -> None:
    incoming = Incoming()
    for start in range(0, len(data), step):
        if incoming.feed(data[start : start + step]) is not None:
            return
    incoming.end()


@given(st.integers(1, 40))
def test_a_frame_in_pieces_is_the_same_frame(step: int) -> None:
    for name, body in (("hook.bin", BODY), ("request.json", b"")):
        data, incoming, found = golden(name) + body, Incoming(), None
        for start in range(0, len(data), step):
            found = found or incoming.feed(data[start : start + step])
        assert found == Incoming().feed(data)


@pytest.mark.row(5)
def test_a_body_is_whole_with_its_object_and_at_its_limit() -> None:
    line = golden("hook.bin")
    assert Incoming().feed(line + BODY[:-1]) is None
    assert isinstance(Incoming().feed(line + BODY + b"\n"), HookFrame)
    assert isinstance(Incoming().feed(line + b"{}" * 9), HookFrame)
    over = Incoming().feed(line + b'{"a":"' + b"x" * wire.HOOK_LIMIT)
    assert isinstance(over, HookFrame)
    assert over.body == b""


def test_a_body_that_teases_is_looked_at_only_so_often() -> None:
    incoming = Incoming()
    incoming.feed(golden("hook.bin") + b'{"a":{}')
    for _ in range(100):
        assert incoming.feed(b',"a":{}') is None
    assert incoming.looks_left == 0


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{\n", "invalid_argument"),
        (b"[" * 100_000 + b"\n", "invalid_argument"),
        (b'{"v":1}\n', "invalid_argument"),
        (b'{"v":1,"method":"ping","params":[]}\n', "invalid_argument"),
        (b'{"v":2,"method":"recall_records"}\n', "upgrade_needed"),
        (b'{"method":"recall_records"}\n', "upgrade_needed"),
        (b"{" * (wire.TOOL_LIMIT + 1), "too_large"),
    ],
)
def test_a_bad_request_is_told_why(line: bytes, code: str) -> None:
    frame = Incoming().feed(line)
    assert isinstance(frame, Refused)
    assert frame.error is not None
    assert frame.error.code == code


@pytest.mark.parametrize("method", sorted(wire.TIMELESS))
def test_timeless_methods_are_understood_in_any_version(method: str) -> None:
    line = json.dumps({"v": 99, "method": method, "params": {"protocol": 99}}).encode() + b"\n"
    assert isinstance(Incoming().feed(line), ToolFrame)


@pytest.mark.row(23)
def test_a_newer_hook_is_recognised_and_an_unknown_one_is_not_answered() -> None:
    assert Incoming().feed(b"mash/2 hook session-start claude-code\n") == NEWER_HOOK
    for line in (b"mash/0 lease\n", b"mash/x\n", b"mash/1\n", b"mash/1 hook a\n", b"mash/1 no\n"):
        assert Incoming().feed(line) == Refused()
    assert Incoming().feed(b"mash/1 hook a b " + b"x" * wire.HEADER_LIMIT) == Refused()


def test_the_version_told_on_refusal_is_ours() -> None:
    frame = Incoming().feed(b'{"v":2,"method":"record"}\n')
    assert isinstance(frame, Refused)
    assert isinstance(frame.error, UpgradeNeeded)
    assert frame.error.details == {"protocol": wire.PROTOCOL}
