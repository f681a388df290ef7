"""The chat tools as the daemon answers them, over a real index."""

import pytest

from mash_plugin.daemon import chats
from mash_plugin.errors import ChatNotFound, MessageNotFound
from mash_plugin.protocol import validate
from mash_plugin.protocol.results import RESULTS
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
