"""What an examination of a workspace finds: the queue, the store, and what each setting does."""

import os
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote

from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.throughline import marks, queue
from mash_plugin.throughline.findings import Finding
from mash_plugin.throughline.mending import damage, lost_store
from mash_plugin.throughline.promote import refuse_impossible
from mash_plugin.throughline.settings import Settings, forgotten_backend
from mash_plugin.throughline.waiting import LATE_MS, how_long, waiting

NEEDS_POSTGRES = (
    "The checks promotion, lineage and capture_index need Postgres; this workspace uses"
    " the file backend."
)
_LOOKED_AT = 200
"""Entries of the queue; the first tell what is wrong with all."""


def findings(
    settings: Settings, agent: str | None, now: int, *, may_be_new: bool = False
) -> Iterator[Finding]:
    """Everything about a workspace; nothing is created or changed by looking.

    `may_be_new`: whether it may be missing, since nobody typed its name just now.
    """
    yield from _settings(settings)
    if not may_be_new and not os.path.isdir(settings.workspace):
        yield Finding(
            "workspace",
            "warning",
            f"the workspace {settings.workspace} does not exist: nothing was captured there yet",
            "Is the name right? See --config-dir, --workspace and MM_WORKSPACE.",
        )
        return
    yield from _foreign(settings.workspace)
    yield from _unwritable(settings.workspace)
    try:
        yield from _queue(settings, agent, now)
    except OSError as error:
        folder = os.path.join(settings.workspace, queue.FOLDER)
        why = f"{error.filename or folder} cannot be read: {error.strerror}"
        yield Finding("queue", "error", why, f"Whose files are they? ls -l {folder}")
    yield from _compiled(settings, agent)
    yield from _store(settings, agent, now)


def _settings(settings: Settings) -> Iterator[Finding]:
    effects = {
        "MM_BACKEND": f"{settings.backend}: queue and compiled file lie in {settings.workspace}",
        "MM_WORKING_COMPILE": _effect(
            settings.compile, "the compiled file has a section Recent (48h)", "it has none"
        ),
        "MM_WORKING_AUTO_REFRESH": _effect(
            settings.auto_refresh,
            "a drain of important working memories rebuilds the compiled file",
            "working memories never rebuild it",
        ),
        "MM_WORKING_PROMOTE": _effect(
            settings.promote,
            f"working memories expire {settings.ttl_hours} h after capture",
            "working memories never expire; the buffer keeps growing",
        ),
        "MM_WORKING_COPY_PROMOTE": _copying(settings),
        "MM_WORKING_TTL_HOURS": f"{settings.ttl_hours}",
    }
    for fault in settings.without_effect:
        yield Finding("setting", "warning", f"{fault}; it does nothing", "Correct config.toml.")
    if forgotten := forgotten_backend(settings):
        yield Finding("backend-unsaid", "warning", forgotten)
    try:
        refuse_impossible(settings)
    except InvalidArgument as error:
        yield Finding("promote-impossible", "error", error.message)
    for name, effect in effects.items():
        yield Finding(name, "ok", f"{name} = {effect}")


def _effect(is_on: bool, on: str, off: str) -> str:
    return f"on: {on}" if is_on else f"off: {off}"


def _copying(settings: Settings) -> str:
    if settings.copy_promote and not settings.promote:
        return "on, without effect until MM_WORKING_PROMOTE is on"
    if settings.copy_promote and settings.backend == "file":
        return "on, which the file backend cannot do"
    return _effect(
        settings.copy_promote, "what matters is copied before it expires", "nothing is copied"
    )


def _queue(settings: Settings, agent: str | None, now: int) -> Iterator[Finding]:
    aside = queue.list_set_aside(settings.workspace)
    if aside:
        folder = os.path.join(settings.workspace, queue.FOLDER, queue.SET_ASIDE)
        yield Finding(
            "set-aside",
            "warning",
            f"{len(aside)} entries could not be read: {', '.join(aside[:3])}",
            f"Look at them in {folder}; delete what nobody needs.",
        )
    names = queue.all_pending(settings.workspace)
    mine = [name for name in names if agent is not None and queue.is_of(name, agent)]
    yield from _unreadable(settings.workspace, mine)
    if agent is not None:
        yield _waiting(settings, agent, mine, now)
    yield from _others(settings, [name for name in names if name not in set(mine)], now)


def _unwritable(workspace: str) -> Iterator[Finding]:
    """What captures and drains write into, and this user cannot."""
    for name in ("", queue.FOLDER, marks.STORE_FILE):
        place = os.path.join(workspace, name).rstrip(os.sep)
        if os.path.exists(place) and not os.access(place, os.W_OK):
            next_step = f"ls -ld {quote(place)}; run this as the user that captures and drains."
            yield Finding("read-only", "error", f"{place} cannot be written", next_step)


