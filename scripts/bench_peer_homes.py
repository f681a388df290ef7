"""Other memories for coding agents, installed for the measurement alone.

Each lies in a folder of its own under `.cache/peers`, with its own home; nothing of a person's
is read or written. What a host would run is taken from their own hook files.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench_place import ROOT
from bench_records import statement_of

CACHE = ROOT / ".cache" / "peers"
CLAUDE_MEM, BUN = "13.25.3", "1.4.5"
MEMSEARCH, BASIC_MEMORY = "0.4.23", "0.24.1"
START_MS = 1_796_000_000_000
BATCH = 500
PATH = "/usr/local/bin:/usr/bin:/bin"
EVENTS = ("SessionStart", "UserPromptSubmit")
"""What their hook files have for an agent to wait for; the others run beside it."""


class NotHere(Exception):
    """Why a peer cannot be measured on this machine."""


class Peer(NamedTuple):
    """An installed memory with items in its store."""

    name: str
    hooks: list[tuple[str, str]]
    """Event and shell command of each hook that the agent waits for."""
    env: Mapping[str, str]
    project: Path
    note: str
    settle: Callable[[], None] = lambda: None
    """Wait for what a hook left running."""
    close: Callable[[], None] = lambda: None


def claude_mem(items: int) -> Peer:
    """From npm, its hooks run by node and bun; its worker is started as its first hook does."""
    home = _home("claude-mem", f"{CLAUDE_MEM} {BUN} {items}")
    if not shutil.which("npm"):
        raise NotHere("npm is not installed")
    _once(home / "node_modules", ["npm", "install", "--prefix", str(home), *NPM], home)
    plugin = home / "node_modules" / "claude-mem" / "plugin"
    bun = next((home / "node_modules" / "@oven").glob("*/bin"), None)
    if bun is None:
        raise NotHere("bun has no binary for this machine")
    node = Path(str(shutil.which("node"))).parent
    env = _env(home, bun, node)
    env |= {"CLAUDE_PLUGIN_ROOT": str(plugin), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    port = _free_port()
    env |= {"CLAUDE_MEM_WORKER_PORT": str(port), "CLAUDE_MEM_DATA_DIR": str(home / "data")}
    # Its vector store wants `uvx` and a model from a hub; its telemetry is nobody's business here.
    env |= {"CLAUDE_MEM_CHROMA_ENABLED": "false", "CLAUDE_MEM_TELEMETRY": "0"}
    hooks = waited_for(json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"])
    worker = [str(bun / "bun"), str(plugin / "scripts" / "worker-service.cjs")]
    project = _project(home)
    _run([*worker, "start"], env, project)

    def close() -> None:
        _run([*worker, "stop"], env, project)

    try:
        for first in range(0, items, BATCH):  # what is there already, it skips
            _import(port, project.name, first, min(first + BATCH, items))
    except OSError as error:
        close()
        raise NotHere(f"its worker did not take items: {error}") from error
    note = (
        f"{CLAUDE_MEM}, {items} items by its import; without its vector store and without a model"
    )
    return Peer("claude-mem", hooks, env, project, note, close=close)


def memsearch(items: int) -> Peer:
    """From PyPI, its plugin from the source archive; its journals are written as it writes them."""
    home = _home("memsearch", f"{MEMSEARCH} {items}")
    _venv(home, sys.executable, f"memsearch[onnx]=={MEMSEARCH}")
    plugin = home / f"memsearch-{MEMSEARCH}" / "plugins" / "claude-code"
    if not plugin.is_dir():
        download = [str(home / "venv/bin/pip"), "download", "-q", "--no-deps"]
        wanted = ["--no-binary", "memsearch", "-d", str(home), f"memsearch=={MEMSEARCH}"]
        _run([*download, *wanted], dict(os.environ), home)
        with tarfile.open(home / f"memsearch-{MEMSEARCH}.tar.gz") as archive:
            archive.extractall(home, filter="data")
    env = _env(home, home / "venv" / "bin") | {"CLAUDE_PLUGIN_ROOT": str(plugin)}
    env |= {"HF_HUB_OFFLINE": "1"}  # no model is fetched, so let it say so at once
    project = _project(home)
    journals = project / ".memsearch" / "memory"
    journals.mkdir(parents=True, exist_ok=True)
    for first in range(0, items, 100):
        day = time.strftime("%Y-%m-%d", time.gmtime(START_MS / 1000 - (items - first) * 864))
        texts = (statement_of(n, names_file=False) for n in range(first, min(first + 100, items)))
        lines = "".join(f"- {text}\n" for text in texts)
        (journals / f"{day}.md").write_text(f"## Session 10:00\n\n### 10:05\n{lines}")
    hooks = waited_for(json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"])

    def settle() -> None:
        """Its hook leaves an index run behind, whose model is not there."""
        pid = project / ".memsearch" / ".index.pid"
        while pid.exists() and Path(f"/proc/{pid.read_text().strip()}").exists():
            time.sleep(0.05)

    note = f"{MEMSEARCH}, {items} items in its journals; its index wants a model, which is not here"
    return Peer("memsearch", hooks, env, project, note, settle)


def basic_memory(items: int) -> Peer:
    """From PyPI; its own command writes its hooks into the settings of its home."""
    home = _home("basic-memory", f"{BASIC_MEMORY} {items}")
    _venv(home, _newer_python(), f"basic-memory=={BASIC_MEMORY}")
    program = str(home / "venv" / "bin" / "basic-memory")
    env, project = _env(home, home / "venv" / "bin"), _project(home)
    settings, notes = home / ".claude" / "settings.json", home / "basic-memory" / "decisions"
    if not settings.exists():
        notes.mkdir(parents=True, exist_ok=True)
        for number in range(items):
            text = statement_of(number, names_file=False)
            head = f"---\ntitle: case {number}\ntype: decision\nstatus: open\n---\n"
            (notes / f"case-{number}.md").write_text(f"{head}\n- [decision] {text}\n")
        _run([program, "reindex", "--search"], env, project)
        _run([program, "hook", "install"], env, project)
    hooks = waited_for(json.loads(settings.read_text())["hooks"])
    note = f"{BASIC_MEMORY}, {items} notes in its full-text index, without vectors; no prompt hook"
    return Peer("basic-memory", hooks, env, project, note)


PEERS: dict[str, Callable[[int], Peer]] = {
    "claude-mem": claude_mem,
    "memsearch": memsearch,
    "basic-memory": basic_memory,
}
NPM = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--legacy-peer-deps"]
NPM += [f"claude-mem@{CLAUDE_MEM}", f"bun@{BUN}"]


def waited_for(file: dict[str, Any]) -> list[tuple[str, str]]:
    """Event and command of each hook in a hook file that the agent waits for."""
    entries = [
        (event, hook) for event in EVENTS for at in file.get(event, []) for hook in at["hooks"]
    ]
    return [(event, hook["command"]) for event, hook in entries if not hook.get("async")]


def _home(name: str, made_of: str) -> Path:
    """The folder of a peer, made anew when another version or number of items is wanted."""
    home = CACHE / name
    stamp = home / "made-of"
    if not stamp.exists() or stamp.read_text() != made_of:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        stamp.write_text(made_of)
    return home


def _env(home: Path, *programs: Path) -> dict[str, str]:
    path = ":".join([*map(str, programs), PATH])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "USER": "bench", "SHELL": "/bin/sh"}


def _project(home: Path) -> Path:
    project = home / "project"
    if not project.exists():
        (project / "src").mkdir(parents=True)
        _run(["git", "init", "-q"], _env(home), project)
    return project


def _venv(home: Path, python: str, package: str) -> None:
    pip = str(home / "venv" / "bin" / "pip")
    if not Path(pip).exists():
        _run([python, "-m", "venv", str(home / "venv")], dict(os.environ), home)
    done = home / "venv" / "installed"
    _once(done, [pip, "install", "-q", "--disable-pip-version-check", package], home)
    done.touch()


def _once(made: Path, command: list[str], home: Path) -> None:
    """Run an installation unless what it makes is there."""
    if not made.exists():
        _run(command, {**os.environ, "HOME": str(home)}, home)


def _newer_python() -> str:
    """A Python that is new enough for a peer that wants 3.12."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = ("python3.14", "python3.13", "python3.12")
    found = [shutil.which(name) for name in names] if not versions.exists() else []
    found += [str(p) for name in names for p in versions.glob(f"*/bin/{name}")]
    for python in filter(None, [sys.executable if sys.version_info >= (3, 12) else None, *found]):
        return python
    raise NotHere("it wants Python 3.12 or newer, and none is here")


