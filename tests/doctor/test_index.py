"""The index of the chats, and what waits."""

import os
import time
from pathlib import Path

import pytest

from tests.cli.test_chats_commands import write_chat
from tests.doctor.examined import change_store, findings, is_gone, mend, named, shell
from tests.support.homes import Home
from tests.support.polling import eventually

HOUR_S = 3600
OTHER = "00000000-0000-4000-8000-000000000001"


def transcripts(home: Home) -> list[Path]:
    return sorted(home.claude.rglob("*.jsonl"))


def age(*paths: Path) -> None:
    """Let transcripts be of sessions that ended a while ago."""
    then = time.time() - HOUR_S
    for path in paths:
        os.utime(path, (then, then))


@pytest.fixture
def chatty(home: Home) -> Home:
    """With one chat that was read."""
    (clone,) = home.repository("shop")
    write_chat(home, clone, "We render invoices with Typst.")
    age(*transcripts(home))
    home.mash("init", "--yes", "--no-agents")
    return home


def test_chats_that_were_not_read_are_counted_and_read_by_the_printed_command(
    chatty: Home,
) -> None:
    assert [one["name"] for one in findings(chatty, "index")] == ["index"]
    home = chatty
    home.mash("daemon", "stop")
    (path,) = transcripts(home)
    for number in range(25):
        copy = path.with_name(f"{number:08d}-0000-4000-8000-000000000000.jsonl")
        copy.write_bytes(path.read_bytes())
        age(copy)
    found = mend(home, "index", "index-backlog")
    assert found["severity"] == "warning"
    assert "25 chats" in found["what"]


def test_a_chat_that_is_being_written_does_not_count(chatty: Home) -> None:
    chatty.mash("daemon", "stop")
    (path,) = transcripts(chatty)
    path.with_name("00000000-0000-4000-8000-000000000000.jsonl").write_bytes(path.read_bytes())
    assert is_gone(chatty, "index", "index-backlog")


def test_a_folder_of_chats_that_a_repository_could_bring_is_told(chatty: Home) -> None:
    (chatty.claude / ".git").mkdir()
    (chatty.claude / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert is_gone(chatty, "index", "chats-not-trusted")  # the settings name it
    config = chatty.mash_home / "config.toml"
    named_there = config.read_text()
    config.write_text("")
    found = named(chatty, "index", "chats-not-trusted")
    assert found["what"].startswith(f"CLAUDE_CONFIG_DIR names {chatty.claude}")
    assert "[chats.roots] claude" in found["next"]
    config.write_text(named_there)


def test_a_forgotten_chat_and_one_of_a_project_that_is_off_wait_for_nothing(
    chatty: Home,
) -> None:
    shop = chatty.root / "work/shop-1"
    chatty.mash("forget", "claude-code-" + transcripts(chatty)[0].stem, "--yes")
    assert is_gone(chatty, "index", "index-backlog")
    (other,) = chatty.repository("other")
    (chatty.mash_home / "config.toml").write_text(
        f'[chats.roots]\nclaude = ["{chatty.claude}"]\n[projects]\nno_index = ["{other}"]\n'
    )
    (path,) = transcripts(chatty)
    text = path.read_text().replace(str(shop), str(other)).replace(path.stem, OTHER)
    path.with_stem(OTHER).write_text(text)
    age(path.with_stem(OTHER))
    chatty.mash("index")
    assert is_gone(chatty, "index", "index-backlog")


def test_a_chat_that_is_older_than_chats_are_kept_waits_for_nothing(chatty: Home) -> None:
    chatty.mash("daemon", "stop")
    (path,) = transcripts(chatty)
    old = path.with_stem(OTHER)
    old.write_text(path.read_text().replace(path.stem, OTHER))
    age(old)
    assert named(chatty, "index", "index-backlog")["severity"] == "note"
    config = chatty.mash_home / "config.toml"
    config.write_text(f"[chats]\nkeep_days = 30\n{config.read_text()}")
    os.utime(old, (time.time() - 40 * 24 * HOUR_S,) * 2)
    assert is_gone(chatty, "index", "index-backlog")


def test_an_index_that_cannot_be_read_is_built_again(chatty: Home) -> None:
    chatty.mash("daemon", "stop")
    index = chatty.mash_home / "data/chats.db"
    for name in ("chats.db-wal", "chats.db-shm"):
        index.with_name(name).unlink(missing_ok=True)
    index.write_bytes(b"no database" * 1000)
    found = mend(chatty, "index", "index-damaged")
    assert "no record is lost" in found["why"]
    assert "Typst" in chatty.mash("search", "Typst").out


def test_what_should_long_be_removed_is_removed_when_the_daemon_runs(kept: Home) -> None:
    change_store(kept, "UPDATE records SET hidden_at = recorded_at - 3 * 24 * 3600 * 1000")
    found = named(kept, "index", "removal-overdue")
    shell(kept, found["next"])
    eventually(lambda: is_gone(kept, "index", "removal-overdue"), "it is still there", every_s=1)


def test_reviews_that_failed_are_a_note(kept: Home) -> None:
    change_store(kept, "INSERT INTO backfill_items VALUES ('c', 'codex', 'failed', 1, 'x', 1)")
    found = named(kept, "index", "backfill-failed")
    assert (found["severity"], found["next"]) == ("note", "mash backfill")
    change_store(kept, "DELETE FROM backfill_items")
    assert is_gone(kept, "index", "backfill-failed")


def test_what_waits_to_be_published_for_days_is_told(kept: Home) -> None:
    change_store(kept, "INSERT INTO publication VALUES (1, 'r', 1, NULL)")
    assert named(kept, "index", "publication-backlog")["severity"] == "warning"
    change_store(kept, "UPDATE publication SET failure = 'refused'")
    assert is_gone(kept, "index", "publication-backlog")


def test_compressed_chats_are_named(home: Home) -> None:
    day = home.codex / "sessions/2026/11/01"
    day.mkdir(parents=True)
    (home.mash_home / "config.toml").write_text(f'[chats.roots]\ncodex = ["{home.codex}"]\n')
    name = "rollout-2026-11-01T10-00-00-019a0000-0000-7000-8000-000000000000.jsonl.zst"
    (day / name).write_bytes(b"")
    home.mash("index")
    assert "1 chat of Codex" in named(home, "index", "chats-unread")["what"]
    (day / name).unlink()
    assert is_gone(home, "index", "chats-unread")
