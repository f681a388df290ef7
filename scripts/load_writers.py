"""Clients that save records for as long as they are told; a process of its own.

usage: load_writers.py HOME WRITERS SECONDS EVERY   (prints a JSON object at the end)
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from bench_saving import change

from mash_plugin import client
from mash_plugin.errors import MashError
from mash_plugin.paths import find_paths


def main() -> None:
    """Save until the time is over; tell how long each save took and what failed."""
    home, writers, seconds, every = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:5])
    paths = find_paths({"MASH_HOME": home, "HOME": home, "MASH_TESTING": "1"})
    until = time.monotonic() + seconds
    acknowledged: list[str] = []
    took_ms: list[float] = []
    failures: list[str] = []

    def write(writer: int) -> None:
        time.sleep(every * writer / writers)
        for number in count():
            begin = time.monotonic()
            if begin >= until:
                return
            asked = change(number, f"load {writer}")
            try:
                done = client.call("record", asked, paths=paths, start=False)
                acknowledged.append(done["id"])
            except (MashError, OSError) as error:
                failures.append(f"{type(error).__name__}: {error}")
            took_ms.append((time.monotonic() - begin) * 1000)
            time.sleep(max(0.0, begin + every - time.monotonic()))

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    print(json.dumps({"acknowledged": acknowledged, "ms": took_ms, "failures": failures}))


if __name__ == "__main__":
    main()
