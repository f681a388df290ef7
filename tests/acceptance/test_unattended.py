"""Golden example G-06: unattended set-up starts no agent, and a named one alone reviews."""

import json
from pathlib import Path

import pytest

from tests.acceptance.test_backfill import CHOICE, STATEMENT, plant, script
from tests.support.homes import clients_folder
from tests.support.installed import Installed

pytestmark = pytest.mark.slow

CLIENTS = ("claude", "codex")


class Watched:
    """The clients behind scripts that note each start."""

    def __init__(self, person: Installed, folder: Path) -> None:
        self.home, self.log = person.home, folder / "starts"
        self.log.touch()
        for name in CLIENTS:
            real = clients_folder() / name
            script = f'#!/bin/sh\necho "{name} $*" >> {self.log}\nexec {real} "$@"\n'
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        self.environment = {"PATH": f"{folder}:{self.home.environment['PATH']}"}

    def starts(self) -> list[list[str]]:
        """What was started since the last look."""
        found = [line.split() for line in self.log.read_text().splitlines() if line]
        self.log.write_text("")
        return [words for words in found if words[0] in CLIENTS]


@pytest.fixture
def watched(person: Installed, tmp_path: Path) -> Watched:
    return Watched(person, tmp_path)


def runs_a_model(words: list[str]) -> bool:
    """Whether a start of a client may have sent something to a model."""
    return (words[0] == "codex" and words[1] == "exec") or (words[0] == "claude" and "-p" in words)


def keep_since(config: Path, since: int) -> None:
    """Let the window begin there, as if an earlier run had."""
    text = config.read_text() if config.exists() else ""
    text = "".join(line for line in text.splitlines(True) if "backfill_since" not in line)
    if "[records]" not in text:
        text += "\n[records]\n"
    config.write_text(text.replace("[records]\n", f"[records]\nbackfill_since = {since}\n"))


@pytest.mark.spec("R-143", "R-154")
def test_unattended_set_up_lets_no_agent_work(
    person: Installed, watched: Watched, clone: Path
) -> None:
    plant(person.home, clone, f"{CHOICE}, that is decided.")
    calls = len(person.anthropic.bodies), len(person.openai.bodies)
    done = person.home.run("mash", "init", "--yes", env=watched.environment)
    assert done.code == 0, done
    assert [words for words in watched.starts() if runs_a_model(words)] == []
    assert (len(person.anthropic.bodies), len(person.openai.bodies)) == calls


@pytest.mark.spec("R-143", "R-144", "R-148", "R-154")
def test_a_named_agent_alone_reviews_what_is_indexed(
    person: Installed, watched: Watched, name: str, clone: Path
) -> None:
    # Later than every chat that other tests had in this home.
    plant(person.home, clone, f"{CHOICE}, that is decided.", hours_ago=-2)
    since = int(person.home.clock.read_text()) + 3_600_000
    keep_since(person.home.mash_home / "config.toml", since)
    person.home.mash("index")
    watched.starts()
    script(person, "codex", (STATEMENT, CHOICE))
    words = "mash init --yes --no-index --no-agents --backfill-memory codex".split()
    done = person.home.run(*words, env=watched.environment)
    assert done.code == 0, done
    assert {start[0] for start in watched.starts()} == {"codex"}
    lines = done.out.splitlines()
    assert len(lines) == 1
    result = json.loads(lines[0])["backfill"]
    assert result["agent"] == "codex"
    assert (result["since"], result["completed_reviews"]) == (since, 1)
    assert result["scan_finished"] is True
    assert "Review 1 of" in done.err
    assert [record["statement"] for record in person.home.records(name)] == [STATEMENT]
