"""Codex as a host. Its parts are imported when first used: a hook's answer needs one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mash_plugin.agents.codex.files import count_compressed as count_compressed
    from mash_plugin.agents.codex.files import find_session as find_session
    from mash_plugin.agents.codex.files import find_transcripts as find_transcripts
    from mash_plugin.agents.codex.hooks import files_read as files_read
    from mash_plugin.agents.codex.hooks import parse_event as parse_event
    from mash_plugin.agents.codex.hooks import wrap_context as wrap_context
    from mash_plugin.agents.codex.transcripts import open_reader as open_reader

NAME = "codex"
ROOT_VARIABLE = "CODEX_HOME"
HOME_FOLDER = ".codex"
TOOL_PREFIX = "mcp__mash__"
"""The namespace of the server and two underscores, as in code mode and hooks (0.171.0)."""
STARTS_WITH_PROMPT = True
"""Resuming a session over the compaction limit starts it twice before its prompt (0.171.0)."""

_PARTS = {
    "files_read": "hooks",
    "parse_event": "hooks",
    "wrap_context": "hooks",
    "find_transcripts": "files",
    "find_session": "files",
    "open_reader": "transcripts",
    "count_compressed": "files",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - stands for any function of a part
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_PARTS[name]}"), name)
    globals()[name] = found
    return found
