"""Every method by name, and the reply to each: the tools, the commands, the daemon itself."""

import importlib
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mash_plugin import wire
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import ToolFrame, text_of
from mash_plugin.daemon.log import place_of
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import Internal, InvalidArgument, MashError
from mash_plugin.store.connection import limited
from mash_plugin.store.failpoint import failpoint

if TYPE_CHECKING:
    from mash_plugin.memory.call import Caller
    from mash_plugin.memory.masking import Masking

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
"""name → module and function(call, params), imported when first asked for: what agents ask."""
SHARED = {
    "get_record": ("mash_plugin.group.whole", "get_shared"),
    "list_records": ("mash_plugin.group.reads", "list_shared"),
}
"""The same where the group is asked: function(call, group, params), which reads nothing local."""
COMMANDS = {
    "log_events": ("mash_plugin.memory.log", "log_events"),
    "terminal_show": ("mash_plugin.memory.terminal", "show"),
    "terminal_hidden": ("mash_plugin.memory.terminal", "list_hidden"),
    "terminal_change": ("mash_plugin.memory.terminal", "change"),
    "terminal_withdraw": ("mash_plugin.memory.withdraw_session", "withdraw_session"),
    "terminal_rebind": ("mash_plugin.memory.rebind", "rebind"),
    "review_plan": ("mash_plugin.memory.review", "review_plan"),
    "review_chat": ("mash_plugin.memory.review", "review_chat"),
    "review_failed": ("mash_plugin.memory.review", "review_failed"),
    "review_result": ("mash_plugin.memory.review", "review_result"),
    "view_records": ("mash_plugin.memory.browse", "view_records"),
    "view_days": ("mash_plugin.memory.browse", "view_days"),
    "view_graph": ("mash_plugin.memory.browse", "view_graph"),
    "view_chats": ("mash_plugin.daemon.browse", "view_chats"),
    "view_chat": ("mash_plugin.daemon.browse", "view_chat"),
    "view_sessions": ("mash_plugin.daemon.showings", "view_sessions"),
    "view_session": ("mash_plugin.daemon.showings", "view_session"),
}
"""name → module and function(call, params): what the person's own commands ask."""
OWN = {
    "ping": ("mash_plugin.daemon.control", "ping"),
    "status": ("mash_plugin.daemon.control", "status"),
    "heartbeats": ("mash_plugin.daemon.control", "heartbeats"),
    "stop": ("mash_plugin.daemon.control", "stop"),
    "drain": ("mash_plugin.daemon.control", "drain"),
    "index": ("mash_plugin.daemon.control", "index"),
    "index_progress": ("mash_plugin.daemon.control", "index_progress"),
    "size": ("mash_plugin.daemon.size", "size"),
    "forget_chat": ("mash_plugin.daemon.forgetting", "forget_chat"),
    "forget_project": ("mash_plugin.daemon.forgetting", "forget_project"),
    "restore_chat": ("mash_plugin.daemon.forgetting", "restore_chat"),
    "backup": ("mash_plugin.daemon.control", "backup"),
    "export": ("mash_plugin.daemon.transfer", "export"),
    "import_export": ("mash_plugin.daemon.transfer", "import_export"),
    "import_memory": ("mash_plugin.daemon.transfer", "import_memory"),
    "undo_import": ("mash_plugin.daemon.transfer", "undo_import"),
    "transfer_progress": ("mash_plugin.daemon.transfer", "transfer_progress"),
    "break_off_transfer": ("mash_plugin.daemon.transfer", "break_off_transfer"),
    "session_ledger": ("mash_plugin.daemon.sessions", "ledger"),
    "pause": ("mash_plugin.daemon.pausing", "pause"),
    "status_line": ("mash_plugin.daemon.sessions", "status_line"),
    "explain_recall": ("mash_plugin.daemon.explain", "explain_recall"),
    "publish_now": ("mash_plugin.daemon.group", "publish_now"),
    "publication_status": ("mash_plugin.daemon.group", "publication_status"),
    "view_version": ("mash_plugin.daemon.health", "view_version"),
    "view_health": ("mash_plugin.daemon.health", "view_health"),
    "view_group": ("mash_plugin.daemon.group", "view_group"),
}
"""name → module and function(requests, params): what is asked of the daemon itself."""
PERSONS_ALONE = (
    *COMMANDS,
    *("forget_chat", "forget_project", "restore_chat", "pause", "publish_now"),
    *("export", "import_export", "import_memory", "undo_import", "break_off_transfer"),
)
"""Neither `mash mcp` nor `mash call` passes these on."""
METHODS = (*TOOLS, *COMMANDS, *OWN)
UNHURRIED = (
    *("forget_chat", "forget_project", "restore_chat", "backup"),
    *("export", "import_export", "import_memory", "undo_import"),
)
"""Whose queries may take as long as they take: they go through all that is stored."""
FOLLOWED = ("log_events", "view_version")
"""Asked every second, by `mash log --follow` and `mash dash`: all else would leave the log."""


def answer(requests: Requests, frame: ToolFrame) -> bytes:
    """The reply line of one request: every failure becomes one here."""
    began = time.monotonic()
    try:
        result = run(requests, frame)
        line = wire.result_line(_masking(requests).whole(result))
        failpoint("after_commit_before_reply")
        failure = "-"
    except MashError as error:
        line, failure = wire.error_line(_masking(requests).of_error(error)), error.code
    except Exception as error:  # the reply's boundary: the cause goes to the log
        line, failure = wire.error_line(Internal(outcome="unknown")), place_of(error)
    requests.load.calls_answered += 1
    ms = (time.monotonic() - began) * 1000
    method = frame.method if frame.method in METHODS else "?"
    if method not in FOLLOWED or failure != "-":
        requests.log.write("call", method=method, ms=ms, answer=len(line), failure=failure)
    return line


def run(requests: Requests, frame: ToolFrame) -> Mapping[str, Any]:
    """The result of one request. Raises what the method raises; see `errors`."""
    if frame.method not in METHODS:
        known = ", ".join((*TOOLS, *OWN))
        raise InvalidArgument(f"There is no method {frame.method[:100]!r}; known: {known}.")
    table = SHARED if frame.asks_group else TOOLS | COMMANDS | OWN
    module, function = table[frame.method]
    apply = getattr(importlib.import_module(module), function)
    with nullcontext() if frame.method in UNHURRIED else limited():
        if frame.method in OWN:
            result = apply(requests, frame.params)
        else:
            node, now = requests.open_node(), now_ms(text_of(frame.caller, "now_ms"))
            call = node.call(caller_of(frame.caller), now, {})
            group = (requests.kept_group(),) if frame.asks_group else ()
            result = apply(call, *group, _checked(frame))
    assert isinstance(result, dict)  # noqa: S101 - JSON by contract
    return result


def _masking(requests: Requests) -> "Masking":
    """What every reply goes through, so that no new field can forget it (R-177)."""
    from mash_plugin.memory.masking import Masking, masking

    return masking(requests.node.settings({})) if requests.node else Masking(is_on=True)


def caller_of(body: Mapping[str, Any]) -> "Caller":
    """Who asks, as the request claims."""
    from mash_plugin.memory.call import Caller

    return Caller(
        agent=text_of(body, "agent"),
        session_id=text_of(body, "session_id"),
        tool_use_id=text_of(body, "tool_use_id"),
    )


def _checked(frame: ToolFrame) -> dict[str, Any]:
    from mash_plugin.protocol import validate

    if frame.method in TOOLS:
        return validate(frame.method, frame.params)
    from mash_plugin.protocol import commands

    return validate(frame.method, frame.params, commands.COMMANDS)
