"""The index of the chats: whether it opens, and what is still to be read or sent."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import join

import apsw

from mash_plugin.agents import AGENTS, agent_named, own_root, transcript_roots
from mash_plugin.agents.events import TranscriptFile
from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.project import project_of
from mash_plugin.chats.retention import keep_since
from mash_plugin.chats.switches import why_unread
from mash_plugin.chats.transcripts import first_lines
from mash_plugin.doctor.finding import Finding, Severity
from mash_plugin.doctor.machine import Machine
from mash_plugin.errors import MashError
from mash_plugin.paths import may_be_brought
from mash_plugin.store.checkpoints import failed_reviews
from mash_plugin.store.forgotten import Marks
from mash_plugin.store.queries import load
from mash_plugin.store.rewrite import marks_of
from mash_plugin.store.sqlite import Connection
from mash_plugin.wording import counted

SQL = load("doctor")
BUDGET_S = 1.0
SETTLED_S = 15 * 60
"""A transcript that was written to later than that is of a session that still runs."""
BACKLOG_FILES = 20
DAY_MS = 24 * 60 * 60 * 1000


def check_index(machine: Machine) -> Iterator[Finding]:
    """How many transcripts wait to be read."""
    path = machine.paths.chats
    if not os.path.exists(path):
        yield Finding("index", "ok", "no chat was read yet; `mash index` reads them now")
        return
    try:
        with machine.reading(path) as db:
            known = {name: (size, mtime) for name, size, mtime in db.all(SQL.read_files)}
            (chats,) = db.one(SQL.count_chats) or (0,)
    except (MashError, apsw.Error) as error:
        text = f"{path} cannot be read ({error})"
        why = "it is built again from the transcripts; no record is lost"
        line = f"mash daemon stop; mv {join([path])} {join([path + '.damaged'])}; mash index"
        yield Finding("index-damaged", "error", text, why, line)
        return
    waiting, size = _waiting(machine, known)
    if waiting:
        text = f"{counted(waiting, 'chat')} ({size / 1e6:,.1f} MB) still to be read"
        why = "they are neither found nor cited until then; the daemon reads them while it runs"
        severity: Severity = "warning" if waiting >= BACKLOG_FILES else "note"
        yield Finding("index-backlog", severity, text, why, "mash index")
    else:
        yield Finding("index", "ok", f"{counted(chats, 'chat')}, none waits to be read")


def check_unread(machine: Machine) -> Iterator[Finding]:
    """Transcripts that no reader of ours opens."""
    roots = transcript_roots(machine.settings, machine.environ)
    for agent in AGENTS.values():
        number = sum(agent.count_unread(root) for name, root in roots if name == agent.NAME)
        if number:
            text = f"{counted(number, 'chat')} of {agent.TITLE} in a form that is not read"
            why, cure = agent.UNREAD
            yield Finding("chats-unread", "note", text, why, cure)


def check_named_folders(machine: Machine) -> Iterator[Finding]:
    """Folders of transcripts that a variable names and that are not trusted for it."""
    roots = transcript_roots(machine.settings, machine.environ)
    for agent in AGENTS.values():
        if not machine.environ.get(agent.ROOT_VARIABLE):
            continue
        folder = os.path.realpath(own_root(agent, machine.environ, "/"))
        if may_be_brought(folder) and (agent.NAME, folder) not in roots:
            text = f"{agent.ROOT_VARIABLE} names {folder}, and no chat there is read"
            why = (
                "it lies in a git work tree or belongs to another user, who could forge your words"
            )
            yours = f"if it is yours, add it to [chats.roots] {agent.ROOTS_KEY} in the settings"
            yield Finding("chats-not-trusted", "warning", text, why, yours)


def check_leftovers(machine: Machine) -> Iterator[Finding]:
    """Databases that were set aside after a fault or a restore."""
    names = [
        str(path)
        for base in ("records.db", "chats.db")
        for path in sorted(Path(machine.paths.data).glob(f"{base}.*-*"))
        if path.is_file()
    ]
    if names:
        total = sum(os.path.getsize(name) for name in names)
        text = f"{counted(len(names), 'database')} set aside, {total / 1e6:,.1f} MB"
        why = "they are kept for you to look at; nothing reads them, and they hold old text"
        yield Finding("set-aside", "note", text, why, f"rm {join(names)}")


def check_queues(machine: Machine) -> Iterator[Finding]:
    """What was to be done later and was not."""
    if not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        yield from _queues(machine, db)


def _queues(machine: Machine, db: Connection) -> Iterator[Finding]:
    day_ago = {"at": machine.now - DAY_MS}
    (unsent,) = db.one(SQL.count_unpublished, day_ago) or (0,)
    if unsent:
        text = f"{counted(unsent, 'record')} waiting for more than a day to be published"
        why = "the group does not see them yet; the daemon sends them when it runs"
        yield Finding("publication-backlog", "warning", text, why, "mash publish --now")
    failed = len(failed_reviews(db))
    if failed:
        text = f"the review of {counted(failed, 'earlier chat')} failed"
        yield Finding("backfill-failed", "note", text, "they stay to be done", "mash backfill")
    overdue = {"at": machine.now - 2 * DAY_MS}
    (hidden,) = db.one(SQL.count_hidden_before, overdue) or (0,)
    if hidden:
        text = f"{counted(hidden, 'record')} that agents asked to forget, overdue to be removed"
        why = "the daemon removes them a day later, when it runs"
        yield Finding("removal-overdue", "warning", text, why, "mash daemon restart")


def _waiting(machine: Machine, known: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """How many transcripts of ended sessions are to be read and are not, and their bytes."""
    end = time.monotonic() + BUDGET_S
    marks = marks_of(machine.paths.store) if machine.has_store else None
    number = size = 0
    for file, found, root in _changed(machine, known):
        if time.monotonic() > end:
            break
        if not _is_left_out(machine, marks, file, root):
            number, size = number + 1, size + found.st_size
    return number, size


def _changed(
    machine: Machine, known: dict[str, tuple[int, int]]
) -> Iterator[tuple[TranscriptFile, os.stat_result, str]]:
    """Every transcript that is kept and not as it was when it was read, with its root."""
    newest = time.time() - SETTLED_S
    oldest = keep_since(machine.settings.keep_days, machine.now) / 1000
    for agent, root in transcript_roots(machine.settings, machine.environ):
        host = agent_named(agent)
        for file in host.find_transcripts(root) if host else ():
            with suppress(OSError):
                found = os.stat(file.path)
                is_read = known.get(file.path) == (found.st_size, found.st_mtime_ns)
                if not is_read and found.st_size and oldest <= found.st_mtime < newest:
                    yield file, found, root


def _is_left_out(machine: Machine, marks: Marks | None, file: TranscriptFile, root: str) -> bool:
    """Whether it is not to be read: it was forgotten, or its project is switched off."""
    host = agent_named(file.agent)
    state = first_lines(file, host, [root]) if host else None
    sessions = {file.session_id, file.session_id.partition("/")[0]}
    if state is not None and state.parent_session:
        sessions.add(state.parent_session)
    if marks is not None and any(marks.has_chat(chat_id(file.agent, one)) for one in sessions):
        return True
    project = project_of(state.project_path) if state and state.project_path else None
    return state is None or why_unread(project, machine.settings) is not None
