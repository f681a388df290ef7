"""A whole run: chat after chat until all are reviewed, the limit is reached, or one is not."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mash_plugin.backfill.offer import Chosen
from mash_plugin.backfill.outcome import Outcome
from mash_plugin.backfill.plan import MOST_REVIEWS, TOO_LONG, Plan, Planned
from mash_plugin.backfill.review import LIMIT_S, review_chat
from mash_plugin.client import call, lease
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.paths import Paths
from mash_plugin.render.text import clean, shorten
from mash_plugin.store.failpoint import failpoint
from mash_plugin.wording import counted

TITLE_CHARACTERS = 60
LISTED = 20
"""So many pending chats are named in the result."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes on."""

    limit: int = MOST_REVIEWS
    limit_s: float = LIMIT_S
    """What each chat gets."""
    tell: Callable[[str], None] = lambda _: None
    """Shows a line of progress."""
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Result:
    """What a run did."""

    agent: str
    plan: Plan
    reviewed: dict[str, int] = field(default_factory=dict)
    """Chat → how many records its review saved."""
    stopped_because: str | None = None
    """limit, unfinished_review or interrupted; None when every chat had its turn."""
    unfinished: tuple[Planned, Outcome] | None = None

    @property
    def pending(self) -> list[tuple[Planned, str]]:
        """Every chat that is still to be reviewed, and why it was not."""
        due = [chat for chat in self.plan.due if chat.chat_id not in self.reviewed]
        pending = [(chat, self._why(chat)) for chat in due]
        return pending + [(chat, TOO_LONG) for chat in self.plan.of("too_long")]

    @property
    def exit_code(self) -> int:
        """0 when it ended by plan, also at the limit."""
        return {"unfinished_review": 1, "interrupted": 130}.get(self.stopped_because or "", 0)

    def as_json(self) -> dict[str, Any]:
        """The one object that the command prints."""
        pending = self.pending
        return {
            "backfill": {
                "agent": self.agent,
                "since": self.plan.since,
                "completed_reviews": len(self.reviewed),
                "records_saved": sum(self.reviewed.values()),
                "skipped": len(self.plan.of("done")),
                "left_out": len(self.plan.of("left_out")),
                "pending": len(pending),
                "scan_finished": self.stopped_because is None,
                "stopped_because": self.stopped_because,
                "pending_chats": [
                    {"chat_id": chat.chat_id, "title": clean(chat.title), "reason": reason}
                    for chat, reason in pending[:LISTED]
                ],
            }
        }

    def _why(self, chat: Planned) -> str:
        if self.unfinished and self.unfinished[0].chat_id == chat.chat_id:
            return self.unfinished[1].reason
        return "it has not had its turn"


def run(
    paths: Paths,
    chosen: Chosen,
    plan: Plan,
    environ: Mapping[str, str],
    options: Options = Options(),
) -> Result:
    """Review what is due, and stop at the first review that is not saved.

    Raises InvalidArgument while another run goes on, and what the daemon raises.
    """
    result = Result(chosen.name, plan)
    with _only_run(paths), lease(paths):
        try:
            _review_all(paths, chosen, environ, options, result)
        except KeyboardInterrupt:
            result.stopped_because = "interrupted"
    return result


def _review_all(
    paths: Paths, chosen: Chosen, environ: Mapping[str, str], options: Options, result: Result
) -> None:
    due = result.plan.due
    pace = _Pace(min(len(due), options.limit), options)
    for number, chat in enumerate(due):
        if number == options.limit:
            result.stopped_because = "limit"
            return
        pace.begin(chat)
        try:
            outcome = review_chat(paths, chosen, chat, environ, options.limit_s)
        except (MashError, OSError) as error:
            outcome = Outcome(False, kind="not_saved", reason=str(error))
        pace.end(outcome)
        if outcome.is_saved:
            result.reviewed[chat.chat_id] = outcome.records_saved
            failpoint("review_counted")
            continue
        result.unfinished = (chat, outcome)
        result.stopped_because = "unfinished_review"
        _note_failure(paths, chosen, chat, outcome)
        return


def _note_failure(paths: Paths, chosen: Chosen, chat: Planned, outcome: Outcome) -> None:
    failed = {"chat_id": chat.chat_id, "agent": chosen.name, "kind": outcome.kind}
    with suppress(MashError):  # the chat is pending in any case
        call("review_failed", failed, paths=paths)


class _Pace:
    """Tells how far the run is, how fast, and how long it will go on."""

    def __init__(self, total: int, options: Options) -> None:
        self._total = total
        self._done = 0
        self._options = options
        self._began = options.clock()

    def begin(self, chat: Planned) -> None:
        title = shorten(clean(chat.title) or chat.chat_id, TITLE_CHARACTERS)
        self._options.tell(f"Review {self._done + 1} of {self._total}: {title}")

    def end(self, outcome: Outcome) -> None:
        if not outcome.is_saved:
            self._options.tell(f"  not reviewed: {outcome.reason}")
            return
        self._done += 1
        each_s = (self._options.clock() - self._began) / self._done
        left = self._total - self._done
        text = f"  saved, {counted(outcome.records_saved, 'candidate')}; {each_s:.0f} s per chat"
        self._options.tell(text + (f", about {_duration(left * each_s)} left" if left else ""))


@contextmanager
def _only_run(paths: Paths) -> Iterator[None]:
    """Let one run go on at a time, and clear away what a killed one left."""
    os.makedirs(paths.reviews, mode=0o700, exist_ok=True)
    lock = os.open(
        os.path.join(paths.reviews, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidArgument(
                "Another backfill goes on; wait for its end, or stop it with Ctrl-C there."
            ) from None
        for left in Path(paths.reviews).glob("chat-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
