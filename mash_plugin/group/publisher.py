"""Bring the group's copies of this node's records up to date (R-174).

Each record that changed is looked at again and its copy replaced whole, or removed, in one
transaction on the server; only then its note is taken out of the outbox. So whatever dies in
between, the same is done once more with the same outcome.

Every publication leaves a mark on the node's row, which the store keeps, too. Where the two
differ, one side was restored or a commit's reply was lost: then all copies are compared.
"""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from mash_plugin.digest import sha256_of
from mash_plugin.errors import InvalidState, MashError, StoreBusy
from mash_plugin.group.comparison import compare, let_others_run
from mash_plugin.group.deadline import cut_off
from mash_plugin.group.publication import TABLES, Copy, Rules, Withheld
from mash_plugin.group.session import SQL_FOLDER, open_group
from mash_plugin.memory.call import Call
from mash_plugin.paths import Paths
from mash_plugin.store import publication
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.publication import Membership, Waiting
from mash_plugin.store.queries import load

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

BATCH = 250
BATCH_BYTES = 2 << 20
QUOTA = "MA001"
SQL = load("publication", SQL_FOLDER)
_OF_THE_ROW = ("22", "23", "54", "MA")
"""Classes of SQLSTATE that say something of what was sent, and nothing of the server."""


class Change(NamedTuple):
    """What one note of the outbox comes to."""

    note: Waiting
    copy: Copy | None
    """None: the group is to hold nothing of it."""
    failure: str | None = None
    """Why it stays here although the settings would publish it."""


class Entered(NamedTuple):
    """The group as the server told it."""

    group: str
    group_id: str
    member: str
    place: str
    is_read_only: bool


