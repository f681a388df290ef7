"""A start that no hook could print is made up for by the next prompt: real hooks and daemons."""

import os
import select
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from mash_plugin import connecting
from tests.support.daemons import Place, event, run_hook
from tests.support.polling import eventually

AGENTS = pytest.mark.parametrize("agent", ["claude-code", "codex"])
TOLD = b"Saving memory"


def prompt(place: Place, agent: str = "claude-code") -> bytes:
    body = event("UserPromptSubmit", prompt="Fix the failing test")
    return place.hook("prompt-submit", body, agent=agent).out


def made_up_once(place: Place, agent: str = "claude-code") -> bool:
    """A prompt may be late on its own, on a busy machine; then the one after it brings it."""
    text = eventually(lambda: prompt(place, agent), "no prompt brought what the start should have")
    return TOLD in text and prompt(place, agent) == b""


@AGENTS
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
@pytest.mark.spec("R-123", "R-124", "R-132")
def test_a_start_that_a_hanging_daemon_left_unanswered_comes_with_the_prompt(
    place: Place, agent: str, source: str
) -> None:
    daemon = place.start()
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        start = event("SessionStart", source=source)
        assert place.hook("session-start", start, agent=agent).out == b""
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert made_up_once(place, agent)


def test_a_start_that_met_no_daemon_comes_with_the_prompt(place: Place) -> None:
    commands = place.root / "bin"
    commands.mkdir()
    (commands / "mash").write_text("#!/bin/sh\nexec sleep 60\n")  # it does not come up in time
    (commands / "mash").chmod(0o755)
    environment = place.environment | {"PATH": f"{commands}:/usr/bin:/bin"}
    command = place.hook_command("session-start")[:-1]
    assert run_hook(command, environment, event("SessionStart", source="startup")).out == b""
    place.start()
    assert made_up_once(place)


def unread(place: Place, starts: list[bytes], agent: str = "claude-code") -> None:
    """These starts at once, each answered, of which no hook had time to read its own."""
    with ExitStack() as stack:
        waiting = []
        for start in starts:
            connection = connecting.connect(place.paths, 10.0)
            assert connection is not None
            waiting.append(stack.enter_context(connection))
            connection.sendall(f"mash/1 hook session-start {agent}\n".encode() + start)
        for connection in waiting:
            select.select([connection], [], [])


def of_session(number: int) -> bytes:
    return event("SessionStart", source="startup", session_id=f"s-{number}")


def test_an_answer_that_the_hook_had_no_time_to_read_counts_as_not_told(place: Place) -> None:
    place.start()
    unread(place, [event("SessionStart", source="startup")])
    assert made_up_once(place)


def test_of_many_answers_at_once_that_no_hook_read_each_counts_as_not_told(place: Place) -> None:
    place.start()
    unread(place, [of_session(number) for number in range(50)])
    place.hook("reminder-timer", event("Stop"))
    assert place.call("status")["late_hooks"] == {"session-start": 50}


def test_a_daemon_that_ends_leaves_word_of_a_start_that_no_hook_read(place: Place) -> None:
    daemon = place.start()
    unread(place, [of_session(0)])
    place.call("stop")
    daemon.wait(10.0)
    place.start()
    body = event("UserPromptSubmit", prompt="Fix the failing test", session_id="s-0")
    assert TOLD in eventually(lambda: place.hook("prompt-submit", body).out, "it is not told")


@AGENTS
def test_a_start_that_was_printed_is_not_repeated(place: Place, agent: str) -> None:
    place.start()
    start = event("SessionStart", source="startup")
    text = eventually(lambda: place.hook("session-start", start, agent=agent).out, "no answer")
    assert TOLD in text
    assert [prompt(place, agent) for _ in range(2)] == [b"", b""]
    assert place.call("status")["late_hooks"] == {}


def test_it_is_logged_and_counted_that_a_hook_was_late(place: Place) -> None:
    place.start()
    unread(place, [event("SessionStart", source="startup")], "codex")
    assert made_up_once(place, "codex")
    assert place.call("status")["late_hooks"]["session-start"] == 1
    assert "late name=session-start agent=codex" in Path(place.paths.log).read_text()
