"""`mash statusline`: one short line for Claude Code, which runs it after every turn.

It must be quick and must never fail: whatever happens it prints a line and ends with 0, and it
starts no daemon.
"""

import os
import select
import sys
import time
from collections.abc import Mapping
from typing import Any

import click
import orjson

from mash_plugin.config import is_off
from mash_plugin.errors import DaemonUnavailable, MashError
from mash_plugin.render.text import clean, shorten
from mash_plugin.wording import counted

STDIN_S = 0.2
DAEMON_S = 0.3
STDIN_BYTES = 1 << 20
LONGEST = 100
STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"))
Json = dict[str, Any]


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def statusline() -> int:
    """Print one line about this project's memory, from Claude Code's status JSON on stdin."""
    try:
        line = _line()
    except (MashError, OSError, ValueError, KeyError, TypeError):  # a status line has no use for it
        line = "state unknown, see `mash doctor`"
    click.echo(f"mash: {shorten(clean(line), LONGEST)}")
    return 0


def _line() -> str:
    from mash_plugin import client

    given = _given()
    space = given.get("workspace")
    folder = space.get("current_dir") if isinstance(space, dict) else None
    request = {"cwd": folder or given.get("cwd") or os.getcwd(), "session": given.get("session_id")}
    request = {key: value for key, value in request.items() if isinstance(value, str)}
    try:
        told = client.call("status_line", request, timeout_s=DAEMON_S, start=False)
    except DaemonUnavailable as error:
        busy = "outcome" in error.details
        return "daemon does not answer" if busy else "daemon not running, the next hook starts it"
    return words_of(told, os.environ)


def words_of(told: Json, environ: Mapping[str, str]) -> str:
    """What the line says: what keeps mash from working comes before what it holds."""
    if told["problem"]:
        return "PROBLEM, see `mash doctor`"
    if told["is_paused"]:
        until = told["paused_until"]
        return f"paused until {_time(until)}" if until else "paused"
    off = set(told["off"])
    if told["project"] is None:
        return "no project here"
    if "everything" in off or off >= {"index", "capture", "recall"}:
        return "off here"
    off |= {name for name in ("capture", "recall") if not told["switches"][name]}
    off |= {"capture"} if is_off(environ.get("MASH_RECORD_CAPTURE")) else set()
    off |= {"recall"} if is_off(environ.get("MASH_RECORD_RECALL")) else set()
    names = {"index": "reading", "capture": "saving notes", "recall": "recall"}
    without = [word for name, word in names.items() if name in off]
    line = counted(told["records"], "record")
    if told["imported"]:
        line += f" and {told['imported']} of another owner"
    if told["saved_at"] is not None:
        line += f", last saved {_ago(told['now'] - told['saved_at'])}"
    return f"{line} ({', '.join(without)} off)" if without else line


def _ago(ms: int) -> str:
    for seconds, unit in STEPS:
        if ms >= seconds * 1_000:
            return f"{ms // (seconds * 1_000)} {unit} ago"
    return "just now"


def _time(at_ms: int) -> str:
    """The time of day in the machine's zone, with the day when it is another one."""
    at, now = time.localtime(at_ms / 1000), time.localtime()
    return time.strftime("%H:%M" if at[:3] == now[:3] else "%Y-%m-%d %H:%M", at)


def _given() -> Json:
    """The JSON on standard input; nothing when none comes at once."""
    if sys.stdin.isatty():
        return {}
    until, body = time.monotonic() + STDIN_S, b""
    descriptor = sys.stdin.fileno()
    while len(body) < STDIN_BYTES and (left_s := until - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left_s)[0]:
            break
        chunk = os.read(descriptor, 1 << 16)
        body += chunk
        if not chunk:
            break
    try:
        found = orjson.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
