"""A forgotten chat takes every record that cites it along, and nothing brings it back."""

import json

import pytest

from mash_plugin.chats.index import ChatIndex
from mash_plugin.errors import ChatNotFound, Forgotten, StoreBusy
from mash_plugin.memory import forget_chat as forgetting
from tests.conftest import CHOICE, QUESTION, SHOP, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript, CodexTranscript

SHOWN = (
    "INSERT INTO hook_files (session_id, reader, path, shown_id, shown_at)"
    " VALUES (:s, '', '/a', :id, 0)"
)


def forget(memory: Memory, chat_id: str) -> Json:
    call = memory.call_now()
    return forgetting.forget_chat(call, forgetting.find_going(call, chat_id))


def preview(memory: Memory, chat_id: str) -> Json:
    call = memory.call_now()
    return forgetting.preview(call, forgetting.find_going(call, chat_id))


def texts(memory: Memory) -> set[str]:
    with memory.call.chats.database.reading() as db:
        return {row[0] for row in db.all("SELECT text FROM messages")}


def revise(memory: Memory, record: Json, statement: str, session_id: str, quote: str) -> Json:
    return memory.record(
        {
            "operation_id": f"revise-{record['id']}",
            "change": {
                "action": "revise",
                "expected": {"id": record["id"], "revision": record["revision"]},
                "body": {
                    "statement": statement,
                    "review": "established",
                    "details": {"kind": "decision", "state": "accepted"},
                },
                "evidence": [{"session_id": session_id, "quote": quote, "purpose": "endorsement"}],
            },
        }
    )


