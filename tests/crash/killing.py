"""A real daemon that is killed again and again while clients write and hooks ask."""

import os
import random
import signal
import subprocess
import threading
from collections import Counter
from contextlib import suppress

from tests.lifecycle.conftest import Json, Shop
from tests.support.daemons import SESSION_START, Place, event
from tests.support.polling import eventually

WRITERS = 4
CEILING_S = 60.0
PAUSE_S = 0.01
POINTS = (
    *("after_commit_before_reply", "supersede_between_writes", "supersede_before_receipt"),
    *("after_commit_before_scrub", "after_truncate_before_scrub"),
)
"""Windows that a kill at a random moment hardly ever meets."""


class Writer:
    """Creates, supersedes and forgets preferences; each request again until it is answered."""

    def __init__(self, shop: Shop, number: int) -> None:
        self.shop, self.number = shop, number
        self.is_over = threading.Event()
        self.acknowledged = 0
        self.kept: list[str] = []
        self.problems: list[Json] = []
        self.thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        count = 0
        while not self.is_over.is_set() and not self.problems:
            self._live(count)
            count += 1

    def _live(self, count: int) -> None:
        """One record: kept, superseded or forgotten."""
        name = f"Writer {self.number} keeps {count}."
        made = self._ask(f"{name} create", self.shop.create(name))
        if count % 3 == 1 and "id" in made:
            change = self.shop.revise(made["id"], 1, f"{name} Better.", "supersede")
            self._ask(f"{name} supersede", change)
            self.kept.append(f"{name} Better.")
        elif count % 3 == 2 and "id" in made:
            change = self.shop.change("forget", made["id"], 1, evidence=self.shop.endorsed())
            self._ask(f"{name} forget", change)
        else:
            self.kept.append(name)

    def _ask(self, operation: str, change: Json) -> Json:
        while True:
            answer = self.shop.record(operation, change)
            if answer.get("error", {}).get("code") != "daemon_unavailable":
                break
            threading.Event().wait(PAUSE_S)
        if "error" in answer:
            self.problems.append(answer)
        self.acknowledged += 1
        return answer


def kill_daemons(place: Place, kills: int, chance: random.Random) -> Counter[str]:
    """Where the kills hit; raises where something acknowledged is lost, doubled or half."""
    found: Counter[str] = Counter()
    shop = Shop(place)
    writers = [Writer(shop, number) for number in range(WRITERS)]
    for writer in writers:
        writer.thread.start()
    try:
        for number in range(kills):
            found[_kill(place, writers, number, chance)] += 1
            assert place.hook("prompt-submit", event("UserPromptSubmit", prompt="x")).is_harmless()
    finally:
        for writer in writers:
            writer.is_over.set()
        place.launch()
        for writer in writers:
            writer.thread.join(CEILING_S)
    assert not any(writer.thread.is_alive() for writer in writers), "a writer hangs"
    _check(place, writers)
    return found


def _kill(place: Place, writers: list[Writer], number: int, chance: random.Random) -> str:
    """Let a daemon die: at a failpoint, or after so many answers."""
    if number % 2:
        point = POINTS[number // 2 % len(POINTS)]
        daemon = _only_daemon(place, MASH_FAILPOINT=f"{point}:kill")
    else:
        point = "any moment"
        daemon = _only_daemon(place)
        wanted = sum(writer.acknowledged for writer in writers) + chance.randrange(20)
        eventually(
            lambda: sum(writer.acknowledged for writer in writers) >= wanted or _problems(writers),
            "nobody is answered",
            every_s=0.001,
        )
        daemon.kill()
    assert place.hook("session-start", SESSION_START).is_harmless()
    eventually(lambda: daemon.poll() is not None or _problems(writers), f"{point} is not met")
    assert not _problems(writers), _problems(writers)
    assert daemon.poll() == -9, (point, daemon.poll())
    return point


def _problems(writers: list[Writer]) -> list[Json]:
    """What writers were refused that nothing refuses."""
    return [problem for writer in writers for problem in writer.problems]


def _only_daemon(place: Place, **environment: str) -> subprocess.Popen[bytes]:
    """Ours, although hooks start one too: it serves, or has died already."""
    while True:
        for pid in place.daemons():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not place.daemons(), "it lives on")
        daemon = place.launch(**environment)
        eventually(lambda: place.is_served() or daemon.poll() is not None, "no daemon came up")  # noqa: B023
        if place.served_by() == daemon.pid or daemon.poll() not in (None, 0):
            return daemon
        daemon.kill()
        daemon.wait(CEILING_S)


def _check(place: Place, writers: list[Writer]) -> None:
    assert not _problems(writers), _problems(writers)
    offset: int | None = 0
    statements: list[str] = []
    while offset is not None:
        page = place.call("list_records", {"limit": 50, "offset": offset})
        statements += [one["statement"] for one in page["records"]]
        offset = page["next_offset"]
    wanted = [name for writer in writers for name in writer.kept]
    assert sorted(statements) == sorted(wanted), Counter(statements) - Counter(wanted) or (
        Counter(wanted) - Counter(statements)
    )
