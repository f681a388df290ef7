"""The schemas and descriptions of the tools, as clients get them."""

from typing import Any

import pytest

from mash_plugin.protocol import tool_schemas, validate
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
def test_the_schema_of_record_shows_the_fields_of_create() -> None:
    change = TOOLS["record"]["inputSchema"]["properties"]["change"]
    assert change["properties"]["action"]["enum"] == ["create"]
    assert set(change["properties"]) == {"action", "scope", "body", "evidence", "on_duplicate"}
    assert set(change["properties"]["scope"]["properties"]) == {"kind", "identity", "path", "id"}
    body = change["properties"]["body"]["properties"]
    assert set(body) == {"statement", "recorded_by", "review", "effective_at", "details"}
    citation = change["properties"]["evidence"]["items"]["properties"]
    assert set(citation) == {"message_id", "session_id", "quote", "purpose"}


@pytest.mark.spec("R-076", "R-102")
def test_only_record_writes() -> None:
    for name, tool in TOOLS.items():
        assert tool["annotations"] == {
            "readOnlyHint": name != "record",
            "destructiveHint": name == "record",
            "idempotentHint": True,
            "openWorldHint": False,
        }


@pytest.mark.spec("R-002", "R-086", "R-071")
def test_descriptions_caution_and_never_claim_proof() -> None:
    for name in ("record", "recall_records", "get_record", "list_records"):
        text = " ".join(TOOLS[name]["description"].split())
        assert "interpretation" in text
        assert "proof" in text
        for word in ("verified", "proven", "confirmed true"):
            assert word not in text.lower()
    assert "labels and rank are not approval" in " ".join(
        TOOLS["recall_records"]["description"].split()
    )
    assert "use revise or supersede" in " ".join(TOOLS["record"]["description"].split())


@pytest.mark.spec("R-082", "R-095", "R-097")
def test_descriptions_lead_to_complete_inspection() -> None:
    assert "use list_records" in TOOLS["recall_records"]["description"].replace("\n", " ")
    text = " ".join(TOOLS["list_records"]["description"].split())
    assert "start again from the beginning" in text
    assert "also `include_inactive`" in text
    assert "more: true" in text


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
    assert validate("list_records", {}) == {"include_inactive": False, "limit": 20, "offset": 0}
