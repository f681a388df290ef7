"""What members read of each other's copies, on a real server: lists over nodes, and one copy."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from mash_plugin.errors import (
    InvalidCursor,
    NotFound,
    RecordsDisabled,
    SharedAuthFailed,
    SharedNotConfigured,
)
from mash_plugin.group.kept import KeptGroup
from mash_plugin.group.reads import list_shared
from mash_plugin.group.whole import get_shared
from mash_plugin.protocol import validate
from mash_plugin.protocol.results import RESULTS
from mash_plugin.records.budget import size_of
from tests.conftest import NOW, SHOP, Memory
from tests.support.groups import Group, Server, running_group
from tests.support.published import Node

pytestmark = pytest.mark.slow

Json = dict[str, Any]
REPOSITORY = {"kind": "repository", "identity": SHOP}


class Reader:
    """A member who reads, and others who publish."""

    def __init__(self, group: Group, memory: Memory) -> None:
        self.group = group
        self.memory = memory
        self.kept = KeptGroup(os.environ)
        self.read_as("carol")

    def read_as(self, member: str) -> None:
        self.memory.set(**self.group.settings(member)._asdict())

    def page(self, **request: Any) -> Json:
        call = self.memory.call._replace(now=self.memory.clock.now)
        page = list_shared(call, self.kept, validate("list_records", {"shared": True, **request}))
        RESULTS["list_records"].model_validate(page)
        return page

    def pages(self, **request: Any) -> list[Json]:
        """Every page, as the cursors lead from one to the next."""
        pages = [self.page(**request)]
        while pages[-1]["next_cursor"] is not None:
            assert pages[-1]["more"] is True
            pages.append(self.page(**request, cursor=pages[-1]["next_cursor"]))
            assert len(pages) < 500
        return pages

    def all(self, **request: Any) -> list[Json]:
        return [item for page in self.pages(**request) for item in page["records"]]

    def ids(self, **request: Any) -> list[str]:
        return [item["id"] for item in self.all(**request)]

    def get(self, node_id: str, record_id: str, **request: Any) -> Json:
        call = self.memory.call._replace(now=self.memory.clock.now)
        asked = validate("get_record", {"id": record_id, "node_id": node_id, **request})
        page = get_shared(call, self.kept, asked)
        RESULTS["get_record"].model_validate(page)
        return page


@pytest.fixture
def reader(group: Group, memory: Memory) -> Iterator[Reader]:
    made = Reader(group, memory)
    yield made
    made.kept.close()


@pytest.fixture
def alice(group: Group) -> Iterator[Node]:
    with group.connect("alice") as connection:
        yield Node(connection, "node-a")


@pytest.fixture
def bob(group: Group) -> Iterator[Node]:
    with group.connect("bob") as connection:
        yield Node(connection, "node-b")


@pytest.fixture
def dan(group: Group) -> Iterator[Node]:
    with group.connect("dan") as connection:
        yield Node(connection, "node-d")


@pytest.fixture(scope="module")
def filled(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    """A group with something for each filter, which is only read."""
    with running_group(postgres, tmp_path_factory.mktemp("filled"), "alice", "carol") as group:
        with group.connect("alice") as connection:
            alice = Node(connection, "node-a")
            alice.put("d1", revisions=2)
            alice.cite("d1", "Yes.", chat_id="claude-code-s-9")  # of its first revision
            alice.put("c1", review="candidate")
            alice.put("w1", state="withdrawn")
            alice.put("o1", scope=("repository", "github.com/acme/other"))
            alice.put("p1", kind="preference", state="active", scope=("personal", ""))
            fact = {"kind": "fact", "state": "current", "reported_by": "the log"}
            alice.put("f1", scope=("chat", "claude-code-s-7"), **fact)
        yield group


@pytest.mark.spec("R-167", "R-168", "R-012")
def test_equal_statements_of_two_owners_are_two_items(
    reader: Reader, alice: Node, bob: Node
) -> None:
    alice.put("r1", "Use Qdrant.")
    bob.put("r2", "Use Qdrant.")
    found = [(i["id"], i["owner"], i["node_id"], i["statement"]) for i in reader.all()]
    assert found == [
        ("r1", "alice", "node-a", "Use Qdrant."),
        ("r2", "bob", "node-b", "Use Qdrant."),
    ]


@pytest.mark.row(67)
def test_what_others_established_is_not_called_so_for_the_reader(
    reader: Reader, alice: Node
) -> None:
    alice.put("r1")
    alice.put("r2", review="candidate", recorded_at=NOW - 1)
    labels = [item["label"] for item in reader.all(include_inactive=True)]
    assert labels == [
        "established by alice, not by this person",
        "from alice, not from this person; unconfirmed",
    ]
    reader.read_as("alice")
    assert "label" not in reader.all()[0]


@pytest.mark.spec("R-169")
def test_a_node_selects_its_own_records(reader: Reader, alice: Node, bob: Node) -> None:
    alice.put("r1")
    bob.put("r2")
    assert reader.ids(node_id="node-b") == ["r2"]
    with pytest.raises(NotFound, match="No node 'node-x' publishes"):
        reader.page(node_id="node-x")


@pytest.mark.spec("R-170", "R-093")
def test_a_node_with_inactive_records_alone_is_an_empty_page(
    reader: Reader, alice: Node, bob: Node, dan: Node
) -> None:
    alice.put("r1")
    bob.put("r2", state="withdrawn")
    dan.put("r3")
    pages = [[item["id"] for item in page["records"]] for page in reader.pages()]
    assert pages == [["r1"], [], ["r3"]]
    assert reader.ids(include_inactive=True) == ["r1", "r2", "r3"]


@pytest.mark.spec("R-170", "R-098")
def test_each_record_comes_once_whatever_the_size_of_pages(
    reader: Reader, alice: Node, bob: Node
) -> None:
    wanted = []
    for node, first in ((alice, 0), (bob, 100)):
        for number in range(23):  # three of each moment, so that IDs decide
            node.put(f"r{first + number:03}", recorded_at=NOW - number // 3)
            wanted.append(f"r{first + number:03}")
    for limit in (1, 3, 7, 50):
        assert reader.ids(limit=limit) == wanted
        assert reader.ids(limit=limit, scope=REPOSITORY) == wanted


@pytest.mark.spec("R-098")
def test_a_page_holds_no_more_bytes_than_local_ones(reader: Reader, alice: Node) -> None:
    for number in range(6):
        alice.put(f"r{number}", "ü" * 2000, alternatives=["ü" * 500] * 16)
    pages = reader.pages(limit=50)
    assert all(size_of(page) <= 32_768 for page in pages)
    assert [len(page["records"]) for page in pages] == [1] * 6


@pytest.mark.spec("R-095", "R-096", "R-099")
@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"kind": "fact"}, ["f1"]),
        ({"kind": "preference"}, ["p1"]),
        ({"review": "candidate", "include_inactive": True}, ["c1"]),
        ({"review": "candidate"}, []),
        ({"state": "withdrawn", "include_inactive": True}, ["w1"]),
        ({"state": "withdrawn"}, []),
        ({"kind": "fact", "state": "accepted"}, []),
        ({"scope": {"kind": "repository", "identity": "github.com/acme/other"}}, ["o1"]),
        ({"scope": {"kind": "personal"}}, ["p1"]),
        ({"scope": {"kind": "chat", "id": "claude-code-s-7"}}, ["f1"]),
        ({"chat": "claude-code-s-9"}, ["d1"]),
        ({"chat": "claude-code-s-9", "kind": "fact"}, []),
        ({"chat": "claude-code-s-9", "scope": {"kind": "personal"}}, []),
        ({"chat": "claude-code-s-8", "scope": REPOSITORY}, []),
    ],
)
def test_filters_are_those_of_local_lists(
    filled: Group, memory: Memory, filters: Json, wanted: list[str]
) -> None:
    reader = Reader(filled, memory)
    try:
        assert sorted(reader.ids(**filters)) == wanted
    finally:
        reader.kept.close()


@pytest.mark.spec("R-099")
def test_a_cursor_goes_with_its_filters_alone(reader: Reader, alice: Node) -> None:
    alice.put("r1")
    alice.put("r2")
    cursor = reader.page(limit=1)["next_cursor"]
    with pytest.raises(InvalidCursor):
        reader.page(limit=1, cursor=cursor, kind="decision")
    assert [i["id"] for i in reader.page(cursor=cursor)["records"]] == ["r2"]


@pytest.mark.spec("R-170")
def test_records_that_come_and_go_shift_no_page(reader: Reader, alice: Node, bob: Node) -> None:
    for number in range(4):
        alice.put(f"r{number}", recorded_at=NOW - number)
    bob.put("r9")
    first = reader.page(limit=2)
    alice.remove("r1")
    alice.put("newest", recorded_at=NOW + 1)
    second = reader.page(limit=2, cursor=first["next_cursor"])
    assert [i["id"] for i in second["records"]] == ["r2", "r3"]
    bob.connection.execute("DELETE FROM nodes WHERE node_id = 'node-b'")
    assert reader.page(cursor=second["next_cursor"]) == {"records": [], "next_cursor": None}


@pytest.mark.spec("R-171", "R-101", "R-103")
def test_a_copy_is_read_with_its_history_evidence_and_links(reader: Reader, alice: Node) -> None:
    alice.put("r1", "Use Qdrant.", revisions=3, confirmations=1)
    alice.put("r2", "Use Chroma.", state="superseded")
    alice.cite("r1", "Yes, let's use Qdrant.", revision=3)
    alice.cite("r1", "Keep it.", revision=3, position=2, added_by="confirmation")
    alice.confirm("r1", "m2", NOW + 5, revision=3)
    alice.link("r1", "supersedes", "r2")
    alice.link("r1", "supports", "unpublished")
    whole = reader.get("node-a", "r1", history=True)
    assert [r["revision"] for r in whole["revisions"]] == [3, 2, 1]
    head = whole["revisions"][0]
    assert [e["quote"] for e in head["evidence"]] == ["Yes, let's use Qdrant.", "Keep it."]
    assert head["confirmation_history"] == [{"message_id": "m2", "confirmed_at": NOW + 5}]
    assert whole["record"]["owner"] == "alice"
    [link] = whole["links"]
    assert (link["direction"], link["id"], link["statement"]) == ("outgoing", "r2", "Use Chroma.")
    assert link["active"] is False
    back = reader.get("node-a", "r2")
    assert [r["revision"] for r in back["revisions"]] == [1]
    assert back["links"][0]["direction"] == "incoming"


@pytest.mark.spec("R-171", "R-104", "R-105", "R-106")
def test_history_and_links_of_a_copy_come_in_pages(reader: Reader, alice: Node) -> None:
    alice.put("r1", revisions=19)
    for number in range(140):
        alice.put(f"o{number}", "x")
        alice.link("r1", "supports", f"o{number}", NOW + number)
    seen, before = [], None
    while True:
        more = {} if before is None else {"before_revision": before}
        page = reader.get("node-a", "r1", history=True, **more)
        seen.append([r["revision"] for r in page["revisions"]])
        before = page["next_before_revision"]
        if before is None:
            break
    assert seen == [[*range(19, 11, -1)], [*range(11, 3, -1)], [3, 2, 1]]
    links, start = [], 0
    while start is not None:
        page = reader.get("node-a", "r1", link_offset=start)
        assert size_of(page) <= 32_768
        links += [link["id"] for link in page["links"]]
        start = page["next_link_offset"]
    assert links == [f"o{number}" for number in range(140)]


@pytest.mark.spec("R-171", "R-174")
def test_a_copy_that_is_not_there_is_not_found(reader: Reader, alice: Node) -> None:
    alice.put("r1")
    for node, record in (("node-a", "r2"), ("node-x", "r1")):
        with pytest.raises(NotFound, match="list_records with shared: true"):
            reader.get(node, record)
    alice.remove("r1")
    with pytest.raises(NotFound, match="may have removed it"):
        reader.get("node-a", "r1")


def test_contradictions_among_copies_in_force_are_told(reader: Reader, alice: Node) -> None:
    alice.put("r1")
    alice.put("r2")
    alice.put("r3", state="withdrawn")
    alice.put("r4")
    alice.link("r1", "contradicts", "r2")
    alice.link("r4", "contradicts", "r3")
    conflicted = {i["id"]: i.get("conflicted", False) for i in reader.all()}
    assert conflicted == {"r1": True, "r2": True, "r4": False}


@pytest.mark.spec("R-172", "R-173")
def test_nothing_is_read_without_a_group_or_a_membership(reader: Reader, alice: Node) -> None:
    alice.put("r1")
    reader.memory.set(group_dsn_file=None)
    with pytest.raises(SharedNotConfigured, match="mash group join"):
        reader.page()
    reader.read_as("carol")
    reader.group.remove("carol")
    with pytest.raises(SharedAuthFailed):
        reader.page()


def test_a_project_that_is_left_out_is_left_out_of_shared_lists(
    reader: Reader, alice: Node
) -> None:
    alice.put("r1")
    alice.put("r2", scope=("repository", "github.com/acme/other"))
    reader.memory.set(deny=(SHOP,))
    assert reader.ids() == ["r2"]
    with pytest.raises(RecordsDisabled):
        reader.page(scope=REPOSITORY)
    with pytest.raises(RecordsDisabled):
        reader.get("node-a", "r1")
