"""Transcripts as the real clients write them.

Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

_NAMESPACE = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
START = 1_796_000_000_000


class ClaudeTranscript:
    """One session file under ROOT/projects; every method appends and gives the message's ID."""

    def __init__(self, root: Path, project: str, session_id: str) -> None:
        self.session_id, self.project = session_id, project
        self.start = START
        folder = root / "projects" / project.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{session_id}.jsonl"
        self.count = 0
        self.held_back: list[str] = []
        self._append({"type": "mode", "mode": "normal", "sessionId": session_id})

    def person(self, text: str, *more: str, flush: bool = True) -> str:
        """A prompt typed in the terminal interface, in one block or in several."""
        blocks = [{"type": "text", "text": block} for block in (text, *more)]
        return self._row(
            {
                "type": "user",
                "message": {"role": "user", "content": blocks if more else text},
                "origin": {"kind": "human"},
                "promptSource": "typed",
                "turnOrigin": "human",
            },
            flush=flush,
        )

    def headless(self, text: str) -> str:
        """A prompt of `claude -p`: nobody knows who wrote it."""
        return self._row(
            {
                "type": "user",
                "message": {"role": "user", "content": text},
                "promptSource": "sdk",
                "turnOrigin": "sdk",
                "entrypoint": "sdk-cli",
            }
        )

    def older_prompt(self, text: str) -> str:
        """A prompt of a client before 2.1.195, which left no mark of who typed it."""
        return self._row(
            {"type": "user", "message": {"role": "user", "content": text}, "version": "2.1.100"}
        )

    def notification(self, text: str) -> str:
        """A task notification in user role."""
        return self._row(
            {
                "type": "user",
                "message": {"role": "user", "content": text},
                "origin": {"kind": "task-notification"},
                "promptSource": "system",
                "turnOrigin": "task_notification",
            }
        )

    def agent(self, text: str) -> str:
        """What the agent says."""
        content = [{"type": "text", "text": text}]
        return self._row({"type": "assistant", "message": self._reply(content)})

    def title(self, text: str) -> None:
        """The title that the client gave the session."""
        self._append({"type": "ai-title", "aiTitle": text, "sessionId": self.session_id})

    def tool_call(self, name: str, arguments: dict[str, Any], tool_use_id: str) -> str:
        """A tool call of the agent."""
        content = [{"type": "tool_use", "id": tool_use_id, "name": name, "input": arguments}]
        return self._row({"type": "assistant", "message": self._reply(content)})

    def tool_result(self, text: str, tool_use_id: str = "toolu_1") -> str:
        """What a tool gave back."""
        content = [{"type": "tool_result", "tool_use_id": tool_use_id, "content": text}]
        return self._row(
            {
                "type": "user",
                "message": {"role": "user", "content": content},
                "toolUseResult": {"type": "text", "text": text},
            }
        )

    def rewrite(self, old: str, new: str) -> None:
        """Change words on disk, as an edited transcript."""
        self.path.write_text(self.path.read_text("utf-8").replace(old, new), "utf-8")

    def release(self) -> None:
        """Flush what was held back."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(self.held_back))
        self.held_back.clear()

    def _reply(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"msg_{self.count:024}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": content,
        }

    def _row(self, row: dict[str, Any], *, flush: bool = True) -> str:
        self.count += 1
        message_id = str(uuid5(_NAMESPACE, f"{self.session_id}/{self.count}"))
        common = {
            "parentUuid": None,
            "isSidechain": False,
            "uuid": message_id,
            "timestamp": _time(self.start, self.count),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.project,
            "sessionId": self.session_id,
            "version": "2.1.332",
            "gitBranch": "main",
        }
        self._append({**common, **row}, flush=flush)
        return message_id

    def _append(self, row: dict[str, Any], *, flush: bool = True) -> None:
        line = json.dumps(row, ensure_ascii=False) + "\n"
        if not flush:
            self.held_back.append(line)
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)


class CodexTranscript:
    """One rollout under ROOT/sessions; every method appends and gives the message's ID."""

    def __init__(self, root: Path, project: str, session_id: str, originator: str = "codex-tui"):
        folder = root / "sessions" / "2026" / "11" / "30"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"rollout-2026-11-30T07-06-38-{session_id}.jsonl"
        self.session_id, self.turn = session_id, f"turn-{session_id}"
        self.count, self.start = 0, START
        trigger = "exec" if originator == "codex_exec" else "user"
        self._append(
            "session_meta",
            {
                "session_id": session_id,
                "id": session_id,
                "timestamp": _time(START, 0),
                "cwd": project,
                "originator": originator,
                "cli_version": "0.171.0",
                "source": "exec" if trigger == "exec" else "cli",
                "thread_source": "user",
                "history_mode": "paginated",
                "git": {"branch": "main"},
            },
        )
        self._append(
            "event_msg",
            {
                "type": "task_started",
                "turn_attribution": {"turn_id": self.turn, "turn_trigger": trigger},
                "turn_id": self.turn,
            },
        )

    def person(self, text: str) -> str:
        """A typed prompt."""
        return self._message(
            "user", [{"type": "input_text", "text": text}], ["user.text"], {"type": "user"}
        )

    def agent(self, text: str) -> str:
        """What the agent says."""
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return self._message("assistant", content, ["unknown"], None)

    def tool_round(self, command: list[str], call_id: str, output: str) -> None:
        """A command of the agent and what it printed."""
        call = {"name": "shell", "call_id": call_id, "arguments": json.dumps({"command": command})}
        self._append("response_item", {"type": "function_call", **call})
        result = {"type": "function_call_output", "call_id": call_id, "output": output}
        self._append("response_item", result)

    def _message(
        self,
        role: str,
        content: list[dict[str, Any]],
        kinds: list[str],
        provenance: dict[str, Any] | None,
    ) -> str:
        message_id = f"msg_{uuid5(_NAMESPACE, f'{self.session_id}/{self.count}')}"
        passed: dict[str, Any] = {"turn_id": self.turn, "content_item_kinds": kinds}
        if provenance:
            passed["content_item_metadata"] = [{"provenance": provenance}]
        self._append(
            "response_item",
            {
                "type": "message",
                "id": message_id,
                "role": role,
                "content": content,
                "internal_chat_message_metadata_passthrough": passed,
            },
        )
        return message_id

    def _append(self, kind: str, payload: dict[str, Any]) -> None:
        row = {
            "timestamp": _time(self.start, self.count),
            "ordinal": self.count,
            "type": kind,
            "payload": payload,
        }
        self.count += 1
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


