"""What `mash export` and `mash import` ask of the daemon; no tool reaches it."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import text_of
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import InvalidArgument

if TYPE_CHECKING:
    from mash_plugin.memory.call import Call
    from mash_plugin.records.model import Scope

MODES = ("export", "mine", "identity")
SCOPES = ("personal", "repository", "local_project", "chat")
Json = dict[str, Any]


def export(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Write the memory, or some scopes of it, into a new file at `path`."""
    from mash_plugin.transfer.export import Wanted, export_store

    wanted = Wanted(_scopes(params.get("scopes")), params.get("masked") is True)
    return export_store(_call(requests), _path(params), wanted)


def import_export(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Take in the export at `path`, or with `dry_run` only tell what that would bring."""
    from mash_plugin.transfer.importing import import_file

    mode = params.get("mode", "export")
    if mode not in MODES:
        raise InvalidArgument(f"mode: one of {', '.join(MODES)}, not {str(mode)[:50]!r}.")
    is_dry_run = params.get("dry_run") is True
    return import_file(_call(requests), _path(params), mode, is_dry_run=is_dry_run)


def import_memory(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Take in what another tool remembers, as candidates, or with `dry_run` show them."""
    from mash_plugin.transfer.others import take_in

    scope = _scopes([params["scope"]]) if params.get("scope") else None
    return take_in(
        _call(requests),
        text_of(params, "source") or "",
        _path(params),
        scope[0] if scope else None,
        is_dry_run=params.get("dry_run") is True,
    )


def undo_import(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Remove the candidates that came of an import of another tool's memory."""
    from mash_plugin.transfer.others import take_back

    return take_back(_call(requests), text_of(params, "id") or "")


def _call(requests: Requests) -> "Call":
    from mash_plugin.memory.call import Caller

    return requests.open_node().call(Caller(), now_ms(), {})


def _path(params: Mapping[str, Any]) -> str:
    path = text_of(params, "path") or ""
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidArgument(f"path: {path[:200]!r} is no absolute path of a file.")
    return path


def _scopes(given: object) -> "tuple[Scope, ...] | None":
    from mash_plugin.records.model import Scope

    if given is None:
        return None
    found = []
    for scope in given if isinstance(given, list) else [given]:
        kind, value = scope if isinstance(scope, list) and len(scope) == 2 else (None, None)
        if kind not in SCOPES or not isinstance(value, str) or (kind == "personal") != (not value):
            raise InvalidArgument(
                f"scopes: {str(scope)[:200]} is none; a scope is one of {', '.join(SCOPES)} with"
                " its value."
            )
        found.append(Scope(kind, value))
    return tuple(found)
