"""The OpenAPI document of the REST API, made of the tools' own schemas."""

from importlib.metadata import version
from typing import Any

from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.tools import REMEMBER, SEARCH, tool_schemas

OPENAPI, MEMORIES = "/openapi.json", "/v1/memories"
SESSION = "/v1/sessions/{session_id}"
Json = dict[str, Any]
_ENTRY = {
    "type": "object",
    "required": ["mem_id", "significance", "category", "date", "text", "stage", "at"],
    "properties": {
        "mem_id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "significance": {"type": "number"},
        "category": {"type": "string"},
        "date": {"type": "string", "format": "date"},
        "text": {"type": "string"},
        "stage": {"enum": ["working", "long_term"]},
        "at": {"type": "string", "format": "date-time"},
        "session_id": {"type": ["string", "null"]},
        "channel": {"type": ["string", "null"]},
    },
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}


def document() -> Json:
    """What the API offers, version by version of the program."""
    tools = {tool["name"]: tool for tool in tool_schemas(Settings(""))}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Meaning Memory",
            "version": version("mash-plugin"),
            "description": "An agent's memories over the loopback. Working memories are read-only.",
        },
        "security": [{"bearer": []}],
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Entry": _ENTRY, "Error": _ERROR},
        },
        "paths": {
            MEMORIES: {"get": _search(tools[SEARCH]), "post": _remember(tools[REMEMBER])},
            SESSION: {"get": _recall()},
        },
    }


def _search(tool: Json) -> Json:
    properties: Json = tool["inputSchema"]["properties"]
    return {
        "operationId": SEARCH,
        "summary": tool["description"],
        "parameters": [
            {"name": name, "in": "query", "schema": schema} for name, schema in properties.items()
        ],
        "responses": {"200": _entries(), **_errors("400", "401", "503")},
    }


def _remember(tool: Json) -> Json:
    schema = tool["inputSchema"]
    properties = schema["properties"] | {"memory_stage": {"const": "long_term"}}
    return {
        "operationId": REMEMBER,
        "summary": tool["description"],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema | {"properties": properties}}},
        },
        "responses": {
            "202": {"description": "Queued; it can be found after the next drain."},
            **_errors("400", "401", "403", "413", "422", "503"),
        },
    }


def _recall() -> Json:
    place = {"name": "session_id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "operationId": "mm_session_recall",
        "summary": "Everything of one session.",
        "parameters": [place],
        "responses": {"200": _entries(), **_errors("400", "401", "503")},
    }


def _entries() -> Json:
    rows = {"type": "array", "items": {"$ref": "#/components/schemas/Entry"}}
    schema = {"type": "object", "required": ["agent", "entries"], "properties": {"entries": rows}}
    return {"description": "Rows.", "content": {"application/json": {"schema": schema}}}


def _errors(*codes: str) -> Json:
    schema = {"schema": {"$ref": "#/components/schemas/Error"}}
    body = {"description": "Why not.", "content": {"application/json": schema}}
    return dict.fromkeys(codes, body)
