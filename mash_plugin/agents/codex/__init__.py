"""Codex as a host. Its parts are imported when first used: a hook's answer needs one."""

from typing import TYPE_CHECKING

from mash_plugin.agents.parts import HOOKED, from_parts

if TYPE_CHECKING:
    from mash_plugin.agents.codex.files import count_unread as count_unread
    from mash_plugin.agents.codex.files import find_session as find_session
    from mash_plugin.agents.codex.files import find_transcripts as find_transcripts
    from mash_plugin.agents.codex.hooks import files_read as files_read
    from mash_plugin.agents.codex.hooks import parse_event as parse_event
    from mash_plugin.agents.codex.hooks import wrap_context as wrap_context
    from mash_plugin.agents.codex.transcripts import open_reader as open_reader

NAME = "codex"
TITLE = "Codex"
COMMAND = "codex"
ROOTS_KEY = "codex"
ROOT_VARIABLE = "CODEX_HOME"
BELOW_VARIABLE = ""
HOME_FOLDER = ".codex"
UNREAD = (
    "it compresses them where it is told to; unpacked ones are read",
    "zstd -d FILE.jsonl.zst",
)
TOOL_PREFIX = "mcp__mash__"
"""The namespace of the server and two underscores, as in code mode and hooks (0.171.0)."""
STARTS_WITH_PROMPT = True
"""Resuming a session over the compaction limit starts it twice before its prompt (0.171.0)."""

__getattr__ = from_parts(__name__, HOOKED)
