"""`meaning-memory forget`: a captured session, or one memory, for ever."""

import os
from typing import TYPE_CHECKING

import click

from mash_plugin.cli.capture import agent_option, masked, places, settings_of
from mash_plugin.cli.consent import refuse_in_session, require_yes
from mash_plugin.wording import counted

if TYPE_CHECKING:
    from mash_plugin.throughline.forget import Forgotten


@click.command()
@agent_option("Whose.")
@click.option("--session-id", "session", metavar="ID", help="Everything of this session.")
@click.option(
    "--mem-id", metavar="ID", help="This memory alone, with its copy in long-term memory."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@places
def forget(
    agent: str,
    session: str | None,
    mem_id: str | None,
    yes: bool,
    config_dir: str,
    workspace: str | None,
) -> int:
    """Forget a captured session or one memory: stored, queued, and in MEMORY.md.

    The bytes are overwritten in memories.db; on Postgres that is the server's own work. The
    transcript is not touched: a session that is captured again is stored again.
    """
    if (session is None) == (mem_id is None):
        raise click.UsageError("Give either --session-id ID or --mem-id ID.")
    settings = settings_of(config_dir, workspace)
    if not os.path.isdir(settings.workspace):
        raise click.UsageError(f"The workspace {masked(settings.workspace)} does not exist.")
    refuse_in_session("Forgetting cannot be undone")
    from mash_plugin.throughline.clock import now_ms
    from mash_plugin.throughline.forget import Wanted, count
    from mash_plugin.throughline.forget import forget as let_go

    name = f"session {session}" if mem_id is None else f"memory {mem_id}"
    wanted = Wanted(agent, () if session is None else (session,), mem_id)
    found = count(settings, wanted)
    if not yes and (found.memories or found.entries):
        click.echo(masked(f"{name} of {agent}: {_told(found)}"), err=True)
        unasked = "forgetting cannot be undone, and there is no terminal to ask on: add --yes."
        require_yes("Forget all this for ever?", unasked)
    gone = let_go(settings, wanted, now_ms(os.environ))
    for note in gone.notes:
        click.echo(masked(note), err=True)
    if not (gone.memories or gone.entries):
        from mash_plugin.throughline.hints import unknown_agent

        why = f"nothing of {name} is kept here for {agent}. {unknown_agent(settings, agent)}"
        raise click.ClickException(masked(why.rstrip()))
    click.echo(f"forget: {_told(gone)} removed")
    return 0


def _told(what: "Forgotten") -> str:
    memories = "1 memory" if what.memories == 1 else f"{what.memories} memories"
    return f"{memories} and {counted(what.entries, 'queued capture')}"
