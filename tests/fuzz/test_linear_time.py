"""Four times as long a text takes about four times as long, in everything that reads one."""

import io
import json
import time
from collections.abc import Callable

import pytest

from mash_plugin.agents import AGENTS
from mash_plugin.agents.codex.hooks import simple_read
from mash_plugin.agents.events import ReaderState, TranscriptFile
from mash_plugin.agents.lines import parse_objects, read_lines
from mash_plugin.agents.payload import is_written_by_host, read_payload
from mash_plugin.chats.project import _git_values
from mash_plugin.chats.question import names_of, terms_of
from mash_plugin.chats.remotes import normalise_remote
from mash_plugin.chats.switches import read_marker
from mash_plugin.daemon.frames import Incoming
from mash_plugin.privacy.credentials import credential_kind, cut_title, mask
from mash_plugin.privacy.own_words import persons_own
from mash_plugin.privacy.spans import split_private
from mash_plugin.protocol import validate
from mash_plugin.records import cues
from mash_plugin.throughline.entries import decoded
from mash_plugin.throughline.key_lines import eligible_lines, judge
from mash_plugin.throughline.session import read_session
from mash_plugin.tokens import index_text, words
from mash_plugin.transfer.claude_memory import read_memory
from mash_plugin.transfer.rules import read_rules
from tests.fuzz.target import refusal_of

SHORT, LONGER = 8_000, 4
"""Characters of the shorter text, and how many times the longer one is as long."""
LIMITED = {"terms of a question": 1_000, "names in a question": 1_000, "shell command": 2_000}
"""Of those that look at the beginning alone."""
SLACK, LEAST_S, TRIES = 2.5, 0.002, 5
"""Squared growth would be over by four; below the time nothing is told."""


def _line_of(agent: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        file = TranscriptFile(agent, "/nowhere.jsonl", "s-1")
        reader = AGENTS[agent].open_reader(file, ReaderState())
        return [reader.read_line(line, 0) for line in _LINES[agent](text)]

    return read


def _claude_lines(text: str) -> list[bytes]:
    marks = {"origin": {"kind": "human"}, "promptSource": "typed"}
    row = {"type": "user", "message": {"role": "user", "content": text}, **marks}
    return [json.dumps(row).encode(), text.encode("utf-8", "surrogatepass")]


def _gemini_lines(text: str) -> list[bytes]:
    row = {"type": "user", "content": [{"text": text}], "displayContent": [{"text": text}]}
    return [json.dumps(row).encode(), text.encode("utf-8", "surrogatepass")]


def _codex_lines(text: str) -> list[bytes]:
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": content}
    row = {"type": "response_item", "payload": item}
    return [json.dumps(row).encode(), text.encode("utf-8", "surrogatepass")]


def _session(text: str) -> object:
    rows = [{"role": role, "content": text} for role in ("user", "assistant")]
    return read_session(io.BytesIO("\n".join(map(json.dumps, rows)).encode()))


def _judged(text: str) -> object:
    return [judge(line) for _, line in eligible_lines(text)]


def _frame(text: str) -> object:
    incoming = Incoming()
    data = b"mash/1 hook prompt-submit codex\n" + text.encode("utf-8", "replace")
    for at in range(0, len(data), 512):
        if incoming.feed(data[at : at + 512]):
            return None
    return incoming.end()


def _validated(text: str) -> object:
    return refusal_of(lambda: validate("recall_records", {"scope": {"kind": text}, "query": text}))


def _entry(text: str) -> object:
    with pytest.raises(ValueError, match=r".*"):
        decoded(text.encode("utf-8", "replace"))
    return None


_LINES = {"claude-code": _claude_lines, "codex": _codex_lines, "gemini-cli": _gemini_lines}
READERS: dict[str, Callable[[str], object]] = {
    "hook payload": lambda text: read_payload(text.encode("utf-8", "replace")),
    "prompt of the host": is_written_by_host,
    "line of Claude Code": _line_of("claude-code"),
    "line of Codex": _line_of("codex"),
    "line of Gemini CLI": _line_of("gemini-cli"),
    "lines of a file": lambda text: list(read_lines(io.BytesIO(text.encode()), 0)),
    "objects of a line": lambda text: parse_objects(text.encode("utf-8", "replace")),
    "shell command": simple_read,
    "frame": _frame,
    "arguments": _validated,
    "tokens": words,
    "index text": index_text,
    "terms of a question": terms_of,
    "names in a question": names_of,
    "marker": read_marker,
    "git settings": _git_values,
    "value in git settings": lambda text: _git_values(f'[remote "origin"]\nurl = "{text}'),
    "remote": normalise_remote,
    "private spans": split_private,
    "own words": persons_own,
    "title": lambda text: cut_title(text, 60),
    "mask": mask,
    "credential": credential_kind,
    "cues": cues.judge,
    "key lines": _judged,
    "session": _session,
    "queue entry": _entry,
    "rules": lambda text: read_rules("CLAUDE.md", text),
    "auto memory": lambda text: read_memory([("note.md", text)]),
}
PIECES = (
    *("a", " ", "\n", "\t ", "ab ", "a.", "A", "9", "_", "-", "\\", '"', "'", "`", "```", "~~~\n"),
    *("<", "<a ", "</", "< /", "<private>", "</private>", "<private ", "&lt;", "&amp;", "&#0"),
    *("{}", "{", "[", '{"a":', "[1,", "}\n", '{"a":"\\ud800"}', "é", "e\u0301", "ﬁ", "中", "カ"),
    *("<command-name>", "</command-args> ", "<pasted_content ", "</ide_x>", "```a", "> ", "- "),
    *("---\n", "<!--", "| ", "@", "://", "http://", "a:", "[a](b)", "![a](", "&x;", "a=b "),
    *("sk-", "AKIA", "-----BEGIN ", "Bearer ", "password=", "eyJ", "x'", "We decided ", "! "),
    *('[a "', "\\\n", "= #", '\\"', "\u200b", "\ufeff", "\u2028", "\r", "\x0b", "1. ", "[x] "),
)


def spent(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_length_of_a_text_and_with_nothing_else(name: str) -> None:
    read, slow = READERS[name], []
    for piece in PIECES:
        short = piece * (LIMITED.get(name, SHORT) // len(piece))
        read(short)  # what is compiled or remembered once
        # A processor that others share is slow for a moment: what is squared is slow each time.
        if all(is_slow(read, short) for _ in range(TRIES)):
            slow.append(piece)
    assert not slow


def is_slow(read: Callable[[str], object], short: str) -> bool:
    """Whether the longer text takes too long each time, by the best time of the shorter one."""
    longer = short * LONGER
    if spent(read, longer) <= LEAST_S:
        return False
    limit = max(LEAST_S, SLACK * LONGER * min(spent(read, short) for _ in range(3)))
    return all(spent(read, longer) > limit for _ in range(3))
