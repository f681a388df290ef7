"""Make messages of what a reader found: private spans out, a stable ID, a title for its chat."""

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from mash_plugin.agents.events import Message, ReaderState
from mash_plugin.agents.lines import derived_id, parse_objects
from mash_plugin.privacy.credentials import cut_title
from mash_plugin.privacy.own_words import persons_own
from mash_plugin.privacy.spans import split_private
from mash_plugin.records.model import Author, MessageRole

TITLE_LENGTH = 120
_OWN_ID = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|msg_[A-Za-z0-9-]{8,128}"
)

_GREETING = re.compile(
    r"(?:h(?:i|ello|ey|iya|allo|ola)|yo|ping|test(?:ing)?|thanks?|ok"
    r"|good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|moin|servus"
    r"|bonjour|bonsoir|salut|ciao|buenos d[ií]as|ol[aá]"
    r"|привет|здравствуйте|добрый день|你好|您好|こんにちは|안녕|안녕하세요)"
    r"(?:[ ,]{1,2}(?:there|all|again|claude(?: code)?|codex|gemini))?[\s.,!?~:)。！🙂👋]{0,8}",
    re.IGNORECASE,
)


def messages_of_line(
    line: bytes,
    offset: int,
    state: ReaderState,
    read: Callable[[dict[str, Any], int], list[Message]],
) -> Sequence[Message]:
    """What `read` makes of each object of a line; one that holds none is counted."""
    rows = parse_objects(line)
    if len(rows) == 1:
        return read(rows[0], offset)
    if not rows:
        state.lines_skipped += bool(line.strip())
    return [message for row in rows for message in read(row, offset)]


def text_or_none(value: object) -> str | None:
    """The value where it is text."""
    return value if isinstance(value, str) else None


def make_message(
    agent: str,
    state: ReaderState,
    own_id: object,
    role: MessageRole,
    author: Author,
    text: str,
    own: str | None,
    sent_at: int | None,
    offset: int,
    *,
    calls: tuple[str, ...] = (),
    left_out: int = 0,
    headless: bool = False,
) -> Message:
    """The next message of a chat; `own` is what the person typed of its text."""
    visible, private = split_private(text)
    if own is not None:
        own = persons_own(visible if own is text else split_private(own)[0]) or None
    if state.title is None and own:
        state.title = title_of(without_greeting(own))
    if not isinstance(own_id, str) or not _OWN_ID.fullmatch(own_id):
        own_id = derived_id(agent, state.session_id, state.ordinal, text)
    state.ordinal += 1
    return Message(
        own_id, role, author, visible, own, sent_at, offset, private, calls, left_out, headless
    )


def without_greeting(text: str) -> str:
    """The text from the first line on that says more than hello; nothing where none does."""
    lines = text.strip().split("\n")
    greeted = takewhile(lambda line: not line.strip() or _GREETING.fullmatch(line.strip()), lines)
    return "\n".join(lines[len(list(greeted)) :])


def title_of(text: object) -> str | None:
    """A title in one line, as a client made it or as the first words of the person."""
    if not isinstance(text, str):
        return None
    shown = split_private(text)[0].strip()  # a client's title may repeat what the person typed
    return cut_title(shown.split("\n", 1)[0], TITLE_LENGTH) or None
