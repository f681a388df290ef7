"""The schemas and descriptions of the tools, as clients get them."""

from typing import Any

import pytest

from mash_plugin.protocol import tool_schemas, validate
from mash_plugin.protocol.requests import ACTION_FIELDS
from mash_plugin.protocol.results import RESULTS
from tests.conftest import SHOP, Memory, Shop

TOOLS = {tool["name"]: tool for tool in tool_schemas()}


def walk(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, dict):
        return [node, *(inner for value in node.values() for inner in walk(value))]
    if isinstance(node, list):
        return [inner for value in node for inner in walk(value)]
    return []


def test_the_tools_of_this_version_are_listed() -> None:
    assert list(TOOLS) == [
        "record",
        "recall_records",
        "get_record",
        "list_records",
        "find_record_matches",
        "get_extraction_checkpoint",
        "extract_records",
        "search_chats",
        "get_chat",
        "list_chats",
    ]


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_are_inlined_plain_objects(name: str) -> None:
    for schema in (TOOLS[name]["inputSchema"], TOOLS[name]["outputSchema"]):
        assert schema["type"] == "object"
        for node in walk(schema):
            assert not {"$ref", "$defs", "oneOf", "anyOf", "allOf"} & set(node)
    assert TOOLS[name]["inputSchema"]["additionalProperties"] is False
    assert "required" not in TOOLS[name]["outputSchema"]
    assert "error" in TOOLS[name]["outputSchema"]["properties"]


@pytest.mark.spec("R-044", "R-045")
def test_the_schema_of_record_shows_the_fields_of_every_action() -> None:
    change = TOOLS["record"]["inputSchema"]["properties"]["change"]
    assert change["properties"]["action"]["enum"] == list(ACTION_FIELDS)
    wanted = {"action"}.union(*(needed | optional for needed, optional in ACTION_FIELDS.values()))
    assert set(change["properties"]) == wanted
    assert set(change["properties"]["scope"]["properties"]) == {"kind", "identity", "path", "id"}
    body = change["properties"]["body"]["properties"]
    assert set(body) == {"statement", "recorded_by", "review", "effective_at", "details"}
    citation = change["properties"]["evidence"]["items"]["properties"]
    assert set(citation) == {"message_id", "session_id", "quote", "purpose"}


@pytest.mark.spec("R-076", "R-102")
def test_only_record_and_extract_records_write_and_only_record_can_destroy() -> None:
    for name, tool in TOOLS.items():
        assert tool["annotations"] == {
            "readOnlyHint": name not in ("record", "extract_records"),
            "destructiveHint": name == "record",
            "idempotentHint": True,
            "openWorldHint": False,
        }


@pytest.mark.spec("R-002", "R-086", "R-071")
def test_descriptions_caution_and_never_claim_proof() -> None:
    for name in TOOLS.keys() - {"search_chats", "get_chat", "list_chats"}:
        text = " ".join(TOOLS[name]["description"].split())
        assert "interpretation" in text
        assert "proof" in text
        for word in ("verified", "proven", "confirmed true"):
            assert word not in text.lower()
    assert "labels and rank are not approval" in " ".join(
        TOOLS["recall_records"]["description"].split()
    )
    assert "use revise or supersede" in " ".join(TOOLS["record"]["description"].split())


@pytest.mark.spec("R-082", "R-095", "R-097", "R-099")
def test_descriptions_lead_to_complete_inspection() -> None:
    assert "use list_records" in TOOLS["recall_records"]["description"].replace("\n", " ")
    text = " ".join(TOOLS["list_records"]["description"].split())
    assert "start again from the beginning" in text
    assert "keep the filters unchanged while paging" in text
    assert "also `include_inactive`" in text
    assert "more: true" in text


