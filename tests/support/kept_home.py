"""A home as it was at one moment, brought back for every test that begins there.

To set up both agents takes longer than most tests, and their settings name the home by its path:
a copy elsewhere would not do.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.homes import Home
from tests.support.processes import end_processes_of


class KeptHome:
    """One home, and what it was when it had been prepared."""

    def __init__(self, folder: Path, prepare: Callable[[Home], object], *models: str) -> None:
        self.home = home = Home(folder / "person", *models)
        prepare(home)
        if home.mash_home.exists():
            home.mash("daemon", "stop")
        self.end()
        self._environment = dict(home.environment)
        self._kept = folder / "as it was"
        shutil.copytree(home.root, self._kept, symlinks=True, ignore=_sockets)

    def bring_back(self) -> Home:
        """The home as it was, without any process."""
        self.end()
        shutil.rmtree(self.home.root)
        shutil.copytree(self._kept, self.home.root, symlinks=True)
        self.home.environment = dict(self._environment)
        return self.home

    def end(self) -> None:
        """End what the last test left running."""
        end_processes_of(self.home.root)


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder, name).is_socket()]
