"""Gemini CLI: its chats are read, and nothing is installed into it."""

from typing import TYPE_CHECKING

from mash_plugin.agents.parts import READING, from_parts

if TYPE_CHECKING:
    from mash_plugin.agents.gemini.files import count_unread as count_unread
    from mash_plugin.agents.gemini.files import find_session as find_session
    from mash_plugin.agents.gemini.files import find_transcripts as find_transcripts
    from mash_plugin.agents.gemini.transcripts import open_reader as open_reader

NAME = "gemini-cli"
TITLE = "Gemini CLI"
COMMAND = "gemini"
ROOTS_KEY = "gemini"
ROOT_VARIABLE = "GEMINI_CLI_HOME"
BELOW_VARIABLE = HOME_FOLDER = ".gemini"
UNREAD = (
    "it kept a chat as one JSON value once, and writes one anew that is resumed",
    "gemini --resume NUMBER",
)

__getattr__ = from_parts(__name__, READING)
