"""Codex's rollouts: who said what on each line.

Three formats. 0.171 names the kind and provenance of every part of a user item and numbers the
lines; 0.34 to 0.139 ("wrapped") repeat each prompt as an `event_msg/user_message`, and so does
0.171 when it goes on with such a file; in 2025 before `session_meta` items stood bare.
"""

import re
from collections.abc import Sequence
from typing import Any

from mash_plugin.agents.codex import NAME
from mash_plugin.agents.codex.parts import is_same, output_of, text_of, typed_parts
from mash_plugin.agents.events import Message, ReaderState, TranscriptFile
from mash_plugin.agents.lines import TWO_OBJECTS, cut_output, time_ms
from mash_plugin.agents.message import make_message, messages_of_line, text_or_none
from mash_plugin.records.model import Author, MessageRole

# Type of a line and of its payload when only plain values come first: told without parsing.
_TYPE = re.compile(
    rb'\{(?:"timestamp":"[^"\\]*",)?(?:"ordinal":\d+,)?"type":"(\w+)"'
    rb'(?:,"payload":\{"type":"(\w+)")?'
)
_READ_LINES = frozenset({b"session_meta", b"response_item", b"event_msg"})
_READ_PAYLOADS = frozenset(
    {
        b"message",
        b"agent_message",
        b"function_call_output",
        b"custom_tool_call_output",
        b"user_message",
        b"task_started",
    }
)
_BARE = frozenset({b"message", b"function_call_output", b"custom_tool_call_output"})
_NOTHING: Sequence[Message] = ()

_PIPED = re.compile(r"\n\n<stdin>\n.*", re.DOTALL)
# Parts that Codex or a hook puts before the model: no message at all.
_INJECTED_KINDS = ("agents_md.", "environments.", "skills.", "generic.", "hooks.", "host_skills.")
_INJECTED_TEXT = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<skill>",
    "<turn_aborted>",
    "<hook_prompt",
    "<model_switch>",
    "<permissions instructions>",
    "<INSTRUCTIONS>",
)
_REPORT_TEXT = ("<subagent_notification>", "<user_action>", "<user_shell_command>")
_IDE_CONTEXT = "# Context from my IDE setup"


def open_reader(file: TranscriptFile, state: ReaderState) -> "CodexReader":
    """A reader that goes on where `state` stands."""
    if state.session_id is None:
        state.session_id = file.session_id
    return CodexReader(file, state)


