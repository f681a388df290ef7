"""On a terminal `mash init` and `mash uninstall` ask first."""

import pytest

from tests.setup.terminals import INTERRUPT, at_terminal
from tests.support.homes import Home


@pytest.mark.spec("R-152")
def test_no_is_an_answer_that_changes_nothing(home: Home) -> None:
    code, shown = at_terminal(["mash", "init"], home.environment, home.home, ["n\n"])
    assert code == 1
    assert "Nothing was changed." in shown
    assert not home.mash_home.exists()


@pytest.mark.spec("R-152")
def test_enter_goes_on(home: Home) -> None:
    code, shown = at_terminal(
        ["mash", "init", "--no-agents", "--no-index"], home.environment, home.home, ["\n"]
    )
    assert code == 0, shown
    assert (home.mash_home / "data/records.db").exists()


def test_who_agreed_in_the_installer_is_asked_only_for_what_is_left(home: Home) -> None:
    command = ["mash", "init", "--agreed", "--no-index"]
    code, shown = at_terminal(command, home.environment, home.home, [INTERRUPT])
    assert code == 130, shown
    assert "Go on?" not in shown
    assert "Add it? [y/N]" in shown


@pytest.mark.parametrize(
    ("typed", "is_there", "personal"),
    [(("y\n", "\n", "\n"), False, "true"), (("y\n", "y\n", "n\n"), True, "false")],
)
def test_the_rule_is_not_taken_by_itself_and_personal_preferences_are_suggested(
    home: Home, typed: tuple[str, ...], is_there: bool, personal: str
) -> None:
    home.mash_home.mkdir()
    own = "# mine\n[records]\ncapture = true # kept\n"
    (home.mash_home / "config.toml").write_text(own)
    code, shown = at_terminal(["mash", "init", "--no-index"], home.environment, home.home, [*typed])
    assert code == 0, shown
    assert "Show them? [Y/n]" in shown
    config = (home.mash_home / "config.toml").read_text()
    assert config.startswith(own)
    assert f"[recall]\npersonal_at_start = {personal}\n" in config
    assert "Claude Code and Codex will ask you before each save" in shown
    assert "Add it? [y/N]" in shown
    claude, codex = home.claude / "settings.json", home.codex / "config.toml"
    assert ('"mcp__plugin_mash_mash"' in claude.read_text()) is is_there
    assert ('default_tools_approval_mode = "approve"' in codex.read_text()) is is_there
    code, shown = at_terminal(["mash", "init", "--no-index"], home.environment, home.home, ["y\n"])
    assert code == 0
    assert "Add it?" not in shown
    assert "Show them?" not in shown


def test_an_interrupt_is_exit_code_130(home: Home) -> None:
    code, shown = at_terminal(["mash", "init"], home.environment, home.home, [INTERRUPT])
    assert code == 130, shown
    assert "Traceback" not in shown
    assert "\nmash: interrupted." in shown
    assert not home.mash_home.exists()


def test_all_memory_is_removed_only_after_a_plain_yes(home: Home) -> None:
    home.mash("init", "--yes", "--no-agents", "--no-index")
    code, shown = at_terminal(["mash", "uninstall", "--data"], home.environment, home.home, ["\n"])
    assert "ALL MEMORY" in shown
    assert code == 1
    assert "Nothing was changed." in shown
    assert "interrupted" not in shown
    assert (home.mash_home / "data/records.db").exists()
