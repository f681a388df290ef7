"""Working memories of the agents' sessions are offered, and begin with a flag alone."""

import tomllib
from typing import Any

from tests.support.homes import Home

INIT = ("init", "--yes", "--no-index", "--no-agents")


def table(home: Home) -> Any:
    text = (home.mash_home / "config.toml").read_text()
    return tomllib.loads(text).get("throughline", {})


def test_without_the_flag_nothing_of_it_is_switched_on(home: Home) -> None:
    assert home.mash(*INIT).code == 0
    config = home.mash_home / "config.toml"
    assert not config.exists() or "throughline" not in config.read_text()


def test_the_flag_names_agent_and_workspace_and_can_be_taken_back(home: Home) -> None:
    shown = home.mash(*INIT, "--capture-sessions", "--dry-run").out
    assert "+capture_sessions = true" in shown
    assert not (home.mash_home / "config.toml").exists()
    done = home.mash(*INIT, "--capture-sessions")
    assert "working memories of sessions that ended: kept from now on" in done.out
    assert table(home) == {
        "capture_sessions": True,
        "agent": "coding-agents",
        "workspace": str(home.mash_home / "data" / "throughline"),
    }
    again = home.mash(*INIT)
    assert "  - working memories of sessions that ended\n" in again.out
    home.mash(*INIT, "--no-capture-sessions")
    assert table(home)["capture_sessions"] is False


def test_what_the_person_chose_as_agent_and_workspace_stays(home: Home) -> None:
    home.mash_home.mkdir()
    own = '[throughline]\nagent = "crew" # mine\nworkspace = "/srv/crew"\n'
    (home.mash_home / "config.toml").write_text(own)
    home.mash(*INIT, "--capture-sessions")
    assert (home.mash_home / "config.toml").read_text().startswith(own)
    assert table(home)["agent"] == "crew"