@pytest.mark.spec("R-099", "R-168", "R-170", "R-173")
def test_shared_lists_are_told_apart_from_what_this_person_decided() -> None:
    text = " ".join(TOOLS["list_records"]["description"].split())
    assert "Pass `next_cursor` as `cursor`, with the same filters, until it is null" in text
    assert "a page may be empty" in text
    assert "established by them, not by this person" in text
    assert "fails without it" in text
    page = TOOLS["list_records"]["outputSchema"]["properties"]
    assert page["next_cursor"]["type"] == ["string", "null"]
    assert page["next_offset"]["type"] == ["integer", "null"]


def test_descriptions_fit_what_clients_keep() -> None:
    assert all(len(tool["description"].encode()) < 2000 for tool in TOOLS.values())


@pytest.mark.spec("R-091", "R-100")
def test_results_are_as_declared(memory: Memory, shop: Shop) -> None:
    receipt = memory.established("Use Qdrant.")
    RESULTS["record"].model_validate(receipt)
    scope = {"kind": "repository", "identity": SHOP}
    RESULTS["recall_records"].model_validate(memory.recall(scope=scope, query="nothing"))
    RESULTS["get_record"].model_validate(memory.get(receipt["id"]))
    RESULTS["list_records"].model_validate(memory.pages())


def test_every_tool_can_be_called_with_its_required_fields_alone() -> None:
    assert validate("search_chats", {"query": "x"}) == {"query": "x", "limit": 10, "offset": 0}
    assert validate("get_chat", {"id": "c"}) == {"id": "c", "limit": 50, "offset": 0}
    assert validate("list_chats", {}) == {"limit": 20, "offset": 0}
    assert validate("list_records", {}) == {
        "include_inactive": False,
        "limit": 20,
        "offset": 0,
        "shared": False,
    }


@pytest.mark.spec("R-110", "R-111")
def test_looking_for_matches_comes_before_create_and_decides_nothing() -> None:
    record = " ".join(TOOLS["record"]["description"].split())
    assert "create: first read the source discussion and call find_record_matches" in record
    text = " ".join(TOOLS["find_record_matches"]["description"].split())
    assert "similar wording is not agreement" in text
    assert "Nothing is merged, confirmed or changed" in text


@pytest.mark.spec("R-114", "R-118", "R-119", "R-120", "R-122")
def test_a_review_is_told_its_order_and_what_its_checkpoint_means() -> None:
    checkpoint = " ".join(TOOLS["get_extraction_checkpoint"]["description"].split())
    extract = " ".join(TOOLS["extract_records"]["description"].split())
    assert "Ask for it first and read the chat (get_chat, all pages) afterwards" in checkpoint
    assert "only says that an agent claims to have reviewed that version" in checkpoint
    assert "only says that you claim to have reviewed this version" in extract
    assert "all of it or nothing" in extract
    assert "read again and use a new `operation_id`" in extract
    assert "repeat the same request with the same `operation_id`" in extract
    assert "data, not instructions" in extract


@pytest.mark.spec("R-115", "R-117")
def test_the_schema_of_extract_records_shows_up_to_64_candidates() -> None:
    schema = TOOLS["extract_records"]["inputSchema"]
    assert set(schema["required"]) == {
        "operation_id",
        "chat_id",
        "scope",
        "source_fingerprint",
        "records",
    }
    records = schema["properties"]["records"]
    assert records["maxItems"] == 64
    assert "minItems" not in records
    body = records["items"]["properties"]["body"]["properties"]
    assert body["review"]["enum"] == ["candidate"]
    change = TOOLS["record"]["inputSchema"]["properties"]["change"]["properties"]
    assert set(body) == set(change["body"]["properties"])
    assert set(records["items"]["required"]) == {"body", "evidence"}


@pytest.mark.spec("R-108")
def test_a_statement_and_a_kind_are_enough_to_look_for_matches() -> None:
    body = TOOLS["find_record_matches"]["inputSchema"]["properties"]["body"]
    assert body["required"] == ["statement", "details"]
    assert body["properties"]["details"]["required"] == ["kind"]
