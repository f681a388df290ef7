"""Claude Code's own list of plugins (2.1.332)."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.agents.listing import Listed, listed_by
from mash_plugin.agents.plugin import Place

UPDATE = "claude update"


def list_plugins(place: Place, environ: Mapping[str, str]) -> list[Listed]:
    """Every plugin that Claude Code knows; raises Internal where it cannot say."""
    return listed_by(place, environ, lambda told: [_listed(entry) for entry in told])


def remove_command(plugin_id: str) -> str:
    """How the person takes out one plugin with its marketplace."""
    name = plugin_id.rpartition("@")[2]
    return f"claude plugin uninstall {plugin_id} && claude plugin marketplace remove {name}"


def _listed(entry: Any) -> Listed:  # noqa: ANN401 - JSON
    folder = entry.get("readFromFolder")
    return Listed(str(entry["id"]), bool(entry.get("enabled")), str(folder or ""))
