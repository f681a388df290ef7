"""The bearer tokens of the REST API: one file for each agent, readable by its owner alone."""

import os
import secrets
import stat

from mash_plugin.errors import UnsafePlace
from mash_plugin.file_writing import write_private
from mash_plugin.throughline.artifacts import memory_id

FOLDER = "tokens"


def token_file(config_dir: str, agent: str) -> str:
    """Where the token of an agent lies."""
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in agent)[:40]
    return os.path.join(config_dir, FOLDER, f"{readable}-{memory_id('token', agent)[:8]}")


def token_of(config_dir: str, agent: str) -> str:
    """The token of an agent, made when it has none. Raises UnsafePlace for one others can read."""
    place = token_file(config_dir, agent)
    try:
        with open(place, encoding="ascii", errors="replace") as file:
            mode = os.fstat(file.fileno()).st_mode
            found = file.read(200).strip()
    except FileNotFoundError:
        found = secrets.token_urlsafe(32)
        write_private(place, found + "\n")
        return found
    if stat.S_IMODE(mode) & 0o077 or len(found) < 32 or not found.isascii():
        raise UnsafePlace(
            f"The token in {place} can be read by others, is too short or no text."
            " Delete the file: the next start makes a new one."
        )
    return found
