"""An isolated person: own home, own agents' settings, own memory, repositories with a remote."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import warm_starts
from tests.support.processes import end_processes_of

ROOT = Path(__file__).resolve().parents[2]
REPOSITORIES = 80
DUMMY_KEY = "sk-ant-dummy-key-for-a-fake-model-on-loopback"
RECORD_TOOLS = "mcp__plugin_mash_mash"
NOWHERE = "http://127.0.0.1:9"
"""A model that nobody asks."""


def clients_folder() -> Path:
    """Where the pinned `claude`, `codex` and `gemini` are."""
    default = ROOT / ".cache" / "clients" / "node_modules" / ".bin"
    return Path(os.environ.get("MASH_TEST_CLIENTS") or default)


@dataclass(frozen=True)
class Finished:
    """A command that ended."""

    code: int
    out: str
    err: str
    seconds: float


class Home:
    """Everything of one made-up person below one folder; nothing outside it is read or written."""

    def __init__(self, root: Path, anthropic_url: str = NOWHERE, openai_url: str = NOWHERE) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.claude = self.root / "claude"
        self.codex = self.root / "codex"
        self.mash_home = self.root / "mash"
        self.clock = self.root / "now_ms"
        for folder in (self.home, self.claude, self.codex):
            folder.mkdir(parents=True)
        self.set_clock(int(time.time() * 1000))
        self._openai_url = openai_url
        self.environment = self._environment(anthropic_url)
        self._names = (f"repository{number}" for number in range(1, REPOSITORIES + 1))
        self._seed_claude()
        self._seed_codex()

    def new_name(self) -> str:
        """A repository name that this home has not used."""
        return next(self._names)

    def _environment(self, anthropic_url: str) -> dict[str, str]:
        path = [Path(sys.executable).parent, clients_folder(), *map(Path, _system_path())]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(map(str, path)),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "MASH_HOME": str(self.mash_home),
            "MASH_TESTING": "1",
            "MASH_TEST_NOW_MS": f"@{self.clock}",
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "CODEX_HOME": str(self.codex),
            "FAKE_KEY": "dummy",
            "ANTHROPIC_BASE_URL": anthropic_url,
            "ANTHROPIC_API_KEY": DUMMY_KEY,
            "IS_SANDBOX": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def set_clock(self, now_ms: int) -> None:
        """Set the time that a daemon in testing sees."""
        temporary = self.clock.with_suffix(".new")
        temporary.write_text(str(now_ms))
        temporary.replace(self.clock)

    def move_clock(self, minutes: float) -> None:
        self.set_clock(int(self.clock.read_text()) + int(minutes * 60_000))

    def run(
        self,
        *command: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        timeout_s: float = 120,
    ) -> Finished:
        """Run one command in this person's environment."""
        begin = time.monotonic()
        finished = subprocess.run(
            command,
            cwd=cwd or self.home,
            env={**self.environment, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        seconds = time.monotonic() - begin
        return Finished(finished.returncode, finished.stdout, finished.stderr, seconds)

    def mash(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        timeout_s: float = 120,
    ) -> Finished:
        """The same of `mash`, forked where its start is nothing that a test is about."""
        environment = {**self.environment, **(env or {})}
        if not warm_starts.can_run(environment):
            return self.run("mash", *arguments, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s)
        begin = time.monotonic()
        where = cwd or self.home
        ended = warm_starts.run(arguments, where, environment, stdin.encode(), timeout_s)
        return Finished(*ended, time.monotonic() - begin)

    def call(self, tool: str, request: dict[str, Any]) -> dict[str, Any]:
        """The structured result of one tool, or its error object."""
        finished = self.mash("call", tool, json.dumps(request))
        answer = json.loads(finished.out)
        assert isinstance(answer, dict), finished
        return answer

    def records(self, repository: str) -> list[dict[str, Any]]:
        """Every record of one repository, candidates and retired ones included."""
        scope = {"kind": "repository", "identity": f"host.example/team/{repository}"}
        answer = self.call("list_records", {"scope": scope, "include_inactive": True})
        records = answer["records"]
        assert isinstance(records, list)
        return records

    def claude_print(
        self, prompt: str, project: Path, *options: str, env: Mapping[str, str] | None = None
    ) -> Finished:
        """One run of Claude Code in print mode; the prompt goes in by stdin."""
        allowed = f"Read,Bash,Task,Agent,{RECORD_TOOLS}"
        return self.run(
            *("claude", "-p", "--permission-mode", "acceptEdits"),
            *(f"--allowedTools={allowed}", *options),
            cwd=project,
            env=env,
            stdin=prompt,
        )

    def claude_terminal(self) -> list[str]:
        """The command of Claude Code's terminal interface."""
        allowed = f"Read,Bash,Task,Agent,{RECORD_TOOLS}"
        mode = ["--permission-mode", "acceptEdits", f"--allowedTools={allowed}"]
        return [str(clients_folder() / "claude"), *mode]

    def codex_exec(
        self, prompt: str, project: Path, *options: str, env: Mapping[str, str] | None = None
    ) -> Finished:
        """One run of `codex exec`."""
        return self.run(
            *("codex", "exec", "--sandbox", "read-only", *options, prompt), cwd=project, env=env
        )

    def codex_terminal(self) -> list[str]:
        """The command of Codex's terminal interface, without its shared background process."""
        return [str(clients_folder() / "codex"), "--no-daemon", "--no-alt-screen"]

    def repository(self, name: str, clones: int = 1) -> list[Path]:
        """Clones of one repository, host.example/team/NAME, trusted by both agents."""
        folders = []
        for number in range(1, clones + 1):
            folder = self.root / "work" / f"{name}-{number}"
            (folder / "src").mkdir(parents=True)
            self._git(folder, "init", "--quiet", "--initial-branch=main")
            url = f"https://host.example/team/{name}.git"
            if number > 1:  # the other spelling of the same remote
                url = f"git@host.example:team/{name}.git"
            self._git(folder, "remote", "add", "origin", url)
            (folder / "src" / "ledger.py").write_text("RATE = 1\n")
            (folder / "src" / "ledger.py.bak").write_text("RATE = 0\n")
            self._git(folder, "add", ".")
            self._git(folder, "commit", "--quiet", "--message", "Begin")
            folders.append(folder)
        return folders

    def _git(self, folder: Path, *arguments: str) -> None:
        who = ["-c", "user.name=Test", "-c", "user.email=test@host.example"]
        self.run("git", *who, *arguments, cwd=folder)

    def _seed_claude(self) -> None:
        """Skip the first-run screens (seen with 2.1.332).

        All at once: a client that ends writes this file back as it was when it began.
        """
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [DUMMY_KEY[-20:]], "rejected": []},
            "projects": {str(folder): trusted for folder in self._folders()},
        }
        (self.claude / ".claude.json").write_text(json.dumps(state))

    def _seed_codex(self) -> None:
        """Point Codex at the fake model and skip its first-run screens (seen with 0.171.0)."""
        (self.codex / "config.toml").write_text(
            f"""model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false

[analytics]
enabled = false

[tui]
screen_reader_detection_done = true

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[model_providers.fake]
name = "fake"
base_url = "{self._openai_url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
            + "".join(
                f'\n[projects."{folder}"]\ntrust_level = "trusted"\n' for folder in self._folders()
            )
        )

    def seed_gemini(self, url: str) -> None:
        """Point Gemini CLI at a fake model and skip its first-run screens (seen with 0.61.0)."""
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"name": "gemini-2.5-pro"},
        }
        folder = self.home / ".gemini"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(settings))
        self.environment |= {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def _folders(self) -> list[Path]:
        """Every folder that a repository may get in this home."""
        return [
            self.root / "work" / f"repository{number}-{clone}"
            for number in range(1, REPOSITORIES + 1)
            for clone in (1, 2)
        ]


@contextmanager
def person(root: Path) -> Iterator[Home]:
    """A person whom no model answers; what runs in their home ends with the block."""
    made = Home(root)
    try:
        yield made
    finally:
        end_processes_of(made.root)


def _system_path() -> list[str]:
    """The places of node, git and the shell, without those of other environments' tools."""
    return [entry for entry in os.environ["PATH"].split(os.pathsep) if entry]