class CodexReader:
    """Reads the lines of one rollout. `state.extra` holds what later lines depend on:

    `meta` the first session_meta was seen, `start` the first ordinal that is its own, `headless`
    the originator, `trigger` of the turn, `held` a prompt of the wrapped format that waits for
    its event, `said` the last prompt whose event may still come, `marked` that the client names
    the kinds of its items: an event alone then proves nothing.
    """

    def __init__(self, file: TranscriptFile, state: ReaderState) -> None:
        self.file = file
        self.state = state

    def read_line(self, line: bytes, offset: int) -> Sequence[Message]:
        """The messages of one line; see TranscriptReader."""
        known = _TYPE.match(line)
        if known and not _is_read(known[1], known[2]) and TWO_OBJECTS not in line:
            return _NOTHING
        return messages_of_line(line, offset, self.state, self._messages)

    def _messages(self, row: dict[str, Any], offset: int) -> list[Message]:
        payload = row.get("payload")
        if not isinstance(payload, dict):
            return self._bare(row, offset)
        ordinal = row.get("ordinal")
        if isinstance(ordinal, int) and ordinal < self.state.extra.get("start", 0):
            return []  # copied from the parent (subagents of 0.171)
        match row.get("type"), payload.get("type"):
            case "session_meta", _:
                self._session(payload)
            case "event_msg", "task_started":
                turn = payload.get("turn_attribution")
                trigger = turn.get("turn_trigger") if isinstance(turn, dict) else None
                self.state.extra["trigger"] = trigger
            case "event_msg", "user_message":
                return self._event(row, payload, offset)
            case "response_item", _:
                return self._item(row, payload, offset)
        return []

    def _session(self, meta: dict[str, Any]) -> None:
        state = self.state
        if state.extra.get("meta"):
            return  # the parent's, copied into a subagent's rollout
        source, thread = meta.get("source"), meta.get("thread_source")
        originator = str(meta.get("originator", ""))
        state.extra["meta"] = True
        state.is_subagent = thread not in (None, "user") or isinstance(source, dict)
        state.extra["headless"] = source in ("exec", "mcp") or originator.startswith(
            ("codex_exec", "codex_sdk")
        )
        start = meta.get("subagent_history_start_ordinal")
        state.extra["start"] = start if isinstance(start, int) else 0
        state.project_path = text_or_none(meta.get("cwd"))
        if state.is_subagent:
            parent = meta.get("parent_thread_id") or meta.get("session_id")
            state.parent_session = text_or_none(parent)
        self._remote(meta)

    def _remote(self, meta: dict[str, Any]) -> None:
        git = meta.get("git")
        if isinstance(git, dict):
            self.state.remote_url = text_or_none(git.get("repository_url"))

    def _bare(self, row: dict[str, Any], offset: int) -> list[Message]:
        """Lines of 2025 before `session_meta`: the first names the session, items follow bare."""
        if "type" not in row:
            if isinstance(row.get("timestamp"), str) and isinstance(row.get("id"), str):
                self._remote(row)
            return []
        if row["type"] != "message" or row.get("role") != "user":
            return self._item({}, row, offset)
        text = text_of(row.get("content"))
        if not text.strip() or text.startswith((*_INJECTED_TEXT, *_REPORT_TEXT)):
            return []
        is_older = not self.state.extra.get("meta") and not text.startswith(_IDE_CONTEXT)
        author: Author = "inferred" if is_older else "unknown"
        own = text if author == "inferred" else None
        return [self._message({}, row, offset, "user", author, text, own)]

    def _item(self, row: dict[str, Any], item: dict[str, Any], offset: int) -> list[Message]:
        kind = item.get("type")
        if kind in ("function_call_output", "custom_tool_call_output"):
            text, left_out = cut_output(output_of(item.get("output")))
            if not text.strip():
                return self._release()
            message = self._message(
                row, item, offset, "tool", "automated", text, None, left_out=left_out
            )
            return [*self._release(), message]
        if kind == "agent_message":  # one agent to another (0.171)
            text = text_of(item.get("content"))
            return [self._message(row, item, offset, "user", "automated", text, None)]
        if kind != "message":
            return []
        if item.get("role") == "assistant":
            return [*self._release(), *self._assistant(row, item, offset)]
        return self._user(row, item, offset) if item.get("role") == "user" else []

    def _assistant(self, row: dict[str, Any], item: dict[str, Any], offset: int) -> list[Message]:
        outer = row.get("metadata")
        if isinstance(outer, dict) and outer.get("compaction_output"):
            return []
        text = text_of(item.get("content"))
        if not text.strip():
            return []
        return [self._message(row, item, offset, "assistant", "agent", text, None)]

    def _user(self, row: dict[str, Any], item: dict[str, Any], offset: int) -> list[Message]:
        inner = item.get("internal_chat_message_metadata_passthrough")
        kinds = inner.get("content_item_kinds") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or not isinstance(kinds, list):
            return self._wrapped_user(row, item, offset)
        self.state.extra["marked"] = True
        typed, other = typed_parts(item.get("content"), kinds, inner)
        released = self._release()
        if typed:
            text = "\n".join(typed)
            self.state.extra["said"] = text
            author, own, headless = self._author(text)
            message = self._message(row, item, offset, "user", author, text, own, headless=headless)
            return [*released, message]
        return [*released, *self._other(row, item, other, offset)]

    def _author(self, text: str) -> tuple[Author, str | None, bool]:
        """Whose a typed part is: only a root thread's turn that a person began is a person's."""
        extra = self.state.extra
        trigger = extra.get("trigger")
        if self.state.is_subagent:
            return "automated", None, False
        if trigger == "exec" or (trigger is None and extra.get("headless")):
            return "unknown", _PIPED.sub("", text), True
        if trigger in (None, "user") and extra.get("meta"):
            return "person", text, False
        return "unknown", None, False

    def _other(
        self, row: dict[str, Any], item: dict[str, Any], parts: list[tuple[str, str]], offset: int
    ) -> list[Message]:
        texts, author = [], "automated"
        for kind, text in parts:
            if kind.startswith(_INJECTED_KINDS) or text.startswith(_INJECTED_TEXT):
                continue
            if kind != "multi_agent.subagent_notification" and not text.startswith(_REPORT_TEXT):
                author = "unknown"
            texts.append(text)
        if not texts:
            return []
        is_report = author == "automated"
        whose: Author = "automated" if is_report else "unknown"
        return [self._message(row, item, offset, "user", whose, "\n".join(texts), None)]

    def _wrapped_user(
        self, row: dict[str, Any], item: dict[str, Any], offset: int
    ) -> list[Message]:
        """A prompt of the wrapped format: the person's only if an equal event stands beside it."""
        text = text_of(item.get("content"))
        if not text.strip() or text.startswith(_INJECTED_TEXT):
            return []
        released, extra = self._release(), self.state.extra
        if text.startswith(_REPORT_TEXT) or self.state.is_subagent:
            message = self._message(row, item, offset, "user", "automated", text, None)
            return [*released, message]
        if extra.get("said") and is_same(text, extra["said"]):
            extra["said"] = None
            return released
        extra["held"] = {"text": text, "at": row.get("timestamp"), "offset": offset}
        return released

    def _event(self, row: dict[str, Any], event: dict[str, Any], offset: int) -> list[Message]:
        text, extra = event.get("message"), self.state.extra
        if not isinstance(text, str) or event.get("kind") not in (None, "plain"):
            return []
        held, said = extra.get("held"), extra.get("said")
        if isinstance(said, str) and is_same(said, text):
            extra["said"] = None
            return []
        released: list[Message] = []
        is_marked = extra.get("marked") or isinstance(row.get("ordinal"), int)
        if held and is_same(str(held["text"]), text):
            row, offset, extra["held"] = {"timestamp": held["at"]}, held["offset"], None
            is_marked = False
        else:
            released = self._release()
            extra["said"] = text.strip()
        if not text.strip() or text.startswith((*_INJECTED_TEXT, *_REPORT_TEXT)):
            return released
        author, own, headless = self._author(text)
        if author == "person":
            author = "inferred"
        if is_marked or text.startswith(_IDE_CONTEXT):
            author, own, headless = "unknown", None, False
        message = self._message(row, {}, offset, "user", author, text, own, headless=headless)
        return [*released, message]

    def _release(self) -> list[Message]:
        """A held prompt whose event did not come is nobody's."""
        held, extra = self.state.extra.get("held"), self.state.extra
        extra["held"] = None
        if not held:
            return []
        row = {"timestamp": held["at"]}
        return [self._message(row, {}, held["offset"], "user", "unknown", held["text"], None)]

    def _message(
        self,
        row: dict[str, Any],
        item: dict[str, Any],
        offset: int,
        role: MessageRole,
        author: Author,
        text: str,
        own: str | None,
        *,
        left_out: int = 0,
        headless: bool = False,
    ) -> Message:
        sent_at = time_ms(row.get("timestamp"))
        return make_message(
            *(NAME, self.state, item.get("id"), role, author, text, own, sent_at, offset),
            left_out=left_out,
            headless=headless,
        )


def _is_read(kind: bytes, payload: bytes | None) -> bool:
    if kind not in _READ_LINES:
        return kind in _BARE
    return payload is None or payload in _READ_PAYLOADS
