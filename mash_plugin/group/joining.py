"""Join a group on this machine, and leave it: the connection file, and one line of the settings."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from tomlkit.items import Item

from mash_plugin.config import Settings
from mash_plugin.errors import InvalidArgument, InvalidState, MashError
from mash_plugin.file_opening import open_file
from mash_plugin.file_writing import write_private
from mash_plugin.group.names import roles_of_login
from mash_plugin.group.session import SQL_FOLDER, WRITER, dsn_file, open_dsn, open_group
from mash_plugin.postgres.dsn import parsed, read_dsn_file
from mash_plugin.settings_file import Table, edit_settings, subtable
from mash_plugin.store.queries import load
from mash_plugin.wording import counted

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

FILE = "group.dsn"
"""Beside config.toml, unless [group] dsn_file names another place."""
sql = load("session", SQL_FOLDER)


class Joined(NamedTuple):
    """What one run did."""

    place: str
    group: str
    member: str
    is_read_only: bool
    file: str


class Left(NamedTuple):
    """What one run did."""

    place: str
    withdrawn: int | None
    """How many published copies; None where they were left there."""


def join_group(
    dsn: str, settings: Settings, environ: Mapping[str, str], agree: Callable[[Joined], None]
) -> Joined:
    """Try the connection string, keep it in a file for this user alone, and name that file.

    A daemon that runs publishes as soon as the settings name it, so `agree` is called before, and
    keeps everything as it was by whatever it raises. Raises what `open_group` raises, and
    InvalidArgument where another group is joined.
    """
    group = roles_of_login(parsed(dsn).get("user", "")).group
    _refuse_second(group, settings)
    with closing(open_dsn(dsn, environ, to_write=False)) as db:
        joined = Joined(db.place, db.group, db.member, db.is_read_only, _place_of_file(settings))
    agree(joined)
    with _kept_on_failure(joined.file):
        write_private(joined.file, dsn + "\n")
        edit_settings(settings.file, _name_file)
    return joined


def leave_group(
    settings: Settings, environ: Mapping[str, str], node_id: str, *, keep: bool = False
) -> Left:
    """Withdraw what this node published, then forget the group; its other settings stay.

    Raises what `open_group` raises, and InvalidState for a login that published and may only read
    by now; nothing was changed then.
    """
    file = dsn_file(settings)
    if keep:
        edit_settings(settings.file, _forget_file)
        _remove_own(file, settings)
        return Left(file, None)
    with closing(_reached(settings, environ)) as db:
        _refuse_reader(db, node_id)
        # The daemon stops first: it would publish again what is withdrawn.
        edit_settings(settings.file, _forget_file)
        try:
            withdrawn = _withdraw(db, node_id)
        except BaseException:
            edit_settings(settings.file, lambda table: _name_file(table, settings.group_dsn_file))
            raise
    _remove_own(file, settings)
    return Left(db.place, withdrawn)


def _reached(settings: Settings, environ: Mapping[str, str]) -> "GroupDatabase":
    try:
        return open_group(settings, environ, to_write=True)
    except MashError as error:
        raise type(error)(
            f"{error.message} You have not left; `mash group leave --keep` leaves without"
            " withdrawing what was published."
        ) from None


def _refuse_second(group: str, settings: Settings) -> None:
    """Two groups at once would each hold half of what is published."""
    if settings.group_dsn_file is None:
        return
    try:
        user = parsed(read_dsn_file(dsn_file(settings), writer=WRITER)).get("user", "")
        former = roles_of_login(user).group
    except MashError:  # what cannot be used can be replaced
        return
    if former != group:
        raise InvalidArgument(
            f"This machine is in the group {former}; run `mash group leave` first, then join"
            f" {group}."
        )


def _place_of_file(settings: Settings) -> str:
    if settings.group_dsn_file is not None:
        return dsn_file(settings)
    return os.path.join(os.path.dirname(settings.file), FILE)


@contextmanager
def _kept_on_failure(file: str) -> Iterator[None]:
    """Put the file back as it was, or away, when what is done within does not come to its end."""
    try:
        with open(file, encoding="utf-8", opener=open_file) as found:
            before = found.read()
    except OSError:
        before = None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if before is None:
                os.unlink(file)
            else:
                write_private(file, before)
        raise


def _name_file(table: Table, file: str | None = None) -> None:
    group = subtable(table, "group")
    if file is not None or "dsn_file" not in group:
        group["dsn_file"] = file or FILE


def _forget_file(table: Table) -> None:
    group = subtable(table, "group")
    group.pop("dsn_file", None)
    # A comment of the person's keeps the table.
    if isinstance(group, Item) and not group.as_string().strip():
        del table["group"]


def _refuse_reader(db: "GroupDatabase", node_id: str) -> None:
    row = db.one(sql.own_records, {"node": node_id}) if db.is_read_only else None
    if row and row[0]:
        raise InvalidState(
            f"{db.place}: {db.member} may only read by now, so {counted(row[0], 'record')} that"
            " this machine published cannot be withdrawn, and you have not left. Whoever runs the"
            f" group can delete them (mash group remove {db.member} --purge);"
            " `mash group leave --keep` leaves them there."
        )


def _withdraw(db: "GroupDatabase", node_id: str) -> int:
    with db.transaction():
        row = db.one(sql.own_records, {"node": node_id})
        if not db.is_read_only:
            db.run(sql.remove_node, {"node": node_id})
    return int(row[0]) if row else 0


def _remove_own(file: str, settings: Settings) -> None:
    """Remove the file that we wrote; one at a place that the person chose stays."""
    if settings.group_dsn_file == FILE:
        with suppress(FileNotFoundError):
            os.unlink(file)
