"""`mash uninstall`: the agents as they were before."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mash_plugin.cli import removal
from mash_plugin.cli.removal import remove_program
from mash_plugin.errors import InvalidArgument
from mash_plugin.paths import find_paths
from tests.setup.settled import CLAUDE_SETTINGS, CODEX_SETTINGS, settle, snapshot
from tests.support.homes import Home, clients_folder
from tests.support.processes import daemons_of
from tests.support.trust_hooks import trust_hooks
from tests.support.wheels import base_python

pytestmark = pytest.mark.slow

CODEX_LAYOUTS = [
    CODEX_SETTINGS,
    CODEX_SETTINGS.rstrip("\n"),
    "",
    '[hooks.state]\n\n[plugins."other@place"]\nenabled = true # yes\n',
    CODEX_SETTINGS.replace("\n", "\r\n"),
    "plugins = {}\n" + CODEX_SETTINGS,
]
CLAUDE_LAYOUTS = [
    CLAUDE_SETTINGS,
    '{"enabledPlugins": {"other@place": true}, "extraKnownMarketplaces": {}}\n',
    '{\r\n\t"theme": "dark"\r\n}\r\n',
    "{}",
    "",
    "\n",
]


def trust(home: Home) -> None:
    trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)


@pytest.mark.spec("R-155")
@pytest.mark.parametrize(
    ("number", "flag"), [*((n, ["--allow-saving"]) for n in range(6)), (0, []), (4, [])]
)
def test_settings_are_equal_to_before_when_nothing_else_changed(
    home: Home, number: int, flag: list[str]
) -> None:
    claude, codex = home.claude / "settings.json", home.codex / "config.toml"
    before = CLAUDE_LAYOUTS[number].encode(), CODEX_LAYOUTS[number].encode()
    claude.write_bytes(before[0])
    codex.write_bytes(before[1])
    done = home.mash("init", "--yes", "--no-index", *flag)
    assert done.code == 0, done
    assert ("mcp__plugin_mash_mash" in claude.read_text()) is bool(flag)
    assert ("default_tools_approval_mode" in codex.read_text()) is bool(flag)
    trust(home)
    done = home.mash("uninstall", "--yes")
    assert done.code == 0, done
    assert (claude.read_bytes(), codex.read_bytes()) == before
    assert not list(home.root.glob("c*/plugins/cache/*"))
    assert not list(home.root.glob("c*/plugins/data/*"))
    state = json.loads((home.claude / ".claude.json").read_text())
    assert "mash@mash" not in json.dumps(state)
    assert not daemons_of(home.root)


@pytest.mark.spec("R-155")
def test_files_that_only_mash_made_are_gone_again(home: Home) -> None:
    (home.codex / "config.toml").unlink()
    home.mash("init", "--yes", "--no-index")
    assert (home.claude / "settings.json").exists()
    home.mash("uninstall", "--yes")
    assert not (home.claude / "settings.json").exists()
    assert not (home.codex / "config.toml").exists()
    assert not (home.claude / "plugins").exists()


@pytest.mark.spec("R-155")
def test_what_changed_meanwhile_stays_and_only_our_entries_go(equipped: Home) -> None:
    trust(equipped)
    settings = json.loads((equipped.claude / "settings.json").read_text())
    settings["theme"] = "light"
    settings["enabledPlugins"]["other@place"] = False
    (equipped.claude / "settings.json").write_text(json.dumps(settings))
    codex = equipped.codex / "config.toml"
    codex.write_text(
        codex.read_text() + '\n# added later\n[plugins."other@place"]\nenabled = true\n'
    )
    equipped.mash("uninstall", "--yes")
    assert json.loads((equipped.claude / "settings.json").read_text()) == {
        "theme": "light",
        "permissions": {"allow": ["Bash(ls:*)"]},
        "enabledPlugins": {"other@place": False},
    }
    text = codex.read_text()
    assert text.startswith(CODEX_SETTINGS)
    assert text.endswith('\n# added later\n[plugins."other@place"]\nenabled = true\n')
    assert "mash" not in text


def test_memory_stays_unless_told_otherwise_and_serves_again_after_init(equipped: Home) -> None:
    told = equipped.mash("uninstall", "--yes").out
    assert "what is open now works on, but may tell at each prompt" in " ".join(told.split())
    assert (equipped.mash_home / "data/records.db").exists()
    assert equipped.mash("init", "--yes", "--no-index").code == 0
    done = equipped.mash("uninstall", "--yes", "--data")
    assert done.code == 0
    assert not equipped.mash_home.exists()


def test_an_uninstall_without_the_clients_still_removes_our_entries(equipped: Home) -> None:
    path = equipped.environment["PATH"].replace(str(clients_folder()), "/nowhere")
    done = equipped.mash("uninstall", "--yes", env={"PATH": path})
    assert done.code == 0, done
    assert (equipped.claude / "settings.json").read_text() == CLAUDE_SETTINGS
    assert "mash" not in (equipped.codex / "config.toml").read_text()


def test_removing_the_program_is_told_before_and_after(home: Home) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents")
    (home.mash_home / "data/envs/1/bin").mkdir(parents=True)
    *_, begun, ended = home.mash("uninstall", "--yes").out.splitlines()
    assert begun.startswith("Removing the program")
    assert ended == "Removed."
    assert not (home.mash_home / "data/envs").exists()


def test_a_system_without_the_usual_rm_gets_rid_of_the_program_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    (tmp_path / "mash/data/envs/1/bin").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(removal, "RM", str(tmp_path / "no-rm"))
    remove_program(paths)
    assert not (tmp_path / "mash").exists()


def test_what_cannot_be_removed_leaves_commands_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    data, link = tmp_path / "mash/data", tmp_path / "mash/bin/mash"
    program = data / "envs/1/bin/mash"
    for file in (program, data / "envs.gone/0/left", link):  # one uninstall was cut off before
        file.parent.mkdir(parents=True)
    program.write_text("")
    (data / "current").symlink_to("envs/1")
    link.symlink_to(data / "current/bin/mash")
    monkeypatch.setenv("HOME", str(tmp_path))
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == link:
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(InvalidArgument, match="bin/mash cannot be removed"):
            remove_program(paths)
    assert link.read_text() == ""
    assert not (data / "envs.gone").exists()
    remove_program(paths)
    assert not (tmp_path / "mash").exists()


def test_a_second_uninstall_is_content(equipped: Home) -> None:
    equipped.mash("uninstall", "--yes")
    done = equipped.mash("uninstall", "--yes")
    assert done.code == 0
    assert "plugin removed" not in done.out
    assert "Nothing of mash is left in any agent, nor of its program." in done.out
    assert "This would go" not in equipped.mash("uninstall", "--dry-run").out


def test_places_of_other_environments_are_cleaned_as_well(home: Home, tmp_path: Path) -> None:
    settle(home)
    other = tmp_path / "other codex"
    other.mkdir()
    (other / "config.toml").write_text(CODEX_SETTINGS)
    home.mash("init", "--yes", "--no-index", env={"CODEX_HOME": str(other)})
    assert "mash" in (other / "config.toml").read_text()
    home.mash("uninstall", "--yes")
    assert (other / "config.toml").read_text() == CODEX_SETTINGS


def test_broken_settings_keep_the_folder_and_the_message_names_the_file(equipped: Home) -> None:
    (equipped.claude / "settings.json").write_text("{ broken")
    done = equipped.mash("uninstall", "--yes")
    assert done.code == 1
    assert "settings.json" in done.err
    assert (equipped.claude / "settings.json").read_text() == "{ broken"
    assert (equipped.mash_home / "data/marketplace").exists()


def test_settings_that_mash_never_touched_are_skipped(home: Home) -> None:
    with_comment = '{\n  // mine\n  "theme": "dark"\n}\n'
    (home.claude / "settings.json").write_text(with_comment)
    (home.codex / "config.toml").write_text("model = \n")
    done = home.mash("uninstall", "--yes")
    assert done.code == 0, done
    assert done.err == ""
    assert "Restart" not in done.out
    assert "Nothing of mash is left in any agent" in done.out
    assert (home.claude / "settings.json").read_text() == with_comment


def test_uninstall_says_what_stays_and_how_it_goes(home: Home) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents")
    done = home.mash("uninstall", "--yes")
    assert "Nothing of mash is left in any agent" in done.out
    assert f"  rm -r {home.mash_home}" in done.out.splitlines()
    assert home.run("sh", "-c", done.out.splitlines()[-1]).code == 0
    assert "There is no memory here." in home.mash("uninstall", "--yes").out
    assert "There was no memory to remove." in home.mash("uninstall", "--yes", "--data").out


def test_what_still_runs_from_the_removed_program_is_told_and_left_alone(home: Home) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents")
    python = home.mash_home / "data/envs/1/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(base_python())
    this = f"{Path('/proc/self/comm').read_text().strip()} (process {os.getpid()}) in {os.getcwd()}"
    words = {
        "mash dash": "(`mash dash`): Ctrl-C in its terminal ends it",
        "mash mcp": f"(`mash mcp`): it ends with the agent that started it, {this}",
        "-m mash_plugin.daemon": "(the daemon of another MASH_HOME): `kill ",
    }
    running = [
        subprocess.Popen([python, "-I", "-c", "input()", *name.split()], stdin=subprocess.PIPE)
        for name in words
    ]
    elsewhere = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        told = home.mash("uninstall", "--yes").out
        for process, how in zip(running, words.values(), strict=True):
            assert f"process {process.pid} {how}" in told
            assert process.poll() is None
        assert f"process {elsewhere.pid}" not in told
    finally:
        for process in (*running, elsewhere):
            process.communicate(b"\n")


def test_a_link_made_under_another_home_goes_too(home: Home) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents")
    envs = home.mash_home / "data/envs"
    envs.mkdir()
    link = home.root / "other/mash"
    link.parent.mkdir()
    link.symlink_to(home.mash_home / "data/current/bin/mash")
    (envs / "links.json").write_text(json.dumps([str(link)]))
    assert home.mash("uninstall", "--yes").code == 0
    assert not link.is_symlink()


def test_a_dry_run_names_all_that_would_go_and_changes_nothing(equipped: Home) -> None:
    equipped.mash("completion", "fish", "--install")
    equipped.mash("daemon", "start")
    before = snapshot(equipped.claude, equipped.codex, equipped.mash_home, equipped.home)
    done = equipped.mash("uninstall", "--dry-run", "--data")
    assert done.code == 0, done
    for part in (
        f"in Claude Code ({equipped.claude / 'settings.json'})",
        f"in Codex ({equipped.codex / 'config.toml'})",
        "the running daemon",
        "completions/mash.fish",
        str(equipped.mash_home / "data/marketplace"),
        f"MEMORY: {equipped.mash_home / 'data/records.db'}",
        "Nothing was changed.",
    ):
        assert part in done.out, part
    assert snapshot(equipped.claude, equipped.codex, equipped.mash_home, equipped.home) == before
    assert daemons_of(equipped.root)
    assert "MEMORY" not in equipped.mash("uninstall", "--dry-run").out
    equipped.mash("uninstall", "--yes", "--data")
    assert not list(equipped.home.rglob("mash*"))


def cut_after_the_marketplace(home: Home) -> None:
    """As an installation leaves it that was killed between its two commands."""
    home.run("claude", "plugin", "uninstall", "mash@mash", "--scope", "user")
    home.run("codex", "plugin", "remove", "mash@mash")


def cut_before_anything(home: Home) -> None:
    """As one leaves it that was killed with the note just written."""
    memos = (home.mash_home / "data/setup.json").read_bytes()
    home.mash("uninstall", "--yes")
    (home.mash_home / "data/setup.json").write_bytes(memos)


def entries_removed_by_hand(home: Home) -> None:
    """The person took the entries out; caches and the rest are still there."""
    settle(home)


def note_is_lost(home: Home) -> None:
    (home.mash_home / "data/setup.json").unlink()


def store_is_damaged(home: Home) -> None:
    home.mash("daemon", "stop")
    for name in ("records.db", "chats.db"):
        (home.mash_home / "data" / name).write_bytes(b"no database" * 5000)


def settings_of_mash_are_broken(home: Home) -> None:
    (home.mash_home / "config.toml").write_text("[chats\n")


@pytest.mark.spec("R-155")
@pytest.mark.parametrize(
    "half",
    [
        cut_after_the_marketplace,
        cut_before_anything,
        entries_removed_by_hand,
        note_is_lost,
        store_is_damaged,
        settings_of_mash_are_broken,
    ],
)
def test_what_is_half_there_goes_as_well(equipped: Home, half: Callable[[Home], None]) -> None:
    half(equipped)
    done = equipped.mash("uninstall", "--yes", "--data")
    assert done.code == 0, done
    # Claude Code's own commands put its file into their order.
    claude = json.loads((equipped.claude / "settings.json").read_text())
    assert claude == json.loads(CLAUDE_SETTINGS)
    assert (equipped.codex / "config.toml").read_text() == CODEX_SETTINGS
    assert not list(equipped.root.glob("c*/plugins/cache/*"))
    assert not equipped.mash_home.exists()
    assert not daemons_of(equipped.root)


def test_an_agent_that_is_gone_with_its_folder_is_forgotten(equipped: Home) -> None:
    shutil.rmtree(equipped.codex)
    done = equipped.mash("uninstall", "--yes")
    assert done.code == 0, done
    assert not equipped.codex.exists()
    assert not (equipped.mash_home / "data/setup.json").exists()
    assert (equipped.claude / "settings.json").read_text() == CLAUDE_SETTINGS


def test_a_plugin_of_our_name_from_elsewhere_is_left_alone(equipped: Home, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    shutil.copytree(equipped.mash_home / "data/marketplace", theirs)
    equipped.mash("uninstall", "--yes")
    equipped.run("codex", "plugin", "marketplace", "add", str(theirs))
    equipped.run("codex", "plugin", "add", "mash@mash")
    before = (equipped.codex / "config.toml").read_text()
    assert "mash@mash" in before
    done = equipped.mash("uninstall", "--yes")
    assert done.code == 0, done
    assert "left alone. To remove it: codex plugin remove mash@mash" in done.out
    assert (equipped.codex / "config.toml").read_text() == before


def test_files_of_the_person_in_our_folder_stay(home: Home) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents")
    export = home.mash_home / "data/my export.gz"
    export.write_bytes(b"mine")
    done = home.mash("uninstall", "--yes", "--data")
    assert done.code == 0, done
    assert f"Left alone, since mash did not make it: {export}" in done.out
    assert [path for path in home.mash_home.rglob("*") if path.is_file()] == [export]


def test_copies_of_a_group_and_the_password_of_its_login_go_with_the_memory(home: Home) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents")
    copies, dsn = home.mash_home / "data/group-copies", home.mash_home / "group.dsn"
    copies.mkdir()
    (copies / "1.group").write_text("theirs")
    dsn.write_text("host=/nowhere password=secret")
    warning = "published to its group stays there"
    assert warning not in home.mash("uninstall", "--dry-run", "--data").out
    with (home.mash_home / "config.toml").open("a") as config:
        config.write('\n[group]\ndsn_file = "group.dsn"\n')
        config.write('[throughline]\nworkspace = "/srv/deskbot"\n')
    told = home.mash("uninstall", "--dry-run", "--data").out
    assert warning in told
    assert "The Throughline workspace /srv/deskbot stays" in told
    assert warning not in home.mash("uninstall", "--dry-run").out
    assert home.mash("uninstall", "--yes", "--data").code == 0
    assert not copies.exists()
    assert not dsn.exists()
