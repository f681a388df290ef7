"""Cut the network between a daemon and its group's server, in a network namespace of their own.

Run as `unshare ... python -m tests.support.cut_network FOLDER`; prints what was seen as JSON. The
server listens on the loopback of the namespace, whose interface can be taken down under it.
"""

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mash_plugin.errors import MashError
from tests.support.daemons import Place, event
from tests.support.groups import Group, running_group, running_server
from tests.support.published import Node

NOBODY = "10.99.0.2"
"""An address of the network at hand that nobody has: it is asked for, and does not answer."""
HOOKS = 8
Json = dict[str, Any]


def main(folder: Path) -> Json:
    """What a node sees before, while and after its network is cut."""
    ip("link", "set", "lo", "up")
    ip("link", "add", "wire", "type", "veth", "peer", "name", "end")
    ip("addr", "add", "10.99.0.1/24", "dev", "wire")
    ip("link", "set", "wire", "up")
    ip("link", "set", "end", "up")
    resolver = folder / "resolv.conf"
    resolver.write_text(f"nameserver {NOBODY}\n")
    subprocess.run(["mount", "--bind", str(resolver), "/etc/resolv.conf"], check=True)
    with (
        running_server(listen_addresses="127.0.0.1") as server,
        running_group(server, folder / "group", "anna") as group,
    ):
        with group.connect("anna") as connection:
            Node(connection, "node-a").put("r1")
        place = Place(folder / "home")
        place.start()
        try:
            return seen(place, group, group.dsns["anna"].replace(str(server.folder), "127.0.0.1"))
        finally:
            place.close()


def seen(place: Place, group: Group, dsn: str) -> Json:
    """The answers to a shared list, and how long hooks took beside them."""
    file = group.folder / "node.dsn"
    file.touch(0o600)
    file.write_text(dsn)
    config = Path(place.paths.config_file)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[group]\ndsn_file = "{file}"\n')
    told: Json = {"before": ask(place), "hooks before": hooks(place)}
    ip("link", "set", "lo", "down")
    told["kept connection"] = ask(place)
    told["new connection"] = ask(place)
    with asked_all_the_while(place):
        told["hooks meanwhile"] = hooks(place)
        told["local list meanwhile"] = ask(place, {})
    for name, host in (("nobody", NOBODY), ("no names", "db.example.test")):
        file.write_text(dsn.replace("127.0.0.1", host))
        told[name] = ask(place)
    file.write_text(dsn)
    ip("link", "set", "lo", "up")
    return told | {"after": ask(place)}


def ask(place: Place, request: Json | None = None) -> Json:
    """What a list answers, and after how long."""
    began = time.monotonic()
    try:
        page = place.call("list_records", {"shared": True} if request is None else request)
        answer = {"records": len(page["records"])}
    except MashError as error:
        answer = error.as_json()
    return answer | {"seconds": time.monotonic() - began}


def hooks(place: Place) -> Json:
    """How long hooks take from their start to their end."""
    sessions = [f"s-{time.monotonic_ns()}" for _ in range(HOOKS)]
    starts = [event("SessionStart", source="startup", session_id=one) for one in sessions]
    ran = [place.hook("session-start", start) for start in starts]
    return {
        "answered": sum(one.is_harmless() and bool(one.out) for one in ran),
        "median": statistics.median(one.seconds for one in ran),
    }


@contextmanager
def asked_all_the_while(place: Place) -> Iterator[None]:
    """Others ask the group without pause."""
    is_over = threading.Event()

    def keep_asking() -> None:
        while not is_over.is_set():
            ask(place)

    threads = [threading.Thread(target=keep_asking) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
