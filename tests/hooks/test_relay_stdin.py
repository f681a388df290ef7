"""A hook is harmless whatever its stdin is: status 0, valid or no output, an end in time."""

import json
import os
import socket
from pathlib import Path

import pytest

from tests.support.daemons import NAMES, SESSION_START, Place, event, impostor

DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
BODIES = {
    "empty": b"",
    "garbage": bytes(range(256)) * 8,
    "half": SESSION_START[:40],
    "byte order mark": b"\xef\xbb\xbf" + SESSION_START,
    "utf-16": SESSION_START.decode().encode("utf-16"),
    "invalid utf-8": SESSION_START.replace(b"s-1", b"\xff\xfe"),
    "list": b"[1, 2]",
    "null": b"null",
    "text": b'"SessionStart"',
    "wrong types": b'{"session_id": 7, "cwd": [], "hook_event_name": {}, "prompt": NaN}',
    "deep": DEEP,
    "long number": b'{"session_id": ' + b"9" * 10_000 + b"}",
    "twice": b'{"session_id":"a","session_id":"b","cwd":"/","hook_event_name":"Stop"}',
    "lone surrogate": rb'{"session_id":"s","cwd":"/","prompt":"\ud83d \u0000"}',
    "nine megabytes of {}": b"{}" * (9 << 19),
    "fifty megabytes": event("UserPromptSubmit", prompt="x" * (50 << 20)),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.spec("R-132", "R-181")
@pytest.mark.row(2, 3, 4)
def test_any_stdin_is_answered_harmlessly(served: Place, name: str, body: bytes) -> None:
    for agent in ("claude-code", "codex", "no such agent"):
        if agent == "claude-code" or len(body) < 1_000:
            assert served.hook(name, body, agent=agent).is_harmless()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.row(1)
def test_closed_streams_are_harmless(served: Place, name: str) -> None:
    for closed in ((0,), (1,), (2,), (0, 1, 2)):

        def close(descriptors: tuple[int, ...] = closed) -> None:
            for descriptor in descriptors:
                os.close(descriptor)

        assert served.hook(name, b"", before=close).is_harmless()


@pytest.mark.row(1)
def test_a_closed_stdin_is_an_end_and_not_taken_for_the_socket(served: Place) -> None:
    runs = [served.hook("session-start", b"", before=lambda: os.close(0)) for _ in range(3)]
    assert min(ran.seconds for ran in runs) < 0.7  # long before its deadline


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.row(1)
def test_a_stdin_that_never_ends_is_left_at_the_deadline(served: Place, name: str) -> None:
    ran = served.hook(name, None)
    assert ran.is_harmless()
    assert not ran.out
    assert ran.seconds < 5


def test_a_stdin_that_stays_open_after_the_object_is_answered(served: Place) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, event("SessionStart", source="startup", session_id="open"))
        ran = served.hook("session-start", b"", stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert json.loads(ran.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"


@pytest.mark.row(1)
def test_a_stdin_that_is_no_pipe_is_harmless(served: Place, tmp_path: Path) -> None:
    (tmp_path / "event.json").write_bytes(SESSION_START)
    for path, flags in (
        (tmp_path / "event.json", os.O_RDONLY),
        (tmp_path / "write only", os.O_WRONLY | os.O_CREAT),
        (Path("/dev/null"), os.O_RDONLY),
    ):
        stdin = os.open(path, flags)
        try:
            assert all(served.hook(name, b"", stdin=stdin).is_harmless() for name in NAMES)
        finally:
            os.close(stdin)


def test_a_reply_reaches_a_stdout_that_does_not_block(served: Place) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def take_stdout() -> None:
        os.dup2(writing, 1)

    try:
        body = event("SessionStart", source="startup", session_id="non-blocking")
        assert served.hook("session-start", body, before=take_stdout).code == 0
        assert b"SessionStart" in os.read(reading, 1 << 16)
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    "locale",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LANG": "xx_YY.cp949"},
        {"LANG": "", "HOME": "", "TMPDIR": "/nowhere"},
    ],
)
def test_words_of_any_script_pass_in_odd_locales(served: Place, locale: dict[str, str]) -> None:
    prompt = "Von nun an immer 用户身份 prüfen: café, 끝말잇기, \U0001f9d1‍\U0001f680"
    body = event("UserPromptSubmit", prompt=prompt, session_id="odd")
    for text in (body, json.dumps(json.loads(body), ensure_ascii=False).encode()):
        assert served.hook("prompt-submit", text, environment=locale).is_harmless()
    start = event("SessionStart", source="compact", session_id="odd", cwd="/用户/é")
    assert json.loads(served.hook("session-start", start, environment=locale).out)


@pytest.mark.parametrize("prompt", ["x" * (5 << 20), "é" * (2 << 20)])
@pytest.mark.row(5)
def test_no_more_than_a_megabyte_of_a_prompt_is_sent(place: Place, prompt: str) -> None:
    sizes: list[int] = []

    def read_all(connection: socket.socket) -> None:
        size = 0
        while chunk := connection.recv(1 << 16):
            size += len(chunk)
        sizes.append(size)

    with impostor(place, read_all) as heard:
        assert place.hook("prompt-submit", event("UserPromptSubmit", prompt=prompt)).is_harmless()
    [size], [first] = sizes, heard
    assert 1 << 19 < size + len(first) <= (1 << 20) + 300  # the header comes on top


@pytest.mark.row(5)
def test_big_prompts_do_not_make_the_daemon_grow(served: Place) -> None:
    def resident_kb() -> int:
        for line in Path(f"/proc/{served.call('ping')['pid']}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    body = event("UserPromptSubmit", prompt="x" * (20 << 20))
    for _ in range(4):  # each worker thread keeps a little of its own
        served.hook("prompt-submit", body)
    before = resident_kb()
    for _ in range(6):
        served.hook("prompt-submit", body)
    assert resident_kb() - before < 5 << 10
