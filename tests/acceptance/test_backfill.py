"""Both real clients review earlier chats in headless mode, against the scripted models."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import Finished, Home
from tests.support.installed import Installed
from tests.support.model_server import ModelServer
from tests.support.reviewing import TASK, claude_review, codex_review
from tests.support.transcripts import ClaudeTranscript

CHOICE = "From now on we keep every amount in cents"
STATEMENT = "Amounts are kept in cents."
AGENTS = ["claude-code", "codex"]
Json = dict[str, Any]


def plant(home: Home, project: Path, text: str) -> tuple[ClaudeTranscript, str]:
    """A chat of an hour ago, with the ID that it has in the index."""
    transcript = ClaudeTranscript(home.claude, str(project), str(uuid.uuid4()))
    transcript.start = int(home.clock.read_text()) - 3_600_000
    transcript.person(text)
    transcript.agent("Understood.")
    return transcript, f"claude-code-{transcript.session_id}"


def model_of(person: Installed, agent: str) -> ModelServer:
    return person.anthropic if agent == "claude-code" else person.openai


def script(person: Installed, agent: str, *drafts: tuple[str, str]) -> ModelServer:
    """Let the agent's model save these drafts of whatever chat it is given."""
    steps = claude_review(*drafts) if agent == "claude-code" else codex_review(*drafts)
    model = model_of(person, agent)
    model.when(TASK, *steps)
    return model


def backfill(home: Home, *options: str) -> tuple[Json, Finished]:
    done = home.mash("backfill", "--yes", *options)
    return json.loads(done.out)["backfill"], done


@pytest.mark.spec("R-146", "R-148", "R-150", "R-151")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_review_saves_candidates_and_the_next_run_calls_no_model(
    person: Installed, name: str, clone: Path, agent: str
) -> None:
    transcript, chat = plant(person.home, clone, f"{CHOICE}, that is decided.")
    person.home.mash("index")
    model = script(person, agent, (STATEMENT, CHOICE))
    result, done = backfill(person.home, "--agent", agent, "--chat", chat)
    assert (done.code, result["completed_reviews"], result["records_saved"]) == (0, 1, 1), done
    assert "Review 1 of 1" in done.err
    (record,) = person.home.records(name)
    assert (record["statement"], record["status"]) == (STATEMENT, "candidate")
    calls = len(model.bodies)
    again, _ = backfill(person.home, "--agent", agent, "--chat", chat)
    assert (again["completed_reviews"], again["skipped"], len(model.bodies)) == (0, 1, calls)
    transcript.person("And we round half up.")
    changed, _ = backfill(person.home, "--agent", agent, "--chat", chat)
    assert changed["completed_reviews"] == 1
    assert changed["records_saved"] == 0  # the live candidate is reused
