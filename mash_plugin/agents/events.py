"""What the product knows of an agent: its transcripts and their messages, without its quirks."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from mash_plugin.agents.hook_event import HookEvent
from mash_plugin.records.model import Author, MessageRole


class Message(NamedTuple):
    """One message of a transcript."""

    id: str
    role: MessageRole
    author: Author
    text: str
    """All visible text, private spans removed."""
    person_text: str | None
    """What the person visibly typed (no pasted, fenced or quoted text), else None."""
    sent_at: int | None
    offset: int
    """Byte offset of its line in the transcript."""
    private_text: tuple[str, ...] = ()
    """The inner texts of private spans: only hashed, never stored."""
    tool_use_ids: tuple[str, ...] = ()
    """IDs of tool calls that this line carries."""
    bytes_left_out: int = 0
    """Bytes of tool output that were not kept."""
    is_headless: bool = False
    """Given to `claude -p` or `codex exec`, or to a client that does not tell such a prompt from a
    typed one: nobody knows who wrote it (author `unknown`).

    `person_text` then holds the prompt, for people who set `records.trust_headless_prompts`.
    """


class TranscriptFile(NamedTuple):
    """One transcript on disk, as the host names it."""

    agent: str
    path: str
    session_id: str
    """The session that its name carries; for a subagent `PARENT/agent-ID`."""
    is_subagent: bool = False


class ReaderState:
    """What a reader must remember between two reads of one file; plain JSON values only."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.project_path: str | None = None
        self.title: str | None = None
        self.parent_session: str | None = None
        self.is_subagent = False
        """The transcript itself says so: a rollout of Codex does not by its name."""
        self.remote_url: str | None = None
        """The origin remote, where the transcript itself tells it (Codex)."""
        self.ordinal = 0
        """How many messages have been read."""
        self.lines_skipped = 0
        """How many lines were not JSON, as a crashed client leaves them."""
        self.extra: dict[str, Any] = {}


class TranscriptReader(Protocol):
    """Turns the lines of one transcript into messages, in order, one call per line."""

    state: ReaderState

    def read_line(self, line: bytes, offset: int) -> Sequence[Message]:
        """The messages of one line; none of an unknown one. Never raises on content."""
        ...


class Agent(Protocol):
    """What the package of every agent offers (`agents.AGENTS`): its chats can be read."""

    NAME: str
    TITLE: str
    """What people call it."""
    COMMAND: str
    ROOTS_KEY: str
    """Its key in the `[chats.roots]` table of config.toml."""
    ROOT_VARIABLE: str
    """The client's own variable for the folder that holds its transcripts, or for one above."""
    BELOW_VARIABLE: str
    """Where in that one the folder lies; empty where the variable names the folder itself."""
    HOME_FOLDER: str
    """That folder below the home folder when the variable is not set."""
    UNREAD: tuple[str, str]
    """Why some of its transcripts cannot be read, and the command that helps."""

    def find_transcripts(self, root: str) -> Iterator[TranscriptFile]: ...
    def find_session(self, root: str, session_id: str) -> TranscriptFile | None: ...
    def count_unread(self, root: str) -> int: ...
    def open_reader(self, file: TranscriptFile, state: ReaderState) -> TranscriptReader: ...


class HookedAgent(Agent, Protocol):
    """One that also calls hooks of ours while it works (`agents.HOOKED`)."""

    TOOL_PREFIX: str
    """What stands before the names of our tools as the agent shows them to its model."""
    STARTS_WITH_PROMPT: bool
    """It tells of a start only with the next prompt: what two starts bring is read together."""

    def parse_event(self, hook: str, raw: dict[str, Any]) -> HookEvent | None: ...
    def wrap_context(self, event: HookEvent, text: str) -> bytes: ...
    def files_read(self, event: HookEvent, roots: list[tuple[str, str]]) -> tuple[str, ...]: ...
