"""`mash upgrade`: versions that really are installed follow one another."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mash_plugin.command_links import PROGRAMS
from tests.setup.settled import settle
from tests.support.homes import Home, clients_folder
from tests.support.installation import Installation
from tests.support.polling import eventually
from tests.support.processes import daemons_of, end_processes_of
from tests.support.trust_hooks import trust_hooks
from tests.support.wheels import lend_libraries, wheel_as

pytestmark = pytest.mark.slow

VERSIONS = ("1.0.1", "1.1.0", "1.2.0")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> dict[str, Path]:
    """Three versions: the second differs in its number alone, the third has another skill."""
    folder = tmp_path_factory.mktemp("wheels")
    reworded = {"mash_plugin/plugin/skills/recall/SKILL.md": "\nOne more line.\n"}
    first, second, third = VERSIONS
    return {
        first: wheel_as(wheel, folder, first),
        second: wheel_as(wheel, folder, second),
        third: wheel_as(wheel, folder, third, reworded),
    }


@pytest.fixture(scope="module")
def installed(
    wheels: dict[str, Path], quick: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """One installation for all: only the last test, which upgrades it, leaves it changed."""
    folder = tmp_path_factory.mktemp("installed")
    home = Home(folder / "person")
    made = Installation(home, lend_libraries(folder / "libraries"), quick)
    settle(home)
    done = made.install(wheels[VERSIONS[0]])
    assert done.code == 0, done
    trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)
    yield made
    end_processes_of(home.root)


def settings_of(home: Home) -> dict[Path, bytes]:
    files = (home.claude / "settings.json", home.codex / "config.toml")
    return {file: file.read_bytes() for file in files}


def change_version(installed: Installation, version: int) -> int:
    """Let the store be of another schema; its own before."""
    store = apsw.Connection(str(installed.data / "records.db"))
    before = int(store.pragma("user_version"))
    store.pragma("user_version", version)
    store.close()
    return before


def test_a_version_that_knows_less_than_the_store_does_not_take_over(
    installed: Installation, wheels: dict[str, Path]
) -> None:
    former = installed.current
    installed.mash("daemon", "stop")
    eventually(lambda: not daemons_of(installed.home.mash_home), "the daemon lives on")
    before = change_version(installed, 99)
    done = installed.mash("upgrade", str(wheels[VERSIONS[1]]))
    assert done.code == 1
    assert "was made by a newer mash (schema 99" in done.err
    assert installed.current == former
    change_version(installed, before)


def test_what_cannot_be_installed_is_told_in_one_line_and_changes_nothing(
    installed: Installation, tmp_path: Path
) -> None:
    former, environments = installed.current, installed.environments
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
    assert installed.environments == environments


def test_a_mash_that_was_not_installed_by_the_script_says_so(tmp_path: Path) -> None:
    home = Home(tmp_path / "person")
    done = home.mash("upgrade")
    assert done.code == 1
    assert "was not installed by scripts/install" in done.err
    assert not home.mash_home.exists()


@pytest.mark.spec("R-153")
def test_commands_that_a_former_version_installed_start_isolated_too(
    installed: Installation, wheels: dict[str, Path]
) -> None:
    commands = [installed.current / "bin" / name for name in PROGRAMS]
    for command in commands:
        command.write_bytes(command.read_bytes().replace(b" -I", b"", 1))
    done = installed.mash("upgrade", str(wheels[VERSIONS[0]]))
    assert done.code == 0, done
    assert [b" -I\n" in command.read_bytes() for command in commands] == [True, True]
    assert "Nothing has changed" in done.out
    assert "Restart" not in done.out


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
    with installed.tools_served() as ask:
        done = installed.mash("upgrade", str(wheels[second]))
        assert installed.build_that_serves() == second
        assert '"records":[]' in ask().replace(" ", "").replace("\\", "")
    assert done.code == 0, done
    assert f"mash {second} is installed." in done.out
    assert "Upgrading asks nothing" in done.out
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
