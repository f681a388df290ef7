"""What the hosts say of themselves: their version and their plugins."""

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mash_plugin.agents.commands import ask, shown
from mash_plugin.agents.plugin import Place
from mash_plugin.errors import Internal

TRIED = {"claude-code": "2.1.332", "codex": "0.171.0"}
"""The version of each host that the plugin was tried with; the only place that says so."""
Version = tuple[int, ...]


class Listed(NamedTuple):
    """One plugin in a host's own list."""

    plugin_id: str
    is_enabled: bool
    source: str
    """The folder that the host reads it from or copied it from; empty where it does not say."""


def listed_by(
    place: Place, environ: Mapping[str, str], read: Callable[[Any], list[Listed]]
) -> list[Listed]:
    """What the host's own `plugin list --json` tells, as `read` finds it in that JSON.

    Raises Internal where the host cannot say, or says it in another way.
    """
    command = [place.command, "plugin", "list", "--json"]
    said = ask(command, environ)
    try:
        return read(json.loads(said))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Internal(f"`{shown(command)}` cannot be read ({error}).") from None


def version_of(client: str, environ: Mapping[str, str]) -> Version:
    """The host's version; raises Internal where it tells none."""
    said = ask([client, "--version"], environ)
    found = re.search(r"\d+(?:\.\d+)+", said)
    if found is None:
        raise Internal(f"`{os.path.basename(client)} --version` names no version: {said[:80]!r}.")
    return version_from(found[0])


def version_from(text: str) -> Version:
    """`2.1.332` as numbers that compare."""
    return tuple(int(part) for part in text.split("."))
