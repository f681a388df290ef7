"""The rendered plugin folder: frozen, self-contained, and the same for equal paths."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mash_plugin.agents.plugin import read_folder
from mash_plugin.cli.plugin import (
    Launch,
    launch_of,
    render,
    source_folder,
    write_folder,
)
from mash_plugin.paths import find_paths
from tests.support.homes import ROOT, clients_folder

FIXED = Launch("/opt/mash/current/bin/python", ("/opt/mash/current/bin/mash", "mcp"), None)
FROZEN = "a84fab3e489e89aaaa1dc48103d387bca8672c741820857265084896d54fdda4"
"""Another value makes every Codex user review the hooks again: change it only with a line in
CHANGELOG.md that tells them."""

CLAUDE_HANDLERS = {
    "SessionStart": (None, "session-start", 3),
    "UserPromptSubmit": (None, "prompt-submit", 2),
    "PreToolUse": ("Read", "file-read", 2),
    "Stop": (None, "reminder-timer", 2),
    "SessionEnd": (None, "reminder-timer", 2),
    "SubagentStart": (None, "session-start", 2),
}
CODEX_HANDLERS = {
    "SessionStart": (None, "session-start", 3),
    "UserPromptSubmit": (None, "prompt-submit", 2),
    "PostToolUse": ("Bash", "file-read", 2),
    "Stop": (None, "reminder-timer", 2),
    "SubagentStart": (None, "session-start", 2),
}


def hash_of(files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def test_the_rendering_for_fixed_paths_has_the_hash_that_users_have_reviewed() -> None:
    assert hash_of(render(source_folder(), FIXED)) == FROZEN


def test_the_folder_holds_hooks_skills_and_manifests_and_nothing_else() -> None:
    assert list(render(source_folder(), FIXED)) == [
        ".claude-plugin/marketplace.json",
        "mash/.claude-plugin/plugin.json",
        "mash/.codex-plugin/plugin.json",
        "mash/.mcp.json",
        "mash/hooks/codex.json",
        "mash/hooks/file-read",
        "mash/hooks/hooks.json",
        "mash/hooks/prompt-submit",
        "mash/hooks/relay.py",
        "mash/hooks/reminder-timer",
        "mash/hooks/session-start",
        "mash/skills/forget/SKILL.md",
        "mash/skills/recall/SKILL.md",
        "mash/skills/remember/SKILL.md",
        "mash/skills/review-chat/SKILL.md",
        "mash/skills/working-memory/SKILL.md",
    ]


@pytest.mark.parametrize(
    ("file", "agent", "table"),
    [
        ("mash/hooks/hooks.json", "claude-code", CLAUDE_HANDLERS),
        ("mash/hooks/codex.json", "codex", CODEX_HANDLERS),
    ],
)
def test_each_event_has_its_one_handler_with_a_small_timeout(
    file: str, agent: str, table: dict[str, tuple[str | None, str, int]]
) -> None:
    content = json.loads(render(source_folder(), FIXED)[file])
    assert set(content) == {"description", "hooks"}
    assert list(content["hooks"]) == list(table)
    for event, (matcher, name, timeout) in table.items():
        (group,) = content["hooks"][event]
        (handler,) = group["hooks"]
        assert group.get("matcher") == matcher
        script = f'"${{CLAUDE_PLUGIN_ROOT}}/hooks/{name}"'
        command = f"{FIXED.interpreter} -I -S {script} {agent} -"
        assert handler == {"type": "command", "command": command, "timeout": timeout}


def test_places_with_spaces_accents_and_quotes_reach_the_hook_as_one_word(tmp_path: Path) -> None:
    folder = tmp_path / "mön répertoire 'x' \"y\" $HOME"
    folder.mkdir()
    show = folder / "show"
    show.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    show.chmod(0o755)
    files = render(source_folder(), Launch(str(show), (str(show), "mcp"), str(folder)))
    hooks = json.loads(files["mash/hooks/hooks.json"])["hooks"]
    command = hooks["Stop"][0]["hooks"][0]["command"]
    for shell in ("sh", "bash"):
        done = subprocess.run(
            [shell, "-c", command],
            env={"CLAUDE_PLUGIN_ROOT": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == [
            "-I",
            "-S",
            f"{folder}/hooks/reminder-timer",
            "claude-code",
            str(folder),
        ]
    server = json.loads(files["mash/.mcp.json"])["mcpServers"]["mash"]
    assert server == {"command": str(show), "args": ["mcp"], "env": {"MASH_HOME": str(folder)}}


def test_an_equal_folder_is_not_touched_and_a_changed_one_is_mended(tmp_path: Path) -> None:
    files = render(source_folder(), FIXED)
    folder = tmp_path / "marketplace"
    assert write_folder(files, folder) is True
    assert read_folder(folder) == files
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    (folder / "mash/hooks/__pycache__").mkdir()
    (folder / "mash/hooks/__pycache__/relay.pyc").write_bytes(b"x")
    assert write_folder(files, folder) is False
    assert all(path.stat().st_mtime_ns == times[path] for path in times if path.is_file())
    (folder / "mash/hooks/relay.py").write_text("changed")
    (folder / "mash/extra").write_text("x")
    assert write_folder(files, folder) is True
    assert read_folder(folder) == files


def test_the_installed_interpreter_is_named_by_the_link_that_upgrades_move(tmp_path: Path) -> None:
    paths = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    python = os.path.abspath(sys.executable)
    assert launch_of(paths).interpreter == python
    assert launch_of(paths).mash == (python, "-I", "-m", "mash_plugin", "mcp")
    interpreter = Path(paths.interpreter)
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text("")
    interpreter.chmod(0o755)
    launch = launch_of(paths)
    assert launch.interpreter == str(tmp_path / "mash/data/current/bin/python")
    assert launch.mash == (str(tmp_path / "mash/data/current/bin/mash"), "mcp")
    assert launch.home == str(tmp_path / "mash")


def test_a_checkout_is_a_plugin_that_falls_back_to_python3_on_path() -> None:
    for name in ("hooks/hooks.json", "hooks/codex.json"):
        text = (ROOT / name).read_text()
        commands = [
            handler["command"]
            for groups in json.loads(text)["hooks"].values()
            for group in groups
            for handler in group["hooks"]
        ]
        for command in commands:
            words = shlex.split(command)
            assert words[:3] == ["python3", "-I", "-S"]
            assert (ROOT / "hooks" / words[3].rpartition("/")[2]).is_file()
            assert len(words) == 5
    assert json.loads((ROOT / ".mcp.json").read_text())["mcpServers"]["mash"]["command"] == "mash"
    marketplace = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())
    assert [plugin["source"] for plugin in marketplace["plugins"]] == ["./"]


def test_claude_code_finds_nothing_wrong_with_the_folder(tmp_path: Path) -> None:
    write_folder(render(source_folder(), FIXED), tmp_path / "marketplace")
    for folder in (tmp_path / "marketplace", tmp_path / "marketplace" / "mash"):
        done = subprocess.run(
            [clients_folder() / "claude", "plugin", "validate", "--strict", folder],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DISABLE_AUTOUPDATER": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
