"""A start that no hook could print is made up for by the next prompt: real hooks and daemons."""

import os
import select
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from mash_plugin import connecting
from tests.support.daemons import Place, event, run_hook
from tests.support.polling import eventually

AGENTS = pytest.mark.parametrize("agent", ["claude-code", "codex"])
TOLD = b"Saving memory"
PATIENCE_S = 60.0


def prompt(place: Place, agent: str = "claude-code", session: str = "s-1") -> bytes:
    body = event("UserPromptSubmit", prompt="Fix the failing test", session_id=session)
    return place.hook("prompt-submit", body, agent=agent).out


def made_up_once(place: Place, miss: Callable[[str], None], agent: str = "claude-code") -> bool:
    """Whether a session that missed its start is told with a prompt, and with no other one.

    On a busy machine a prompt may be late on its own, then the one after it brings it; or its
    hook is cut off between reading and printing, which nobody can know: then another session
    is to be told.
    """
    for session in ("s-1", "s-2", "s-3"):
        miss(session)
        with suppress(TimeoutError):
            told = partial(prompt, place, agent, session)
            text = eventually(told, "nothing", PATIENCE_S)
            return TOLD in text and told() == b""
    return False


@AGENTS
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
@pytest.mark.spec("R-123", "R-124", "R-132")
def test_a_start_that_a_hanging_daemon_left_unanswered_comes_with_the_prompt(
    place: Place, agent: str, source: str
) -> None:
    daemon = place.start()

    def miss(session: str) -> None:
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            start = event("SessionStart", source=source, session_id=session)
            assert place.hook("session-start", start, agent=agent).out == b""
        finally:
            os.kill(daemon.pid, signal.SIGCONT)

    assert made_up_once(place, miss, agent)


def test_a_start_that_met_no_daemon_comes_with_the_prompt(place: Place) -> None:
    commands = place.root / "bin"
    commands.mkdir()
    (commands / "mash").write_text("#!/bin/sh\nexec sleep 60\n")  # it does not come up in time
    (commands / "mash").chmod(0o755)
    environment = place.environment | {"PATH": f"{commands}:/usr/bin:/bin"}
    command = place.hook_command("session-start")[:-1]

    def miss(session: str) -> None:
        place.close()
        assert run_hook(command, environment, start_of(session)).out == b""
        place.start()

    assert made_up_once(place, miss)


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


def start_of(session: str) -> bytes:
    return event("SessionStart", source="startup", session_id=session)


def test_an_answer_that_the_hook_had_no_time_to_read_counts_as_not_told(place: Place) -> None:
    place.start()
    assert made_up_once(place, lambda session: unread(place, [start_of(session)]))


def test_of_many_answers_at_once_that_no_hook_read_each_counts_as_not_told(place: Place) -> None:
    place.start()
    unread(place, [start_of(f"s-{number}") for number in range(50)])
    place.hook("reminder-timer", event("Stop"))
    assert place.call("status")["late_hooks"] == {"session-start": 50}


def test_a_daemon_that_ends_leaves_word_of_a_start_that_no_hook_read(place: Place) -> None:
    daemon = place.start()
    unread(place, [start_of("s-0")])
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
    unread(place, [start_of("s-1")], "codex")
    place.hook("reminder-timer", event("Stop"))  # the next hook finds out
    assert place.call("status")["late_hooks"] == {"session-start": 1}
    assert "late name=session-start agent=codex" in Path(place.paths.log).read_text()
