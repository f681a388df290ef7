"""How each client is started for a review, and how its last words are read."""

import json
from pathlib import Path

import pytest

from mash_plugin.agents.headless import REVIEWERS
from mash_plugin.agents.plugin import Place
from mash_plugin.agents.reviewing import Start, Task, environment_of

CLAUDE, CODEX = REVIEWERS["claude-code"], REVIEWERS["codex"]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (empty := tmp_path / "review" / "empty").mkdir(parents=True)
    server = ("/venv/bin/python", "-m", "mash_plugin", "mcp", "--review", "/r.json")
    return Task(tmp_path / "review", empty, "You review.", "The chat.", server)


def place(tmp_path: Path, name: str) -> Place:
    (config := tmp_path / name).mkdir()
    return Place(name, name, f"/usr/bin/{name}", config)


def settings_of(start: Start) -> dict[str, str]:
    """The -c settings of a Codex command."""
    pairs = [start.command[n + 1] for n, word in enumerate(start.command) if word == "-c"]
    return dict(pair.split("=", 1) for pair in pairs)


@pytest.mark.spec("R-151")
def test_claude_code_keeps_what_the_person_signs_in_by_and_no_hook(
    tmp_path: Path, task: Task
) -> None:
    own = place(tmp_path, "claude")
    settings = {
        "apiKeyHelper": "get-key",
        "model": "opus",
        "env": {"ANTHROPIC_AUTH_TOKEN": "secret", "EDITOR": "vi"},
        "hooks": {"Stop": []},
        "enabledPlugins": {"mash@mash": True},
        "permissions": {"allow": ["Bash"]},
    }
    (own.config / "settings.json").write_text(json.dumps(settings))
    start = CLAUDE.prepare(own, task, {})
    file = Path(start.command[start.command.index("--settings") + 1])
    assert json.loads(file.read_text()) == {
        "disableAllHooks": True,
        "apiKeyHelper": "get-key",
        "model": "opus",
        "env": {"ANTHROPIC_AUTH_TOKEN": "secret"},
    }
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in " ".join(start.command)
    servers = json.loads((task.folder / "servers.json").read_text())["mcpServers"]
    assert servers == {"mash": {"command": task.server[0], "args": list(task.server[1:])}}
    assert start.command[start.command.index("--tools") + 1] == ""
    assert start.environment["CLAUDE_CODE_DISABLE_FILE_MENTIONS"] == "1"
    assert start.stdin == b"The chat."


@pytest.mark.spec("R-151")
def test_codex_keeps_model_and_provider_and_shows_no_secret_on_its_command_line(
    tmp_path: Path, task: Task
) -> None:
    own = place(tmp_path, "codex")
    (own.config / "config.toml").write_text(
        """model = "gpt-5.5"
model_provider = "my own"
notify = ["touch", "x"]
[mcp_servers.other]
command = "touch"
[model_providers."my own"]
base_url = "https://model.example/v1"
experimental_bearer_token = "secret-token"
http_headers = {X-Key = "secret-header"}
"""
    )
    start = CODEX.prepare(own, task, {})
    settings = settings_of(start)
    provider = settings["model_providers"]
    assert settings["model"] == '"gpt-5.5"'
    assert provider.startswith('{"my own"={base_url="https://model.example/v1"')
    assert 'env_key="MASH_REVIEW_SECRET_TOKEN"' in provider
    assert "secret-" not in " ".join(start.command)
    secrets = {k: v for k, v in start.environment.items() if "REVIEW_SECRET" in k}
    assert set(secrets.values()) == {"secret-token", "secret-header"}
    assert "--ignore-user-config" in start.command
    assert not [name for name in settings if "other" in name or name == "notify"]
    assert 'enabled_tools=["extract_records"]' in settings["mcp_servers.mash"]
    assert settings["features.shell_tool"] == settings["features.hooks"] == "false"


