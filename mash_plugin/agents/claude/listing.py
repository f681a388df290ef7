"""Claude Code's own list of plugins (2.1.332)."""

import json
from collections.abc import Mapping

from mash_plugin.agents.listing import Listed, ask
from mash_plugin.agents.plugin import Place
from mash_plugin.errors import Internal

UPDATE = "claude update"


def list_plugins(place: Place, environ: Mapping[str, str]) -> list[Listed]:
    """Every plugin that Claude Code knows; raises Internal where it cannot say."""
    assert place.client  # noqa: S101 - callers ask only where the command was found
    try:
        entries = json.loads(ask([place.client, "plugin", "list", "--json"], environ))
        return [
            Listed(
                str(entry["id"]), bool(entry.get("enabled")), str(entry.get("readFromFolder") or "")
            )
            for entry in entries
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise Internal(f"`claude plugin list --json` cannot be read ({error}).") from None


def remove_command(plugin_id: str) -> str:
    """How the person takes out one plugin with its marketplace."""
    name = plugin_id.rpartition("@")[2]
    return f"claude plugin uninstall {plugin_id} && claude plugin marketplace remove {name}"
