"""The chat tools as the daemon answers them, over a real index."""

import pytest

from mash_plugin.daemon import chats
from mash_plugin.errors import ChatNotFound, MessageNotFound
from mash_plugin.protocol import validate
from mash_plugin.protocol.results import RESULTS
from mash_plugin.records.budget import size_of
from tests.conftest import PROPOSAL, SHOP, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript


def ask(memory: Memory, name: str, **request: object) -> Json:
    result: Json = getattr(chats, name)(memory.call, validate(name, request))
    RESULTS[name].model_validate(result)
    return result


@pytest.mark.spec("R-158")
def test_a_chat_is_found_by_its_words_and_read_with_ids_to_cite(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    memory.index()
    hits = ask(memory, "search_chats", query="propose qdrant")["hits"]
    assert (hits[0]["chat_id"], hits[0]["message_id"]) == (shop.chat, shop.proposal)
    page = ask(memory, "get_chat", id=shop.chat, message_id=shop.proposal, limit=2)
    assert [m["id"] for m in page["messages"]] == [shop.proposal, shop.choice]
    assert (page["next_offset"], page["more"]) == (3, True)
    rest = ask(memory, "get_chat", id=shop.chat, offset=3)
    assert [m["id"] for m in rest["messages"]] == [shop.split]
    assert rest["next_offset"] is None
    scope = {"kind": "repository", "identity": SHOP}
    assert len(ask(memory, "list_chats", scope=scope)["chats"]) == 2
    assert ask(memory, "list_chats", limit=1)["more"] is True
    evidence = [{"message_id": hits[0]["message_id"], "quote": PROPOSAL}]
    decision = {"kind": "decision", "state": "proposed"}
    assert memory.create({"statement": "Qdrant?", "details": decision}, evidence)["revision"] == 1


def test_a_message_is_found_in_a_fork_that_holds_it(memory: Memory, shop: Shop) -> None:
    lines = shop.transcript.path.read_text("utf-8")
    shop.transcript.path.with_name("s-8.jsonl").write_text(lines.replace('"s-1"', '"s-8"'))
    memory.index()
    for chat_id in (shop.chat, "claude-code-s-8"):
        page = ask(memory, "get_chat", id=chat_id, message_id=shop.choice)
        assert page["messages"][0]["id"] == shop.choice


def test_unknown_chats_and_messages_are_named(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    memory.index()
    with pytest.raises(ChatNotFound, match="nowhere"):
        ask(memory, "get_chat", id="nowhere")
    with pytest.raises(MessageNotFound):
        ask(memory, "get_chat", id="claude-code-s-2", message_id=shop.choice)


def test_credentials_in_chats_are_masked_on_output(memory: Memory, shop: Shop) -> None:
    secret = "ghp_" + "a1B2" * 9 + "xyz0"
    shop.transcript.person(f"The zebra token is {secret}, keep it.")
    memory.index()
    assert "zebra token" in str(ask(memory, "search_chats", query="zebra"))
    assert secret not in str(ask(memory, "search_chats", query="zebra"))
    assert secret not in str(ask(memory, "get_chat", id=shop.chat))
    memory.set(mask_credentials=False)
    assert secret in str(ask(memory, "get_chat", id=shop.chat))


def paged(memory: Memory, name: str, items: str, **request: object) -> list[Json]:
    """All items of a tool, by its pages, none of which is too long."""
    found: list[Json] = []
    offset: int | None = 0
    while offset is not None:
        result = ask(memory, name, offset=offset, **request)
        assert result[items]
        assert size_of(result) <= 32_768
        found += result[items]
        offset = result["next_offset"]
    return found


@pytest.mark.spec("R-098")
def test_a_chat_is_read_page_by_page_within_its_bytes(memory: Memory, shop: Shop) -> None:
    t = ClaudeTranscript(memory.claude_root, str(memory.projects / "w" / ("\u957f" * 40)), "s-9")
    ids = [t.person(f"Part {n} " + "\u957f" * 3_000) for n in range(20)]
    ids += [
        t.person(text * 100_000) for text in ("z", "\u957f", "\U0001f600", "\x01", '"', "a b\n")
    ]
    memory.index()
    messages = paged(memory, "get_chat", "messages", id="claude-code-s-9", limit=200)
    assert [m["id"] for m in messages] == ids
    assert all(m["text"].endswith(" \u2026 (cut)") for m in messages[20:])
    assert messages[20]["text"].count("z") == messages[21]["text"].count("\u957f") == 8_000


@pytest.mark.spec("R-098")
def test_lists_of_chats_and_hits_are_cut_by_their_bytes(memory: Memory, shop: Shop) -> None:
    far = "/" + "\u6f22" * 1_000 + "/end"
    for number in range(50):
        t = ClaudeTranscript(memory.claude_root, "/far", f"s-{number + 100}")
        t.project = far
        t.person("walrus " + "\u6f22\u5b57 \u4eee\u540d" * 60)
    memory.index()
    listed = paged(memory, "list_chats", "chats", limit=50)
    assert len({c["id"] for c in listed}) == len(listed) == 51
    assert len(ask(memory, "list_chats", limit=50)["chats"]) < 50
    assert all(c["project_path"].endswith("\u6f22/end") for c in listed if c["id"] != shop.chat)
    hits = paged(memory, "search_chats", "hits", query="walrus", limit=50)
    assert len({h["message_id"] for h in hits}) == len(hits) == 50


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("before", range(0, 48, 6))
def test_a_credential_is_masked_wherever_a_cut_falls(
    memory: Memory, shop: Shop, before: int
) -> None:
    secret = "ghp_" + "a1B2" * 9
    t = ClaudeTranscript(memory.claude_root, str(memory.projects / "w" / "shop"), "s-9")
    t.person("walrus " + ("w" * 5 + " ") * 18 + "w" * before + " " + secret + " end" * 100)
    t.person("walrus " + "w " * 100 + "w" * before + " " + secret + " end" * 100)
    t.person("heron " + "w" * (7_950 + before) + " " + secret + " end" * 100)
    memory.index()
    page = ask(memory, "get_chat", id="claude-code-s-9")
    for result in (
        page,
        ask(memory, "list_chats"),
        ask(memory, "search_chats", query="walrus"),
        ask(memory, "search_chats", query="heron"),
    ):
        assert "ghp_" not in str(result)
    assert page["messages"][2]["text"].endswith(" \u2026 (cut)")
    assert page["chat"]["title"].startswith("walrus wwwww ")


@pytest.mark.spec("R-177")
def test_what_a_person_has_masked_is_masked_before_a_cut_too(memory: Memory, shop: Shop) -> None:
    shop.transcript.person("walrus " + "w " * 112 + "ACME-123456789 end")
    memory.set(extra_patterns=("ACME-[0-9]{9}",))
    memory.index()
    [hit] = ask(memory, "search_chats", query="walrus")["hits"]
    assert "ACME" not in hit["snippet"]
