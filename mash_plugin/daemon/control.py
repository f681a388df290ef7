"""What commands ask of the daemon itself: who it is, how it does, to read, to end."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin import wire
from mash_plugin.config import SWITCHES
from mash_plugin.daemon import lifecycle
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import text_of
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import MashError, StoreDamaged, UpgradeNeeded

if TYPE_CHECKING:
    from mash_plugin.config import Settings
    from mash_plugin.daemon.workers import Workers


def ping(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Who serves: enough to know whether to go on with it."""
    from importlib.metadata import version

    return {
        "pid": os.getpid(),
        "protocol": wire.PROTOCOL,
        "build": version("mash-plugin"),
        "started_at": requests.started_at,
        "problem": requests.problem.as_json() if requests.problem else None,
    }


def status(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """The daemon, the store and what is switched off, for people and for `mash doctor`."""
    paths = requests.paths
    body = ping(requests, params)
    body["places"] = {
        "run": paths.run,
        "data": paths.data,
        "config": paths.config_file,
        "log": paths.log,
    }
    body["load"] = dict(vars(requests.load))
    if requests.node is None:
        return body
    node = requests.node
    fault = node.store.problem or _displaced(requests)
    if fault and not body["problem"]:
        body["problem"] = fault.as_json()
    settings = node.settings({})
    body["counts"] = node.counts()
    body["hooks"] = node.hook_state.heartbeats.all()
    body["late_hooks"] = node.hook_state.latency.late(now_ms())
    body["index"] = _index_state(requests.start_workers())
    body["settings_problem"] = settings.problem
    body["switches"] = {
        "records": settings.records_enabled,
        "capture": settings.capture,
        "recall": settings.recall,
        "file_recall": settings.file_recall,
    }
    body |= _projects(settings, text_of(params, "cwd"))
    from mash_plugin.daemon.pausing import paused

    body["paused"] = paused(node, now_ms(), text_of(params, "cwd"))
    body["inherited"] = {name: os.environ[name] for name in SWITCHES if name in os.environ}
    return body


def heartbeats(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """When each hook of each agent was last seen, and how many were answered too late of late."""
    state = requests.open_node().hook_state
    return {"hooks": state.heartbeats.all(), "late_hooks": state.latency.late(now_ms())}


def stop(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """End after what is under way."""
    requests.stop("asked")
    return {"stopping": True, "pid": os.getpid()}


def drain(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Make room for a newer version, once a minute at most."""
    wanted = params.get("protocol")
    if not isinstance(wanted, int) or wanted <= wire.PROTOCOL:
        raise UpgradeNeeded(protocol=wire.PROTOCOL)
    if not lifecycle.claim_hand_over(requests.paths):
        raise UpgradeNeeded(
            "Another version of mash took over less than a minute ago; try again later.",
            protocol=wire.PROTOCOL,
        )
    requests.stop("newer-client")
    return {"stopping": True, "pid": os.getpid()}


def index(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Begin to read all new transcripts; `index_progress` tells how far it is."""
    return {"run": requests.start_workers().start_index()}


def index_progress(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """How far the full index run is, or what the last one found."""
    return _index_state(requests.start_workers())


def backup(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Make a backup of the store now, whether or not one is due."""
    from mash_plugin.store.backup import make

    made = make(requests.open_node().store, requests.paths.backups, now_ms())
    return {"path": made.path, "made_at": made.made_at}


def _displaced(requests: Requests) -> MashError | None:
    """A store that lost its file while it was open: all seems well until something is saved."""
    node, path = requests.open_node(), requests.paths.store
    if not node.store.is_displaced:
        return None
    from mash_plugin.store.open import restore_line

    # On its way out the daemon makes a backup of what it alone still reads.
    is_lost = node.counts()["records"] and not os.path.lexists(path)
    line = restore_line(requests.paths) if is_lost else "mash daemon restart"
    return StoreDamaged(
        f"{path} was moved, deleted or replaced while the daemon has it open: what it held is"
        f" still read, and nothing is saved. To repair: {line}",
        restore=line,
    )


def _index_state(workers: "Workers") -> dict[str, Any]:
    run = workers.index_run
    return {
        "run": run.number,
        "running": run.is_running,
        "progress": run.progress._asdict() if run.progress else None,
        "report": run.report._asdict() if run.report else None,
        "error": run.error,
    }


def _projects(settings: "Settings", cwd: str | None) -> dict[str, Any]:
    """What is switched off for single projects, and for the one that the asker is in."""
    from mash_plugin.chats.project import project_of
    from mash_plugin.chats.switches import LISTS, list_faults, marker_faults, what_is_off

    body: dict[str, Any] = {
        "projects": {name: list(getattr(settings, name)) for name in LISTS.values()},
        # Where the file cannot be read, they are of what stood in it before.
        "settings_warnings": (
            [] if settings.problem else [*settings.warnings, *list_faults(settings)]
        ),
    }
    project = project_of(cwd) if cwd else None
    if project is not None:
        body["here"] = {
            "project": project.root,
            "identity": project.identity,
            "off": [off._asdict() for off in what_is_off(project, settings)],
            "warnings": marker_faults(project),
        }
    return body
