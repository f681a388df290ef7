"""The load that anyone can run: its table tells failures and losses."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = "--seconds 4 --rate 8 --sessions 3 --burst 6 --burst-every 2 --writers 2 --write-every 1"
DATA = "--megabytes 1 --messages 1000 --records 100"


@pytest.fixture(scope="module")
def table() -> str:
    """What a short run prints; whether its figures are good is no matter of a test."""
    command = [sys.executable, ROOT / "scripts" / "load", *SMALL.split(), *DATA.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout


def figure(table: str, what: str) -> float:
    """The number in the line that begins so."""
    [line] = [line for line in table.splitlines() if line.startswith(what)]
    [number] = re.findall(r"-?\d+\.\d+", line.removeprefix(what))[:1]
    return float(number)


def test_a_load_ends_without_failures_and_with_every_record_once(table: str) -> None:
    assert figure(table, "failures") == 0
    assert figure(table, "acknowledged records that are not there once") == 0
    assert figure(table, "session starts that said nothing") == 0


def test_a_load_measures_every_kind_of_hook_beside_the_bare_interpreter(table: str) -> None:
    assert figure(table, "hooks over the bare interpreter, p99 over p99") > 0
    assert figure(table, "burst, to the last answer") > 0
    assert figure(table, "record, saved and on disk, p99") > 0
    assert figure(table, "daemon, most descriptors") > 0
