"""The group: its connection file, its server, what waits to be published, the copies for recall."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from shlex import quote
from typing import NamedTuple

from mash_plugin.doctor.finding import Finding, Repair
from mash_plugin.doctor.machine import Machine
from mash_plugin.errors import (
    MashError,
    SharedAuthFailed,
    SharedUnavailable,
    UpgradeNeeded,
)
from mash_plugin.memory.group import OLDEST_MS
from mash_plugin.postgres.dsn import driver_command
from mash_plugin.render.text import ago
from mash_plugin.store import publication
from mash_plugin.wording import counted

LIMIT_S = 4.0
"""For the server, whatever it does: nobody waits for the doctor."""
SKEW_MS = 60_000
"""Clocks that differ by less do no harm."""
OLD_MS = 3_600_000
"""A change that waits longer is stuck: each is published within minutes."""
STALE_MS = 86_400_000
STATUS = "mash publish --status"
REJOIN = "ask whoever runs the group for a connection string, then `mash group join -`"


class _Server(NamedTuple):
    """What a connection told."""

    place: str
    group: str
    member: str
    clock_ms: int
    """How far the server's clock is ahead of this machine's."""


def check_connection(machine: Machine) -> Iterator[Finding]:
    """Whether the group's server can be used under this login."""
    from mash_plugin.group.cache import connection_file

    path = connection_file(machine.settings)
    if path is None:
        yield _not_joined(machine)
        return
    if find_spec("psycopg") is None:
        text = "Postgres needs psycopg, which is not installed"
        why = "nothing is published or read without it"
        yield Finding("group-driver", "error", text, why, driver_command())
        return
    open_to = _others_rights(path)
    if open_to:
        why = "it holds the password of your login; until then it is not used"
        text = f"{path} can be read by others (mode {open_to:04o})"
        yield Finding("group-file-open", "error", text, why, f"chmod 600 {path}", _close(path))
        return
    from mash_plugin.group.deadline import within

    try:
        server = within(LIMIT_S, partial(_look, machine))
    except MashError as error:
        yield _unusable(error)
        return
    yield Finding("group", "ok", f"{server.group} as {server.member}, at {server.place}")
    yield from _skew(server)


def _not_joined(machine: Machine) -> Finding:
    """Nothing, or what is left of a group whose line went out of the settings."""
    from mash_plugin.group.joining import FILE

    config = machine.paths.config_file
    left = os.path.join(os.path.dirname(config), FILE)
    if machine.settings.problem or not os.path.exists(left):
        return Finding("group-off", "ok", "no group is joined")
    text = f"the connection file {left} is there, and no [group] dsn_file in {config} names it"
    why = "so no group is joined: nothing is published, nothing of others is told; else delete it"
    return Finding("group-file-left", "warning", text, why, f"mash group join - < {quote(left)}")


def check_publication(machine: Machine) -> Iterator[Finding]:
    """What should have been published by now, and what was refused."""
    if machine.settings.group_dsn_file is None or not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        waiting, oldest_at, set_aside = publication.backlog(db)
    if oldest_at is not None and machine.now - oldest_at > OLD_MS:
        text = (
            f"{counted(waiting, 'changed record')} not published for {_since(machine, oldest_at)}"
        )
        why = "the daemon publishes within minutes while it runs and the server answers"
        yield Finding("group-backlog", "warning", text, why, STATUS)
    if set_aside:
        text = f"{counted(set_aside, 'record')} set aside: the rules or the server refuse them"
        why = "each is tried again when it changes, and stays out of the group until then"
        yield Finding("group-set-aside", "warning", text, why, STATUS)


def check_copies(machine: Machine) -> Iterator[Finding]:
    """How old the copies are that agents are told from."""
    if machine.settings.group_dsn_file is None or not machine.settings.group_recall:
        return
    from mash_plugin.group.cache import GroupCache

    kept = GroupCache(machine.paths.group).kept()
    if not kept:
        text = "no copy of the group's records is here yet: a session in a repository fetches them"
        yield Finding("group-copies", "ok", text)
        return
    newest = kept[0].read_at
    where = "1 repository" if len(kept) == 1 else f"{len(kept)} repositories"
    text = f"group records of {where} are here, fetched {_since(machine, newest)} ago at the latest"
    age = machine.now - newest
    if age <= STALE_MS:
        yield Finding("group-copies", "ok", text)
        return
    why = "the daemon fetches them while sessions run and the server answers"
    if age > OLDEST_MS:
        why += "; agents are told nothing from copies older than a week"
    yield Finding("group-copies-old", "note", text, why, "mash group status")


def _look(machine: Machine) -> _Server:
    from mash_plugin.group.session import open_group

    with closing(open_group(machine.settings, machine.environ, to_write=False)) as db:
        before = time.time()
        row = db.one("SELECT extract(epoch FROM clock_timestamp()) * 1000", {})
        middle_ms = 500 * (before + time.time())
        assert row is not None  # noqa: S101 - one row always
        return _Server(db.place, db.group, db.member, int(float(row[0]) - middle_ms))


def _unusable(error: MashError) -> Finding:
    """The error as a finding; its text says what helps."""
    what = error.message
    match error:
        case SharedUnavailable() if _is_of_tls(error):
            why = "without a proven certificate no password is sent"
            advice = "let sslrootcert=FILE in the connection string name the right certificate"
            return Finding("group-tls", "error", what, why, advice)
        case SharedUnavailable():
            why = "shared lists fail until it answers; changes wait, and hooks go on"
            return Finding("group-unreachable", "warning", what, why, "mash group status")
        case SharedAuthFailed():
            why = "nothing is published or read under this login"
            return Finding("group-login", "error", what, why, REJOIN)
        case UpgradeNeeded():
            why = "nothing is published or read until both fit"
            return Finding("group-schema", "error", what, why, "mash group status")
    why = "nothing is published or read until it is mended"
    return Finding("group-unusable", "error", what, why, REJOIN)


def _is_of_tls(error: MashError) -> bool:
    return any(word in error.message.lower() for word in ("certificate", "ssl", "tls"))


def _skew(server: _Server) -> Iterator[Finding]:
    if abs(server.clock_ms) > SKEW_MS:
        direction = "ahead of" if server.clock_ms > 0 else "behind"
        text = f"the group's server is {ago(abs(server.clock_ms))} {direction} this machine's clock"
        why = "times of records from different machines do not compare"
        yield Finding("group-clock", "warning", text, why, "timedatectl")


def _others_rights(path: str) -> int:
    """The mode of a file that others can read; 0 for one that they cannot, or that is gone."""
    try:
        found = os.stat(path).st_mode
    except OSError:
        return 0
    return stat.S_IMODE(found) if stat.S_ISREG(found) and found & 0o077 else 0


def _close(path: str) -> Repair:
    def run() -> str:
        os.chmod(path, 0o600)
        return f"{path} can be read by you alone now"

    return Repair(run)


def _since(machine: Machine, at: int) -> str:
    return ago(max(0, machine.now - at))
