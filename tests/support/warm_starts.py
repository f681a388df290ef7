"""Run `mash` or `meaning-memory` as a fork of a process that has imported their commands.

That takes a fifth of a start's time. Each command is a process all the same, with an environment,
a folder and streams of its own; a test of the start itself runs the program by its name.
"""

import fcntl
import gc
import importlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

MASH = Path(sys.executable).parent / "mash"
PROGRAMS = {"mash": "mash_plugin.cli.main", "meaning-memory": "mash_plugin.cli.meaning_memory"}
MADE_AT_THE_START = ("PYTHON", "LANG", "LC_")
"""Variables that an interpreter obeys as it starts: it must start with them."""
LANG = "C.UTF-8"


class Ended(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


def can_run(environment: Mapping[str, str]) -> bool:
    """Whether `mash` is this environment's own there, and no variable asks for another start."""
    if shutil.which("mash", path=environment.get("PATH")) != str(MASH):
        return False
    special = {k: v for k, v in environment.items() if k.startswith(MADE_AT_THE_START)}
    return special == {"LANG": LANG}


class Started:
    """A command that runs."""

    def __init__(
        self, request: dict[str, Any], streams: Sequence[int], modules: Sequence[str] = ()
    ) -> None:
        asked = socket.socket(socket.AF_UNIX)
        asked.connect(_starter(*modules))
        socket.send_fds(asked, [b"\n"], streams)
        asked.sendall(json.dumps(request).encode())
        asked.shutdown(socket.SHUT_WR)
        self._asked, self._replies = asked, asked.makefile()
        self.pid = int(self._replies.readline())

    def has_ended(self) -> bool:
        """Whether `wait` returns at once."""
        return bool(select.select([self._asked], [], [], 0)[0])

    def wait(self, timeout_s: float) -> int:
        """The exit code as `subprocess` has it: the negative signal where one ended the command.

        Raises subprocess.TimeoutExpired, and kills it then.
        """
        self._asked.settimeout(timeout_s)
        try:
            return os.waitstatus_to_exitcode(int(self._replies.readline()))
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired("mash", timeout_s) from None
        finally:
            self._replies.close()
            self._asked.close()


def run(
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes,
    timeout_s: float,
    program: str = "mash",
) -> Ended:
    """Run one command to its end, or raise subprocess.TimeoutExpired."""
    request = _request(program, arguments, cwd, environment)
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        started = Started(request, [given.fileno(), out.fileno(), err.fileno()])
        code = started.wait(timeout_s)
        return Ended(code, *(_text_of(file) for file in (out, err)))


def run_mash(
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    stdin: str = "",
    timeout_s: float = 60,
) -> "subprocess.CompletedProcess[str]":
    """What came of the command, as `subprocess` tells it; started where it cannot be forked."""
    if can_run(environment):
        ended = run(arguments, cwd, environment, stdin.encode(), timeout_s)
        return subprocess.CompletedProcess(["mash", *arguments], *ended)
    return subprocess.run(
        [sys.executable, "-m", "mash_plugin", *arguments],
        env=environment,
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def start_on(
    terminal: int, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> Started:
    """Start `mash` with a terminal of its own, as a shell does."""
    request = _request("mash", arguments, cwd, environment) | {"has_terminal": True}
    return Started(request, [terminal] * 3)


def start_server(
    streams: Sequence[int], arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> Started:
    """Start `mash mcp` on these streams."""
    request = _request("mash", ["mcp", *arguments], cwd, environment)
    return Started(request, streams, ["mash_plugin.mcp_server"])


def _request(
    program: str, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> dict[str, Any]:
    where = {"cwd": str(cwd), "environment": dict(environment), "has_terminal": False}
    return {"program": program, "arguments": list(arguments), **where}


def _text_of(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode())


@cache
def _starter(*modules: str) -> str:
    """The address of the process that forks them; it ends with this one.

    The one of servers has imported what commands do not need, and is no other's burden.
    """
    address = f"\0mash-starts-{os.getpid()}-{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        _processes.append(
            subprocess.Popen(
                [_interpreter(), "-I", __file__, str(listener.fileno()), *modules],
                env={"PATH": os.environ["PATH"], "LANG": LANG},
                stdin=subprocess.PIPE,  # it ends when nobody holds the other end any more
                pass_fds=[listener.fileno()],
            )
        )
    return address


def _interpreter() -> str:
    """The one that `mash` names in its first lines, and writes down in what it sets up."""
    found = re.search(r'/[^"\n]*/python[\d.]*', MASH.read_text())
    assert found, MASH
    return found[0]


_processes: list[subprocess.Popen[bytes]] = []


def serve(listener: socket.socket) -> None:
    """Fork one process for each that asks, until standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    while select.select([listener, 0], [], [])[0] == [listener]:
        asked, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(asked)
        asked.close()


def _answer(asked: socket.socket) -> NoReturn:
    """Run the command that is asked for in a child, and tell its process and its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(asked, 1, 3)
    with asked.makefile("rb") as file:
        request = json.load(file)
    child = os.fork()
    if child == 0:
        asked.close()
        _become(request, streams)
    for stream in streams:
        os.close(stream)
    asked.sendall(b"%d\n" % child)
    asked.sendall(b"%d\n" % os.waitpid(child, 0)[1])
    os._exit(0)


def _become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    main = importlib.import_module(PROGRAMS[request["program"]]).main
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request["has_terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)  # by lines on a terminal
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = [str(MASH.with_name(request["program"])), *request["arguments"]]
    try:
        main()
    except SystemExit as ended:
        _leave(ended)


def _leave(ended: SystemExit) -> NoReturn:
    """End without taking apart what was imported: that alone would take longer than the start."""
    for thread in threading.enumerate():
        if not (thread.daemon or thread is threading.current_thread()):
            thread.join()
    os._exit(ended.code if isinstance(ended.code, int) else 0)


def import_commands() -> None:
    """Import what commands import while they run."""
    for program in PROGRAMS.values():
        for module, _ in importlib.import_module(program).COMMANDS.values():
            importlib.import_module(module)
    for name in ("client", "doctor.examination", "cli.wizard.ending", "cli.wizard.steps"):
        importlib.import_module(f"mash_plugin.{name}")
    for name in ("capture", "session", "drain", "promote", "database", "recall", "hints", "doctor"):
        importlib.import_module(f"mash_plugin.throughline.{name}")
    rules = importlib.import_module("mash_plugin.throughline.key_lines")
    rules.judge("Decided to sell.")  # compiles them


if __name__ == "__main__":
    import_commands()
    for needed in sys.argv[2:]:
        importlib.import_module(needed)
    gc.freeze()  # else the first collection of each child copies every page
    serve(socket.socket(fileno=int(sys.argv[1])))