class Publisher:
    """Publishes for one node; owns the connection while it does."""

    def __init__(
        self,
        call: Callable[[], Call],
        home: str,
        environ: Mapping[str, str],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.entered: Entered | None = None
        """What the last connection told."""
        self._call = call
        self._home = home
        self._environ = environ
        self._should_stop = should_stop
        self._db: GroupDatabase | None = None
        self._is_full = False

    def run(self, *, take_over: bool = False, again: bool = False) -> None:
        """Connect, compare if need be, and publish all that waits.

        `take_over`: go on here although the node was last published from another home.
        `again`: try also what was set aside. Raises what connecting raises, InvalidState where
        another home or another member publishes for this node.
        """
        call = self._call()
        self._is_full = False
        with call.store.writing():
            pass  # nothing is published that could not be noted
        with closing(open_group(call.settings, self._environ, to_write=True)) as db, cut_off(db):
            self._db = db
            try:
                self.entered = Entered(
                    db.group, db.group_id, db.member, db.place, bool(db.is_read_only)
                )
                if db.is_read_only:
                    self._leave(call)
                    return
                node_id = self._agree(db, call, take_over=take_over)
                if again:
                    with call.store.writing() as local:
                        publication.retry_set_aside(local)
                while not self._should_stop() and self._send_next(db, node_id):
                    pass
            finally:
                self._db = None

    def break_off(self) -> None:
        """End a connection that a thread waits for; from any other thread."""
        if self._db is not None:
            self._db.cut()

    def _leave(self, call: Call) -> None:
        with call.store.reading() as local:
            is_joined = publication.membership(local) is not None
        if is_joined:
            with call.store.writing() as local:
                publication.leave(local)

    def _agree(self, db: "GroupDatabase", call: Call, *, take_over: bool) -> str:
        """Join if need be, and see to it that what differs waits in the outbox; the node's ID."""
        with call.store.reading() as local:
            node_id = publication.node_id(local)
            joined = publication.membership(local)
        mark = self._register(db, node_id, take_over=take_over)
        if joined is None or joined.group_id != db.group_id:
            joined = Membership(db.group_id)
            with call.store.writing() as local:
                publication.join(local, joined)
        with call.store.reading() as local:
            rules = Rules(call, local).fingerprint(local)
        if (joined.published, joined.rules) != (mark, rules):
            compare(db, call, node_id, self._should_stop)
            if not self._should_stop():
                with call.store.writing() as local:
                    publication.remember(local, joined._replace(published=mark, rules=rules))
        return node_id

    def _register(self, db: "GroupDatabase", node_id: str, *, take_over: bool) -> str:
        """The mark of the node's last publication; the node's row is made if there is none."""
        key = {"node_id": node_id, "home": self._home}
        if db.one(SQL.node, key) is None:
            db.run(SQL.register, key)
        is_own, home, mark, owner, is_removed = db.one(SQL.node, key) or (False, "", "", "", False)
        if not is_own:
            raise _not_own(f"{db.place}: node {node_id}", owner, is_removed=is_removed)
        if home != self._home:
            if not take_over:
                raise InvalidState(
                    f"{db.place}: node {node_id} was last published from another folder or"
                    " machine. If this store was moved here: `mash publish --now --take-over`."
                    " If it is a copy, only one can publish: `mash group leave --keep` here."
                )
            db.run(SQL.move, key)
        return str(mark)

    def _send_next(self, db: "GroupDatabase", node_id: str) -> bool:
        """Send one batch; False when nothing waits."""
        call = self._call()
        if call.settings.group_dsn_file is None:
            return False  # the group was left meanwhile
        changes = _next_changes(call)
        if changes:
            self._send(db, call, node_id, changes)
        return bool(changes)

    def _send(
        self, db: "GroupDatabase", call: Call, node_id: str, changes: Sequence[Change]
    ) -> None:
        """Publish the changes; what the server refuses is found by halves and set aside."""
        try:
            mark = self._replace(db, node_id, changes)
        except MashError as error:
            state, why = _refusal(error)
            if why is None:
                raise
            for part in self._parts(db, node_id, changes, state, why):
                self._send(db, call, node_id, part)
            return
        failpoint("published_before_noted")
        _note(call, changes, mark)

    def _parts(
        self,
        db: "GroupDatabase",
        node_id: str,
        changes: Sequence[Change],
        state: str,
        why: str,
    ) -> list[Sequence[Change]]:
        """The same changes in parts that are refused less, or not at all."""
        if len(changes) == 1:
            # What the group holds of an older revision would be taken for what is.
            self._is_full |= state == QUOTA
            return [[changes[0]._replace(copy=None, failure=why)]]
        if self._is_full and state == QUOTA:
            ids = [change.note.record_id for change in changes]
            rows = db.all(SQL.present, {"node_id": node_id, "record_ids": ids})
            there = {str(row[0]) for row in rows}
            new = [c for c in changes if c.copy and c.note.record_id not in there]
            rest = [c for c in changes if c not in new]
            if new:
                refused = [c._replace(copy=None, failure=why) for c in new]
                return [refused, rest] if rest else [refused]
        middle = len(changes) // 2
        return [changes[:middle], changes[middle:]]

    def _replace(self, db: "GroupDatabase", node_id: str, changes: Sequence[Change]) -> str:
        """Put these copies in the place of those there, in one transaction; its mark."""
        mark = secrets.token_hex(16)
        ids = [change.note.record_id for change in changes]
        with db.transaction():
            db.run(SQL.end_soon, {})
            key = {"node_id": node_id, "home": self._home, "mark": mark}
            if db.one(SQL.mark, key) is None:
                raise StoreBusy(f"{db.place}: node {node_id} was moved meanwhile; trying again.")
            db.run(SQL.remove, {"node_id": node_id, "record_ids": ids})
            for table in TABLES:
                rows = [row for c in changes if c.copy for row in c.copy.rows[table]]
                if rows:
                    insert = getattr(SQL, f"insert_{table}")
                    db.run(insert, {"node_id": node_id, "rows": f"[{','.join(rows)}]"})
            failpoint("publishing_before_commit")
        return mark


def _not_own(node: str, owner: str, *, is_removed: bool) -> InvalidState:
    if is_removed:
        return InvalidState(
            f"{node} was published by {owner}, who is no member any more. Nothing was published;"
            " it will be when whoever runs the group has deleted what is left of them:"
            f" mash group remove {owner} --purge"
        )
    return InvalidState(
        f"{node} is another member's, {owner}'s, so this store is a copy of theirs. Nothing was"
        " published; begin with a store of your own."
    )


def home_of(paths: Paths) -> str:
    """What stands for this folder on this machine, so that a copied store is told."""
    machine = ""
    with suppress(OSError), open("/etc/machine-id", encoding="ascii") as file:
        machine = file.read().strip()
    return sha256_of(f"{machine}\0{os.path.realpath(paths.data)}".encode()).hex()[:32]


def _next_changes(call: Call) -> list[Change]:
    """The oldest notes with what they come to, as many as go well in one transaction."""
    changes: list[Change] = []
    size = 0
    with call.store.reading() as local:
        rules = Rules(call, local)
        for note in publication.waiting(local, BATCH):
            if size >= BATCH_BYTES:
                break
            let_others_run()
            found = rules.copy_of(local, note.record_id)
            if isinstance(found, Withheld):
                changes.append(Change(note, None, found.why))
            else:
                changes.append(Change(note, found))
                size += found.size if found else 0
    return changes


def _note(call: Call, changes: Sequence[Change], mark: str) -> None:
    """Take out of the outbox what the server has, and keep the mark that it has."""
    with call.store.writing() as local:
        joined = publication.membership(local)
        if joined is None:
            return  # the group was left meanwhile
        publication.take_out(local, [c.note for c in changes if c.failure is None])
        for change in changes:
            if change.failure is not None:
                publication.set_aside(local, change.note, change.failure)
        publication.remember(local, joined._replace(published=mark, published_at=call.now))


def _refusal(error: MashError) -> tuple[str, str | None]:
    """The SQLSTATE, and why the server refuses what was sent; None where it is not that."""
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None) or ""
    if not state.startswith(_OF_THE_ROW) or state == "23503":  # the node's row is gone
        return state, None
    told = getattr(cause, "diag", None)
    reason = getattr(told, "constraint_name", None) or getattr(told, "message_primary", None)
    return state, f"the server refuses it: {reason or state}"
