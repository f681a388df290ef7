"""Machines for checks that are tried in process."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mash_plugin.doctor.machine import Machine, Rendering
from mash_plugin.paths import find_paths

NOW = 1_796_100_000_000
GIVEN = "given"


def machine_at(
    root: Path,
    *,
    home: str | None = GIVEN,
    now: int = NOW,
    environ: Mapping[str, str] = MappingProxyType({}),
    other_daemon: str | None = None,
) -> Machine:
    """A machine whose places lie below this folder; without a home they count as the ordinary."""
    paths = find_paths({"MASH_HOME": str(root / "mash")})
    if home is None:
        paths = paths._replace(home=None)
    return Machine(
        paths, environ, now, lambda: Rendering("/usr/bin/python3", {}), lambda: other_daemon
    )
