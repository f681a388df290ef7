"""Gemini CLI's chats: who said what on each line (0.61.0).

A file is only added to. Its first line names the session and its `kind` (`main`, `subagent`); then
a message stands on each line, with `id`, `timestamp` and `type`:

    user     `content`: parts, of text or answers of tools (`functionResponse`). `displayContent`
             is what was typed, where the client put something else in its place: the files that
             were named with @, the text of a command of the person's own.
    gemini   `content`: text, or parts; what the agent thought and called stands beside it. The
             line comes again, with the same ID, once the calls have ended.
    info, warning, error   what the client showed of itself

`{"$set": {...}}` changes what is known of the session; `$set.messages` repeats messages that had
their lines, with summaries and the client's own context among them (resumed, compressed).
`{"$rewindTo": ID}` takes messages back that were said all the same.

Nothing marks who wrote a prompt: typed ones, pasted ones and those of `gemini -p` are alike to the
byte. So they are nobody's, like the prompts of other agents' headless runs.
"""

from collections.abc import Sequence
from typing import Any

from mash_plugin.agents.events import Message, ReaderState, TranscriptFile
from mash_plugin.agents.gemini import NAME
from mash_plugin.agents.gemini.files import project_of_chat
from mash_plugin.agents.lines import TWO_OBJECTS, cut_output, time_ms
from mash_plugin.agents.message import make_message, messages_of_line, title_of
from mash_plugin.records.model import Author, MessageRole

_HISTORY = b'{"$set":{"messages":'
_NOTHING: Sequence[Message] = ()
# What the client tells its model of itself.
_CLIENT_TEXT = (
    "<session_context>",
    "<state_snapshot>",
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
)
# In the person's place, but written by the client or by a command.
_MACHINE_TEXT = (
    "I ran the following shell command:\n```sh\n",
    "System: ",
    "[System: ",
)
_HOOK_TEXT = "<hook_context>"
_FILES_FOLLOW = "\n--- Content from referenced files ---"


def open_reader(file: TranscriptFile, state: ReaderState) -> "GeminiReader":
    """A reader that goes on where `state` stands."""
    if state.session_id is None:
        state.session_id = file.session_id
        state.is_subagent = file.is_subagent
        parent, slash, _agent = file.session_id.partition("/")
        state.parent_session = parent if slash else None
    if state.project_path is None:
        state.project_path = project_of_chat(file.path, file.is_subagent)
    return GeminiReader(state)


class GeminiReader:
    """Reads the lines of one chat. `state.extra["said"]`: ID of the agent's last message."""

    def __init__(self, state: ReaderState) -> None:
        self.state = state

    def read_line(self, line: bytes, offset: int) -> Sequence[Message]:
        """The messages of one line; see TranscriptReader."""
        if line.startswith(_HISTORY) and TWO_OBJECTS not in line:
            return _NOTHING
        return messages_of_line(line, offset, self.state, self._messages)

    def _messages(self, row: dict[str, Any], offset: int) -> list[Message]:
        match row.get("type"):
            case "user":
                return self._user(row, offset)
            case "gemini":
                return self._agent(row, offset)
            case None if row.get("kind") == "subagent":
                self.state.is_subagent = True
            case None if isinstance(row.get("$set"), dict) and not self.state.is_subagent:
                self.state.title = title_of(row["$set"].get("summary")) or self.state.title
        return []

    def _user(self, row: dict[str, Any], offset: int) -> list[Message]:
        content = row.get("content")
        outputs = _outputs(content)
        typed = _typed(row.get("displayContent")) or _typed(content)
        found = []
        if outputs:
            output, left_out = cut_output("\n".join(outputs))
            found = self._message(row, offset, "tool", "automated", output, None, left_out=left_out)
            row = {**row, "id": None}
        if not typed.strip() or typed.startswith(_CLIENT_TEXT):
            return found
        if self.state.is_subagent or typed.startswith(_MACHINE_TEXT):
            return [*found, *self._message(row, offset, "user", "automated", typed, None)]
        own = None if outputs else typed
        message = self._message(
            row, offset, "user", "unknown", typed, own, headless=own is not None
        )
        return [*found, *message]

    def _agent(self, row: dict[str, Any], offset: int) -> list[Message]:
        text, own_id = _text_of(row.get("content")), row.get("id")
        if not text.strip() or (own_id and own_id == self.state.extra.get("said")):
            return []
        self.state.extra["said"] = own_id if isinstance(own_id, str) else None
        return self._message(row, offset, "assistant", "agent", text, None)

    def _message(
        self,
        row: dict[str, Any],
        offset: int,
        role: MessageRole,
        author: Author,
        text: str,
        own: str | None,
        *,
        left_out: int = 0,
        headless: bool = False,
    ) -> list[Message]:
        sent_at = time_ms(row.get("timestamp"))
        message = make_message(
            *(NAME, self.state, row.get("id"), role, author, text, own, sent_at, offset),
            left_out=left_out,
            headless=headless,
        )
        return [message]


def _text_of(content: object) -> str:
    """The texts of a content value; thoughts and calls have no part in it."""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _typed(content: object) -> str:
    """The texts of a prompt, without the files that were named in it and what hooks said."""
    if isinstance(content, str):
        return content
    typed = []
    for text in _texts(content):
        if text.startswith(_FILES_FOLLOW):
            break
        if not text.lstrip().startswith(_HOOK_TEXT):
            typed.append(text)
    return "\n".join(typed)


def _texts(content: object) -> list[str]:
    parts = content if isinstance(content, list) else []
    return [
        part["text"]
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("text"), str) and not part.get("thought")
    ]


def _outputs(content: object) -> list[str]:
    """What tools answered, where it is text."""
    found = []
    for part in content if isinstance(content, list) else ():
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            said = response.get("output", response.get("error"))
            found.append(said if isinstance(said, str) else "")
    return found
