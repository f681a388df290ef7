"""The chats and questions of tests/fixtures/search, written out as both clients write them.

`scripts` of chats are kept in place of transcripts, so that a person can read and correct them.
"""

import calendar
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from tests.support.transcripts import ClaudeTranscript, CodexTranscript

FOLDER = Path(__file__).parents[1] / "fixtures" / "search"
LANGUAGES = ("en", "de", "fr", "es", "ru", "zh", "ja", "ko")
TOOL_ROUNDS = 3
_LABEL = re.compile(r"\[(\w+)\] ")
_OUTPUT = "{path}:{number}: def handle(request): return render(request, {number})  # {topic}\n"


class Question(NamedTuple):
    """What someone looks for, and the message that answers it."""

    answer: str
    part: str
    text: str

    @property
    def language(self) -> str:
        return self.answer[:2]


@dataclass(frozen=True, slots=True)
class Chat:
    """One chat as it is kept: its place, its day and its lines, each with a mark in front."""

    project: str
    day: str
    agent: str
    title: str
    lines: tuple[tuple[str, str], ...]


def questions() -> list[Question]:
    """Every question; those of `held` and `fresh` were not looked at while weights were set."""
    lines = (FOLDER / "questions.tsv").read_text("utf-8").splitlines()
    return [Question(*line.split("\t")) for line in lines]


def write_chats(claude: Path, codex: Path) -> dict[str, str]:
    """Write the transcripts of all chats; the IDs of the labelled messages."""
    labelled: dict[str, str] = {}
    for language in LANGUAGES:
        narration, chats = _read(FOLDER / f"{language}.txt")
        for number, chat in enumerate(chats):
            session = str(uuid5(NAMESPACE_URL, f"{language}/{number}"))
            place = f"/home/dev/{chat.project}"
            transcript: ClaudeTranscript | CodexTranscript
            if chat.agent == "codex":
                transcript = CodexTranscript(codex, place, session)
            else:
                transcript = ClaudeTranscript(claude, place, session)
            transcript.start = _day(chat.day)
            for label, message_id in _write(transcript, chat, narration):
                labelled[f"{language}.{label}"] = message_id
    return labelled


def _read(file: Path) -> tuple[list[str], list[Chat]]:
    narration: list[str] = []
    heads: list[list[str]] = []
    bodies: list[list[tuple[str, str]]] = []
    for line in file.read_text("utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "%":
            narration.append(text)
        elif mark == "==":
            heads.append(text.split(" ", 3))
            bodies.append([])
        elif mark:
            bodies[-1].append((mark, text))
    return narration, [
        Chat(*head, lines=tuple(body)) for head, body in zip(heads, bodies, strict=True)
    ]


def _write(
    transcript: ClaudeTranscript | CodexTranscript, chat: Chat, narration: list[str]
) -> Iterator[tuple[str, str]]:
    if isinstance(transcript, ClaudeTranscript):
        transcript.title(chat.title)
    said = 0
    for mark, marked in chat.lines:
        label = _LABEL.match(marked)
        text = marked[label.end() :] if label else marked
        if mark == "$":
            for _ in range(TOOL_ROUNDS):
                transcript.agent(narration[said % len(narration)].format(path=text))
                _use_tool(transcript, text, f"toolu_{transcript.count}", chat.title)
                said += 1
            continue
        if mark == "!":
            assert isinstance(transcript, ClaudeTranscript)
            message_id = transcript.notification(text)
        else:
            message_id = transcript.person(text) if mark == ">" else transcript.agent(text)
        if label:
            yield label[1], message_id
        transcript.start += 60_000


def _use_tool(
    transcript: ClaudeTranscript | CodexTranscript, path: str, call: str, topic: str
) -> None:
    output = "".join(_OUTPUT.format(path=path, number=n, topic=topic) for n in range(40))
    if isinstance(transcript, ClaudeTranscript):
        transcript.tool_call("Read", {"file_path": path}, call)
        transcript.tool_result(output, call)
    else:
        transcript.tool_round(["cat", path], call, output)


def _day(day: str) -> int:
    return calendar.timegm(time.strptime(day, "%Y-%m-%d")) * 1000
