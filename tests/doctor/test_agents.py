"""Each real agent: what it loads, whether it runs our hooks, and when they were last seen."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.agents import commands
from mash_plugin.agents.codex import setup as codex
from mash_plugin.agents.codex import trust
from mash_plugin.agents.listing import TRIED
from mash_plugin.errors import Internal
from tests.cli.test_chats_commands import write_chat
from tests.doctor.examined import examined, findings, is_gone, mend, named, shell
from tests.support.homes import Home, clients_folder
from tests.support.kept_home import KeptHome
from tests.support.polling import eventually
from tests.support.processes import processes_of
from tests.support.trust_hooks import trust_hooks

pytestmark = pytest.mark.slow

INIT = "mash init --yes --no-index"


def waiting_programs(home: Home) -> list[int]:
    """What a script started that is to be ended with it."""
    return [pid for pid, line in processes_of(home.root).items() if "tail -f" in line]


def problems(home: Home, **where: Any) -> list[str]:
    found = findings(home, "agents", **where)
    return [one["name"] for one in found if one["severity"] in ("warning", "error")]


def client(home: Home, name: str, script: str) -> dict[str, str]:
    """An environment in which a script stands for one agent's command; the other has none."""
    folder = home.root / "scripts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    others = home.environment["PATH"].replace(f":{clients_folder()}:", ":")
    return {"PATH": f"{folder}:{others}"}


def only(home: Home, name: str) -> dict[str, str]:
    """An environment in which one of the real clients is there, as itself."""
    return client(home, name, f'exec {clients_folder() / name} "$@"')


@pytest.fixture(scope="module")
def sound(equipped_once: KeptHome) -> set[str]:
    """What is found of the agents of an equipped home to which nothing has happened."""
    return {one["name"] for one in findings(equipped_once.bring_back(), "agents")}


def test_hooks_that_codex_does_not_trust_are_the_only_fault_of_a_new_set_up(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-index")
    assert problems(fresh) == ["hooks-off"]
    found = named(fresh, "agents", "hooks-off")
    assert "5 of 5 hooks do not run (untrusted)" in found["what"]
    assert found["severity"] == "warning"
    assert "/hooks" in found["next"]
    trust_hooks(str(clients_folder() / "codex"), fresh.home, fresh.environment)
    code, report = examined(fresh)
    assert code == 0, report
    assert "Codex: all 5 hooks are trusted" in fresh.mash("doctor").out


def test_a_missing_plugin_and_its_missing_folder_are_made_by_init(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-index", "--no-agents")
    assert named(fresh, "agents", "folder-missing")["next"] == "mash init"
    absent = [one for one in findings(fresh, "agents") if one["name"] == "plugin-absent"]
    assert [one["next"] for one in absent] == ["mash init", "mash init"]
    shell(fresh, INIT)
    assert problems(fresh) == ["hooks-off"]


def test_a_plugin_that_was_switched_off_is_a_note_with_the_command(equipped: Home) -> None:
    equipped.run("claude", "plugin", "disable", "mash@mash")
    claude = only(equipped, "claude")
    found = named(equipped, "agents", "plugin-off", env=claude)
    assert found["severity"] == "note"
    shell(equipped, "claude plugin enable mash@mash")
    assert "claude plugin enable mash@mash" in found["next"]
    assert is_gone(equipped, "agents", "plugin-off", env=claude)


def test_an_older_copy_in_codex_is_brought_up_by_init(equipped: Home) -> None:
    (copy,) = equipped.codex.glob("plugins/cache/mash/mash/*/hooks/relay.py")
    copy.write_text("pass\n")
    codex = only(equipped, "codex")
    assert "plugin-outdated" in problems(equipped, env=codex)
    shell(equipped, INIT)
    assert is_gone(equipped, "agents", "plugin-outdated", env=codex)


def test_a_changed_plugin_folder_is_made_anew_by_init(equipped: Home) -> None:
    (equipped.mash_home / "data/marketplace/mash/hooks/relay.py").write_text("broken")
    assert named(equipped, "agents", "folder-differs")["next"] == "mash init"
    shell(equipped, INIT)
    assert is_gone(equipped, "agents", "folder-differs")


def test_a_plugin_that_is_there_twice_is_removed_once(equipped: Home) -> None:
    other = equipped.root / "other"
    shutil.copytree(equipped.mash_home / "data/marketplace", other)
    file = other / ".claude-plugin/marketplace.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": "other"}))
    for agent, install in (("claude", "install"), ("codex", "add")):
        equipped.run(agent, "plugin", "marketplace", "add", str(other))
        equipped.run(agent, "plugin", install, "mash@other")
        found = mend(equipped, "agents", "plugin-twice")
        assert "mash@mash and mash@other" in found["what"]
        assert "every hook runs twice" in found["why"]


