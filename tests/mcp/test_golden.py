"""The golden examples of records, sent by the official client to `mash mcp`."""

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript, write_repository

Json = dict[str, Any]
REPOSITORY = {"kind": "repository", "identity": "github.com/acme/shop"}
CHAT = "claude-code-s-1"
CHOICE = "Yes, let's use Qdrant."


class Shop:
    """FX-CHAT in a home of its own."""

    def __init__(self, place: Place) -> None:
        self.place = place
        project = write_repository(place.root / "w" / "shop", "git@github.com:acme/shop.git")
        transcript = ClaudeTranscript(place.home / ".claude", str(project), "s-1")
        transcript.person("Which vector store should we use locally?")
        self.proposal = transcript.agent("I propose Qdrant for local search.")
        self.choice = transcript.person(CHOICE)
        transcript.agent("I split the index code into two modules because the parser is reused.")
        self.server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "mash_plugin", "mcp"],
            env=place.environment,
            cwd=project,
        )

    def talk(self, say: Callable[["Tools"], Awaitable[None]]) -> None:
        """Let one client call tools over the server's standard streams."""

        async def connect() -> None:
            async with (
                stdio_client(self.server) as (read, write),
                ClientSession(read, write) as session,
            ):
                await session.initialize()
                await say(Tools(session))

        anyio.run(connect)

    def golden(self) -> Json:
        """The request of G-01."""
        return {
            "operation_id": "choose-local-qdrant-1",
            "change": {
                "action": "create",
                "scope": {"kind": "chat", "id": CHAT},
                "body": {
                    "statement": "Use Qdrant for local search.",
                    "recorded_by": "My coding agent",
                    "review": "established",
                    "details": {"kind": "decision", "state": "accepted"},
                },
                "evidence": [
                    {"message_id": self.choice, "quote": CHOICE, "purpose": "endorsement"}
                ],
            },
        }

    def decision(self, statement: str) -> Json:
        """G-01 for the repository, under an operation of its own and by session."""
        request = self.golden()
        request["operation_id"] = f"save {statement}"
        request["change"]["scope"] = REPOSITORY
        request["change"]["body"]["statement"] = statement
        request["change"]["evidence"] = [
            {"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}
        ]
        return request


class Tools:
    """The tools of one session of the official client."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def __call__(self, tool: str, arguments: Json) -> Json:
        """The structured result of a call that succeeds."""
        result = await self.session.call_tool(tool, arguments)
        structured: Json = result.structured_content
        assert not result.is_error, structured
        [block] = result.content
        assert json.loads(block.text) == structured  # type: ignore[union-attr]
        return structured

    async def recall(self, **more: Any) -> Json:
        return await self("recall_records", {"scope": REPOSITORY, **more})


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    place = Place(tmp_path)
    place.start()
    yield Shop(place)
    place.close()


@pytest.mark.spec("R-007", "R-045")
def test_g01_an_established_decision_is_created(shop: Shop) -> None:
    shop.place.index()

    async def say(call: Tools) -> None:
        receipt = await call("record", shop.golden())
        assert receipt["operation_id"] == "choose-local-qdrant-1"
        assert receipt["action"] == "create"
        assert receipt["revision"] == 1
        assert receipt["reused"] is False

    shop.talk(say)


@pytest.mark.spec("R-013", "R-015")
def test_g02_a_session_is_cited_before_any_index_run(shop: Shop) -> None:
    request = shop.decision("Use Qdrant for local search.")

    async def say(call: Tools) -> None:
        receipt = await call("record", request)
        recalled = await call.recall()
        assert [item["id"] for item in recalled["records"]] == [receipt["id"]]
        found = await call("get_record", {"id": receipt["id"]})
        [evidence] = found["revisions"][0]["evidence"]
        shop.place.index()
        messages = (await call("get_chat", {"id": CHAT}))["messages"]
        [indexed] = [one["id"] for one in messages if one["text"] == CHOICE]
        assert evidence["message_id"] == indexed == shop.choice

    shop.talk(say)


@pytest.mark.spec("R-061")
def test_g03_a_retry_gives_the_same_receipt(shop: Shop) -> None:
    shop.place.index()

    async def say(call: Tools) -> None:
        first = await call("record", shop.golden())
        second = await call("record", shop.golden())
        assert second == {**first, "replayed": True}
        assert len((await call("list_records", {}))["records"]) == 1

    shop.talk(say)


@pytest.mark.spec("R-072", "R-078", "R-079")
def test_g04_recall_gives_a_small_packet(shop: Shop) -> None:
    async def say(call: Tools) -> None:
        for number in range(10):
            await call("record", shop.decision(f"Use vector store {number} for local search."))
        packet = await call.recall()
        assert isinstance(packet["records"], list)
        assert packet["truncated"] is True
        assert packet["scan_limited"] is False
        assert len(packet["records"]) == 8
        assert len(json.dumps(packet, ensure_ascii=False, separators=(",", ":"))) <= 6000

    shop.talk(say)


@pytest.mark.spec("R-053", "R-055", "R-059", "R-085")
def test_g05_a_contradiction_takes_both_records_out_of_recall(shop: Shop) -> None:
    async def say(call: Tools) -> None:
        one = await call("record", shop.decision("Use Qdrant for local search."))
        other = await call("record", shop.decision("Use a plain file for local search."))
        ids = {one["id"], other["id"]}
        assert {item["id"] for item in (await call.recall())["records"]} == ids
        link = {
            "action": "link",
            "expected": {"id": one["id"], "revision": 1},
            "target": {"id": other["id"], "revision": 1},
            "relation": "contradicts",
        }
        receipt = await call("record", {"operation_id": "link-1", "change": link})
        assert receipt["id"] == one["id"]
        assert receipt["target"] == {"id": other["id"], "revision": 1}
        assert receipt["relation"] == "contradicts"
        assert receipt["reused"] is False
        assert (await call.recall())["records"] == []
        reviewed = (await call.recall(include_review=True))["records"]
        assert {item["id"]: item["conflicted"] for item in reviewed} == dict.fromkeys(ids, True)
        directions = []
        for record_id in (one["id"], other["id"]):
            [found] = (await call("get_record", {"id": record_id}))["links"]
            assert found["active"] is True
            directions.append(found["direction"])
        assert directions == ["outgoing", "incoming"]

        repeated = await call("record", {"operation_id": "link-2", "change": link})
        assert repeated["reused"] is True
        unlink = {"operation_id": "unlink-1", "change": {**link, "action": "unlink"}}
        await call("record", unlink)
        assert {item["id"] for item in (await call.recall())["records"]} == ids

    shop.talk(say)


@pytest.mark.spec("R-088", "R-089")
def test_g07_a_file_brings_the_records_that_name_it(shop: Shop) -> None:
    async def say(call: Tools) -> None:
        named = await call("record", shop.decision("Keep parsing in src/main.rs small."))
        await call("record", shop.decision("Keep other/src/main.rs as it is."))
        await call("record", shop.decision("Delete src/main.rs.bak soon."))
        found = (await call.recall(file="src/main.rs"))["records"]
        assert [item["id"] for item in found] == [named["id"]]

    shop.talk(say)
