"""Paired, interleaved timing: only ratios mean anything on a busy machine."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

PIPE_BYTES = 60_000


def time_process(
    command: list[str],
    stdin: bytes,
    env: Mapping[str, str],
    cwd: Path | None = None,
    *,
    hold_stdin: bool = False,
) -> tuple[float, bytes]:
    """Wall seconds of one process and what it printed; its stdin is a pipe, as hosts give it."""
    assert len(stdin) < PIPE_BYTES
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    os.write(write_in, stdin)
    if not hold_stdin:
        os.close(write_in)
    actions = [
        (os.POSIX_SPAWN_DUP2, read_in, 0),
        (os.POSIX_SPAWN_DUP2, write_out, 1),
    ]
    before = os.getcwd()
    if cwd is not None:
        os.chdir(cwd)
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, dict(env), file_actions=actions)
    _, status = os.waitpid(pid, 0)
    seconds = time.perf_counter() - begin
    os.chdir(before)
    os.close(write_out)
    os.close(read_in)
    if hold_stdin:
        os.close(write_in)
    printed = os.read(read_out, PIPE_BYTES)
    os.close(read_out)
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return seconds, printed


def paired_ratio(
    rounds: int, floor: Callable[[int], float], measured: Callable[[int], float]
) -> float:
    """Median over the rounds of measured / floor, the two run one right after the other."""
    ratios = []
    for number in range(rounds):
        if number % 2:
            over = measured(number)
            under = floor(number)
        else:
            under = floor(number)
            over = measured(number)
        ratios.append(over / under)
    return median(ratios)


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def resident_mb(pid: int) -> float:
    """Resident memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has gone")


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have taken of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