def test_the_plugin_of_another_home_is_told_and_replaced(equipped: Home) -> None:
    elsewhere = {"MASH_HOME": str(equipped.root / "elsewhere")}
    equipped.mash("init", "--yes", "--no-index", env=elsewhere)
    found = [one for one in findings(equipped, "agents") if one["name"] == "hooks-of-another-home"]
    assert len(found) == 2
    assert f"MASH_HOME={equipped.root / 'elsewhere'}" in found[0]["why"]
    shell(equipped, INIT)
    assert is_gone(equipped, "agents", "hooks-of-another-home")
    equipped.mash("daemon", "stop", env=elsewhere)


def test_hooks_that_a_person_disabled_everywhere_are_pointed_out(equipped: Home) -> None:
    file = equipped.claude / "settings.json"
    before = file.read_text()
    file.write_text(json.dumps({**json.loads(before), "disableAllHooks": True}))
    claude = only(equipped, "claude")
    found = named(equipped, "agents", "hooks-off", env=claude)
    assert "disableAllHooks" in found["next"]
    file.write_text(before)
    assert is_gone(equipped, "agents", "hooks-off", env=claude)


def test_settings_of_an_agent_that_cannot_be_read_are_named(equipped: Home) -> None:
    file = equipped.claude / "settings.json"
    before = file.read_text()
    file.write_text("{ // mine\n" + before)
    claude = only(equipped, "claude")
    found = named(equipped, "agents", "agent-settings-broken", env=claude)
    assert str(file) in found["what"]
    assert found["next"] == f"${{EDITOR:-vi}} {file}"
    file.write_text(before)
    assert is_gone(equipped, "agents", "agent-settings-broken", env=claude)


def test_an_older_agent_than_was_tried_is_a_warning_and_a_newer_one_is_none(
    equipped: Home, sound: set[str]
) -> None:
    real = clients_folder() / "claude"
    older = client(equipped, "claude", f'[ "$1" = --version ] && echo 1.0.9 || exec {real} "$@"')
    found = named(equipped, "agents", "agent-old", env=older)
    assert f"1.0.9 is older than {TRIED['claude-code']}" in found["what"]
    assert found["next"] == "claude update"
    newer = client(equipped, "claude", f'[ "$1" = --version ] && echo 99.1.0 || exec {real} "$@"')
    assert named(equipped, "agents", "agent-new", env=newer)["severity"] == "ok"
    assert "agent-old" not in sound


def test_an_agent_that_says_nothing_useful_is_a_warning(equipped: Home) -> None:
    broken = client(equipped, "codex", "echo nothing; exit 3")
    found = named(equipped, "agents", "agent-silent", env=broken)
    assert "`codex --version` failed" in found["what"]


def test_agents_that_are_not_there_are_notes_without_advice_that_cannot_help(home: Home) -> None:
    found = [one for one in findings(home, "agents") if one["name"] == "agent-not-found"]
    assert [(one["severity"], one["next"]) for one in found] == [("note", ""), ("note", "")]


@pytest.mark.parametrize(
    ("agent", "lists", "name", "severity"),
    [
        ("claude", "exit 3", "plugins-not-listed", "warning"),
        ("claude", "echo nonsense", "plugins-not-listed", "warning"),
        ("claude", "echo '[]'", "plugin-not-listed", "error"),
        ("claude", """echo '[{"id":"mash@mash","enabled":false}]'""", "plugin-listed-off", "note"),
        ("codex", "exit 3", "plugins-not-listed", "warning"),
        ("codex", """echo '{"installed":[7]}'""", "plugins-not-listed", "warning"),
        ("codex", """echo '{"installed":[]}'""", "plugin-not-listed", "error"),
        (
            "codex",
            """echo '{"installed":[{"pluginId":"mash@mash","enabled":false}]}'""",
            "plugin-listed-off",
            "note",
        ),
    ],
)
def test_the_agents_own_list_counts_whatever_its_files_say(
    equipped: Home, sound: set[str], agent: str, lists: str, name: str, severity: str
) -> None:
    real = clients_folder() / agent
    script = f'if [ "$1 $2" = "plugin list" ]; then {lists}; else exec {real} "$@"; fi'
    found = named(equipped, "agents", name, env=client(equipped, agent, script))
    assert found["severity"] == severity
    assert name not in sound


