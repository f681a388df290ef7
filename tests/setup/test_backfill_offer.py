"""`mash init` offers to review the last chats: after the index, told of the cost, never unasked."""

import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.setup.terminals import INTERRUPT, at_terminal
from tests.support import stub_reviewer
from tests.support.homes import Home
from tests.support.processes import end_processes_of
from tests.support.transcripts import ClaudeTranscript

QUOTE = "We keep amounts in cents, that's decided."
INIT = ("mash", "init", "--no-agents")
UNATTENDED = ("init", "--yes", "--no-agents")
Json = dict[str, Any]


class Person:
    """Chats of this day, Claude Code's stand-in as a reviewer, and Codex without a sign-in."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.log = self.home.root / "starts.jsonl"
        folder = self.home.root / "bin"
        folder.mkdir()
        start = f'exec {sys.executable} {stub_reviewer.__file__} "$@"'
        for name, script in (("claude", start), ("codex", "exit 1")):
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        del self.home.environment["FAKE_KEY"]
        path = f"{folder}:{self.home.environment['PATH']}"
        self.home.environment |= {"PATH": path, "STUB_LOG": str(self.log)}
        chat = ClaudeTranscript(self.home.claude, str(self.home.root / "work" / "shop"), "s-1")
        chat.start = int(time.time() * 1000) - 3_600_000
        chat.person(QUOTE)
        chat.agent("Understood.")

    def init(self, *answers: str, **environment: str) -> tuple[int, str]:
        environ = self.home.environment | environment
        return at_terminal(INIT, environ, self.home.home, answers)

    def reviews(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def records(self) -> list[Json]:
        found = self.home.call("list_records", {"include_inactive": True})["records"]
        assert isinstance(found, list)
        return found

    def must_be_indexed(self) -> None:
        assert self.home.mash("search", "cents").out


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    made = Person(tmp_path / "person")
    yield made
    end_processes_of(made.home.root)


@pytest.mark.spec("R-141", "R-142")
def test_it_is_offered_after_the_index_with_its_cost_and_no_starts_no_agent(
    person: Person,
) -> None:
    code, shown = person.init("y\n", "n\n")
    assert code == 0, shown
    order = [
        "Chats: 1 file, 2 new messages.",
        "Claude Code can read your chats of the last days once",
        "1 to review (about",
        "A backfill uses tokens of your Claude Code account, and sends the",
        "Review them now? [y/N]: ",
        "No chats were reviewed. `mash backfill` does it at any time.",
    ]
    places = [shown.index(text) for text in order]
    assert places == sorted(places)
    assert person.reviews() == 0
    assert "backfill_since" not in (person.home.mash_home / "config.toml").read_text()
    person.must_be_indexed()
    assert "of the last days once and note the decisions,\r\npreferences and facts" in shown


def test_who_said_no_is_not_asked_again_but_told_how_to_do_it_later(person: Person) -> None:
    person.init("y\n", "n\n")
    code, shown = person.init("y\n")
    assert code == 0, shown
    assert "Review them now?" not in shown
    assert "you said no before. `mash backfill` does it at any time." in " ".join(shown.split())


@pytest.mark.spec("R-141", "R-145", "R-150")
def test_yes_lets_that_agent_review_and_its_candidates_are_there(person: Person) -> None:
    code, shown = person.init("y\n", "y\n")
    assert code == 0, shown
    assert "1 chat reviewed, 1 candidate saved" in shown
    (record,) = person.records()
    assert record["status"] == "candidate"
    assert "backfill_since = " in (person.home.mash_home / "config.toml").read_text()
    code, shown = person.init("y\n")
    assert code == 0
    assert "Review them now?" not in shown
    assert "for review: none of the last days is left" in " ".join(shown.split())
    assert person.reviews() == 1


def test_who_has_no_chats_hears_nothing_of_reviews(person: Person) -> None:
    shutil.rmtree(person.home.claude)
    code, shown = person.init("y\n")
    assert code == 0, shown
    assert "review" not in shown


@pytest.mark.spec("R-141")
def test_only_agents_that_one_is_signed_in_to_are_offered(person: Person) -> None:
    code, shown = person.init("y\n", STUB_SIGNED_IN="no")
    assert code == 0
    assert "last days" not in shown
    assert "no agent on PATH says that you are signed in" in " ".join(shown.split())
    code, shown = person.init("y\n", "nobody\n", FAKE_KEY="dummy")
    assert code == 0
    assert "Claude Code or Codex can read your chats" in shown
    assert "Who shall review them? (claude-code, codex, nobody) [nobody]: " in shown
    (person.home.mash_home / "data/reviews/declined").unlink()
    code, shown = person.init("y\n", "claude-code\n", "y\n", FAKE_KEY="dummy")
    assert code == 0
    assert shown.index("Who shall") < shown.index("A backfill uses tokens of your Claude Code")
    assert person.reviews() == 1


def test_an_interrupt_at_its_question_leaves_all_else_set_up(person: Person) -> None:
    code, shown = person.init("y\n", INTERRUPT)
    assert code == 130, shown
    assert "No chats were reviewed." in shown
    assert person.reviews() == 0
    person.must_be_indexed()


def test_a_review_that_fails_makes_init_fail_and_the_rest_stays(person: Person) -> None:
    code, shown = person.init("y\n", "y\n", STUB="crash")
    assert code == 1
    assert "Run `mash backfill` again to go on" in " ".join(shown.split())
    person.must_be_indexed()


@pytest.mark.spec("R-143")
def test_unattended_init_never_reviews_and_a_flag_leaves_the_offer_out(person: Person) -> None:
    assert person.home.mash(*UNATTENDED).code == 0
    code, shown = at_terminal(
        [*INIT, "--no-backfill"], person.home.environment, person.home.home, ["y\n"]
    )
    assert code == 0
    assert "Review them now?" not in shown
    assert person.reviews() == 0


@pytest.mark.spec("R-144", "R-148")
def test_the_flag_reviews_what_is_indexed_and_touches_nothing_else(person: Person) -> None:
    person.home.mash(*UNATTENDED)
    files = [person.home.claude / ".claude.json", person.home.codex / "config.toml"]
    before = [file.read_bytes() for file in files]
    later = ClaudeTranscript(person.home.claude, str(person.home.root / "work" / "shop"), "s-2")
    later.person("Not read yet.")
    done = person.home.mash(*UNATTENDED, "--no-index", "--backfill-memory", "claude-code")
    assert done.code == 0, done
    found = json.loads(done.out)["backfill"]
    assert (found["agent"], found["completed_reviews"], found["records_saved"]) == (
        "claude-code",
        1,
        1,
    )
    assert "A backfill uses tokens of your Claude Code account" in done.err
    assert [file.read_bytes() for file in files] == before
    assert person.reviews() == 1
    done = person.home.mash(*UNATTENDED, "--backfill-memory", "gemini")
    assert (done.code, done.out) == (2, "")


@pytest.mark.spec("R-139")
def test_with_records_off_the_flag_says_so(person: Person) -> None:
    person.home.mash(*UNATTENDED)
    config = person.home.mash_home / "config.toml"
    config.write_text(f"{config.read_text()}\n[records]\nenabled = false\n")
    done = person.home.mash(*UNATTENDED, "--backfill-memory", "claude-code")
    assert done.code != 0
    assert "[records]" in done.err
    assert person.reviews() == 0
