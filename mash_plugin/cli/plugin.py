"""Render the plugin folder that both agents install.

Codex trusts the content of the whole folder: one changed byte switches every hook off until
the person reviews it again (seen in 0.171.0). So a rendering depends on nothing but the
sources, the interpreter, the mash command and a non-default MASH_HOME, and an equal folder
is left untouched.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mash_plugin.agents.plugin import MARKETPLACE, PLUGIN, read_folder
from mash_plugin.errors import Internal
from mash_plugin.file_writing import replace_file
from mash_plugin.paths import Paths

HOOK_FILES = ("hooks/hooks.json", "hooks/codex.json")
EXECUTABLES = ("file-read", "prompt-submit", "reminder-timer", "session-start")
FALLBACK = "python3 "


@dataclass(frozen=True, slots=True)
class Launch:
    """What a rendered folder starts: absolute, since neither agent's PATH can be relied on."""

    interpreter: str
    mash: tuple[str, ...]
    home: str | None
    """A MASH_HOME to bake in, or None for the user's ordinary places."""


def launch_of(paths: Paths) -> Launch:
    """What the installed environment starts, or this one when nothing is installed."""
    if os.access(paths.interpreter, os.X_OK):
        # This command isolates itself, and runs on in its own environment when `current` moves.
        mash = os.path.join(os.path.dirname(paths.interpreter), "mash")
        return Launch(paths.interpreter, (mash, "mcp"), paths.home)
    # Not resolved further: behind the link of a virtual environment mash cannot be imported.
    interpreter = os.path.abspath(sys.executable)
    return Launch(interpreter, (interpreter, "-I", "-m", "mash_plugin", "mcp"), paths.home)


def source_folder() -> Path:
    """Where hooks, skills and manifests lie: in the package, or in the checkout around it."""
    packaged = Path(__file__).parents[1] / "plugin"
    return packaged if packaged.is_dir() else Path(__file__).parents[2]


def render(sources: Path, launch: Launch) -> dict[str, bytes]:
    """Every file of the folder marketplace by its relative path."""
    try:
        files = _copied(sources)
        manifest = json.loads(files[".claude-plugin/plugin.json"])
    except (OSError, ValueError) as error:
        raise Internal(
            f"The plugin's files are incomplete ({error}); run scripts/install again."
        ) from None
    for name in HOOK_FILES:
        files[name] = _json(_bound_hooks(json.loads(files[name]), launch))
    files[".mcp.json"] = _json(_bound_mcp(launch))
    rendered = {f"{PLUGIN}/{name}": content for name, content in files.items()}
    rendered[".claude-plugin/marketplace.json"] = _json(_marketplace(manifest["description"]))
    return dict(sorted(rendered.items()))


def write_folder(files: Mapping[str, bytes], folder: Path) -> bool:
    """Bring the folder to these files; False when it held exactly them already.

    File by file, each by a rename: Claude Code reads the folder in place, so it must never
    be missing, not even for a moment.
    """
    there = read_folder(folder)
    if there == dict(files):
        return False
    for name, content in files.items():
        if there.get(name) != content:
            _write(folder / name, content)
    for name in there.keys() - files.keys():
        (folder / name).unlink()
    return True


def _copied(sources: Path) -> dict[str, bytes]:
    names = [".claude-plugin/plugin.json", ".codex-plugin/plugin.json", *HOOK_FILES]
    names += [f"hooks/{name}" for name in (*EXECUTABLES, "relay.py")]
    names += [
        path.relative_to(sources).as_posix() for path in sorted(sources.glob("skills/*/SKILL.md"))
    ]
    return {name: (sources / name).read_bytes() for name in names}


def _bound_hooks(hooks: dict[str, Any], launch: Launch) -> dict[str, Any]:
    """Replace the `python3` of a checkout by this interpreter, and bake the home in."""
    for groups in hooks["hooks"].values():
        for handler in (handler for group in groups for handler in group["hooks"]):
            rest = handler["command"].removeprefix(FALLBACK)
            home = shlex.quote(launch.home) if launch.home else "-"
            handler["command"] = f"{shlex.quote(launch.interpreter)} {rest} {home}"
    return hooks


def _bound_mcp(launch: Launch) -> dict[str, Any]:
    # Not alwaysLoad: the ten schemas are 27 kB in every request of Claude Code (2.1.332). The notes
    # give the full name, and one search loads that tool when there is something to save.
    # Absolute: Codex expands no variables in this file and passes no MASH_* on (0.171.0).
    server: dict[str, Any] = {"command": launch.mash[0], "args": list(launch.mash[1:])}
    if launch.home:
        server["env"] = {"MASH_HOME": launch.home}
    return {"mcpServers": {PLUGIN: server}}


def _marketplace(description: str) -> dict[str, Any]:
    return {
        "name": MARKETPLACE,
        "owner": {"name": "mash-plugin"},
        "metadata": {"description": description},
        "plugins": [{"name": PLUGIN, "source": f"./{PLUGIN}", "description": description}],
    }


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    replace_file(path, content, 0o755 if path.name in EXECUTABLES else 0o644)
