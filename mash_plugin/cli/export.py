"""`mash export`: the whole memory, or a part of it, as one file."""

import os
import shlex

import click
import orjson

from mash_plugin.cli.new_file import new_file
from mash_plugin.errors import InvalidArgument
from mash_plugin.render.text import clean
from mash_plugin.wording import counted

KINDS = {"personal": "personal", "repository": "repository", "project": "local_project"}


@click.command()
@click.option(
    *("--out", "-o"),
    metavar="FILE",
    type=click.Path(),
    help="Where; else a new file here, or at home in a git work tree.",
)
@click.option("--masked", is_flag=True, help="Mask credentials: for people, not as a backup.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="Only personal, repository:IDENTITY, project:PATH or chat:ID; may be repeated.",
)
@click.option("--project", is_flag=True, help="Only what belongs to the project of this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.argument("extra", nargs=-1, metavar="")
def export(
    out: str | None,
    masked: bool,
    scopes: tuple[str, ...],
    project: bool,
    as_json: bool,
    extra: tuple[str, ...],
) -> int:
    """Write chats and records, with all revisions and evidence, into one file.

    It is yours alone (0600) and holds text as it is, unless --masked. `mash import FILE` takes
    it in. An export of everything can also bring the store back as it was (--keep-identity).
    ^C leaves no file behind. Exit code 1 when damaged records had to be left out.
    """
    from mash_plugin.cli.transfers import run_transfer

    if extra:
        raise click.UsageError(f"To write to that file: mash export --out {shlex.quote(extra[0])}")
    wanted = [*map(scope_of, scopes), *(_project_here() if project else [])]
    path = os.path.abspath(out) if out else new_file("mash-export-%Y%m%d-%H%M%S.jsonl.gz")
    request = {"path": path, "masked": masked, "scopes": wanted or None}
    done = run_transfer("export", request)
    for warning in done["warnings"]:
        click.echo(f"mash: {clean(warning)}", err=True)
    if done["damaged"]:
        told = ", ".join(map(clean, done["damaged"][:20]))
        click.echo(f"mash: left out, for they are damaged: {told}. See `mash doctor`.", err=True)
    if as_json:
        click.echo(orjson.dumps(done).decode())
    else:
        click.echo(f"Wrote {clean(done['path'])}: {held(done['counts'])}, {done['bytes']} bytes.")
    return 1 if done["damaged"] else 0


def held(counts: dict[str, int]) -> str:
    """What a file or a store holds, for people."""
    records, revisions = counts.get("record", 0), counts.get("revision", 0)
    chats, messages = counts.get("chat", 0), counts.get("message", 0)
    return (
        f"{counted(records, 'record')} in {counted(revisions, 'revision')},"
        f" {counted(chats, 'chat')} with {counted(messages, 'message')}"
    )


def scope_of(text: str) -> list[str]:
    """The scope that a word of the command line names. Raises InvalidArgument."""
    kind, _, value = text.partition(":")
    if kind == "chat" and value:
        from mash_plugin.cli.chat_names import whole_chat_id

        return ["chat", whole_chat_id(value)]
    if kind not in KINDS or (kind == "personal") != (not value):
        raise InvalidArgument(
            f"{text!r} is no scope: personal, repository:IDENTITY, project:PATH or chat:ID."
        )
    return [KINDS[kind], os.path.abspath(value) if kind == "project" else value]


def _project_here() -> list[list[str]]:
    from mash_plugin.chats.project import project_of

    found = project_of(os.getcwd())
    if found is None:
        raise InvalidArgument(f"{os.getcwd()} is no project; leave --project out.")
    return [list(scope) for scope in found.scopes]
