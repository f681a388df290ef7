"""A person at a terminal: what a command shows there, and the answers that are typed."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support import warm_starts
from tests.support.homes import Home

INTERRUPT = "\x03"
LIMIT_S = 60
QUESTION = re.compile(rb"\?[^\n]*\[[\w/]+\]:? ")


def at_terminal(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    answers: Sequence[str],
) -> tuple[int, str]:
    """Run a command on a terminal of its own; each question gets the next answer.

    INTERRUPT is what the terminal makes of ^C: a signal to all of its programs.
    """
    ours, theirs = pty.openpty()
    process = _start(command, environment, folder, theirs)
    os.close(theirs)
    shown, asked, typed, left = b"", 0, 0, list(answers)
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            if not left and answers[-1] == INTERRUPT and not shown[typed:].strip(b"^C\r\n"):
                # Again: one that comes just before Python reads is noticed too late.
                os.write(ours, INTERRUPT.encode())
            continue
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # closed with its last process
            break
        shown += chunk
        if len(QUESTION.findall(shown)) > asked and left:
            asked, typed = asked + 1, len(shown)
            os.write(ours, left.pop(0).encode())
    os.close(ours)
    return process.wait(10), shown.decode()


def _start(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, terminal: int
) -> "warm_starts.Started | subprocess.Popen[bytes]":
    words, given = _given_by_env(command, environment)
    if words[0] == "mash" and warm_starts.can_run(given):
        return warm_starts.start_on(terminal, words[1:], folder, given)
    return subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        preexec_fn=lambda: _take_terminal(terminal),
    )


def _given_by_env(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The command that `env` starts, and the environment that it gives it."""
    words, given = list(command), dict(environment)
    if words[0] == "env":
        del words[0]
        while words[0] == "-u":
            given.pop(words[1], None)
            del words[:2]
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            given[name] = value
    return words, given


def _take_terminal(terminal: int) -> None:
    """Become the leader of a session with this terminal, so that ^C is a signal."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_a_terminal(home: Home, typed: str | None, *command: str) -> tuple[int, str]:
    """Run a command that asks once at most; None interrupts it instead of answering."""
    answer = INTERRUPT if typed is None else typed
    return at_terminal(command, home.environment, home.home, [answer])
