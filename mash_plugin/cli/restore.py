"""`mash restore`: the store back from a daily backup, with the former one kept."""

import os
import time
from typing import TYPE_CHECKING, Any

import click
import orjson

from mash_plugin.cli.consent import refuse_in_session, require_yes
from mash_plugin.cli.stopping import free_store
from mash_plugin.cli.telling import tell
from mash_plugin.errors import LocalFailure
from mash_plugin.paths import Paths, find_paths
from mash_plugin.render.text import clean, local_date
from mash_plugin.wording import counted

if TYPE_CHECKING:
    from mash_plugin.store.restore import Restored

HELD = {"records": "record", "revisions": "revision", "evidence": "quote", "links": "link"}


@click.command()
@click.argument("backup", required=False)
@click.option("--list", "is_list", is_flag=True, help="Show the backups; restore nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(backup: str | None, is_list: bool, as_json: bool, yes: bool) -> None:
    """Put BACKUP (the newest good one if left out) in the place of the store.

    The former store is kept under another name. What was forgotten since the backup was made
    stays forgotten, as far as the former store can be read. In an agent's session a BACKUP
    that is not one of the daily ones is refused: it could hold anything.
    """
    from mash_plugin.store.checks import store_report
    from mash_plugin.store.restore import choose
    from mash_plugin.store.restore import restore as restore_store

    paths = find_paths(os.environ)
    if is_list:
        _list(paths, as_json=as_json)
        return
    if backup is not None and not _is_daily(paths, backup):
        refuse_in_session(f"{clean(backup)} would replace your memory as a whole")
    report = store_report(paths)
    if not yes and report.state not in ("missing", "damaged"):
        backup, held = choose(paths, backup)
        told = f"{_named(paths, backup)} with {counted(held.counts['records'], 'record')}"
        has = f" and has {counted(report.counts['records'], 'record')}" if report.counts else ""
        require_yes(
            f"{clean(paths.store)} is in order{has}. Replace it by the {told}?",
            f"{paths.store} is in order{has}; to replace it by the {told} all the same, add --yes.",
        )
    free_store(paths)
    done = restore_store(paths, backup, time.time_ns() // 1_000_000)
    if as_json:
        body = {name: getattr(done, name) for name in ("backup", "kept", "forgotten_again")}
        click.echo(orjson.dumps(body | {"counts": dict(done.counts)}).decode())
    else:
        _tell(paths, done)


def _is_daily(paths: Paths, backup: str) -> bool:
    return os.path.dirname(os.path.realpath(backup)) == os.path.realpath(paths.backups)


def _named(paths: Paths, backup: str) -> str:
    """The backup with the moment that it was made: of another file, when it was written."""
    from mash_plugin.store.backup import backups

    made = {one.path: one.made_at for one in backups(paths.backups)}
    at = made.get(backup) or int(os.stat(backup).st_mtime * 1_000)
    return f"backup of {local_date(at)} ({clean(backup)})"


def _tell(paths: Paths, done: "Restored") -> None:
    tell(f"Restored {clean(paths.store)} from {clean(done.backup)}.")
    if done.kept:
        tell(f"What was there before is kept as {clean(done.kept)}.")
    if done.forgotten_again:
        left_out = counted(done.forgotten_again, "record")
        tell(f"Left out, for it was forgotten since: {left_out}.")
    if done.forgotten_again is None:
        tell("What was forgotten since that backup may be back: the former store is unread.")
    held = [counted(done.counts[name], word) for name, word in HELD.items()]
    tell(f"It holds {', '.join(held)}.")


def _list(paths: Paths, *, as_json: bool) -> None:
    from mash_plugin.store.backup import backups, verify

    found: list[dict[str, Any]] = []
    for backup in backups(paths.backups):
        one: dict[str, Any] = {"path": backup.path, "made_at": backup.made_at}
        try:
            one |= {"counts": dict(verify(backup.path).counts), "problem": None}
        except LocalFailure as error:
            one |= {"counts": {}, "problem": error.message}
        found.append(one)
    if as_json:
        click.echo(orjson.dumps({"backups": found}).decode())
        return
    for one in found:
        held = one["problem"] or counted(one["counts"]["records"], "record")
        tell(f"{local_date(one['made_at'])}  {clean(one['path'])}  {clean(held)}")
    if not found:
        tell(f"There are no backups in {clean(paths.backups)}.")
