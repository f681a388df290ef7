"""Chats of Gemini CLI in the index: read on, resumed, rewritten, switched off, forgotten."""

import os
from pathlib import Path

import pytest

from tests.chats.conftest import NOW, Chats
from tests.support.transcripts import GeminiTranscript, write_repository

SESSION = "aaf1f2a4-af7c-49a6-b191-247ea3d230da"
AGENT = "8cde3137-c1dc-4fdb-ac10-80503da993a7"


@pytest.fixture
def gemini(chats: Chats) -> GeminiTranscript:
    return GeminiTranscript(chats.gemini, str(chats.project), SESSION)


@pytest.mark.spec("R-156")
def test_what_was_said_since_is_all_that_is_read(chats: Chats, gemini: GeminiTranscript) -> None:
    gemini.prompt("Use tabs.")
    before = chats.index.refresh_all(NOW)
    assert before.bytes_read == gemini.path.stat().st_size
    gemini.agent("I will use tabs.")
    after = chats.index.refresh_all(NOW)
    assert before.bytes_read + after.bytes_read == gemini.path.stat().st_size
    assert [(m.author, m.text) for m in chats.messages(SESSION)] == [
        ("unknown", "Use tabs."),
        ("agent", "I will use tabs."),
    ]


def test_a_session_that_was_resumed_is_one_chat_whatever_else_names_it(
    chats: Chats, gemini: GeminiTranscript
) -> None:
    gemini.prompt("Use tabs.")
    GeminiTranscript(chats.gemini, str(chats.project), SESSION, minute=59)
    chats.index.refresh_all(NOW)
    gemini.prompt("And spaces in tables.")
    chats.index.refresh_all(NOW)
    assert chats.texts(SESSION) == ["Use tabs.", "And spaces in tables."]


def test_a_file_that_the_client_wrote_anew_takes_the_place_of_the_former(
    chats: Chats, gemini: GeminiTranscript
) -> None:
    kept = gemini.prompt("Use tabs.")
    gemini.prompt("Use spaces.")
    chats.index.refresh_all(NOW)
    lines = gemini.path.read_text().splitlines(keepends=True)
    anew = gemini.path.with_suffix(".jsonl.tmp-1")
    anew.write_text("".join(lines[:3]))
    anew.rename(gemini.path)
    report = chats.index.refresh_all(NOW)
    assert report.rewritten == (f"gemini-cli-{SESSION}",)
    assert [(m.id, m.text) for m in chats.messages(SESSION)] == [(kept, "Use tabs.")]


def test_a_chat_is_of_the_repository_of_its_folder(chats: Chats, tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "clone", "git@host.example:team/shop.git")
    GeminiTranscript(chats.gemini, str(clone), SESSION).prompt("Use tabs.")
    chats.index.refresh_all(NOW)
    assert chats.chat(SESSION).repository_identity == "host.example/team/shop"


def test_a_project_that_is_switched_off_is_not_indexed(
    chats: Chats, gemini: GeminiTranscript
) -> None:
    gemini.prompt("Use tabs.")
    chats.deny = [str(chats.project)]
    chats.index.refresh_all(NOW)
    assert chats.stored() == 0


@pytest.mark.spec("R-178")
def test_a_subagent_is_found_and_forgotten_with_its_parent(
    chats: Chats, gemini: GeminiTranscript
) -> None:
    gemini.prompt("Delegate this.")
    agent = GeminiTranscript(chats.gemini, str(chats.project), AGENT, parent=SESSION)
    agent.prompt("Count the lines.")
    chats.index.refresh_all(NOW)
    found = chats.chat(f"{SESSION}/{AGENT}")
    assert (found.is_subagent, found.project_path) == (True, os.path.realpath(chats.project))
    assert [m.author for m in chats.messages(f"{SESSION}/{AGENT}")] == ["automated"]
    files = chats.index.files_of_chat(f"gemini-cli-{SESSION}")
    assert {file.path for file in files} == {str(gemini.path), str(agent.path)}


@pytest.mark.spec("R-176")
def test_private_words_reach_no_byte_of_the_index(
    chats: Chats, gemini: GeminiTranscript, tmp_path: Path
) -> None:
    gemini.prompt("Keep <private>moonlit ledgers</private> to yourself.")
    chats.index.refresh_all(NOW)
    chats.database.checkpoint("TRUNCATE")
    assert chats.texts(SESSION) == ["Keep [private] to yourself."]
    for file in tmp_path.glob("chats.db*"):
        assert b"moonlit" not in file.read_bytes()