def test_a_codex_that_does_not_tell_its_hooks_is_a_warning(equipped: Home, sound: set[str]) -> None:
    real = clients_folder() / "codex"
    script = f'if [ "$1" = app-server ]; then exit 3; else exec {real} "$@"; fi'
    found = named(equipped, "agents", "hooks-not-listed", env=client(equipped, "codex", script))
    assert found["severity"] == "warning"
    assert "/hooks" in found["next"]
    assert "hooks-not-listed" not in sound


def test_an_agent_that_never_answers_costs_no_more_than_its_time_out(
    equipped: Home,
) -> None:
    # As a script that starts the program: its child holds the pipes after its end.
    hanging = client(equipped, "claude", "tail -f /dev/null; true")
    command = [hanging["PATH"].partition(":")[0] + "/claude", "--version"]
    began = time.monotonic()
    with pytest.raises(Internal, match=r"gave no answer in 0\.2 s"):
        commands.ask(command, equipped.environment, timeout_s=0.2)
    assert time.monotonic() - began < 5
    assert commands.TIMEOUT_S <= 10
    eventually(lambda: not waiting_programs(equipped), "the program lives on")


def test_an_app_server_that_never_answers_is_ended_with_all_it_started(
    equipped: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = client(equipped, "codex", "tail -f /dev/null; true")
    monkeypatch.setattr(trust, "APP_SERVER_TIMEOUT_S", 0.2)
    place = codex.find_place(equipped.environment | hanging)
    with pytest.raises(Internal, match="gave no list of hooks"):
        codex.hook_trust(place, equipped.environment)
    eventually(lambda: not waiting_programs(equipped), "the program lives on")


def test_a_chat_without_hooks_is_told_once_an_agent_was_used(equipped: Home) -> None:
    unseen = [one for one in findings(equipped, "agents") if one["name"] == "hooks-unseen"]
    assert [one["severity"] for one in unseen] == ["note", "note"]
    body = json.dumps({"session_id": "s-1", "cwd": "/", "hook_event_name": "SessionStart"})
    equipped.run(*hook(equipped, "session-start"), stdin=body)
    asks_nothing = client(equipped, "claude", "exit 1")  # hooks are looked at all the same
    missing = named(equipped, "agents", "hook-missing", env=asks_nothing)
    assert "prompt-submit was never seen" in missing["what"]
    assert missing["next"].startswith("send a prompt in Claude Code")
    prompt = json.dumps({"session_id": "s-1", "cwd": "/", "hook_event_name": "UserPromptSubmit"})
    equipped.run(*hook(equipped, "prompt-submit"), stdin=prompt)
    assert is_gone(equipped, "agents", "hook-missing", env=asks_nothing)
    seen = named(equipped, "agents", "hooks-seen", env=asks_nothing)
    assert "session-start 20" in seen["what"]
    equipped.mash("daemon", "stop")
    stored = named(equipped, "agents", "hooks-seen", env=asks_nothing)
    assert stored["what"] == seen["what"], "the store knows too"


def test_a_chat_that_no_hook_accompanied_is_told(equipped: Home) -> None:
    (clone,) = equipped.repository("shop")
    folder = equipped.mash_home / "data/marketplace"
    os.utime(folder, (1, 1))
    write_chat(equipped, clone, "Nobody was told of this.")
    equipped.mash("index")
    found = named(equipped, "agents", "hooks-not-running")
    assert "Claude Code was used" in found["what"]
    assert "none ever ran" in found["why"]
    assert found["next"].startswith("restart Claude Code and send a prompt")
    body = json.dumps({"session_id": "s-2", "cwd": "/", "hook_event_name": "UserPromptSubmit"})
    equipped.run(*hook(equipped, "prompt-submit"), stdin=body)
    asks_nothing = client(equipped, "claude", "exit 1")
    assert is_gone(equipped, "agents", "hooks-not-running", env=asks_nothing)


def hook(home: Home, name: str) -> list[str]:
    """The command of an installed hook."""
    hooks = json.loads((home.mash_home / "data/marketplace/mash/hooks/hooks.json").read_text())
    event = {"session-start": "SessionStart", "prompt-submit": "UserPromptSubmit"}[name]
    command = hooks["hooks"][event][0]["hooks"][0]["command"]
    root = str(Path(home.mash_home / "data/marketplace/mash"))
    return ["sh", "-c", command.replace("${CLAUDE_PLUGIN_ROOT}", root)]
