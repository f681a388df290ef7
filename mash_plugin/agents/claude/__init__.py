"""Claude Code as a host. Its parts are imported when first used: a hook's answer needs one."""

from typing import TYPE_CHECKING

from mash_plugin.agents.parts import HOOKED, from_parts

if TYPE_CHECKING:
    from mash_plugin.agents.claude.files import count_unread as count_unread
    from mash_plugin.agents.claude.files import find_session as find_session
    from mash_plugin.agents.claude.files import find_transcripts as find_transcripts
    from mash_plugin.agents.claude.hooks import files_read as files_read
    from mash_plugin.agents.claude.hooks import parse_event as parse_event
    from mash_plugin.agents.claude.hooks import wrap_context as wrap_context
    from mash_plugin.agents.claude.transcripts import open_reader as open_reader

NAME = "claude-code"
TITLE = "Claude Code"
COMMAND = "claude"
ROOTS_KEY = "claude"
ROOT_VARIABLE = "CLAUDE_CONFIG_DIR"
BELOW_VARIABLE = ""
HOME_FOLDER = ".claude"
UNREAD = ("", "")
TOOL_PREFIX = "mcp__plugin_mash_mash__"
"""Before the tools of a plugin's server: `mcp__plugin_<plugin>_<server>__` (2.1.332)."""
STARTS_WITH_PROMPT = False
"""What a start brought may have been compacted away before the first prompt (2.1.332)."""

__getattr__ = from_parts(__name__, HOOKED)
