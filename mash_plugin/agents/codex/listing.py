"""Codex's own list of plugins (0.171.0)."""

import json
from collections.abc import Mapping

from mash_plugin.agents.listing import Listed, ask
from mash_plugin.agents.plugin import Place
from mash_plugin.errors import Internal

UPDATE = "codex update"


def list_plugins(place: Place, environ: Mapping[str, str]) -> list[Listed]:
    """Every plugin that is installed in Codex; raises Internal where it cannot say."""
    assert place.client  # noqa: S101 - callers ask only where the command was found
    try:
        entries = json.loads(ask([place.client, "plugin", "list", "--json"], environ))["installed"]
        return [
            Listed(
                str(entry["pluginId"]),
                bool(entry.get("enabled")),
                str((entry.get("source") or {}).get("path") or ""),
            )
            for entry in entries
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Internal(f"`codex plugin list --json` cannot be read ({error}).") from None


def remove_command(plugin_id: str) -> str:
    """How the person takes out one plugin with its marketplace."""
    name = plugin_id.rpartition("@")[2]
    return f"codex plugin remove {plugin_id} && codex plugin marketplace remove {name}"
