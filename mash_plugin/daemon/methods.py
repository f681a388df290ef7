"""Every method by name: the tools, and what commands ask of the daemon itself."""

import importlib
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin import wire
from mash_plugin.config import SWITCHES
from mash_plugin.daemon import lifecycle
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import ToolFrame
from mash_plugin.daemon.log import place_of
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import Internal, InvalidArgument, MashError, UpgradeNeeded

if TYPE_CHECKING:
    from mash_plugin.config import Settings
    from mash_plugin.daemon.workers import Workers
    from mash_plugin.memory.call import Caller
    from mash_plugin.memory.items import Masking

TOOLS = {
    "record": ("mash_plugin.memory.record", "apply_change"),
    "recall_records": ("mash_plugin.memory.recall", "recall_records"),
    "get_record": ("mash_plugin.memory.reading", "get_record"),
    "list_records": ("mash_plugin.memory.reading", "list_records"),
    "find_record_matches": ("mash_plugin.memory.matches", "find_record_matches"),
    "get_extraction_checkpoint": ("mash_plugin.memory.extraction", "get_extraction_checkpoint"),
    "extract_records": ("mash_plugin.memory.extraction", "extract_records"),
    "search_chats": ("mash_plugin.daemon.chats", "search_chats"),
    "get_chat": ("mash_plugin.daemon.chats", "get_chat"),
    "list_chats": ("mash_plugin.daemon.chats", "list_chats"),
}
"""name → module and function(call, params), imported when first asked for."""
COMMANDS = {
    "log_events": ("mash_plugin.memory.log", "log_events"),
    "terminal_show": ("mash_plugin.memory.terminal", "show"),
    "terminal_hidden": ("mash_plugin.memory.terminal", "list_hidden"),
    "terminal_change": ("mash_plugin.memory.terminal", "change"),
    "terminal_withdraw": ("mash_plugin.memory.withdraw_session", "withdraw_session"),
}
"""What the person's own commands ask: neither `mash mcp` nor `mash call` passes these on."""
FOLLOWED = "log_events"
"""Asked every second by `mash log --follow`: it would push all else out of the log."""


def answer(requests: Requests, frame: ToolFrame) -> bytes:
    """The reply line of one request: every failure becomes one here."""
    began = time.monotonic()
    try:
        result = run(requests, frame)
        line = wire.result_line(_masking(requests).whole(result))
        lifecycle.failpoint("after_commit_before_reply")
        failure = "-"
    except MashError as error:
        line, failure = wire.error_line(_masking(requests).of_error(error)), error.code
    except Exception as error:  # the reply's boundary: the cause goes to the log
        line, failure = wire.error_line(Internal(outcome="unknown")), place_of(error)
    requests.load.calls_answered += 1
    ms = (time.monotonic() - began) * 1000
    method = frame.method if frame.method in METHODS else "?"
    if method != FOLLOWED or failure != "-":
        requests.log.write("call", method=method, ms=ms, answer=len(line), failure=failure)
    return line


def run(requests: Requests, frame: ToolFrame) -> Mapping[str, Any]:
    """The result of one request. Raises what the method raises; see `errors`."""
    if frame.method in OWN:
        return OWN[frame.method](requests, frame.params)
    if frame.method not in TOOLS and frame.method not in COMMANDS:
        known = ", ".join((*TOOLS, *OWN))
        raise InvalidArgument(f"There is no method {frame.method[:100]!r}; known: {known}.")
    node = requests.open_node()
    module, function = (TOOLS | COMMANDS)[frame.method]
    apply = getattr(importlib.import_module(module), function)
    now = now_ms(_text(frame.caller, "now_ms"))
    result = apply(node.call(caller_of(frame.caller), now, {}), _checked(frame))
    assert isinstance(result, dict)  # noqa: S101 - JSON by contract
    return result


def _masking(requests: Requests) -> "Masking":
    """What every reply goes through, so that no new field can forget it (R-177)."""
    from mash_plugin.memory.items import Masking, masking

    return masking(requests.node.settings({})) if requests.node else Masking(is_on=True)


def caller_of(body: Mapping[str, Any]) -> "Caller":
    """Who asks, as the request claims."""
    from mash_plugin.memory.call import Caller

    return Caller(
        agent=_text(body, "agent"),
        session_id=_text(body, "session_id"),
        tool_use_id=_text(body, "tool_use_id"),
    )


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
    if node.store.problem and not body["problem"]:
        body["problem"] = node.store.problem.as_json()
    settings = node.settings({})
    body["counts"] = node.counts()
    body["hooks"] = node.hook_state.heartbeats()
    body["index"] = _index_state(requests.start_workers())
    body["settings_problem"] = settings.problem
    body["switches"] = {
        "records": settings.records_enabled,
        "capture": settings.capture,
        "recall": settings.recall,
        "file_recall": settings.file_recall,
    }
    body |= _projects(settings, _text(params, "cwd"))
    from mash_plugin.daemon import sessions

    body["paused"] = sessions.paused(node, now_ms())
    body["inherited"] = {name: os.environ[name] for name in SWITCHES if name in os.environ}
    return body


def heartbeats(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """When each hook of each agent was last seen."""
    return {"hooks": requests.open_node().hook_state.heartbeats()}


def stop(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """End after what is under way."""
    requests.stop("asked")
    return {"stopping": True, "pid": os.getpid()}


def drain(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Make room for a newer version, once a minute at most."""
    wanted = params.get("protocol")
    if not isinstance(wanted, int) or wanted <= wire.PROTOCOL:
        raise UpgradeNeeded(protocol=wire.PROTOCOL)
    if not lifecycle.may_replace(requests.paths):
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


def forget_chat(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Remove a chat with the records that cite it, or tell with `dry_run` what would go."""
    from mash_plugin.daemon import forgetting

    return forgetting.forget_chat(requests, params)


def restore_chat(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Let a forgotten chat into the index again."""
    from mash_plugin.daemon import forgetting

    return forgetting.restore_chat(requests, params)


def session_ledger(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """What each hook put into the context of one session."""
    from mash_plugin.daemon import sessions

    return sessions.ledger(requests, params)


def pause(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Pause the hooks for a session or a project, or end that."""
    from mash_plugin.daemon import sessions

    return sessions.pause(requests, params)


def status_line(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the status line of an agent shows."""
    from mash_plugin.daemon import sessions

    return sessions.status_line(requests, params)


OWN: dict[str, Callable[[Requests, Mapping[str, Any]], dict[str, Any]]] = {
    "ping": ping,
    "status": status,
    "heartbeats": heartbeats,
    "stop": stop,
    "drain": drain,
    "index": index,
    "index_progress": index_progress,
    "forget_chat": forget_chat,
    "restore_chat": restore_chat,
    "session_ledger": session_ledger,
    "pause": pause,
    "status_line": status_line,
}
METHODS = (*TOOLS, *COMMANDS, *OWN)


def _checked(frame: ToolFrame) -> dict[str, Any]:
    from mash_plugin.protocol import validate

    if frame.method in TOOLS:
        return validate(frame.method, frame.params)
    from mash_plugin.protocol import commands

    return validate(frame.method, frame.params, commands.COMMANDS)


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
        "settings_warnings": [*settings.warnings, *list_faults(settings)],
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


def _text(body: Mapping[str, Any], key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) else None
