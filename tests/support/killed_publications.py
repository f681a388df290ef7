"""Three members who publish from daemons of their own, while daemons and the server are killed."""

import os
import random
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mash_plugin.errors import MashError
from tests.support.daemons import Place
from tests.support.groups import Group, Server
from tests.support.polling import eventually
from tests.support.transcripts import ClaudeTranscript, write_repository
from tests.support.warm_starts import run_mash

SHOP = "github.com/acme/shop"
MEMBERS = ("anna", "bob", "carla")
SAID = "We decide it here, one by one."
FAILPOINTS = ("publishing_before_commit", "published_before_noted")
SERVER_IN = 4
"""One kill in so many is the server's."""
TABLES = ("pub_records", "pub_revisions", "pub_evidence", "pub_confirmations", "pub_links")
Json = dict[str, Any]


class Member:
    """One home with its own login and daemon, and what its records should be."""

    def __init__(self, folder: Path, group: Group, name: str) -> None:
        self.name = name
        self.place = Place(folder)
        self.expected: dict[str, tuple[int, str]] = {}
        """Record → its newest revision, and what that says."""
        self.forgotten: list[str] = []
        project = folder / "work" / "shop"
        write_repository(project, f"git@{SHOP.replace('/', ':', 1)}.git")
        claude = self.place.home / ".claude"
        self.session = f"{name}-1"
        ClaudeTranscript(claude, str(project), self.session).person(SAID)
        self.environment = {"CLAUDE_CONFIG_DIR": str(claude)}
        self.configure(group)

    def configure(self, group: Group, more: str = 'publish = "all"') -> None:
        """Join as `mash group join` does."""
        config = Path(self.place.paths.config_file)
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[group]\ndsn_file = "{group.dsn_file(self.name)}"\n{more}\n')

    def start(self, *options: str, **environment: str) -> None:
        """A daemon, unless one serves; nothing is published before it has read its chats."""
        if not self.place.is_served():
            self.place.start(*options, **self.environment, **environment)
            self.place.index()

    def mash(self, *words: str, answer: str = "") -> "subprocess.CompletedProcess[str]":
        """One command of this member, with this standard input."""
        environment = self.place.environment | self.environment
        return run_mash(words, Path("/"), environment, answer)

    def kill(self) -> None:
        """End the daemon at once."""
        for child in self.place.children:
            child.kill()
            child.wait()

    def restart(self, **environment: str) -> None:
        self.kill()
        self.start(**environment)

    def save(self, statement: str, **change: Any) -> Json:
        """One change, under one operation ID however often the daemon dies meanwhile."""
        details = {"kind": "decision", "state": "proposed"}
        cited = [{"session_id": self.session, "quote": SAID}]
        change = {"body": {"statement": statement, "details": details}, "evidence": cited} | change
        return self.record(change)

    def record(self, change: Json) -> Json:
        request = {"operation_id": uuid.uuid4().hex, "change": change}
        end = time.monotonic() + 60
        while True:
            try:
                receipt: Json = self.place.call("record", request, start=False)
                return receipt
            except MashError as error:
                if error.code != "daemon_unavailable" or time.monotonic() > end:
                    raise
                self.start()

    def create(self, statement: str) -> None:
        scope = {"kind": "repository", "identity": SHOP}
        made = self.save(statement, action="create", scope=scope)
        self.expected[made["id"]] = (1, statement)

    def change(self, chance: random.Random, number: int) -> None:
        """Create, revise or forget a record."""
        statement = f"Number {number} of {self.name}, {chance.getrandbits(40):x}."
        what = chance.choice(("create", "create", "revise", "forget")) if self.expected else ""
        if what not in ("revise", "forget"):
            return self.create(statement)
        record_id = chance.choice(sorted(self.expected))
        revision, before = self.expected[record_id]
        at = {"id": record_id, "revision": revision}
        if what == "revise":
            self.save(statement, action="revise", expected=at)
            self.expected[record_id] = (revision + 1, statement)
        else:
            self.record({"action": "forget", "expected": at})
            del self.expected[record_id]
            self.forgotten.append(before)
        return None

    def begin_to_publish(self) -> None:
        """Make it due at once, whatever comes of it."""
        with suppress(MashError):
            self.place.call("publish_now", {}, start=False)

    def settle(self) -> Json:
        """Publish until nothing waits; the status."""
        self.start()
        self.begin_to_publish()

        def settled() -> Json | None:
            told: Json = self.place.call("publication_status", start=False)
            done = not told["waiting"] and not told["running"] and not told["last_failure"]
            return told if done and told["attempts"]["ended"] else None

        return eventually(settled, f"{self.name} has not published")


