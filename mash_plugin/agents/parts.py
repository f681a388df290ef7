"""Import the parts of an agent's package when they are first used: a hook's answer needs one."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

READING = {
    "find_transcripts": "files",
    "find_session": "files",
    "count_unread": "files",
    "open_reader": "transcripts",
}
"""Function → the module of an agent's package that holds it (`agents.events.Agent`)."""
HOOKED = READING | {"files_read": "hooks", "parse_event": "hooks", "wrap_context": "hooks"}
"""The same where hooks are answered, too (`agents.events.HookedAgent`)."""


def from_parts(package: str, parts: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for the package: each name is found in the module that `parts` says."""

    def find(name: str) -> Any:  # noqa: ANN401 - stands for any function of a part
        if name not in parts:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{parts[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
