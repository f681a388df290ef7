"""Chats and messages are read back in pages and from the end."""

import pytest

from mash_plugin.chat_ids import CHAT_ID, chat_id
from mash_plugin.chats.private import repeats_private_text, shingles
from mash_plugin.chats.project import Project
from mash_plugin.chats.reading import (
    list_chats,
    message_before,
    messages_newest_first,
    recent_chats,
)
from tests.chats.conftest import NOW, Chats


def test_chat_ids_are_plain_whatever_the_session_is_called() -> None:
    assert chat_id("codex", "01a2-3b") == "codex-01a2-3b"
    odd = chat_id("claude-code", "parent/agent-1")
    assert CHAT_ID.match(odd)
    assert odd != chat_id("claude-code", "parent/agent-2")
    assert chat_id("claude-code", "x" * 200) != chat_id("claude-code", "x" * 201)


def test_messages_come_newest_first(chats: Chats) -> None:
    t = chats.transcript()
    ids = [t.person(f"Part {n}") for n in range(5)]
    chats.refresh()
    with chats.database.reading() as db:
        assert [m.id for m in messages_newest_first(db, "claude-code-s-1")] == ids[::-1]


@pytest.mark.spec("R-021")
def test_the_message_directly_before_passes_over_tools_only(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Which?")
    proposal = t.agent("I propose Qdrant.")
    t.tool_call("Read", {}, "toolu_9")
    t.tool_result("a lot", "toolu_9")
    yes = t.person("Yes.")
    again = t.person("And again yes.")
    chats.refresh()
    with chats.database.reading() as db:
        before = message_before(db, "claude-code-s-1", yes, "assistant")
        assert before is not None
        assert before.id == proposal
        assert message_before(db, "claude-code-s-1", again, "assistant") is None
        assert message_before(db, "claude-code-s-1", "nowhere", "assistant") is None


@pytest.mark.spec("R-159")
def test_recent_chats_are_those_of_the_project_alone(chats: Chats) -> None:
    for number in range(5):
        t = chats.transcript(f"s-{number}")
        t.count = number * 10
        t.person("Hello")
    chats.transcript("s-9", chats.project.parent / "other").person("Elsewhere")
    chats.index.refresh_all(NOW)
    with chats.database.reading() as db:
        found = recent_chats(db, Project(str(chats.project), None), 3, "s-4", NOW)
        assert [c.session_id for c in found] == ["s-3", "s-2", "s-1"]
        assert recent_chats(db, Project("/nowhere", "github.com/no/one"), 3, None, NOW) == []
        page, more = list_chats(db, 2, 0)
        assert ([c.session_id for c in page], more) == (["s-4", "s-3"], True)
        page, more = list_chats(db, 4, 4)
        assert (len(page), more) == (2, False)


def test_private_text_is_recognised_by_its_hashes(chats: Chats) -> None:
    chats.transcript().person(
        "Public words. <private>the blue flamingo sings at night, pass s3cretT0ken99</private>"
    )
    chats.refresh()
    key = chats.index.private_key
    with chats.database.reading() as db:
        assert repeats_private_text(db, ["I say The  Blue flamingo SINGS today"], key)
        assert repeats_private_text(db, ["token is s3cretT0ken99"], key)
        assert repeats_private_text(db, ["the blue flamingo sings"], key, "claude-code-s-1")
        assert not repeats_private_text(db, ["the blue flamingo sings"], key, "claude-code-s-2")
        assert not repeats_private_text(db, ["Public words.", "the blue", ""], key)
        assert not repeats_private_text(db, ["the blue flamingo sings"], b"another key")


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    ("private", "repeated"),
    [
        ("hunter2Password99", "it is hunter2Password99."),
        ("hunter2Password99", "pw:hunter2Password99"),
        ("hunter2Password99", 'HUNTER2="hunter2Password99";'),
        ("hunter2Password99", "https://host/hunter2Password99?x"),
        ("hunter2Password99", "see \u201chunter2Password99\u201d\u2026"),
        ("hunter2Password99", "hunter2\u200bPass\u00adword99"),
        ("hunter2Password99", "\u5bc6\u7801\u662fhunter2Password99\u3002"),
        ("key=hunter2Password99.", "hunter2Password99"),
        ("key: 'hunter2Password99'!", "(hunter2Password99)"),
        ("KEY=ab1/cd2+ef3/gh4", "Bearer ab1/cd2+ef3/gh4."),
        ("p4ss!w0rd@home", "The password p4ss!w0rd@home is old"),
        ("the blue flamingo sings", "the\u200b blue\u2060 flam\u00adingo sings"),
        ("the\u200b blue flam\u200dingo sings", "The blue flamingo sings."),
    ],
)
def test_private_text_is_recognised_however_it_is_set(
    chats: Chats, private: str, repeated: str
) -> None:
    chats.transcript().person(f"Public words. <private>{private}</private>")
    chats.refresh()
    with chats.database.reading() as db:
        assert repeats_private_text(db, [repeated], chats.index.private_key)
        other = ["Public words, no 2026-11-30T07:06:38 or x86_64/password99 or hunter3Password99."]
        assert not repeats_private_text(db, other, chats.index.private_key)


def test_hashing_a_long_token_of_many_parts_takes_linear_time() -> None:
    long = "a1b2c3d4/" * 20_000
    assert len(set(shingles(long, b"key"))) < 100
