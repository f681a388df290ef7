"""Change the person's config.toml; every other line of it stays as it is."""

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mash_plugin.errors import InvalidArgument
from mash_plugin.file_writing import replace_file

Table = MutableMapping[str, Any]


def edit_settings(config_file: str, change: Callable[[Table], None]) -> None:
    """Let `change` work on the file's tables; a file that comes out equal is not written.

    Raises InvalidArgument where the file is no TOML, or a table is needed where a value stands.
    """
    file = Path(config_file)
    text = file.read_bytes().decode("utf-8") if file.exists() else ""
    try:
        document = tomlkit.parse(text)
        change(document)
    except (TOMLKitError, TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{config_file} cannot be changed ({error}). Correct it, then run this again."
        ) from None
    if (new := tomlkit.dumps(document)) != text:
        replace_file(file, new.encode())


def subtable(table: Table, *names: str) -> Table:
    """The table by its name, or by the names that lead to it, made where it is not there yet.

    Raises TypeError where one of the names stands for a value.
    """
    for name in names:
        if name not in table:
            table[name] = tomlkit.table(is_super_table=name != names[-1])
        found = table[name]
        if not isinstance(found, MutableMapping):
            raise TypeError(f"{name} is not a table")
        table = found
    return table
