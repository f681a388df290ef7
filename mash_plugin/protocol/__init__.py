"""Requests and results of every tool: what the daemon checks and the MCP server shows."""

from mash_plugin.protocol.schemas import tool_schemas
from mash_plugin.protocol.validation import validate

__all__ = ["tool_schemas", "validate"]
