"""`mash restore`: the store back from a daily backup, with the former one kept."""

import os
import sys
import time

import click

from mash_plugin.cli.stopping import free_store
from mash_plugin.errors import InvalidArgument
from mash_plugin.paths import find_paths


@click.command()
@click.argument("backup", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(backup: str | None, yes: bool) -> None:
    """Put BACKUP (the newest good one if left out) in the place of the store."""
    from mash_plugin.store.checks import store_report
    from mash_plugin.store.restore import restore as restore_store

    paths = find_paths(os.environ)
    if not yes and store_report(paths).state not in ("missing", "damaged"):
        _ask(paths.store)
    free_store(paths)
    done = restore_store(paths, backup, time.time_ns() // 1_000_000)
    click.echo(f"Restored {paths.store} from {done.backup}.")
    if done.kept:
        click.echo(f"What was there before is kept as {done.kept}.")
    if done.forgotten_again:
        click.echo(f"Left out, for they were forgotten since: {done.forgotten_again} records.")
    if done.forgotten_again is None:
        click.echo("What was forgotten since that backup may be back: the former store is unread.")
    click.echo(", ".join(f"{count} {name}" for name, count in done.counts.items()))


def _ask(store: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidArgument(
            f"{store} is in order; to replace it by an older state all the same, add --yes."
        )
    if not click.confirm(
        f"{store} is in order. Replace it by the backup?", default=False, err=True
    ):
        click.echo("Nothing was changed.")
        click.get_current_context().exit(1)
