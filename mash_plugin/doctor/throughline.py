"""The working memory that [throughline] names: its queue, its store and what is set."""

from collections.abc import Iterator

from mash_plugin.config import read_tables
from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.errors import InvalidArgument


def check_throughline(machine: Machine) -> Iterator[Finding]:
    """What `meaning-memory doctor` finds for the agent of mash's own settings."""
    from mash_plugin.throughline.doctor import findings
    from mash_plugin.throughline.settings import configured_agent

    file = machine.paths.config_file
    if read_tables(file)[1] is not None:
        return  # a file that cannot be read is a finding of its own
    try:
        target = configured_agent(file)
    except InvalidArgument as error:
        yield Finding("throughline-settings", "error", error.message)
        return
    if target is None:
        text = (
            "not in use by mash itself: config.toml names no agent and workspace for it."
            " For the workspace of a runner: meaning-memory doctor --config-dir FOLDER"
        )
        yield Finding("throughline-off", "ok", text)
        return
    agent, settings = target
    for one in findings(settings, agent, machine.now, may_be_new=True):
        yield Finding(f"throughline-{one.name}", one.severity, one.what, next=one.next)
