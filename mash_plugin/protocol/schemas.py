"""JSON schemas of the tools: fully inlined, a plain object at the root, no unions of objects."""

from typing import Any

from pydantic import BaseModel

from mash_plugin.protocol.requests import REQUESTS
from mash_plugin.protocol.results import RESULTS
from mash_plugin.protocol.texts import DESCRIPTIONS, TITLES
from mash_plugin.wording import WRITING

Schema = dict[str, Any]
ERROR: Schema = {
    "type": "object",
    "description": "Instead of the other fields, when the call failed.",
    "required": ["code", "message"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "details": {"type": "object"},
    },
}


def tool_schemas() -> list[Schema]:
    """Every tool as `tools/list` shows it."""
    return [
        {
            "name": name,
            "title": TITLES[name],
            "description": DESCRIPTIONS[name],
            "inputSchema": input_schema(model),
            "outputSchema": _output(RESULTS[name]),
            "annotations": {
                "readOnlyHint": name not in WRITING,
                "destructiveHint": name == "record",  # it can forget
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        for name, model in REQUESTS.items()
    ]


def input_schema(model: type[BaseModel]) -> Schema:
    """What a tool takes, as clients are shown it."""
    schema = _inlined(model)
    schema.pop("description", None)
    return schema


def _output(model: type[BaseModel]) -> Schema:
    """Required fields are left to the tests: an error result must satisfy the schema too."""
    properties = _inlined(model)["properties"]
    return {"type": "object", "properties": {**properties, "error": ERROR}}


def _inlined(model: type[BaseModel]) -> Schema:
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema = _plain(raw, definitions)
    return schema


def _plain(node: Schema, definitions: Schema) -> Schema:
    node = dict(node)
    if "$ref" in node:
        target = definitions[node.pop("$ref").rpartition("/")[2]]
        node = {**target, **node}
    node.pop("title", None)
    if "const" in node:
        node["enum"] = [node.pop("const")]
        node.setdefault("type", "boolean" if isinstance(node["enum"][0], bool) else "string")
    if "anyOf" in node:
        node = _joined(node, definitions)
    if "properties" in node:
        node["properties"] = {k: _plain(v, definitions) for k, v in node["properties"].items()}
    if "items" in node:
        node["items"] = _plain(node["items"], definitions)
    return node


def _joined(node: Schema, definitions: Schema) -> Schema:
    """`X or null` becomes X where null means left out, else a list of types."""
    choices = [_plain(c, definitions) for c in node.pop("anyOf")]
    others = [c for c in choices if c.get("type") != "null"]
    is_omission = node.get("default", 0) is None
    if is_omission:
        del node["default"]
    joined: Schema = {}
    for choice in reversed(others):
        joined.update(choice)
    types = [c["type"] for c in others]
    if len(choices) > len(others) and not is_omission:
        types.append("null")
    joined["type"] = types if len(types) > 1 else types[0]
    return {**joined, **node}
