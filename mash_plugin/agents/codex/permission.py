"""The setting that lets Codex use mash's tools without asking (seen in 0.171.0).

It asks before a tool that may change something, and refuses it where nobody can be asked.
`mash uninstall` takes the table out with the others of the plugin.
"""

import tomllib
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mash_plugin.agents.plugin import PLUGIN, PLUGIN_ID, Place
from mash_plugin.errors import InvalidArgument, plain_reason
from mash_plugin.file_writing import replace_file

TABLE = ("plugins", PLUGIN_ID, "mcp_servers", PLUGIN)
KEY, VALUE = "default_tools_approval_mode", "approve"
HEADER = f'[plugins."{PLUGIN_ID}".mcp_servers.{PLUGIN}]'


def may_save(place: Place) -> bool:
    """Whether the settings say that the tools run unasked."""
    try:
        return _table(tomllib.loads(_file(place).read_text("utf-8"))).get(KEY) == VALUE
    except (OSError, ValueError):
        return False


def allow_saving(place: Place) -> None:
    """Say so in the settings; raise InvalidArgument when they say something else already."""
    file = _file(place)
    try:
        text = file.read_bytes().decode("utf-8")
        table = _table(tomllib.loads(text))
        if table.get(KEY) == VALUE:
            return
        if KEY in table:
            raise ValueError(f"{KEY} is {table[KEY]!r} there")
        replace_file(file, (_extended(text) if table else _appended(text)).encode())
    except (OSError, ValueError, TOMLKitError) as error:
        raise InvalidArgument(
            f"{file} cannot take the setting ({plain_reason(error)}); it was left alone. Write"
            f' {KEY} = "{VALUE}" under {HEADER} there yourself.'
        ) from None


def _appended(text: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else newline
    return f'{text}{gap}{newline}{HEADER}{newline}{KEY} = "{VALUE}"{newline}'


def _extended(text: str) -> str:
    document: Any = tomlkit.parse(text)
    table = document
    for name in TABLE:
        table = table[name]
    table[KEY] = VALUE
    return tomlkit.dumps(document)


def _table(config: Any) -> dict[str, Any]:  # noqa: ANN401 - TOML
    for name in TABLE:
        config = config.get(name) if isinstance(config, dict) else None
    return config if isinstance(config, dict) else {}


def _file(place: Place) -> Path:
    return place.config / "config.toml"