@pytest.mark.spec("R-178")
def test_a_record_goes_that_cites_the_chat_only_in_an_old_revision(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.candidate("Use Qdrant.")
    revise(memory, first, "Keep Qdrant.", "s-2", "Qdrant works well")
    other = memory.create(
        {
            "statement": "Qdrant stays.",
            "review": "established",
            "details": {"kind": "decision", "state": "accepted"},
        },
        [{"session_id": "s-2", "quote": "Qdrant works well", "purpose": "endorsement"}],
    )
    memory.record(
        {
            "operation_id": "link",
            "change": {
                "action": "link",
                "expected": {"id": other["id"], "revision": 1},
                "target": {"id": first["id"], "revision": 2},
                "relation": "supports",
            },
        }
    )
    gone = forget(memory, shop.chat)
    assert [r["id"] for r in gone["records"]] == [first["id"]]
    with pytest.raises(Forgotten):
        memory.get(first["id"])
    listed = memory.pages(scope={"kind": "repository", "identity": SHOP}, include_inactive=True)
    assert [r["id"] for r in listed["records"]] == [other["id"]]
    assert memory.get(other["id"])["links"] == []


@pytest.mark.spec("R-178")
def test_a_record_goes_that_cites_the_chat_only_in_a_confirmation(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    made = memory.established("Use Qdrant.")
    memory.record(
        {
            "operation_id": "confirm",
            "change": {
                "action": "confirm",
                "expected": {"id": made["id"], "revision": 1},
                "evidence": [
                    {"session_id": "s-2", "quote": "Qdrant works well", "purpose": "endorsement"}
                ],
            },
        }
    )
    assert [r["id"] for r in preview(memory, "claude-code-s-2")["records"]] == [made["id"]]
    forget(memory, "claude-code-s-2")
    assert memory.count_records() == 0
    assert memory.chat_ids() == {shop.chat}


@pytest.mark.spec("R-178")
def test_the_preview_tells_what_goes_masked_and_removes_nothing(memory: Memory, shop: Shop) -> None:
    made = memory.candidate("Use Qdrant.")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with memory.call.store.writing() as db:
        db.run("DROP TRIGGER revisions_immutable")
        db.run("UPDATE revisions SET statement = :text", {"text": f"Use {secret}."})
    told = preview(memory, shop.chat)
    assert [r["id"] for r in told["records"]] == [made["id"]]
    assert told["messages"] == 4
    assert told["transcripts"] == [str(shop.transcript.path)]
    assert secret not in json.dumps(told)
    assert memory.count_records() == 1
    assert memory.chat_ids() == {shop.chat}


@pytest.mark.spec("R-179", "R-065")
def test_the_first_requests_do_not_bring_the_text_back(memory: Memory, shop: Shop) -> None:
    change = {
        "action": "create",
        "scope": {"kind": "repository", "identity": SHOP},
        "body": {"statement": "Use Qdrant.", "details": {"kind": "decision", "state": "proposed"}},
        "evidence": [{"session_id": "s-1", "quote": QUESTION}],
    }
    memory.record({"operation_id": "first", "change": change})
    forget(memory, shop.chat)
    with pytest.raises(Forgotten):
        memory.record({"operation_id": "first", "change": change})
    with pytest.raises(Forgotten, match="restore-chat"):
        memory.record({"operation_id": "second", "change": change})
    assert memory.waited == []
    assert memory.count_records() == 0
    assert texts(memory) == set()


@pytest.mark.spec("R-179")
def test_a_review_of_the_chat_does_not_bring_its_records_back(memory: Memory, shop: Shop) -> None:
    memory.index()
    with memory.call.chats.database.reading() as db:
        (fingerprint,) = db.one("SELECT fingerprint FROM chats") or ("",)
    request = {
        "operation_id": "review",
        "chat_id": shop.chat,
        "scope": {"kind": "repository", "identity": SHOP},
        "source_fingerprint": fingerprint,
        "records": [
            {
                "body": {
                    "statement": "Use Qdrant.",
                    "details": {"kind": "decision", "state": "proposed"},
                },
                "evidence": [{"message_id": shop.question, "quote": QUESTION}],
            }
        ],
    }
    from mash_plugin.memory.extraction import extract_records
    from mash_plugin.protocol import validate

    checked = validate("extract_records", request)
    extract_records(memory.call_now(), checked)
    told = forget(memory, shop.chat)
    assert (told["checkpoints"], len(told["records"])) == (1, 1)
    with pytest.raises(Forgotten):
        extract_records(memory.call_now(), checked)
    with memory.call.store.reading() as db:
        assert db.one("SELECT count(*) FROM checkpoints") == (0,)


@pytest.mark.spec("R-180")
def test_neither_index_nor_hook_nor_citing_call_brings_the_chat_back(
    memory: Memory, shop: Shop
) -> None:
    memory.index()
    forget(memory, shop.chat)
    assert memory.call.chats.refresh_all(memory.clock.now).refused == 0
    assert memory.call.chats.refresh_session("s-1", memory.clock.now) is None
    path = str(shop.transcript.path)
    assert memory.call.chats.refresh_path("claude-code", path, memory.clock.now) is None
    shop.transcript.person("One more thing about Qdrant.")
    memory.index()
    assert memory.chat_ids() == set()
    assert texts(memory) == set()


@pytest.mark.spec("R-180")
def test_a_chat_that_was_read_before_it_was_forgotten_is_not_stored_after(
    memory: Memory, shop: Shop
) -> None:
    transcripts = memory.call.chats._transcripts
    read, forgot = type(transcripts).read, []

    class Late(type(transcripts)):  # type: ignore[misc]  # the race, in its exact order
        def read(self, *arguments: object) -> object:
            found = read(self, *arguments)  # type: ignore[arg-type]
            if not forgot:
                forgot.append(forget(memory, shop.chat))
            return found

    memory.call.chats.__dict__["_transcripts"] = Late(*transcripts)
    memory.index()
    assert forgot
    assert texts(memory) == set()


@pytest.mark.spec("R-179")
def test_a_record_that_was_about_to_be_saved_is_refused(
    memory: Memory, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mash_plugin.memory import record

    prepare = record.prepare

    def late(*arguments: object) -> object:
        draft = prepare(*arguments)  # type: ignore[arg-type]
        forget(memory, shop.chat)
        return draft

    monkeypatch.setattr(record, "prepare", late)
    with pytest.raises(Forgotten, match="chat was forgotten"):
        memory.candidate("Use Qdrant.")
    assert memory.count_records() == 0


@pytest.mark.spec("R-178", "R-180")
def test_the_chats_of_its_agents_go_too_and_do_not_come_back(memory: Memory, shop: Shop) -> None:
    folder = shop.transcript.path.parent / "s-1" / "subagents"
    folder.mkdir(parents=True)
    line = shop.transcript.path.read_text("utf-8").splitlines()[1]
    agents = json.loads(line) | {"isSidechain": True, "agentId": "a1", "uuid": "0" * 8}
    agents["uuid"] = "6ba7b810-9dad-11d1-80b4-00c04fd430c9"
    (folder / "agent-a1.jsonl").write_text(json.dumps(agents) + "\n", "utf-8")
    memory.index()
    assert len(memory.chat_ids()) == 2
    told = forget(memory, shop.chat)
    assert len(told["chats"]) == 2
    (folder / "agent-a2.jsonl").write_text(json.dumps(agents) + "\n", "utf-8")
    memory.index()
    assert memory.chat_ids() == set()


def subagent_of(memory: Memory, parent: CodexTranscript, number: int) -> CodexTranscript:
    session_id = f"01a22b46-ef78-7e32-8ff3-ca6f94ba9d{number:02}"
    made = CodexTranscript(memory.codex_root, str(memory.projects / "w3" / "shop"), session_id)
    lines = made.path.read_text("utf-8").splitlines()
    meta = json.loads(lines[0])
    meta["payload"] |= {
        "thread_source": "subagent",
        "source": {"subagent": "review"},
        "parent_thread_id": parent.session_id,
    }
    made.path.write_text("\n".join([json.dumps(meta), *lines[1:]]) + "\n", "utf-8")
    made.agent(f"Subagent {number} looked at Qdrant.")
    return made


@pytest.mark.spec("R-178", "R-180")
def test_agents_of_codex_go_too_and_come_back_with_their_chat(
    memory: Memory, codex_shop: CodexTranscript
) -> None:
    subagent_of(memory, codex_shop, 1)
    memory.index()
    before = memory.chat_ids()
    assert len(before) == 2
    chat = f"codex-{codex_shop.session_id}"
    assert len(forget(memory, chat)["chats"]) == 2
    later = subagent_of(memory, codex_shop, 2)
    memory.index()
    assert memory.chat_ids() == set()
    restored = forgetting.restore_chat(memory.call_now(), chat)
    assert set(restored["restored"]) == memory.chat_ids() == before | {f"codex-{later.session_id}"}


@pytest.mark.spec("R-178")
def test_messages_that_a_fork_holds_too_stay_with_it(memory: Memory, shop: Shop) -> None:
    fork = shop.transcript.path.with_name("s-7.jsonl")
    text = shop.transcript.path.read_text("utf-8").replace(
        '"sessionId": "s-1"', '"sessionId": "s-7"'
    )
    fork.write_text("".join(text.splitlines(keepends=True)[:3]), "utf-8")
    memory.index()
    told = forget(memory, shop.chat)
    assert (told["messages"], told["kept_messages"]) == (2, 2)
    assert told["kept_with"] == ["claude-code-s-7"]
    assert memory.chat_ids() == {"claude-code-s-7"}
    assert QUESTION in texts(memory)
    assert CHOICE not in texts(memory)
    told = forget(memory, "claude-code-s-7")
    assert (told["messages"], told["kept_messages"]) == (2, 0)
    assert texts(memory) == set()


@pytest.mark.spec("R-178")
def test_private_hashes_files_and_hook_rows_of_the_chat_go(memory: Memory, shop: Shop) -> None:
    shop.transcript.person("The key is <private>violet umbrella on the stair</private>.")
    memory.index()
    with memory.call.store.writing() as db:
        for session in ("s-1", "s-2"):
            db.run(
                "INSERT INTO hook_sessions VALUES (:s, 'claude-code', 0, NULL, NULL, '', 0, NULL)",
                {"s": session},
            )
            db.run(SHOWN, {"s": session, "id": "r1"})
        db.run(SHOWN, {"s": "s-2", "id": f"chat:{shop.chat}"})
        db.run(
            "INSERT INTO backfill_items VALUES (:id, 'claude-code', 'pending', 0, NULL, 0)",
            {"id": shop.chat},
        )
    forget(memory, shop.chat)
    with memory.call.store.reading() as db:
        assert db.all("SELECT session_id FROM hook_sessions") == [("s-2",)]
        assert db.all("SELECT session_id, shown_id FROM hook_files") == [("s-2", "r1")]
        assert db.all("SELECT * FROM backfill_items") == []
    with memory.call.chats.database.reading() as db:
        for table in ("chats", "messages", "chat_messages", "private_shingles", "files"):
            assert db.one(f"SELECT 1 FROM {table}") is None, table  # noqa: S608


@pytest.mark.spec("R-180")
def test_the_mark_tells_nothing_of_the_chat(memory: Memory, shop: Shop) -> None:
    memory.index()
    forget(memory, shop.chat)
    with memory.call.store.reading() as db:
        ((key, at),) = db.all("SELECT chat_key, forgotten_at FROM chat_tombstones")
    assert len(key) == 32
    assert b"s-1" not in key
    assert at == memory.clock.now


@pytest.mark.spec("R-180")
def test_a_restored_chat_is_indexed_again_and_its_records_stay_gone(
    memory: Memory, shop: Shop
) -> None:
    memory.candidate("Use Qdrant.")
    forget(memory, shop.chat)
    told = forgetting.restore_chat(memory.call_now(), shop.chat)
    assert told["restored"] == [shop.chat]
    assert QUESTION in texts(memory)
    assert memory.count_records() == 0
    assert memory.candidate("Use Qdrant after all.")["revision"] == 1
    with pytest.raises(ChatNotFound, match="not forgotten"):
        forgetting.restore_chat(memory.call_now(), shop.chat)


@pytest.mark.spec("R-180")
def test_a_chat_that_was_never_indexed_can_be_kept_out(memory: Memory, shop: Shop) -> None:
    told = forget(memory, shop.chat)
    assert (told["chats"], told["transcripts"]) == ([], [str(shop.transcript.path)])
    memory.index()
    assert memory.chat_ids() == set()


def test_a_second_forget_says_that_it_was_done_before(memory: Memory, shop: Shop) -> None:
    assert forget(memory, shop.chat)["was_forgotten"] is False
    told = forget(memory, shop.chat)
    assert (told["was_forgotten"], told["records"], told["messages"]) == (True, [], 0)


def test_an_unknown_chat_is_an_error(memory: Memory) -> None:
    with pytest.raises(ChatNotFound, match="mash chats"):
        preview(memory, "claude-code-nobody")


@pytest.mark.spec("R-180")
def test_a_removal_that_ended_between_the_two_stores_is_finished_later(
    memory: Memory, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.index()
    monkeypatch.setattr(forgetting, "finish_forgetting", lambda _call: False)
    assert forget(memory, shop.chat)["is_scrubbed"] is False
    assert memory.chat_ids() == {shop.chat}
    monkeypatch.undo()
    assert forgetting.finish_forgetting(memory.call_now()) is True
    assert texts(memory) == set()


@pytest.mark.spec("R-178", "R-027")
def test_a_chat_goes_whose_transcript_and_index_are_lost(memory: Memory, shop: Shop) -> None:
    made = memory.candidate("Use Qdrant.")["id"]
    with memory.call.store.writing() as db:
        db.run(
            "INSERT INTO hook_sessions VALUES ('s-1', 'claude-code', 0, NULL, NULL, '', 0, NULL)"
        )
    shop.transcript.path.unlink()
    with memory.call.chats.database.writing() as db:
        for table in ("files", "chat_messages", "messages", "chats"):
            db.run(f"DELETE FROM {table}")  # noqa: S608
    told = forget(memory, shop.chat)
    assert [record["id"] for record in told["records"]] == [made]
    assert (told["chats"], told["messages"], told["transcripts"]) == ([], 0, [])
    assert memory.count_records() == 0
    with memory.call.store.reading() as db:
        assert db.all("SELECT * FROM hook_sessions") == []
    assert forgetting.restore_chat(memory.call_now(), shop.chat)["has_transcript"] is False


def test_an_index_that_cannot_be_written_now_is_cleaned_later(
    memory: Memory, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.index()
    asked: list[bool] = []
    memory.call.chats.database.on_unclean = lambda: asked.append(True)

    def busy(_index: ChatIndex) -> int:
        raise StoreBusy

    monkeypatch.setattr(ChatIndex, "remove_forgotten", busy)
    assert forget(memory, shop.chat)["is_scrubbed"] is False
    assert asked == [True]
    monkeypatch.undo()
    assert forgetting.finish_forgetting(memory.call_now())
    assert texts(memory) == set()
