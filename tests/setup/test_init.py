"""`mash init` with both real clients in a home of its own."""

import json
import shutil
import tomllib
from typing import Any

import pytest

from tests.setup.settled import CLAUDE_SETTINGS, CODEX_SETTINGS, settle, snapshot
from tests.support.homes import Home, clients_folder
from tests.support.trust_hooks import trust_hooks

REVIEW = "/hooks"


def claude_settings(home: Home) -> dict[str, Any]:
    settings = json.loads((home.claude / "settings.json").read_text())
    assert isinstance(settings, dict)
    return settings


@pytest.mark.spec("R-152", "R-153", "R-155")
def test_a_fresh_home_has_store_index_tools_and_hooks_after_init(home: Home) -> None:
    settle(home)
    done = home.mash("init", "--yes")
    assert done.code == 0, done
    assert (home.mash_home / "data/records.db").is_file()
    assert "Chats: nothing new." in done.out
    listed = json.loads(home.run("claude", "plugin", "list", "--json").out)
    (plugin,) = [entry for entry in listed if entry["id"] == "mash@mash"]
    assert plugin["enabled"] is True
    assert plugin["mcpServers"]["mash"]["env"] == {"MASH_HOME": str(home.mash_home)}
    (plugin,) = json.loads(home.run("codex", "plugin", "list", "--json").out)["installed"]
    assert (plugin["pluginId"], plugin["enabled"]) == ("mash@mash", True)
    assert "Restart Claude Code and Codex" in done.out.splitlines()[-1]
    assert REVIEW in done.out


@pytest.mark.spec("R-155")
def test_the_persons_own_lines_stay_byte_for_byte(equipped: Home) -> None:
    text = (equipped.claude / "settings.json").read_text()
    assert text.startswith(CLAUDE_SETTINGS.removesuffix("\n}"))
    ours = {"extraKnownMarketplaces", "enabledPlugins"}
    assert set(claude_settings(equipped)) == {"theme", "permissions", *ours}
    assert (equipped.codex / "config.toml").read_text().startswith(CODEX_SETTINGS)


@pytest.mark.spec("R-152", "R-153")
def test_a_second_init_changes_nothing_more_and_asks_for_no_review(home: Home) -> None:
    settle(home)
    home.mash("init", "--yes")
    trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)
    before = snapshot(home.claude, home.codex, home.mash_home)
    done = home.mash("init", "--yes")
    assert done.code == 0
    assert snapshot(home.claude, home.codex, home.mash_home) == before
    assert REVIEW not in done.out
    assert "Restart" not in done.out
    assert done.out.splitlines()[-1] == "No agent had to be changed; none needs a restart."


@pytest.mark.spec("R-155")
def test_installing_anew_keeps_the_layout_of_the_settings(equipped: Home) -> None:
    before = (equipped.claude / "settings.json").read_text()
    (equipped.claude / "plugins/known_marketplaces.json").unlink()
    done = equipped.mash("init", "--yes", "--no-index")
    assert "Claude Code: plugin installed" in done.out
    assert (equipped.claude / "settings.json").read_text() == before


def test_the_rule_is_added_once_where_the_flag_asks_for_it(home: Home) -> None:
    settle(home)
    done = home.mash("init", "--yes", "--no-index")
    assert "mash init --allow-saving" in done.out
    assert "permissions" in (home.claude / "settings.json").read_text()
    assert "mcp__plugin" not in (home.claude / "settings.json").read_text()
    done = home.mash("init", "--yes", "--no-index", "--allow-saving")
    assert done.code == 0, done
    assert done.out.count("without asking now") == 2
    rules = claude_settings(home)["permissions"]["allow"]
    assert rules == ["Bash(ls:*)", "mcp__plugin_mash_mash"]
    config = tomllib.loads((home.codex / "config.toml").read_text())
    server = config["plugins"]["mash@mash"]["mcp_servers"]["mash"]
    assert server == {"default_tools_approval_mode": "approve"}
    before = snapshot(home.claude, home.codex)
    done = home.mash("init", "--yes", "--no-index", "--allow-saving")
    assert (done.code, done.out.count("without asking now")) == (0, 0)
    assert snapshot(home.claude, home.codex) == before


