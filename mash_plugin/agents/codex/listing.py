"""Codex's own list of plugins (0.171.0)."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.agents.listing import Listed, listed_by
from mash_plugin.agents.plugin import Place

UPDATE = "codex update"


def list_plugins(place: Place, environ: Mapping[str, str]) -> list[Listed]:
    """Every plugin that is installed in Codex; raises Internal where it cannot say."""
    return listed_by(place, environ, lambda told: [_listed(entry) for entry in told["installed"]])


def remove_command(plugin_id: str) -> str:
    """How the person takes out one plugin with its marketplace."""
    name = plugin_id.rpartition("@")[2]
    return f"codex plugin remove {plugin_id} && codex plugin marketplace remove {name}"


def _listed(entry: Any) -> Listed:  # noqa: ANN401 - JSON
    folder = (entry.get("source") or {}).get("path")
    return Listed(str(entry["pluginId"]), bool(entry.get("enabled")), str(folder or ""))
