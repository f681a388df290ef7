"""Start Claude Code as a reviewer (seen in 2.1.332).

`--setting-sources ''` leaves hooks, plugins and servers of every settings file out, and with
them what some people sign in by: those keys are handed on in a file of the review. `--bare`
would know API keys alone. An `@path` in a prompt makes the client read that file by itself,
so a chat that mentions one must not get there unescaped, and the reading is switched off too.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mash_plugin.agents.claude import NAME as NAME
from mash_plugin.agents.claude import TITLE as TITLE
from mash_plugin.agents.claude.setup import find_place as find_place
from mash_plugin.agents.plugin import Place
from mash_plugin.agents.reviewing import (
    RESULT_SCHEMA,
    SERVER,
    Ending,
    Start,
    Task,
    ask_status,
    ending_of,
    environment_of,
    last_line,
    new_private_file,
    result_of,
)
from mash_plugin.wording import EXTRACT

SIGN_IN = "start `claude` and type /login"
TURNS = 40
SIGN_IN_KEYS = (
    *("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh"),
    *("forceLoginMethod", "forceLoginOrgUUID", "model"),
)
SIGN_IN_VARIABLES = (
    *("ANTHROPIC_", "AWS_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_OAUTH_"),
    *("CLOUD_ML_", "GOOGLE_", "VERTEX_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_", "CLAUDE_CODE_CLIENT_"),
)
ALONE = {
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
}


def is_signed_in(place: Place, folder: Path, environ: Mapping[str, str]) -> bool:
    """What Claude Code itself says, under the settings that a review gets."""
    settings = new_private_file(folder / "settings.json", _settings(place))
    done = ask_status([*_command(place, settings), "auth", "status"], environ, folder)
    try:
        return json.loads(done.stdout).get("loggedIn") is True
    except (ValueError, AttributeError):
        return False


def prepare(place: Place, task: Task, environ: Mapping[str, str]) -> Start:
    """The command of one review; its files lie in the task's folder."""
    settings = new_private_file(task.folder / "settings.json", _settings(place))
    server = {"command": task.server[0], "args": list(task.server[1:])}
    servers = new_private_file(
        task.folder / "servers.json", json.dumps({"mcpServers": {SERVER: server}})
    )
    command = [
        *_command(place, settings),
        *("-p", "--output-format", "json", "--json-schema", json.dumps(RESULT_SCHEMA)),
        *("--no-session-persistence", "--disable-slash-commands", "--tools", ""),
        *("--strict-mcp-config", "--mcp-config", str(servers)),
        *("--allowedTools", f"mcp__{SERVER}__{EXTRACT}", "--permission-mode", "dontAsk"),
        *("--max-turns", str(TURNS), "--system-prompt", task.instructions),
    ]
    return Start(command, environment_of(environ) | ALONE, task.prompt.encode())


def read_ending(code: int, out: str, err: str) -> Ending:
    """What the one JSON object tells; anything else is a failure with its last words."""
    try:
        told = json.loads(out)
    except ValueError:
        return ending_of(last_line(out) or last_line(err) or f"it ended with status {code}")
    if not isinstance(told, dict):
        return ending_of(out)
    said = str(told.get("result") or told.get("terminal_reason") or told.get("subtype") or "")
    status = told.get("api_error_status")
    if told.get("is_error") or code:
        return ending_of(said, status if isinstance(status, int) else None)
    if told.get("stop_reason") == "refusal":
        return Ending("refused", said)
    return result_of(told.get("structured_output"), said)


def _command(place: Place, settings: Path) -> list[str]:
    return [place.command, "--setting-sources", "", "--settings", str(settings)]


def _settings(place: Place) -> str:
    """What the person signs in by and their model, and no hooks."""
    try:
        own = json.loads((place.config / "settings.json").read_bytes() or b"{}")
    except (OSError, ValueError):
        own = {}
    own = own if isinstance(own, dict) else {}
    kept: dict[str, Any] = {key: own[key] for key in SIGN_IN_KEYS if key in own}
    variables = own.get("env")
    if isinstance(variables, dict):
        kept["env"] = {
            k: v for k, v in variables.items() if k.upper().startswith(SIGN_IN_VARIABLES)
        }
    return json.dumps({"disableAllHooks": True, **kept})