def test_an_agent_does_not_let_itself_save_unasked(home: Home) -> None:
    settle(home)
    done = home.mash("init", "--yes", "--allow-saving", env={"CLAUDECODE": "1"})
    assert (done.code, done.out) == (2, "")
    assert "this is an agent's session (CLAUDECODE is set)" in done.err
    assert "mcp__plugin" not in (home.claude / "settings.json").read_text()


def test_another_choice_of_the_person_is_left_alone(home: Home) -> None:
    settle(home)
    (home.claude / "settings.json").write_text('{"permissions": {"allow": "all"}}')
    home.mash("init", "--yes", "--no-index")
    codex = home.codex / "config.toml"
    own = '\n[plugins."mash@mash".mcp_servers.mash]\ndefault_tools_approval_mode = "prompt"\n'
    codex.write_text(codex.read_text() + own)
    done = home.mash("init", "--yes", "--no-index", "--allow-saving")
    assert done.code == 1
    assert done.err.count("left alone") == 2
    assert own in codex.read_text()
    assert claude_settings(home)["permissions"] == {"allow": "all"}


def test_a_second_init_says_that_hooks_wait_for_a_review(equipped: Home) -> None:
    done = equipped.mash("init", "--yes", "--no-index")
    assert "Hooks need review" in done.out
    assert REVIEW in done.out
    assert "Restart" not in done.out


@pytest.mark.spec("R-153")
def test_hooks_that_changed_are_copied_to_codex_and_ask_for_a_review_again(equipped: Home) -> None:
    (cached,) = (equipped.codex / "plugins/cache/mash/mash").iterdir()
    relay = cached / "hooks/relay.py"
    current = relay.read_bytes()
    relay.write_bytes(b"# of an older version\n")
    trust_hooks(str(clients_folder() / "codex"), equipped.home, equipped.environment)
    done = equipped.mash("init", "--yes", "--no-index")
    assert done.code == 0
    assert REVIEW in done.out
    assert relay.read_bytes() == current


@pytest.mark.spec("R-154")
@pytest.mark.parametrize(("no_index", "no_agents"), [(True, False), (False, True), (True, True)])
def test_each_part_can_be_left_out(home: Home, no_index: bool, no_agents: bool) -> None:
    settle(home)
    flags = ["--no-index"] * no_index + ["--no-agents"] * no_agents
    done = home.mash("init", "--yes", *flags)
    assert done.code == 0
    assert (home.mash_home / "data/records.db").exists()
    assert ("Chats:" in done.out) is not no_index
    assert ("enabledPlugins" in claude_settings(home)) is not no_agents
    assert ("mash@mash" in (home.codex / "config.toml").read_text()) is not no_agents


def test_a_dry_run_changes_nothing(home: Home) -> None:
    settle(home)
    done = home.mash("init", "--dry-run")
    assert done.code == 0
    assert str(home.codex) in done.out
    assert not home.mash_home.exists()
    assert "enabledPlugins" not in claude_settings(home)


@pytest.mark.spec("R-155")
def test_broken_settings_are_left_alone_with_a_message_and_the_other_agent_is_installed(
    home: Home,
) -> None:
    settle(home)
    with_comment = '{\n  // mine\n  "theme": "dark"\n}\n'
    (home.claude / "settings.json").write_text(with_comment)
    done = home.mash("init", "--yes", "--no-index")
    assert done.code == 1
    assert (home.claude / "settings.json").read_text() == with_comment
    assert not (home.claude / "plugins").exists()
    assert "mash: Claude Code:" in done.err
    assert "left alone" in done.err
    assert "Traceback" not in done.err
    assert tomllib.loads((home.codex / "config.toml").read_text())["plugins"]["mash@mash"]


