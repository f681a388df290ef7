"""What the pages are made of: the daemon's answers, the doctor's findings, this user's paths."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mash_plugin.config import read_tables, settings_of
from mash_plugin.dashboard.findings import Findings
from mash_plugin.memory.masking import Masking, masking
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

    def masking(self) -> Masking:
        """What is masked, as configured now."""
        file = self.paths.config_file
        return masking(settings_of(file, *read_tables(file), {}))

    def echoed(self, query: Mapping[str, str]) -> dict[str, str]:
        """What an address says as a page may repeat it, in its links too: masked."""
        values = dict(query)
        return dict(self.masking().whole(values)) if values else values