class GeminiTranscript:
    """One chat under ROOT/tmp; every method appends and gives the message's ID."""

    def __init__(
        self, root: Path, project: str, session_id: str, *, parent: str = "", minute: int = 6
    ) -> None:
        folder = root / "tmp" / Path(project).name
        name = f"session-2026-11-30T07-{minute:02}-{session_id[:8]}"
        name = f"{parent}/{session_id}" if parent else name
        self.path = folder / "chats" / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        (folder / ".project_root").write_text(project)
        self.session_id, self.count = session_id, 0
        kind = "subagent" if parent else "main"
        self._append({"sessionId": session_id, "projectHash": "0" * 64, "kind": kind})

    def prompt(self, text: str) -> str:
        """A prompt, typed or given to `gemini -p`: they look the same."""
        return self._message("user", [{"text": text}])

    def agent(self, text: str) -> str:
        """What the agent says."""
        return self._message("gemini", text)

    def _message(self, kind: str, content: object) -> str:
        self.count += 1
        message_id = str(uuid5(_NAMESPACE, f"{self.session_id}/{self.count}"))
        time = _time(START, self.count)
        self._append({"id": message_id, "timestamp": time, "type": kind, "content": content})
        self._append({"$set": {"lastUpdated": time}})
        return message_id

    def _append(self, row: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_repository(folder: Path, remote: str | None) -> Path:
    """A folder with the files of a git repository that name its origin."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    config = f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n\tbare = false\n"
    (folder / ".git" / "config").write_text(config)
    return folder


def write_work_tree(main: Path, folder: Path) -> Path:
    """A linked work tree of a repository, as `git worktree add` leaves its files."""
    own = main / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{folder / '.git'}\n")
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


def _time(start: int, count: int) -> str:
    moment = datetime.fromtimestamp((start + count * 1000) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
