"""Start Codex as a reviewer (seen in 0.171.0).

`--ignore-user-config` leaves servers, plugins, notifiers and instructions out but keeps the
sign-in; the person's model and provider are named again. Secrets of a provider move from the
configuration into variables: other users can read a command line. `-c features.X=false` and not
`--disable X`, which fails where a version does not know X. Its `$CODEX_HOME/AGENTS.md` is read all
the same, and `apply_patch` is offered but refused by the read-only sandbox.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mash_plugin.agents.codex import NAME as NAME
from mash_plugin.agents.codex import TITLE as TITLE
from mash_plugin.agents.codex.setup import find_place as find_place
from mash_plugin.agents.plugin import Place
from mash_plugin.agents.reviewing import (
    PASSED,
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

SIGN_IN = "run `codex login`"
API_KEY = "CODEX_API_KEY"
"""`codex exec` takes it in the place of a sign-in, which `codex login status` does not tell."""
KEPT = (
    *("model", "model_provider", "model_reasoning_effort", "model_context_window"),
    *("model_auto_compact_token_limit", "cli_auth_credentials_store", "chatgpt_base_url"),
    *("openai_base_url", "forced_login_method", "forced_chatgpt_workspace_id"),
)
FEATURES_OFF = (
    *("hooks", "plugins", "shell_tool", "unified_exec", "apps", "multi_agent", "multi_agent_v2"),
    *("view_image", "image_generation", "goals", "tool_suggest", "skill_search", "browser_use"),
    *("browser_use_external", "computer_use", "in_app_browser", "shell_snapshot", "sleep_tool"),
    *("memories", "workspace_dependencies", "code_mode_host", "remote_plugin"),
)
SWITCHED_OFF = (
    *("skills.include_instructions", "skills.bundled.enabled", "include_environment_context"),
    *("include_permissions_instructions", "include_apps_instructions", "analytics.enabled"),
    *("include_collaboration_mode_instructions", "check_for_update_on_startup"),
    *("tools.experimental_request_user_input.enabled", "tools.update_plan.enabled"),
)
MADE_UP = "MASH_REVIEW_SECRET"


def is_signed_in(place: Place, folder: Path, environ: Mapping[str, str]) -> bool:
    """What Codex itself says; a provider with a key of its own needs no sign-in."""
    if ask_status([place.command, "login", "status"], environ, folder).returncode == 0:
        return True
    config = _config(place)
    provider = _provider(config)
    if not provider:
        return bool(environ.get(API_KEY)) and "model_provider" not in config
    key = provider.get("env_key")
    return not provider.get("requires_openai_auth") and (not key or bool(environ.get(key)))


def prepare(place: Place, task: Task, environ: Mapping[str, str]) -> Start:
    """The command of one review; its files lie in the task's folder."""
    schema = new_private_file(task.folder / "schema.json", json.dumps(RESULT_SCHEMA))
    instructions = new_private_file(task.folder / "instructions.md", task.instructions)
    settings, secrets = _kept_settings(_config(place))
    settings |= {f"features.{name}": False for name in FEATURES_OFF}
    settings |= dict.fromkeys(SWITCHED_OFF, False)
    settings |= {
        "web_search": "disabled",
        "project_doc_max_bytes": 0,
        "model_instructions_file": str(instructions),
        f"mcp_servers.{SERVER}": _server(task),
    }
    command = [
        *(place.command, "exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules"),
        *("--sandbox", "read-only", "--skip-git-repo-check", "-C", str(task.empty)),
        *("--output-schema", str(schema)),
    ]
    for key, value in settings.items():
        command += ["-c", f"{key}={_toml(value)}"]
    environment = environment_of(environ) | secrets
    return Start([*command, "-"], environment, task.prompt.encode())


def read_ending(code: int, out: str, err: str) -> Ending:
    """What the events tell: the last message is the result, unless the turn failed."""
    last, failure = "", ""
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        item = event.get("item")
        if event.get("type") == "turn.failed":
            failure = str((event.get("error") or {}).get("message") or "the turn failed")
        elif event.get("type") == "error":
            failure = failure or str(event.get("message") or "")
        elif isinstance(item, dict) and item.get("type") == "agent_message":
            last = str(item.get("text") or "")
    if code:
        return ending_of(failure or last_line(err) or last or f"it ended with status {code}")
    return result_of(last, last or failure or "it said nothing")


def _server(task: Task) -> dict[str, Any]:
    return {
        "command": task.server[0],
        "args": list(task.server[1:]),
        "env_vars": list(PASSED),
        "default_tools_approval_mode": "approve",
        "enabled_tools": [EXTRACT],
        "required": True,
        "startup_timeout_sec": 60,
    }


def _config(place: Place) -> dict[str, Any]:
    """The person's settings, those of their chosen profile on top."""
    try:
        config = tomllib.loads((place.config / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    profiles, name = config.get("profiles"), config.get("profile")
    profile = profiles.get(name) if isinstance(profiles, dict) else None
    return {**config, **profile} if isinstance(profile, dict) else config


def _provider(config: Mapping[str, Any]) -> dict[str, Any]:
    """The table of the chosen provider; that of OpenAI itself has none."""
    tables = config.get("model_providers")
    found = tables.get(config.get("model_provider")) if isinstance(tables, dict) else None
    return dict(found) if isinstance(found, dict) else {}


def _kept_settings(config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings that a review keeps, and the variables that hold their secrets."""
    kept = {key: config[key] for key in KEPT if key in config}
    provider, secrets = _provider(config), {}
    if token := provider.pop("experimental_bearer_token", None):
        secrets[f"{MADE_UP}_TOKEN"] = str(token)
        provider["env_key"] = f"{MADE_UP}_TOKEN"
    headers = provider.pop("http_headers", None)
    if isinstance(headers, dict):
        named = dict(provider.get("env_http_headers") or {})
        for number, (header, value) in enumerate(headers.items()):
            named[header] = f"{MADE_UP}_{number}"
            secrets[named[header]] = str(value)
        provider["env_http_headers"] = named
    if provider:
        kept["model_providers"] = {str(config["model_provider"]): provider}
    return kept, secrets


def _toml(value: object) -> str:
    """A value in TOML on one line; what JSON and TOML write alike is written as JSON."""
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(key)}={_toml(item)}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
