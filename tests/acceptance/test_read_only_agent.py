"""Gemini CLI, into which nothing is installed: its chats are found, named, read and cited."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.fake_gemini import FakeGemini
from tests.support.homes import Home
from tests.support.processes import end_processes_of
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
QUESTION = "Should the ledger keep amounts as integers?"
ANSWER = "Yes: integers of cents never lose one."
UNREACHED = "http://127.0.0.1:9"
"""Of the other agents' models: nothing asks them."""


@dataclass
class Person:
    """Somebody who works with Gemini CLI and has mash."""

    home: Home
    model: FakeGemini
    project: Path

    def ask(self, prompt: str, *options: str) -> str:
        """What one headless run of Gemini CLI answers."""
        command = ("gemini", "--approval-mode", "yolo", *options, "-p", prompt)
        done = self.home.run(*command, cwd=self.project)
        assert done.code == 0, done
        return done.out.strip()


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    model = FakeGemini()
    home = Home(tmp_path / "person", UNREACHED, UNREACHED)
    home.seed_gemini(model.url)
    (project,) = home.repository("repository1")
    model.when("Should the ledger", {"text": ANSWER})
    try:
        yield Person(home, model, project)
        assert model.failures == []
    finally:
        end_processes_of(home.root)
        model.stop()


def test_what_was_said_in_gemini_is_found_read_and_cited_elsewhere(person: Person) -> None:
    home = person.home
    assert person.ask(QUESTION) == ANSWER
    planned = home.mash("init", "--yes", "--no-agents", "--dry-run").out
    assert "Gemini CLI: 1 chat, " in planned
    assert "nothing is installed into it" in planned
    assert home.mash("init", "--yes", "--no-agents").code == 0
    found = home.mash("search", "--here", "integers", "cents", cwd=person.project)
    assert ANSWER in found.out, found
    hits = home.call("search_chats", {"query": "integers of cents"})["hits"]
    (answer,) = {hit["message_id"] for hit in hits if hit["role"] == "assistant"}
    (chat_id,) = {hit["chat_id"] for hit in hits}
    page = home.mash("chats", chat_id).out
    assert "gemini-cli  host.example/team/repository1" in page
    assert "user (unknown)" in page
    assert "assistant (agent)" in page

    evidence = [
        {"session_id": chat_id.removeprefix("gemini-cli-"), "quote": QUESTION},
        {"message_id": answer, "quote": ANSWER},
    ]
    change = {
        "action": "create",
        "scope": {"kind": "repository", "identity": "host.example/team/repository1"},
        "body": {
            "statement": "The ledger keeps amounts as integers of cents.",
            "review": "candidate",
            "details": {"kind": "decision", "state": "proposed"},
        },
        "evidence": evidence,
    }
    saved = home.call("record", {"operation_id": uuid.uuid4().hex, "change": change})
    assert "error" not in saved, saved
    kept = home.call("get_record", {"id": saved["id"]})["revisions"][0]["evidence"]
    assert [(one["chat_id"], one["author"]) for one in kept] == [
        (chat_id, "unknown"),
        (chat_id, "agent"),
    ]


def test_a_typed_chat_that_goes_on_headless_stays_one_chat_with_each_word_once(
    person: Person, tmp_path: Path
) -> None:
    home = person.home
    person.model.when("Read the notes", NOTES, {"text": "They speak of cents."})
    (person.project / "notes.md").write_text("Cents, always cents.\n")
    terminal = Terminal(
        tmp_path / "tmux", ["gemini", "--approval-mode", "yolo"], person.project, home.environment
    )
    try:
        terminal.wait_for("Type your message")
        terminal.type("Read the notes, please.")
        terminal.wait_for("They speak of cents.")
        terminal.type("/quit")
        terminal.wait_for_end()
    finally:
        terminal.close()
    assert home.mash("init", "--yes", "--no-agents").code == 0
    person.ask(QUESTION, "--resume", "latest")
    assert home.mash("index").code == 0
    (chat,) = home.call("list_chats", {})["chats"]
    messages = home.call("get_chat", {"id": chat["id"]})["messages"]
    assert [(message["role"], message["text"].strip()) for message in messages] == [
        ("user", "Read the notes, please."),
        ("tool", "Cents, always cents."),
        ("assistant", "They speak of cents."),
        ("user", QUESTION),
        ("assistant", ANSWER),
    ]


NOTES = {"call": "read_file", "args": {"file_path": "notes.md"}}
