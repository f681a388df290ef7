"""What `mash export` and `mash import` ask of the daemon; no tool reaches it.

An import as the person's own is the person's word for every record in the file: like the other
changes by hand at the terminal it is done only to what was shown before, which its checksum tells.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mash_plugin.daemon.frames import text_of
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import InvalidArgument

if TYPE_CHECKING:
    from mash_plugin.memory.call import Call
    from mash_plugin.records.model import Scope
    from mash_plugin.transfer.meter import Meter

MODES = ("export", "mine", "identity")
SCOPES = ("personal", "repository", "local_project", "chat")
MOST_TRANSFERS = 64
Json = dict[str, Any]


def export(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Write the memory, or some scopes of it, into a new file at `path`."""
    from mash_plugin.transfer.export import Wanted, export_store

    wanted = Wanted(_scopes(params.get("scopes")), params.get("masked") is True)
    with _metered(requests, params) as meter:
        return export_store(_call(requests), _path(params), wanted, meter)


def import_export(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Take in the export at `path`, or with `dry_run` only tell what that would bring."""
    from mash_plugin.transfer.importing import import_file

    mode = params.get("mode", "export")
    if mode not in MODES:
        raise InvalidArgument(f"mode: one of {', '.join(MODES)}, not {str(mode)[:50]!r}.")
    is_dry_run, agreed = params.get("dry_run") is True, text_of(params, "checksum")
    if mode == "mine" and not is_dry_run and agreed is None:
        raise InvalidArgument(
            "Only what the person was shown becomes the person's own: ask with dry_run first, then"
            " give the checksum. Nothing was imported."
        )
    with _metered(requests, params) as meter:
        return import_file(
            _call(requests),
            _path(params),
            mode,
            is_dry_run=is_dry_run,
            agreed=agreed,
            meter=meter,
        )


def transfer_progress(requests: Requests, params: Mapping[str, Any]) -> Json:
    """How far the export or import of that number is; null when there is none."""
    meter = requests.transfers.get(text_of(params, "run") or "")
    return {"progress": meter.as_json() if meter else None}


def break_off_transfer(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Let that export or import end with nothing changed; its own reply tells whether it did."""
    from mash_plugin.transfer.meter import Meter

    run = text_of(params, "run") or ""
    if len(requests.transfers) < MOST_TRANSFERS:
        # It may not have begun: what was asked first can be read last.
        requests.transfers.setdefault(run, Meter())
    if run in requests.transfers:
        requests.transfers[run].break_off()
    return {"run": run}


def import_memory(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Take in what another tool remembers, as candidates, or with `dry_run` show them."""
    from mash_plugin.transfer.candidates_in import take_in

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
    from mash_plugin.transfer.candidates_in import take_back

    import_id = (text_of(params, "id") or "").encode("utf-8", "replace").decode()
    return take_back(_call(requests), import_id)


@contextmanager
def _metered(requests: Requests, params: Mapping[str, Any]) -> "Iterator[Meter]":
    from mash_plugin.transfer.meter import Meter

    run = text_of(params, "run")
    if run is None:
        yield Meter()
        return
    try:
        yield requests.transfers.setdefault(run, Meter())
    finally:
        requests.transfers.pop(run, None)


def _call(requests: Requests) -> "Call":
    return requests.open_node().own_call()


def _path(params: Mapping[str, Any]) -> str:
    path = text_of(params, "path") or ""
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidArgument(f"path: {path[:200]!r} is no absolute path of a file.")
    return path


def _scopes(given: object) -> "tuple[Scope, ...] | None":
    from mash_plugin.memory.scopes import real_folder
    from mash_plugin.records.model import Scope
    from mash_plugin.transfer.items import is_text

    if given is None:
        return None
    found = []
    for scope in given if isinstance(given, list) else [given]:
        kind, value = scope if isinstance(scope, list) and len(scope) == 2 else (None, None)
        if (
            kind not in SCOPES
            or not (isinstance(value, str) and is_text(value))
            or (kind == "personal") != (not value)
        ):
            raise InvalidArgument(
                f"scopes: {str(scope)[:200]} is none; a scope is one of {', '.join(SCOPES)} with"
                " its value."
            )
        found.append(Scope(kind, real_folder(value) if kind == "local_project" else value))
    return tuple(found)
