"""Saving records end to end: over MCP one after the other, and from many writers at once."""

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench_data import typed_line
from bench_place import IDENTITY, Place
from bench_table import Line
from bench_timing import percentile

from mash_plugin import client
from mash_plugin.paths import Paths, find_paths
from mash_plugin.records.model import Scope

RECORDS, SCOPES = 100_000, 100
WORDS = "From now on always run the linter before a commit."
SESSION = str(uuid.UUID(int=77, version=4))
EVIDENCE = [{"session_id": SESSION, "quote": WORDS, "purpose": "endorsement"}]
"""Cited by session, as agents do: each save looks whether the transcript has grown."""


def save(place: Place, rounds: int) -> Iterator[Line]:
    """`record` end to end in a store of 100,000 records: one agent, then sixteen writers."""
    with filled_home(place) as environment:
        times = saved_over_mcp(place, environment, max(rounds, 20) * 10)
        note = f"median {median(times):.2f} ms of {len(times)}"
        yield Line("record over MCP, 100,000 records, p99", percentile(times, 0.99), "ms", 50, note)
        speed = writes_a_second(environment, writers=16, each=max(rounds, 20) * 2)
        note = f"store of {store_bytes(environment) / 1e6:.0f} MB"
        yield Line(
            "durable writes a second, 16 writers", speed, "1/s", None, note, 200, "short/saves"
        )


@contextmanager
def filled_home(place: Place) -> Iterator[dict[str, str]]:
    """The environment of a home with 100,000 records and one running session."""
    home = place.root / "saving"
    (home / "data").mkdir(parents=True, mode=0o700)
    folder = home / "claude" / "projects" / "bench"
    folder.mkdir(parents=True)
    lines = [typed_line(SESSION, str(place.project), f"What now? ({n})", n) for n in range(500)]
    lines.append(typed_line(SESSION, str(place.project), WORDS, 500))
    (folder / f"{SESSION}.jsonl").write_bytes(b"".join(lines))
    (home / "config.toml").write_text(f'[chats.roots]\nclaude = ["{home / "claude"}"]\n')
    environment = {**place.env, "MASH_HOME": str(home)}
    scopes = [Scope("repository", f"{IDENTITY}-{number}") for number in range(1, SCOPES)]
    place.fill_records(paths_of(environment), [Scope("repository", IDENTITY), *scopes], RECORDS)
    daemon = [place.python, "-m", "mash_plugin", "daemon"]
    subprocess.run([*daemon, "start"], env=environment, cwd=home, check=True, capture_output=True)
    try:
        yield environment
    finally:
        subprocess.run([*daemon, "stop"], env=environment, cwd=home, capture_output=True)


def paths_of(environment: dict[str, str]) -> Paths:
    return find_paths(environment)


def change(number: int, who: str) -> dict[str, Any]:
    """A preference that nobody has saved yet."""
    body = {
        "statement": f"Always run the linter before commit {number} ({who}).",
        "review": "established",
        "details": {"kind": "preference", "state": "active"},
    }
    scope = {"kind": "repository", "identity": IDENTITY}
    create = {"action": "create", "scope": scope, "body": body, "evidence": EVIDENCE}
    return {"operation_id": f"{who} {number}", "change": create}


def saved_over_mcp(place: Place, environment: dict[str, str], count: int) -> list[float]:
    """Milliseconds of each `record` from the request's first byte to its answer's last."""
    process = subprocess.Popen(
        [place.python, "-m", "mash_plugin", "mcp"],
        cwd=place.project,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about["clientInfo"] = {"name": "bench", "version": "1"}
    try:
        _ask(process, {"id": 0, "method": "initialize", "params": about})
        _send(process, {"method": "notifications/initialized"})
        times = []
        for number in range(1, count + 1):
            params = {"name": "record", "arguments": change(number, "mcp")}
            begin = time.perf_counter()
            answer = _ask(process, {"id": number, "method": "tools/call", "params": params})
            times.append((time.perf_counter() - begin) * 1000)
            assert not answer["result"]["isError"], answer
    finally:
        process.kill()
        process.communicate()
    return times[count // 10 :]  # the first ones warm the daemon up


def writes_a_second(environment: dict[str, str], writers: int, each: int) -> float:
    """Changes acknowledged, each of them on disk, to this many clients that never pause."""
    paths = paths_of(environment)

    def write(writer: int) -> None:
        for number in range(each):
            client.call("record", change(number, f"writer {writer}"), paths=paths, start=False)

    with ThreadPoolExecutor(writers) as pool:
        begin = time.perf_counter()
        list(pool.map(write, range(writers)))
        return writers * each / (time.perf_counter() - begin)


def store_bytes(environment: dict[str, str]) -> int:
    """How large the store is that was written to."""
    return Path(paths_of(environment).store).stat().st_size


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _ask(process: subprocess.Popen[bytes], message: dict[str, Any]) -> dict[str, Any]:
    _send(process, message)
    assert process.stdout
    while True:
        answer = json.loads(process.stdout.readline())
        if answer.get("id") == message["id"]:
            return dict(answer)
