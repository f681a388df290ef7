"""How soon `mash mcp` answers, and who pays for its library."""

import json
import pkgutil
import subprocess
import time
from collections.abc import Iterator
from statistics import median

from bench_place import Place
from bench_table import Line
from bench_timing import time_process

import mash_plugin

SERVERS = ("mash_plugin.mcp_server", "mash_plugin.throughline.server", "mash_plugin.__main__")


def mcp(place: Place, _rounds: int) -> Iterator[Line]:
    """`mash mcp` from its start to the answer of tools/list; and who imports the SDK."""
    place.start_daemon()
    times = [first_tools_list(place) for _ in range(5)]
    yield Line("mash mcp, start to first tools/list, median", median(times), "s")
    floor = median(time_process(place.floor(), b"", place.env)[0] for _ in range(5))
    yield Line("mash mcp, the same / bare interpreter", median(times) / floor, "x")
    names = [
        name
        for _, name, _ in pkgutil.walk_packages(mash_plugin.__path__, "mash_plugin.")
        if name not in SERVERS and not name.startswith("mash_plugin.daemon.__main__")
    ]
    code = f"import sys\nfor name in {names!r}: __import__(name)\nprint(int('mcp' in sys.modules))"
    done = subprocess.run(
        [place.python, "-c", code], capture_output=True, text=True, check=True, cwd=place.root
    )
    yield Line("other modules that import the SDK", float(done.stdout), "", 0)


def first_tools_list(place: Place) -> float:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about["clientInfo"] = {"name": "bench", "version": "1"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [place.python, "-m", "mash_plugin", "mcp"],
        cwd=place.root,
        env=place.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        if message.get("id") == 1:
            process.stdout.readline()
    answer = json.loads(process.stdout.readline())
    seconds = time.perf_counter() - begin
    assert answer["result"]["tools"]
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    return seconds
