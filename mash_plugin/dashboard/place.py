"""What the pages are made of: the daemon's answers, the doctor's findings, this user's paths."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mash_plugin.dashboard.findings import Findings
from mash_plugin.paths import Paths

Json = dict[str, Any]


class Place(NamedTuple):
    """Where pages get what they show; nothing of it writes."""

    ask: Callable[[str, Mapping[str, Any]], Json]
    """The answer of a method of the daemon."""
    findings: Findings
    """What the doctor finds."""
    paths: Paths
    root: str = ""
    """What every address begins with; nobody can guess it."""

    def at(self, path: str) -> str:
        """The address of a page or of a file, from its path among them."""
        return self.root + path
