"""Files that people take in: exports, and what other tools remember."""

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mash_plugin.memory.call import Call, Caller
from mash_plugin.records.model import Scope
from mash_plugin.transfer.candidates_in import take_in
from mash_plugin.transfer.importing import import_file
from mash_plugin.transfer.kinds import KINDS
from tests.fuzz.shapes import damaged, encoded, json_bytes, some_text, spoilt, texts
from tests.fuzz.target import FIXTURES, Check, Target, refusal_of, split_head, with_head
from tests.hooks_answers.conftest import IDENTITY, NOW, open_node

SCOPE = Scope("repository", IDENTITY)
TABLES = ("owners", "records", "revisions", "receipts", "record_tombstones", "imports")


@st.composite
def exports(draw: DrawFn) -> bytes:
    """The lines of an export, some spoilt, doubled or out of order; its sums mostly right."""
    source = (FIXTURES / "transfer" / "format-1.jsonl").read_bytes().splitlines()
    rows = [orjson.loads(line) for line in source][:-1]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(rows) - 1))
        match draw(st.sampled_from(("spoil", "spoil", "value", "value", "remove", "twice"))):
            case "spoil":
                rows[at] = draw(spoilt([rows[at]]))
            case "value" if isinstance(rows[at], dict) and len(rows[at]) > 1:
                key = draw(st.sampled_from(list(rows[at])[1:]))
                numbers = st.sampled_from((-1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0.5))
                rows[at][key] = draw(numbers | texts() | st.none())
            case "remove" if len(rows) > 1:
                del rows[at]
            case _:
                rows.append(rows[at])
    data = b"".join(map(_line, rows))
    if draw(st.integers(0, 9)):
        data = with_end(data)
    mode = draw(st.sampled_from(("export", "export", "identity", "raw")))
    return mode.encode() + b"\n" + draw(damaged(st.just(data)))


def _line(row: Any) -> bytes:
    try:
        return orjson.dumps(row) + b"\n"
    except (TypeError, orjson.JSONEncodeError):
        return b'{"is":"owner"}\n'


def with_end(data: bytes) -> bytes:
    """The lines with the last one, which counts and sums them."""
    counts: Counter[str] = Counter()
    for line in data.splitlines():
        row = orjson.loads(line)
        kind = row.get("is") if isinstance(row, dict) else None
        counts[kind if isinstance(kind, str) and kind in KINDS else "owner"] += 1
    end = {"is": "end", "lines": counts.total(), "counts": dict(sorted(counts.items()))}
    return data + _line(end | {"sha256": hashlib.sha256(data).hexdigest()})


@contextmanager
def importing(folder: Path) -> Iterator[Check]:
    """An empty memory that only tries to take files in."""
    node = open_node(folder)
    call = node.call(Caller(None, None, None), NOW, {})
    before = _contents(call)
    try:
        yield lambda data: _check_import(call, folder / "import.gz", data)
        assert _contents(call) == before
    finally:
        node.close()


def _check_import(call: Call, path: Path, data: bytes) -> None:
    words, lines = split_head(data)
    mode = (words or ["export"])[0]
    path.write_bytes(lines if mode == "raw" else gzip.compress(lines, 1))
    if mode == "identity":
        error = refusal_of(lambda: import_file(call, str(path), "identity", is_dry_run=True))
    else:
        error = refusal_of(lambda: import_file(call, str(path), "export", is_dry_run=True))
    assert error is None or "othing was imported" in error.message, error


def _contents(call: Call) -> list[Any]:
    with call.store.reading() as db:
        return [db.one(f"SELECT count(*) FROM {table}") for table in TABLES]  # noqa: S608


def memories() -> SearchStrategy[bytes]:
    """The files of other tools, spoilt."""
    folder = FIXTURES / "others"
    rules = (folder / "CLAUDE.md").read_text().split("\n\n")
    pages = [orjson.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
    auto = [path.read_text() for path in sorted((folder / "memory").glob("*.md"))]
    marks = ("---\n", "type: feedback\n", "<private>", "```\n", "- [x] Use tabs. ", "<!--", "| a |")
    return st.one_of(
        with_head(st.just("rules"), damaged(encoded(some_text((*rules, *marks))))),
        with_head(st.just("claude-memory"), damaged(encoded(some_text((*auto, *marks))))),
        with_head(st.just("claude-mem"), damaged(json_bytes(spoilt(pages)))),
    )


@contextmanager
def others_memories(folder: Path) -> Iterator[Check]:
    """An empty memory that only tries to take such files in."""
    node = open_node(folder)
    call = node.call(Caller(None, None, None), NOW, {})
    (folder / "auto").mkdir()
    try:
        yield lambda data: _check_memory(call, folder, data)
    finally:
        node.close()


def _check_memory(call: Call, folder: Path, data: bytes) -> None:
    words, content = split_head(data)
    source = (words or ["rules"])[0]
    file = folder / "auto" / "note.md"
    file.write_bytes(content)
    place = str(file.parent if source == "claude-memory" else file)
    error = refusal_of(lambda: take_in(call, source, place, SCOPE, is_dry_run=True))
    if error is None:
        for one in take_in(call, source, place, SCOPE, is_dry_run=True)["records"]:
            assert one["statement"].strip()
            one["statement"].encode()


TARGETS = {
    "imports": Target(exports(), importing),
    "memories": Target(memories(), others_memories),
}
