"""What `mash forget`, `forget-project` and `index --restore-chat` ask; no tool reaches it."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.daemon.frames import some_text
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import InvalidArgument


def forget_chat(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Remove a chat with the records that cite it, or tell with `dry_run` what would go."""
    from mash_plugin.memory import forget_chat as memory

    node = requests.open_node()
    call = node.own_call()
    going = memory.find_going(call, _chat_id(params))
    if params.get("dry_run"):
        result = memory.preview(call, going)
    else:
        node.hook_state.forget(going.session_ids, going.chat_ids)
        result = memory.forget_chat(call, going)
    return result | {"older_copies": _older_copies(requests)}


def restore_chat(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Let a forgotten chat into the index again."""
    from mash_plugin.memory.forget_chat import restore_chat as restore

    return restore(requests.open_node().own_call(), _chat_id(params))


def forget_project(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """Remove all chats of a project, with their records or alone; `dry_run` tells what would go."""
    from mash_plugin.memory import forget_project as memory

    node = requests.open_node()
    call = node.own_call()
    leaving = memory.find_leaving(call, some_text(params, "path"), some_text(params, "identity"))
    if params.get("dry_run"):
        result = memory.preview(call, leaving)
    elif params.get("keep_records"):
        result = memory.drop_chats(call, leaving)
    else:
        node.hook_state.forget(leaving.session_ids, leaving.chat_ids)
        result = memory.forget_project(call, leaving)
    return result | {"older_copies": _older_copies(requests)}


def _older_copies(requests: Requests) -> list[str]:
    """Files that still hold what was forgotten."""
    from mash_plugin.store.backup import backups
    from mash_plugin.store.forgotten import older_copies

    kept = [backup.path for backup in backups(requests.paths.backups)]
    return older_copies(requests.paths.data, kept)


def _chat_id(params: Mapping[str, Any]) -> str:
    from mash_plugin.chat_ids import CHAT_ID

    value = params.get("id")
    if not isinstance(value, str) or not CHAT_ID.match(value):
        raise InvalidArgument(
            f"{str(value)[:100]!r} is no ID of a chat: up to 64 letters, digits, - and _."
            " `mash chats` lists the IDs."
        )
    return value