@contextmanager
def three_members(folder: Path, group: Group) -> Iterator[list[Member]]:
    """Their homes, each with a daemon; all is gone afterwards."""
    members = [Member(folder / name, group, name) for name in MEMBERS]
    try:
        for member in members:
            member.start()
        yield members
    finally:
        for member in members:
            member.place.close()


def kill_publications(
    folder: Path, server: Server, group: Group, kills: int, chance: random.Random
) -> Counter[str]:
    """How often what was killed; raises where the group ends with anything but what it should."""
    found: Counter[str] = Counter()
    with three_members(folder, group) as members:
        for number in range(kills):
            member = members[number % len(members)]
            point = FAILPOINTS[number // 2 % 2] if number % 2 else None
            if point:
                member.restart(MASH_FAILPOINT=f"{point}:kill")
            for _ in range(chance.randint(1, 4)):
                member.change(chance, number)
            member.create(f"The last of {number}.")  # a forgotten one may leave nothing to publish
            member.begin_to_publish()
            if not point:
                time.sleep(chance.uniform(0, 0.05))
            if number % SERVER_IN == 0:
                kill_server(server)
                server.start()
                found["kills of the server"] += 1
            else:
                if point:
                    eventually(lambda: not member.place.is_served(), "it did not die there")  # noqa: B023
                member.restart()
                found[f"kills of a daemon {point or 'at a random moment'}"] += 1
        for member in members:
            member.settle()
            check(group, member)
    found["records published"] = sum(len(member.expected) for member in members)
    found["records forgotten"] = sum(len(member.forgotten) for member in members)
    return found


def check(group: Group, member: Member) -> None:
    """Each record's newest revision is there exactly once, and nothing of forgotten ones."""
    node = {"name": group.roles.login(member.name)}
    found = _rows(
        group,
        "SELECT r.record_id, r.head_revision, v.statement FROM pub_records r"
        " JOIN pub_revisions v USING (scope_value, node_id, record_id)"
        " WHERE v.revision = r.head_revision AND node_id IN"
        " (SELECT node_id FROM nodes WHERE role_name = %s)",
        node["name"],
    )
    wanted = sorted((one, *newest) for one, newest in member.expected.items())
    assert sorted(found) == wanted, f"{member.name}: {sorted(found)} instead of {wanted}"
    everything = "\n".join(str(_rows(group, f"TABLE {table}")) for table in TABLES)
    left = [text for text in member.forgotten if text in everything]
    assert not left, f"{member.name}: {left} is forgotten and still there"


def kill_server(server: Server) -> None:
    """End every process of the server at once, as a power cut does."""
    assert server.process is not None
    children = _children_of(server.process.pid)
    for pid in (server.process.pid, *children):
        with suppress(ProcessLookupError):
            os.kill(pid, 9)
    server.process.wait(30)
    # It does not start while a process holds its shared memory.
    eventually(lambda: not any(map(_is_alive, children)), "a process of the server lives on")
    (server.folder / "data" / "postmaster.pid").unlink(missing_ok=True)


def _rows(group: Group, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    return group.run(sql, *parameters)


def _children_of(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(status.parent.name))
    return found


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
