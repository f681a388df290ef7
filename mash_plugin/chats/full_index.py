"""Take in everything that is new, the newest transcripts first, a stretch at a time."""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from mash_plugin.agents.events import TranscriptFile
from mash_plugin.chats.beginning import Beginning, Surroundings, begin_next
from mash_plugin.chats.read_ahead import ReadAhead, ReadingStoppedError, read_ahead
from mash_plugin.chats.report import IndexReport, Progress
from mash_plugin.chats.settle import Settled, settle
from mash_plugin.chats.transcripts import Ready, Transcripts
from mash_plugin.store.files import keep_log_short
from mash_plugin.store.sqlite import Connection

STRETCH_BYTES = 8 * 1024 * 1024
"""A citing call waits until one stretch is stored, some 40 ms, never for a full index."""
JOBS_AHEAD = 8
OWN_BYTES = 2 * 1024 * 1024
"""What is read here while the process has nothing ready: it is asked again some 10 ms later."""
WORTH_A_PROCESS = 32 * 1024 * 1024
"""Less than this is read before a process has started."""


@dataclass(slots=True)
class Run:
    """One full index on its way."""

    transcripts: Transcripts
    around: Surroundings
    progress: Callable[[Progress], None] | None
    should_stop: Callable[[], bool]
    report: IndexReport = field(default_factory=IndexReport)
    rewritten: list[str] = field(default_factory=list)
    files: list[TranscriptFile] = field(default_factory=list)
    """What is still to be read, the newest last."""
    files_total: int = 0
    bytes_total: int = 0

    def add(self, settled: Settled) -> None:
        """Count what a stretch took in."""
        so_far = self.report
        self.report = IndexReport(
            files=so_far.files + settled.is_finished,
            new_messages=so_far.new_messages + settled.new_messages,
            bytes_read=so_far.bytes_read + settled.bytes_read,
            bytes_skipped=so_far.bytes_skipped + settled.bytes_skipped,
            lines_skipped=so_far.lines_skipped + settled.lines_skipped,
            refused=so_far.refused + settled.is_refused,
        )
        if settled.rebuilt:
            self.rewritten.append(settled.rebuilt)

    def tell(self) -> None:
        """Show the progress."""
        if self.progress:
            done = self.report
            self.progress(Progress(done.files, self.files_total, done.bytes_read, self.bytes_total))


def take_in_all(run: Run) -> None:
    """Read and store what has changed, with a second process when it is much."""
    changed = (item for item in run.transcripts.changed() if not run.around.is_too_old(item[1]))
    queue = sorted(changed, key=lambda item: item[1].st_mtime_ns)
    new_bytes = sum(status.st_size for _, status in queue)
    run.files = [file for file, _status in queue]
    run.files_total += len(queue)
    run.bytes_total += new_bytes
    if new_bytes >= WORTH_A_PROCESS and (os.cpu_count() or 1) > 1:
        _take_in_ahead(run)
    while run.files and not run.should_stop():
        ready: list[Ready] = []
        budget = STRETCH_BYTES
        while run.files and budget > 0:
            budget -= _read_here(run, ready, budget)
        with run.transcripts.database.writing() as db:
            _settle_here(db, run, ready)
        _end_stretch(run)


def _read_here(run: Run, ready: list[Ready], budget: int) -> int:
    """Read one stretch of the next file in this process; what it took of the budget."""
    found = run.transcripts.read(run.files.pop(), run.around, budget)
    if isinstance(found, Settled):
        run.add(found)
        return 0
    ready.append(found)
    return found[1].end - found[1].start + 1


def _settle_here(db: Connection, run: Run, ready: list[Ready]) -> None:
    for beginning, stretch in ready:
        settled = settle(db, beginning, stretch, run.around)
        run.add(settled)
        if not settled.is_finished:
            run.files.append(beginning.file)


@dataclass(slots=True)
class _Ahead:
    """What the reading process was asked for and has not given."""

    process: ReadAhead
    asked: deque[Beginning] = field(default_factory=deque)
    left: list[TranscriptFile] = field(default_factory=list)
    """What this process is to read after all."""
    ready: list[Ready] = field(default_factory=list)
    own: list[Ready] = field(default_factory=list)
    """What this process read while the other one had nothing ready."""


def _take_in_ahead(run: Run) -> None:
    with suppress(ReadingStoppedError), read_ahead() as process:
        ahead = _Ahead(process)
        with suppress(ReadingStoppedError):  # what is left is read here
            while not run.should_stop() and _ask(run, ahead):
                _gather(run, ahead)
                with run.transcripts.database.writing() as db:
                    _settle_here(db, run, ahead.own)
                    _settle(db, run, ahead)
                _end_stretch(run)
        run.files += [*ahead.left, *(beginning.file for beginning in ahead.asked)]


def _ask(run: Run, ahead: _Ahead) -> bool:
    """Keep the process busy; False when nothing is left to wait for."""
    while run.files and len(ahead.asked) < JOBS_AHEAD:
        file = run.files.pop()
        with run.transcripts.opened(file) as handle:
            beginning = handle and run.transcripts.begin(file, handle, run.around)
        if not beginning:
            run.add(Settled(None, is_refused=handle is None))
        else:
            ahead.asked.append(beginning)  # before asking, which may find the process gone
            roots = run.transcripts.roots_of(file.agent)
            if not ahead.process.ask(beginning, roots, STRETCH_BYTES):
                ahead.left.append(ahead.asked.pop().file)
    return bool(ahead.asked)


def _gather(run: Run, ahead: _Ahead) -> None:
    """Stretches enough for one transaction, or what the process gave before its end."""
    ahead.ready, ahead.own = [], []
    budget = STRETCH_BYTES
    try:
        while budget > 0 and _ask(run, ahead):
            if run.files and not ahead.process.has_begun:
                budget -= _read_here(run, ahead.own, OWN_BYTES)
                continue
            beginning, stretch = ahead.asked[0], ahead.process.next()
            if stretch is None:
                ahead.asked.popleft()
                run.add(Settled(None, is_refused=True))
                continue
            ahead.ready.append((beginning, stretch))
            budget -= stretch.end - stretch.start + 1
            if stretch.is_finished or stretch.end >= beginning.status.st_size:
                ahead.asked.popleft()
    except ReadingStoppedError:
        if not ahead.ready and not ahead.own:
            raise


def _settle(db: Connection, run: Run, ahead: _Ahead) -> None:
    ready = ahead.ready
    for at, (beginning, stretch) in enumerate(ready):
        settled = settle(db, beginning, stretch, run.around)
        if settled.is_outdated:
            if beginning.file not in ahead.left:
                ahead.left.append(beginning.file)
            continue
        run.add(settled)
        if settled.is_finished:
            continue
        after = begin_next(db, beginning)
        for later in range(at + 1, len(ready)):
            if ready[later][0] is beginning:
                ready[later] = (after, ready[later][1])
        if ahead.asked and ahead.asked[0] is beginning:
            ahead.asked[0] = after


def _end_stretch(run: Run) -> None:
    keep_log_short(run.transcripts.database)
    run.tell()
