"""`mash bug-report`: an archive for the tracker that holds nothing of what was said."""

import os

import click

from mash_plugin.cli.doctor import machine_of
from mash_plugin.cli.new_file import new_file
from mash_plugin.paths import find_paths, work_tree_of
from mash_plugin.render.text import clean


@click.command()
@click.option(
    "--out", "-o", metavar="FILE", help="Where; else here, or at home in a git work tree."
)
def bug_report(out: str | None) -> None:
    """Write an archive for the tracker: versions, findings, schema and counts.

    Records, quotes, prompts, secrets, and the names of people and projects are left out; look
    through it all the same before you send it.
    """
    from mash_plugin.doctor.bug_report import collect, write_archive
    from mash_plugin.doctor.examination import examine

    machine = machine_of(find_paths(os.environ))
    path = os.path.abspath(out) if out else new_file("mash-bug-report-%Y%m%d-%H%M%S.tar.gz")
    files = collect(machine, examine(machine))
    write_archive(files, path, machine.now)
    if tree := work_tree_of(path):
        told = f"mash: The file lies in the git work tree {clean(tree)}: do not commit it."
        click.echo(told, err=True)
    click.echo(f"Wrote {clean(path)}: {', '.join(files)}.")
    click.echo(f"Look through it before you send it: tar -xzOf {clean(path)} | less")
