"""`mash demo`: how it works, on made-up sessions in a temporary folder."""

import click

from mash_plugin.cli.demo.throughline import throughline
from mash_plugin.cli.groups import TellingGroup


@click.group(cls=TellingGroup, invoke_without_command=True)
@click.pass_context
def demo(context: click.Context) -> int:
    """Show how it works, in a temporary folder; nothing of yours is touched.

    Alone it tells of a decision that travels from Claude Code to Codex, of words that nobody
    said, and of a change of mind, with the real hooks and a daemon of its own.
    """
    if context.invoked_subcommand is not None:
        return 0
    from mash_plugin.cli.demo.story import tell_story

    return tell_story()


demo.add_command(throughline)