def test_codex_takes_the_settings_of_the_chosen_profile(tmp_path: Path, task: Task) -> None:
    own = place(tmp_path, "codex")
    (own.config / "config.toml").write_text(
        'profile = "work"\nmodel = "a"\n[profiles.work]\nmodel = "b"\n'
    )
    assert settings_of(CODEX.prepare(own, task, {}))["model"] == '"b"'


def test_a_broken_settings_file_leaves_the_clients_own_defaults(tmp_path: Path, task: Task) -> None:
    own = place(tmp_path, "codex")
    (own.config / "config.toml").write_text("model = ")
    (own.config / "settings.json").write_text("{,}")
    assert "model" not in settings_of(CODEX.prepare(own, task, {}))
    CLAUDE.prepare(own, task, {})
    assert json.loads((task.folder / "settings.json").read_text()) == {"disableAllHooks": True}


@pytest.mark.spec("R-151")
def test_hooks_of_a_review_are_told_to_be_silent() -> None:
    environment = environment_of({"PATH": "/bin", "CLAUDECODE": "1", "MASH_RECORD_RECALL": "on"})
    assert environment["MASH_INTERNAL"] == "1"
    assert environment["MASH_RECORD_CAPTURE"] == environment["MASH_RECORD_RECALL"] == "off"
    assert "CLAUDECODE" not in environment


def claude_said(**fields: object) -> str:
    return json.dumps({"type": "result", "is_error": False, **fields})


def codex_said(*events: dict[str, object]) -> str:
    return "\n".join(map(json.dumps, events))


def codex_failed(message: str) -> str:
    return codex_said({"type": "turn.failed", "error": {"message": message}})


def codex_answered(text: str) -> str:
    item = {"type": "agent_message", "text": text}
    return codex_said({"type": "item.completed", "item": item}, {"type": "turn.completed"})


SAVED = {"outcome": "saved", "reason": ""}
LIMIT = "You've hit your usage limit. Upgrade to Pro or try again at 3:14 PM."


@pytest.mark.parametrize(
    ("name", "code", "out", "err", "failure"),
    [
        ("claude-code", 0, claude_said(structured_output=SAVED), "", "none"),
        (
            "claude-code",
            1,
            claude_said(is_error=True, result="Not logged in · Please run /login"),
            "",
            "not_signed_in",
        ),
        ("claude-code", 1, claude_said(is_error=True, api_error_status=429), "", "quota"),
        ("claude-code", 0, claude_said(result=LIMIT), "", "quota"),
        ("claude-code", 0, claude_said(stop_reason="refusal", result="No."), "", "refused"),
        ("claude-code", 0, claude_said(result="I can’t help with that."), "", "refused"),
        ("claude-code", 1, claude_said(is_error=True, subtype="error_max_turns"), "", "failed"),
        ("claude-code", 1, "", "error: unknown option '--json-schema'", "failed"),
        ("claude-code", 0, "[1]", "", "failed"),
        ("codex", 0, codex_answered(json.dumps(SAVED)), "", "none"),
        (
            "codex",
            0,
            codex_answered('{"outcome":"not_finished","reason":"It was cut."}'),
            "",
            "failed",
        ),
        ("codex", 0, codex_answered('{"outcome":"refused","reason":"No."}'), "", "refused"),
        ("codex", 1, codex_failed(LIMIT), "", "quota"),
        ("codex", 1, codex_failed("unexpected status 401 Unauthorized"), "", "not_signed_in"),
        ("codex", 1, codex_failed("stream disconnected before completion"), "", "unreachable"),
        ("codex", 0, "", "", "failed"),
        ("codex", 1, "no JSON\n", "WARNING: Refusing to help\nError: no such model", "failed"),
        ("codex", 0, codex_answered("The limit is 4290 rows."), "", "failed"),
    ],
)
def test_every_ending_is_told_apart(name: str, code: int, out: str, err: str, failure: str) -> None:
    assert REVIEWERS[name].read_ending(code, out, err).failure == failure