@pytest.mark.spec("R-155")
def test_a_broken_codex_configuration_is_left_alone_with_a_message(home: Home) -> None:
    settle(home)
    (home.codex / "config.toml").write_text("model = \n")
    done = home.mash("init", "--yes", "--no-index")
    assert done.code == 1
    assert (home.codex / "config.toml").read_text() == "model = \n"
    assert "mash: Codex:" in done.err
    assert REVIEW not in done.out
    assert "enabledPlugins" in claude_settings(home)


def test_without_any_agent_init_says_so_and_still_sets_up_the_store(home: Home) -> None:
    tools = home.root / "tools"
    tools.mkdir()
    (tools / "mash").symlink_to(shutil.which("mash", path=home.environment["PATH"]) or "")
    done = home.run("mash", "init", "--yes", env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert done.code == 0, done
    assert "Neither `claude` nor `codex` is on PATH" in done.out
    assert (home.mash_home / "data/records.db").exists()


def test_without_a_terminal_init_asks_for_yes_instead_of_guessing(home: Home) -> None:
    done = home.mash("init")
    assert done.code == 2
    assert done.err.strip() == (
        "mash: init asks before it changes anything and this is no terminal: add --yes."
        " See `mash init --help`."
    )
    assert not home.mash_home.exists()


def test_transcript_roots_are_noted_beside_the_persons_own_settings(home: Home) -> None:
    settle(home)
    home.mash_home.mkdir()
    config = home.mash_home / "config.toml"
    config.write_text("# mine\n[records]\ncapture = false # for now\n\n[chats]\nkeep_days = 90\n")
    home.mash("init", "--yes", "--no-agents", "--no-index")
    text = config.read_text()
    assert text.startswith("# mine\n[records]\ncapture = false # for now\n")
    chats = tomllib.loads(text)["chats"]
    assert chats["keep_days"] == 90
    assert chats["roots"] == {"claude": [str(home.claude)], "codex": [str(home.codex)]}


def test_an_agent_that_is_only_read_is_named_and_noted_once_it_has_a_folder(home: Home) -> None:
    options = ("--dry-run", "--no-agents", "--no-index")
    assert "gemini" not in home.mash("init", *options).out.lower()
    (home.home / ".gemini").mkdir()
    told = home.mash("init", *options).out
    assert "Gemini CLI: no chats yet; nothing is installed into it" in told
    assert f"{home.home / '.gemini'} among the folders of your chats" in told


def test_a_broken_configuration_is_told_in_one_line_before_anything_is_done(home: Home) -> None:
    home.mash_home.mkdir()
    (home.mash_home / "config.toml").write_text("[records\n")
    done = home.mash("init", "--yes")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert "config.toml" in done.err
    assert not (home.mash_home / "data").exists()


@pytest.mark.spec("R-155")
def test_one_agents_failure_of_any_kind_never_keeps_the_other_from_its_plugin(home: Home) -> None:
    (home.claude / "settings.json").mkdir()
    done = home.mash("init", "--yes", "--no-index")
    assert done.code == 1
    assert "mash: Claude Code:" in done.err
    assert "mash: not set up: Claude Code." in done.err.splitlines()[-1]
    assert "Try it" in done.out
    assert tomllib.loads((home.codex / "config.toml").read_text())["plugins"]["mash@mash"]


def test_where_every_agent_failed_nothing_is_to_be_tried(home: Home) -> None:
    for file in (home.claude / "settings.json", home.codex / "config.toml"):
        file.write_text("{ broken")
    done = home.mash("init", "--yes", "--no-index")
    assert done.code == 1
    assert "mash: not set up: Claude Code and Codex." in done.err.splitlines()[-1]
    assert "Try it" not in done.out


def test_the_mode_of_codexs_settings_is_kept(home: Home) -> None:
    file = home.codex / "config.toml"
    file.chmod(0o644)
    home.mash("init", "--yes", "--no-index")
    assert file.stat().st_mode & 0o777 == 0o644
    home.mash("uninstall", "--yes")
    assert file.stat().st_mode & 0o777 == 0o644
