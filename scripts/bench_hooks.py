"""Hooks beside the bare interpreter: warm, without a daemon, and from a cold start."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from statistics import median

from bench_place import EVENTS, Place
from bench_table import NOT_MEASURED, Line
from bench_timing import paired_ratio, time_process

MOST_RATIO, MOST_SHELL_RATIO = 1.25, 1.4
DEADLINES_S = {"session-start": 0.8}
OTHER_DEADLINE_S = 0.15


def hooks(place: Place, rounds: int) -> Iterator[Line]:
    """Each hook against the bare interpreter, with a real recall behind it."""
    place.busy.settled_daemon()
    for name in EVENTS:
        printed: list[bytes] = []

        def run(command: list[str], hook: str, keep: list[bytes], _number: int) -> float:
            payload = place.told_payload(hook)
            seconds, out = time_process(command, payload, place.env, place.project)
            keep.append(out)
            return seconds

        floor = partial(run, place.floor(), name, [])
        ratio = paired_ratio(rounds, floor, partial(run, place.hook(name), name, printed))
        note = check_printed(name, printed)
        what = f"hook {name}, warm, as argv / bare interpreter"
        yield Line(what, ratio, "x", MOST_RATIO, note, key=f"hooks/{name}")
        shell = ["/bin/sh", "-c", " ".join(f"'{word}'" for word in place.hook(name))]
        ratio = paired_ratio(rounds, floor, partial(run, shell, name, []))
        yield Line(
            f"hook {name}, warm, by a shell / bare interpreter", ratio, "x", MOST_SHELL_RATIO
        )


def check_printed(name: str, printed: list[bytes]) -> str:
    """What the timed runs showed; a run that was fast because it was silent does not count."""
    texts = [context_of(out) for out in printed]
    records = [text.count('"id":') for text in texts]
    chats = [text.count('"chat":') for text in texts]
    silent = sum(not text for text in texts)
    if name == "session-start" and not (min(records) and min(chats)):
        raise RuntimeError(f"a timed session start showed no record or no chat: {records} {chats}")
    return f"{median(records):g} records, {median(chats):g} chats, {silent} of {len(texts)} silent"


def context_of(out: bytes) -> str:
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def away(place: Place, rounds: int) -> Iterator[Line]:
    """The same with the daemon absent, stopped, and with stdin left open."""
    place.busy.stop_daemon()
    bare = {**place.env, "PATH": "/nowhere", "MASH_HOME": str(place.root / "empty")}
    for name in EVENTS:
        payload = place.payload(name)
        # Neither a daemon nor a way to start one: the hook of a checkout without `mash` on PATH.
        checkout = place.hook(name)[:-1]

        def run(command: list[str], body: bytes, _number: int) -> float:
            seconds, out = time_process(command, body, bare, place.project)
            assert not out
            return seconds

        floor, absent = partial(run, place.floor(), payload), partial(run, checkout, payload)
        ratio = paired_ratio(rounds, floor, absent)
        yield Line(f"hook {name}, daemon absent / bare interpreter", ratio, "x", MOST_RATIO)
    place.start_daemon()
    for name in EVENTS:

        def held(hook: str, command: list[str], _number: int) -> float:
            body = place.told_payload(hook)
            return time_process(command, body, place.env, place.project, hold_stdin=True)[0]

        ratio = paired_ratio(
            rounds, partial(held, name, place.floor()), partial(held, name, place.hook(name))
        )
        yield Line(f"hook {name}, stdin left open / bare interpreter", ratio, "x", MOST_RATIO)
    with place.stopped_daemon():
        for name in EVENTS:
            runs = [
                time_process(place.hook(name), place.payload(name), place.env, place.project)
                for _ in range(min(rounds, 5))
            ]
            assert not any(out for _, out in runs)
            deadline = DEADLINES_S.get(name, OTHER_DEADLINE_S)
            most = max(seconds for seconds, _ in runs) / deadline
            yield Line(f"hook {name}, daemon stopped / its deadline", most, "x", 1.2)


def cold(place: Place, rounds: int) -> Iterator[Line]:
    """From no daemon at all to a hook's first answer."""
    assert place.busy

    def floor(_number: int) -> float:
        return time_process(place.floor(), b"{}", place.env, place.project)[0]

    silent = 0

    def start(_number: int) -> float:
        nonlocal silent
        place.stop_daemon()
        payload = place.payload("session-start")
        seconds, out = time_process(place.hook("session-start"), payload, place.env, place.project)
        silent += not out
        return seconds

    rounds = min(rounds, 20)
    ratio = paired_ratio(rounds, floor, start)
    note = f"{silent} of {rounds} silent"
    what = "cold start to a hook's first answer / bare interpreter"
    yield Line(what, ratio, "x", 8, note, key="short/cold")


def calls(place: Place, _rounds: int) -> Iterator[Line]:
    """System calls of a warm hook beside the bare interpreter's; only its own process is traced."""
    strace = shutil.which("strace")
    if strace is None:
        yield Line("system calls of a hook", NOT_MEASURED, "", note="strace is not installed")
        return
    place.busy.settled_daemon()
    bare = system_calls(place, strace, place.floor(), b"")
    yield Line("system calls of the bare interpreter", bare, "", key="calls/python -I -S -c pass")
    for name in EVENTS:
        counted = system_calls(place, strace, place.hook(name), place.told_payload(name))
        note = f"{counted - bare:+d} beside the bare interpreter"
        yield Line(
            f"system calls of hook {name}, warm", counted, "", note=note, key=f"calls/{name}"
        )


def system_calls(place: Place, strace: str, command: list[str], payload: bytes) -> int:
    """How many calls a process makes; its children, a daemon among them, are not followed."""
    summary = place.root / "calls"
    time_process([strace, "-c", "-o", str(summary), *command], payload, place.env, place.project)
    total = summary.read_text().splitlines()[-1].split()
    assert total[-1] == "total", total
    return int(total[3])
