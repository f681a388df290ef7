"""The program itself: the hooks' interpreter, the link to it, the command, what is left over."""

import json
import mmap
import sys
from pathlib import Path

import pytest

from mash_plugin.command_links import PROGRAMS
from mash_plugin.doctor import program
from tests.doctor.examined import findings, fix, is_gone, mend, named, shell
from tests.doctor.machines import machine_at
from tests.support.homes import Home


def name_interpreter(home: Home, path: str) -> None:
    """Let the rendered hooks name another interpreter."""
    hooks = home.mash_home / "data/marketplace/mash/hooks/hooks.json"
    content = json.loads(hooks.read_text())
    for groups in content["hooks"].values():
        handler = groups[0]["hooks"][0]
        handler["command"] = f"{path} " + handler["command"].partition(" ")[2]
    hooks.write_text(json.dumps(content))


def environment(home: Home, name: str) -> Path:
    """An environment as the installer builds it, with the interpreter of this one."""
    folder = home.mash_home / "data/envs" / name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    (folder / ".complete").write_text("")
    return folder


def test_a_vanished_interpreter_of_the_hooks_comes_back_by_init(equipped: Home) -> None:
    name_interpreter(equipped, "/gone/python")
    found = named(equipped, "program", "interpreter-gone")
    assert found["severity"] == "error"
    assert "/gone/python is gone" in found["what"]
    assert "stay silent" in found["why"]
    assert found["next"] == "mash init"
    shell(equipped, found["next"] + " --yes --no-index")
    assert is_gone(equipped, "program", "interpreter-gone")
    assert is_gone(equipped, "agents", "folder-differs")


def test_an_interpreter_without_mash_an_old_one_and_one_of_another_version_are_told(
    equipped: Home,
) -> None:
    other = equipped.root / "python"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    name_interpreter(equipped, str(other))
    found = named(equipped, "program", "interpreter-broken")
    assert f"{other} cannot import mash" in found["what"]
    other.write_text("#!/bin/sh\necho 0.0.1 3 9\n")
    assert "Python 3.9" in named(equipped, "program", "interpreter-old")["what"]
    other.write_text("#!/bin/sh\necho 0.0.1 3 12\n")
    assert "mash 0.0.1" in named(equipped, "program", "interpreter-of-another")["what"]
    shell(equipped, "mash init --yes --no-index")
    assert [one["name"] for one in findings(equipped, "program")] == ["interpreter", "command"]


def test_a_link_to_an_environment_that_is_gone_is_pointed_at_the_newest_whole_one(
    home: Home,
) -> None:
    link = home.mash_home / "data/current"
    whole, begun = environment(home, "2-new"), home.mash_home / "data/envs/3-begun"
    begun.mkdir()
    for repair in (mend, fix):
        link.unlink(missing_ok=True)
        link.symlink_to("envs/1-gone")
        found = named(home, "program", "current-link-broken")
        assert "envs/1-gone" in found["what"]
        repair(home, "program", "current-link-broken")
        assert link.resolve() == whole.resolve()


def test_without_any_whole_environment_the_installer_is_named(home: Home) -> None:
    (home.mash_home / "data/current").symlink_to("envs/1-gone")
    found = named(home, "program", "current-link-broken")
    assert found["next"] == "scripts/install"
    assert not found["fixable"]


def test_a_command_that_is_not_on_path_is_put_there(home: Home) -> None:
    bare = {"PATH": "/usr/bin:/bin"}
    line = f"{Path(sys.executable).parent / 'mash'} doctor --json --category program"
    before = home.run("sh", "-c", line, env=bare)
    (found,) = [
        one for one in json.loads(before.out)["findings"] if one["name"] == "command-not-found"
    ]
    after = home.run("sh", "-c", f"{found['next']}; mash doctor --category program", env=bare)
    assert after.code == 0, after
    assert "command-not-found" not in after.out


def test_the_folder_that_is_put_on_path_outlives_the_next_upgrade(tmp_path: Path) -> None:
    machine = machine_at(tmp_path, environ={"PATH": str(tmp_path)})
    data = Path(machine.paths.data)
    (data / "envs").mkdir(parents=True)
    (data / "envs/1").symlink_to(Path(sys.executable).parent.parent)
    (data / "current").symlink_to("envs/1")
    (found,) = program.check_command(machine)
    assert found.next == f'export PATH={data}/current/bin:"$PATH"'


def test_each_command_of_this_environment_is_looked_for_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that linked `mash` alone leaves the recipes without theirs."""
    own, linked = tmp_path / "environment", tmp_path / "bin"
    for folder in (own, linked):
        folder.mkdir()
    for name in PROGRAMS:
        (own / name).touch(0o755)
    (linked / "mash").symlink_to(own / "mash")
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    machine = machine_at(tmp_path, environ={"PATH": str(linked)})
    (found,) = program.check_command(machine)
    assert found.name == "command-not-found"
    assert "`meaning-memory` is not on PATH" in found.what
    (linked / "meaning-memory").symlink_to(own / "meaning-memory")
    (found,) = program.check_command(machine)
    assert found.severity == "ok"


def test_another_mash_that_comes_first_is_told(home: Home) -> None:
    other = home.root / "other/mash"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 9\n")
    other.chmod(0o755)
    first = {"PATH": f"{other.parent}:{home.environment['PATH']}"}
    line = f"{Path(sys.executable).parent / 'mash'} doctor --json --category program"
    told = json.loads(home.run("sh", "-c", line, env=first).out)["findings"]
    (found,) = [one for one in told if one["name"] == "command-of-another"]
    assert str(other) in found["what"]
    after = home.run(
        "sh", "-c", f"{found['next']}; mash doctor --json --category program", env=first
    )
    assert "command-of-another" not in after.out


def test_environments_of_former_versions_are_offered_for_removal_unless_in_use(home: Home) -> None:
    current = environment(home, "2-new")
    (home.mash_home / "data/current").symlink_to("envs/2-new")
    for remove in (mend, fix):
        old = environment(home, "1-old")
        found = named(home, "program", "environments-left")
        assert found["severity"] == "note"
        assert "1-old" in found["what"]
        remove(home, "program", "environments-left")
        assert not old.exists()
        assert current.exists()
    used = environment(home, "1-used")
    library = used / "library"
    library.write_bytes(b"x" * 4096)
    with library.open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        assert is_gone(home, "program", "environments-left")
        held.close()
    assert named(home, "program", "environments-left")["next"] == f"rm -r {used}"