def _run(command: list[str], env: Mapping[str, str], cwd: Path) -> None:
    try:
        done = subprocess.run(
            command, env=env, cwd=cwd, capture_output=True, text=True, timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotHere(f"{command[0]}: {error}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotHere(f"{Path(command[0]).name} {command[1]} failed: {' '.join(last)[:160]}")


def _import(port: int, project: str, first: int, after: int) -> None:
    """Hand items to claude-mem's own import."""
    session = {"content_session_id": "bench", "memory_session_id": "bench", "project": project}
    session |= {"user_prompt": "", "status": "completed", "started_at_epoch": START_MS}
    session |= {"started_at": "2026-11-30T09:00:00Z"}
    items = [_observation(project, number) for number in range(first, after)]
    body = json.dumps({"sessions": [session], "observations": items}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/import", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        assert json.load(answer)["success"]


def _observation(project: str, number: int) -> dict[str, Any]:
    text = statement_of(number, names_file=False)
    return {
        "memory_session_id": "bench",
        "project": project,
        "type": "decision",
        "title": text,
        "subtitle": "bench",
        "text": None,
        "facts": json.dumps([text]),
        "narrative": text,
        "concepts": '["what-changed"]',
        "files_read": '["src/ledger.py"]',
        "files_modified": "[]",
        "prompt_number": 1,
        "created_at": "2026-11-30T10:00:00Z",
        "created_at_epoch": START_MS + number,
    }


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
