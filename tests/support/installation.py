"""A mash that was installed from a wheel into an environment of its own, and what it does there."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mash_plugin import client, installer
from mash_plugin.paths import OBEYS_TESTS, find_paths
from tests.support.daemons import event
from tests.support.homes import Finished, Home, clients_folder
from tests.support.mcp_servers import greeted
from tests.support.wheels import base_python

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Installation:
    """A person whose mash was installed from a wheel."""

    home: Home
    pip: dict[str, str]
    python: str = field(default_factory=base_python)

    @property
    def data(self) -> Path:
        return self.home.mash_home / "data"

    @property
    def current(self) -> Path:
        return (self.data / "current").resolve()

    @property
    def environments(self) -> set[str]:
        return {path.name for path in (self.data / "envs").iterdir() if path.is_dir()}

    def mash(self, *arguments: str) -> Finished:
        mash = str(self.data / "current/bin/mash")
        return self.home.run(mash, *arguments, env=self._environment())

    def install(self, wheel: Path) -> Finished:
        (self.data / "envs").mkdir(0o700, parents=True, exist_ok=True)
        (self.data / "envs" / OBEYS_TESTS).touch()
        command = [self.python, "-I", installer.__file__, str(wheel), "--yes", "--no-index"]
        return self.home.run(*command, env=self._environment())

    @contextmanager
    def tools_served(self) -> Iterator[Callable[[], str]]:
        """An agent that runs on with its tool server; asks it for the list of records."""
        mash = [str(self.data / "current/bin/mash")]
        with greeted(self.home.environment, self.home.home, mash) as server:
            yield lambda: json.dumps(server.call("list_records", {}))

    def start_session(self, session: str) -> str:
        """What the installed hook of Claude Code prints."""
        hooks = json.loads((self.data / "marketplace/mash/hooks/hooks.json").read_text())
        command = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"]
        body = event("SessionStart", session_id=session, cwd=str(self.home.home), source="startup")
        env = {"CLAUDE_PLUGIN_ROOT": str(self.data / "marketplace/mash")}
        return self.home.run("/bin/sh", "-c", command, env=env, stdin=body.decode()).out

    def build_that_serves(self) -> str:
        paths = find_paths({"MASH_HOME": str(self.home.mash_home)})
        return str(client.call("ping", {}, paths=paths, start=False)["build"])

    def _environment(self) -> dict[str, str]:
        path = f"{self.home.mash_home}/bin:{clients_folder()}:{SYSTEM_PATH}"
        return {**self.pip, "PATH": path}
