"""What a review asks of a host, and what it tells when it ends."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mash_plugin.agents.commands import QUIET

SERVER = "mash"
STATUS_TIMEOUT_S = 60
SILENT = {
    "MASH_INTERNAL": "1",
    "MASH_RECORD_CAPTURE": "off",
    "MASH_RECORD_RECALL": "off",
    "MASH_FILE_RECALL": "off",
}
"""Hooks that ran in spite of all stay silent, and nothing of the run is indexed."""
PASSED = ("MASH_HOME", "MASH_INTERNAL", "MASH_TESTING", "MASH_TEST_NOW_MS")
"""What the server of the review must see; Codex hands on what is named alone (0.171.0)."""
OF_A_SESSION = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT"),
    *("CLAUDE_CODE_EXECPATH", "CLAUDE_PROJECT_DIR", "CODEX_SESSION_ID", "CODEX_THREAD_ID"),
    *("CODEX_TOOL_CALL_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
)
"""Set inside an agent's session: a review that is started there is none of its children."""
RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outcome": {"type": "string", "enum": ["saved", "not_finished", "refused"]},
        "reason": {"type": "string", "description": "In one sentence; empty when saved."},
    },
    "required": ["outcome", "reason"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Task:
    """One review, as a host is to be started for it."""

    folder: Path
    """Of this review alone; the host's own files may be written into it."""
    empty: Path
    """The working directory."""
    instructions: str
    prompt: str
    server: tuple[str, ...]
    """The command of the one MCP server."""


@dataclass(frozen=True, slots=True)
class Start:
    """A command, its environment, and what it reads from standard input."""

    command: list[str]
    environment: dict[str, str]
    stdin: bytes


Failure = Literal["none", "not_signed_in", "quota", "refused", "unreachable", "failed"]


@dataclass(frozen=True, slots=True)
class Ending:
    """What the host itself said in the end; whether anything was saved, the daemon knows."""

    failure: Failure
    said: str = ""


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The person's environment, marked as that of a run of our own."""
    kept = {name: value for name, value in environ.items() if name not in OF_A_SESSION}
    return kept | QUIET | SILENT


def ask_status(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run a host's own command that tells whether the person is signed in."""
    return subprocess.run(
        command,
        env=environment_of(environ),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=STATUS_TIMEOUT_S,
        check=False,
    )


def new_private_file(path: Path, text: str) -> Path:
    """A new file for its owner alone: settings may hold keys."""
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")
    return path


def last_line(text: str) -> str:
    """What a command said last, which is why it ended."""
    return text.strip().rpartition("\n")[2]


def ending_of(said: str, status: int | None = None) -> Ending:
    """What kind of failure a host's last words, or the status of its service, tell of."""
    for failure, statuses, words in _SIGNS:
        if status in statuses or re.search(words, said, re.IGNORECASE):
            return Ending(failure, said)
    return Ending("failed", said)


def result_of(value: object, said: str) -> Ending:
    """What the reviewer's structured result says; text that is none is a failure."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict) or not isinstance(value.get("reason"), str):
        is_refusal = re.search(_REFUSAL, said, re.IGNORECASE)
        return Ending("refused", said) if is_refusal else ending_of(said)
    match value.get("outcome"):
        case "saved":
            return Ending("none")
        case "refused":
            return Ending("refused", value["reason"])
        case _:
            return Ending("failed", value["reason"])


_SIGNS: tuple[tuple[Failure, tuple[int, ...], str], ...] = (
    (
        "quota",
        (402, 429, 529),
        r"usage limit|rate.?limit|quota|limit reached|hit your .*limit|credit balance"
        r"|out of credits|overloaded|too many requests|\b(?:402|429|529)\b",
    ),
    (
        "not_signed_in",
        (401, 403),
        r"not logged in|log ?in again|/login|unauthorized|invalid api key|sign(?:ed)? in"
        r"|token (?:has )?expired|\b(?:401|403)\b",
    ),
    (
        "unreachable",
        (500, 502, 503, 504),
        r"connection|network|timed out|unreachable|stream disconnected|high demand"
        r"|\b50[0234]\b",
    ),
)
"""Which failure → its statuses and the words of both hosts (seen in 2.1.332 and 0.171.0)."""
_REFUSAL = (
    r"\b(?:can(?:no|['’])t|unable to|won['’]t|will not) (?:help|assist|do|comply|review)|policy"
)
