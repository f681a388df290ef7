"""`mash upgrade`: versions that really are installed follow one another."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from mash_plugin import client, installer
from mash_plugin.paths import find_paths
from tests.setup.test_init import settle
from tests.setup.test_install import base_python
from tests.support.daemons import event
from tests.support.homes import Finished, Home, clients_folder
from tests.support.polling import eventually
from tests.support.processes import daemons_of, end_processes_of
from tests.support.trust_hooks import trust_hooks
from tests.support.wheels import build_wheel, lend_libraries

NOWHERE = "http://127.0.0.1:9"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
VERSIONS = ("0.1.1", "0.2.0", "0.3.0")


@dataclass
class Installation:
    """A person whose mash was installed from a wheel."""

    home: Home
    pip: dict[str, str]

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
        command = [base_python(), "-I", installer.__file__, str(wheel), "--yes", "--no-index"]
        return self.home.run(*command, env=self._environment())

    @contextmanager
    def tools_served(self) -> Iterator[None]:
        """An agent that runs on with its tool server, which answers."""
        server = subprocess.Popen(
            [str(self.data / "current/bin/mash"), "mcp"],
            env=self.home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        about = {"protocolVersion": "2025-06-18", "capabilities": {}}
        about |= {"clientInfo": {"name": "a test", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
        with server:
            assert server.stdin
            assert server.stdout
            try:
                server.stdin.write(json.dumps(hello).encode() + b"\n")
                server.stdin.flush()
                assert b"result" in server.stdout.readline()
                yield
            finally:
                server.stdin.close()
                server.wait(30)

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
        return {**self.pip, "PATH": f"{clients_folder()}:{SYSTEM_PATH}"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three versions: the second differs in code alone, the third has another skill."""
    folder = tmp_path_factory.mktemp("wheels")

    def reword(checkout: Path) -> None:
        skill = checkout / "skills/recall/SKILL.md"
        skill.write_text(skill.read_text() + "\nOne more line.\n")

    first, second, third = VERSIONS
    return {
        first: build_wheel(folder, first),
        second: build_wheel(folder, second),
        third: build_wheel(folder, third, reword),
    }


@pytest.fixture
def installed(wheels: dict[str, Path], tmp_path: Path) -> Iterator[Installation]:
    home = Home(tmp_path / "person", NOWHERE, NOWHERE)
    made = Installation(home, lend_libraries(tmp_path / "libraries"))
    settle(home)
    done = made.install(wheels[VERSIONS[0]])
    assert done.code == 0, done
    trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)
    yield made
    end_processes_of(home.root)


def settings_of(home: Home) -> dict[Path, bytes]:
    files = (home.claude / "settings.json", home.codex / "config.toml")
    return {file: file.read_bytes() for file in files}


@pytest.mark.timeout(240)
@pytest.mark.spec("R-153")
def test_a_newer_version_takes_over_while_agents_run_on_and_hooks_stay_trusted(
    installed: Installation, wheels: dict[str, Path]
) -> None:
    first, second, third = VERSIONS
    former, settings = installed.current, settings_of(installed.home)
    assert "Saving memory" in installed.start_session("s-1")
    (old_daemon,) = daemons_of(installed.home.mash_home)
    done = installed.mash("upgrade", str(wheels[second]), "--check")
    assert done.code == 1, done
    assert f"Installed is {first}-" in done.out
    assert "nothing to review" in done.out
    assert installed.current == former
    with installed.tools_served():
        done = installed.mash("upgrade", str(wheels[second]))
    assert done.code == 0, done
    assert f"mash {second} is installed." in done.out
    assert "nothing to review" in done.out
    assert installed.current.name.startswith(f"{second}-")
    assert settings_of(installed.home) == settings
    assert former.exists(), "a running tool server's environment was taken from under it"
    assert "Saving memory" in installed.start_session("s-2")
    (new_daemon,) = daemons_of(installed.home.mash_home)
    assert new_daemon != old_daemon
    assert installed.build_that_serves() == second

    done = installed.mash("upgrade", str(wheels[third]))
    assert done.code == 0, done
    assert "/hooks" in done.out
    assert "nothing to review" not in done.out
    assert not former.exists()
    assert "One more line." in _skill(installed)
    assert installed.mash("upgrade", "--check").code == 0


def _skill(installed: Installation) -> str:
    return (installed.data / "marketplace/mash/skills/recall/SKILL.md").read_text()


@pytest.mark.timeout(180)
def test_a_version_that_knows_less_than_the_store_does_not_take_over(
    installed: Installation, wheels: dict[str, Path]
) -> None:
    former = installed.current
    installed.mash("daemon", "stop")
    eventually(lambda: not daemons_of(installed.home.mash_home), "the daemon lives on")
    raw = apsw.Connection(str(installed.data / "records.db"))
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    done = installed.mash("upgrade", str(wheels[VERSIONS[1]]))
    assert done.code == 1
    assert "was made by a newer mash (schema 99" in done.err
    assert installed.current == former


@pytest.mark.timeout(180)
def test_what_cannot_be_installed_is_told_in_one_line_and_changes_nothing(
    installed: Installation, tmp_path: Path
) -> None:
    former = installed.current
    broken = tmp_path / "mash_plugin-9.9.9-py3-none-any.whl"
    broken.write_bytes(b"no wheel")
    (tmp_path / "empty").mkdir()
    for source, said in (
        (str(broken), "failed"),
        (str(tmp_path / "empty"), "is neither a checkout nor a wheel of mash"),
        (str(tmp_path / "gone"), "is gone"),
    ):
        done = installed.mash("upgrade", source)
        assert done.code == 1, done
        (line,) = done.err.splitlines()
        assert said in line
    assert installed.current == former
    assert installed.environments == {former.name}


def test_a_mash_that_was_not_installed_by_the_script_says_so(tmp_path: Path) -> None:
    home = Home(tmp_path / "person", NOWHERE, NOWHERE)
    done = home.mash("upgrade")
    assert done.code == 1
    assert "was not installed by scripts/install" in done.err
    assert not home.mash_home.exists()
