"""The format as it was published: files of version 1 are read, and written, for ever."""

import gzip
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

import mash_plugin.transfer
from mash_plugin.transfer.kinds import EVIDENCE, KINDS
from mash_plugin.transfer.lines import FORMAT
from tests.transfer.conftest import Json, a_memory, chats_of, export, lines_of, rows_of, take_in
from tests.transfer.conftest import write_lines as write

GOLDEN = Path(__file__).resolve().parents[1] / "fixtures" / "transfer" / "format-1.jsonl"
NEW_EVERY_TIME = ("made_by", "made_at", "generation")


def golden() -> list[Json]:
    return [orjson.loads(line) for line in GOLDEN.read_bytes().splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The golden lines as a file; its last line is made by the helper that tests use."""
    return write(tmp_path / "golden.gz", list(golden()))


@pytest.mark.spec("R-161", "R-163")
def test_the_golden_file_comes_in_and_goes_out_line_by_line(file: Path, tmp_path: Path) -> None:
    with a_memory(tmp_path / "one") as memory:
        take_in(memory, file, "identity")
        export(memory, tmp_path / "again.gz")
    wanted, found = golden()[:-1], lines_of(tmp_path / "again.gz")[:-1]
    for name in NEW_EVERY_TIME:
        del wanted[0][name], found[0][name]
    assert [line for line in found if line["is"] != "imported"] == wanted
    assert [line["kind"] for line in found if line["is"] == "imported"] == ["identity"]


@pytest.mark.spec("R-162")
@pytest.mark.parametrize("mode", ["export", "mine"])
def test_the_golden_file_comes_in_as_records(file: Path, tmp_path: Path, mode: Any) -> None:
    with a_memory(tmp_path / "one") as memory:
        counts = take_in(memory, file, mode)["counts"]
        assert (counts["records"], counts["links"], counts["messages"]) == (7, 2, 6)
        found = rows_of(memory)
        assert sum(row["confirmations"] for row in found["records"]) == 1
        assert {row["evidence_stale"] for row in found["records"]} == {0}
        assert len(chats_of(memory)) == 1


def test_the_golden_file_holds_every_kind_but_those_of_imports() -> None:
    assert {line["is"] for line in golden()} == KINDS.keys() - {"imported"}
    assert golden()[0]["format"] == FORMAT


def test_the_page_that_fixes_the_format_names_every_field() -> None:
    page = mash_plugin.transfer.__doc__ or ""
    assert f"version {FORMAT}" in page
    told = re.findall(r"^    (\w+)\*? +(.*(?:\n {16}.*)*)", page, re.MULTILINE)
    assert [kind for kind, _ in told] == list(KINDS)
    for kind, text in told:
        words = re.sub(r"of the \w+ before it[^:]*:|\(.*?\)", "", text).split()
        assert words == list(KINDS[kind]), kind
    assert " ".join(EVIDENCE) in " ".join(page.split())


def test_a_line_is_bytes_that_any_program_can_read(file: Path) -> None:
    plain = gzip.decompress(file.read_bytes())
    assert plain.endswith(b"\n")
    assert plain == b"".join(orjson.dumps(orjson.loads(x)) + b"\n" for x in plain.splitlines())
