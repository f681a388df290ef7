"""The command that goes on fuzzing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def fuzz(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "scripts" / "fuzz"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=110)


def test_the_command_tells_how_often_it_tried_a_target_and_what_it_found() -> None:
    done = fuzz("--seconds", "2", "--only", "queue-entries", "--by-chance")
    assert done.returncode == 0, done.stdout + done.stderr
    [*_, line] = done.stdout.splitlines()
    target, _way, count, *words = line.split()
    assert (target, words) == ("queue-entries", ["executions", "nothing", "found"])
    assert int(count.replace(",", "")) > 100


def test_a_target_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    done = fuzz("--seconds", "4", "--only", "nothing")
    assert done.returncode == 2
    assert "queue-entries" in done.stderr
