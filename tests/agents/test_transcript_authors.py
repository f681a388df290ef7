"""Whose words every line of the sample transcripts holds, against tables written by hand."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin.agents import AGENTS
from mash_plugin.agents.events import Message, ReaderState, TranscriptFile, TranscriptReader

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
FOLDERS = {
    "claude-code": FIXTURES / "claude",
    "codex": FIXTURES / "codex",
    "gemini-cli": FIXTURES / "gemini",
}
CLASSES = {"person", "inferred", "headless", "agent", "tool", "automated", "unknown", "none"}
FIRST_BARE_LINE = 107
"""From here on `codex/older-lines.jsonl` holds rollouts of 2025, which had another format."""


def read_table(agent: str) -> dict[str, dict[int, str]]:
    """The hand-written class of each line, by file."""
    tables: dict[str, dict[int, str]] = {}
    for row in (FOLDERS[agent] / "expected.txt").read_text().splitlines():
        if row.startswith("# "):
            table = tables.setdefault(row[2:], {})
        elif row.strip():
            lines, expected = row.split(maxsplit=2)[:2]
            first, _, last = lines.partition("-")
            assert expected in CLASSES, row
            for number in range(int(first), int(last or first) + 1):
                assert number not in table, f"{row}: line {number} stands there twice"
                table[number] = expected
    return tables


TABLES = [(agent, name) for agent in FOLDERS for name in read_table(agent)]


def open_sample(agent: str, name: str) -> TranscriptReader:
    path = FOLDERS[agent] / name
    is_subagent = name.startswith("agent-") or name == "print-subagent.jsonl"
    file = TranscriptFile(agent, str(path), path.stem, is_subagent)
    return AGENTS[agent].open_reader(file, ReaderState())


def older_lines(agent: str) -> Iterator[tuple[TranscriptReader, bytes]]:
    """Single lines of many files: Claude Code's stand alone, Codex's need what came before."""
    reader = open_sample(agent, "older-lines.jsonl")
    for number, row in enumerate((FOLDERS[agent] / "older-lines.jsonl").read_bytes().splitlines()):
        if agent == "claude-code" or number == FIRST_BARE_LINE:
            reader = open_sample(agent, "older-lines.jsonl")
        line = json.dumps(json.loads(row)["line"], separators=(",", ":"))
        yield reader, line.encode()


def read_sample(agent: str, name: str) -> list[tuple[int, Message]]:
    """Every message with the number of the line that it stands on."""
    if name == "older-lines.jsonl":
        lines = list(older_lines(agent))
    else:
        reader = open_sample(agent, name)
        lines = [(reader, row) for row in (FOLDERS[agent] / name).read_bytes().splitlines()]
    return [
        (message.offset, message)
        for number, (reader, line) in enumerate(lines)
        for message in reader.read_line(line, number)
    ]


def class_of(message: Message) -> str:
    if message.is_headless:
        assert message.author == "unknown"
        return "headless"
    return "tool" if message.role == "tool" else message.author


@pytest.mark.spec("R-018", "R-022")
@pytest.mark.parametrize(("agent", "name"), TABLES)
def test_every_line_of_a_sample_is_said_by_whom_the_table_says(agent: str, name: str) -> None:
    table = read_table(agent)[name]
    found = {number: class_of(message) for number, message in read_sample(agent, name)}
    assert {number: found.get(number, "none") for number in table} == table
    assert set(found) <= set(table)


@pytest.mark.parametrize("agent", FOLDERS)
def test_every_line_of_every_sample_stands_in_the_table(agent: str) -> None:
    tables = read_table(agent)
    samples = {path.name: path for path in FOLDERS[agent].glob("*.jsonl")}
    assert set(tables) == set(samples)
    for name, path in samples.items():
        assert set(tables[name]) == set(range(len(path.read_bytes().splitlines()))), name


@pytest.mark.spec("R-156")
@pytest.mark.parametrize(("agent", "name"), TABLES)
def test_no_line_gives_two_messages(agent: str, name: str) -> None:
    numbers = [number for number, _message in read_sample(agent, name)]
    assert len(numbers) == len(set(numbers))


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    ("agent", "name", "line", "own"),
    [
        ("claude-code", "tui-session.jsonl", 56, "hello"),
        ("claude-code", "tui-session.jsonl", 65, "args1"),
        ("claude-code", "tui-resumed-queued-paste-interrupt.jsonl", 62, None),
        (
            "claude-code",
            "tui-resumed-queued-paste-interrupt.jsonl",
            52,
            "QUEUED-WHILE-BUSY use tabs not spaces",
        ),
        ("codex", "exec-image-skill-review-0.jsonl", 7, "use $ch-skill please"),
        ("codex", "tui-clear-interrupt-0.jsonl", 8, "hello tui first"),
        ("codex", "legacy-resumed.jsonl", 2, "legacy prompt"),
        ("codex", "older-lines.jsonl", 22, "text of 394 characters"),
        (
            "gemini-cli",
            "tui-files-paste-shell-compressed-resumed.jsonl",
            15,
            "Look at @notes.md please",
        ),
        ("gemini-cli", "tui-subagent-command-private.jsonl", 11, "/review the ledger"),
        ("gemini-cli", "tui-subagent-command-private.jsonl", 15, "Keep [private] to yourself"),
    ],
)
@pytest.mark.row(44)
def test_only_what_was_typed_counts_as_the_persons_words(
    agent: str, name: str, line: int, own: str | None
) -> None:
    assert dict(read_sample(agent, name))[line].person_text == own


@pytest.mark.spec("R-017", "R-018")
@pytest.mark.parametrize(("agent", "name"), TABLES)
def test_nobody_else_has_words_of_the_person(agent: str, name: str) -> None:
    for _number, message in read_sample(agent, name):
        if message.person_text is not None:
            assert class_of(message) in ("person", "inferred", "headless")
