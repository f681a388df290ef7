"""Ask Codex which hooks of ours may run; trust is the person's to give, in `/hooks` (0.171.0)."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any

from mash_plugin.agents.commands import end_group
from mash_plugin.agents.plugin import PLUGIN_ID, HookTrust, Place
from mash_plugin.errors import Internal, plain_reason

APP_SERVER_TIMEOUT_S = 10


def hook_trust(place: Place, environ: Mapping[str, str]) -> list[HookTrust]:
    """Ask `codex app-server` whether each hook of ours may run; raise Internal if it cannot say."""
    with tempfile.TemporaryDirectory() as folder:
        hooks = [
            hook
            for entry in _hooks_list(place.command, folder, environ)
            for hook in entry.get("hooks", [])
            if str(hook.get("key", "")).startswith(f"{PLUGIN_ID}:")
        ]
    return [
        HookTrust(
            str(hook["key"]).removeprefix(f"{PLUGIN_ID}:"),
            str(hook.get("trustStatus", "unknown")),
            hook.get("enabled") is not False,
        )
        for hook in hooks
    ]


def _hooks_list(client: str, folder: str, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"clientInfo": {"name": "mash", "version": "1"}},
        },
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}},
    ]
    try:
        with subprocess.Popen(
            [client, "app-server"],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            timer = threading.Timer(APP_SERVER_TIMEOUT_S, end_group, [process.pid])
            timer.start()
            try:
                return _ask(process.stdin, process.stdout, requests)
            finally:
                timer.cancel()
                end_group(process.pid)
    except (OSError, ValueError, KeyError) as error:  # also of closing a pipe that broke
        raise Internal(
            f"`codex app-server` gave no list of hooks ({plain_reason(error)}). Type"
            " /hooks in codex."
        ) from None


def _ask(
    stdin: IO[bytes] | None, stdout: IO[bytes] | None, requests: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    assert stdin is not None  # noqa: S101 - both are pipes
    assert stdout is not None  # noqa: S101
    for request in requests:
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        if "id" in request:
            answer = next(_answers(stdout, request["id"]), None)
            if answer is None:
                raise ValueError("it ended")
            if "error" in answer:
                raise ValueError(str(answer["error"].get("message")))
    data = answer["result"]["data"] if answer else []
    return [entry for entry in data if isinstance(entry, dict)]


def _answers(stdout: IO[bytes], request_id: int) -> Iterator[dict[str, Any]]:
    for line in stdout:
        answer = json.loads(line)
        if answer.get("id") == request_id and "method" not in answer:
            yield answer