def _foreign(workspace: str) -> Iterator[Finding]:
    """Files that this user cannot write, as a run by another one leaves them."""
    me = os.geteuid()
    found = [place for place in _own_files(workspace) if _owner(place) not in (me, None)]
    if not found or not me:
        return
    import pwd

    names = ", ".join(os.path.relpath(place, workspace) for place in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    yield Finding(
        "foreign-files",
        "error",
        f"{len(found)} file(s) of {workspace} belong to another user: {names}{more}",
        f"Once: sudo chown -R {pwd.getpwuid(me).pw_name} {quote(workspace)}"
        " (and let one user alone capture and drain)",
    )


def _own_files(workspace: str) -> Iterator[str]:
    """What commands of ours write there, or the workspace itself."""
    yield workspace
    with suppress(OSError):
        for name in os.listdir(workspace):
            if name.startswith((marks.STORE_FILE, "MEMORY")):
                yield os.path.join(workspace, name)
    for folder, _, names in os.walk(os.path.join(workspace, queue.FOLDER)):
        yield folder
        yield from (os.path.join(folder, name) for name in names)


def _owner(place: str) -> int | None:
    try:
        return os.lstat(place).st_uid
    except OSError:
        return None


def _unreadable(workspace: str, names: list[str]) -> Iterator[Finding]:
    """The first entry that the next drain cannot store."""
    for name in names[:_LOOKED_AT]:
        try:
            queue.read(workspace, name)
        except FileNotFoundError:
            continue
        except PermissionError:
            return  # told with all files of other users
        except InvalidArgument as error:
            yield Finding("queue-entry", "warning", error.message, "The next drain sets it aside.")
            return


def _waiting(settings: Settings, agent: str, names: list[str], now: int) -> Finding:
    if not names:
        return Finding("queue", "ok", f"nothing is queued for {agent}")
    length = now - queue.queued_at(names[0])
    if length <= LATE_MS:
        return Finding("queue", "ok", f"{len(names)} capture(s) of {agent} wait for the next drain")
    return Finding(
        "queue",
        "warning",
        f"{len(names)} capture(s) of {agent} wait; the oldest has waited for {how_long(length)}",
        f"meaning-memory consolidate --agent-id {agent} --drain-only"
        f" --workspace {settings.workspace} ... every few minutes",
    )


def _others(settings: Settings, names: list[str], now: int) -> Iterator[Finding]:
    """Agents that are not asked for: perhaps one has a wrong name, or nobody drains it."""
    for one in waiting(settings.workspace, names):
        length = now - one.since
        if length <= LATE_MS:
            what = f"{one.entries} capture(s) of {one.agent} wait for the next drain"
            yield Finding("queue-other", "ok", what)
            continue
        yield Finding(
            "queue-other",
            "warning",
            f"captures of {one.agent} have waited for {how_long(length)} ({one.entries})",
            f"Is the name {one.agent} right? If so: meaning-memory consolidate --agent-id"
            f" {one.agent} ...",
        )


def _compiled(settings: Settings, agent: str | None) -> Iterator[Finding]:
    if agent is None:
        return
    from mash_plugin.throughline.compile import FILE, compiled_place, not_ours

    try:
        place = compiled_place(settings.workspace, agent)
    except InvalidArgument as error:
        yield Finding("compiled", "warning", error.message)
        return
    if os.path.basename(place) != FILE:
        what = f"{not_ours(settings.workspace)}: the memory of {agent} is in {place}"
        yield Finding("compiled", "note", what)


def _store(settings: Settings, agent: str | None, now: int) -> Iterator[Finding]:
    from mash_plugin.throughline.store import open_database

    try:
        db = open_database(settings, to_write=False)
    except MashError as error:
        yield Finding("store", "error", error.message)
        return
    try:
        if settings.backend == "file":
            is_there = os.path.exists(db.place)
            if lost := lost_store(settings):
                yield Finding("store-lost", "warning", lost)
                return
            if is_there and (fault := damage(db)):
                yield Finding("store", "error", fault)
                return
            state = "can be read" if is_there else "comes with the first drain"
            yield Finding("store", "ok", f"the store {state}: {db.place}")
            yield Finding("backend", "note", NEEDS_POSTGRES)
            if agent:
                yield from _unknown_agent(settings, agent)
            return
        yield Finding("store", "ok", f"the store can be read: {db.place}, as {db.agent}")
        yield from _left_in_file(settings, db.agent or "")
        if agent not in (None, db.agent):
            yield Finding(
                "login",
                "error",
                f"the login is that of {db.agent}, not of {agent}, who finds and stores nothing",
                f"meaning-memory setup-postgres --agent {agent} with a --config-dir of its own",
            )
        from mash_plugin.throughline.checks import checks

        yield from checks(db, settings, now)
    except MashError as error:
        yield Finding("store", "error", error.message)
    finally:
        db.close()


def _unknown_agent(settings: Settings, agent: str) -> Iterator[Finding]:
    from mash_plugin.throughline.hints import unknown_agent

    with suppress(OSError):  # a queue that cannot be read is a finding of its own
        if unknown := unknown_agent(settings, agent):
            yield Finding("agent", "note", unknown)


def _left_in_file(settings: Settings, agent: str) -> Iterator[Finding]:
    """What was stored before the workspace changed to Postgres, where no search looks."""
    from mash_plugin.throughline.moving import left_in_file

    left = left_in_file(settings)
    place = os.path.join(settings.workspace, marks.STORE_FILE)
    if mine := left.pop(agent, 0):
        yield Finding(
            "left-in-file",
            "warning",
            f"{mine} memories of {agent} are still in {place}, where nothing is searched now",
            f"meaning-memory consolidate --agent-id {agent} --file-to-postgres ...",
        )
    if left:
        told = ", ".join(f"{name} ({count})" for name, count in left.items())
        yield Finding(
            "left-in-file",
            "note",
            f"memories of other agents are still in {place}: {told}",
            "Each moves its own: meaning-memory consolidate --agent-id NAME --file-to-postgres ...",
        )
