"""The golden examples of shared reads, sent by the official client to three nodes' `mash mcp`."""

import json
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.test_golden import REPOSITORY, Shop, Tools
from tests.support.daemons import Place
from tests.support.groups import Group
from tests.support.polling import eventually
from tests.support.warm_starts import run_mash

pytestmark = pytest.mark.slow

Json = dict[str, Any]
SHARED = {"shared": True}


class Member(Shop):
    """A node of the group: a home with its own daemon and login."""

    def __init__(self, root: Path, group: Group, name: str) -> None:
        place = Place(root / name)
        config = Path(place.paths.config_file)
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[group]\ndsn_file = "{group.dsn_file(name)}"\n')
        place.start()
        super().__init__(place)
        self.place.index()

    def publish(self) -> None:
        attempt = self.place.call("publish_now")["attempt"]
        eventually(
            lambda: self.place.call("publication_status")["attempts"]["ended"] >= attempt,
            "nothing is published",
        )

    def save(self, statement: str) -> Json:
        """Establish a decision and publish it."""
        receipt: Json = self.place.call("record", self.decision(statement))
        self.publish()
        return receipt

    def mash(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return run_mash(arguments, self.place.root, self.place.environment)


class Nodes:
    """Three members' nodes, each started when it is first asked for."""

    def __init__(self, root: Path, group: Group) -> None:
        self.group = group
        self._root = root
        self._started: list[Member] = []

    @cached_property
    def anna(self) -> Member:
        return self._start("anna")

    @cached_property
    def bob(self) -> Member:
        return self._start("bob")

    @cached_property
    def carol(self) -> Member:
        return self._start("carol")

    def _start(self, name: str) -> Member:
        self._started.append(Member(self._root, self.group, name))
        return self._started[-1]

    def close(self) -> None:
        for member in self._started:
            member.place.close()


@pytest.fixture
def nodes(tmp_path: Path, group: Group) -> Iterator[Nodes]:
    made = Nodes(tmp_path / "homes", group)
    yield made
    made.close()


async def every_page(call: Tools, **request: Any) -> list[list[Json]]:
    pages, cursor = [], None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = await call("list_records", {**SHARED, **request, **more})
        pages.append(page["records"])
        cursor = page["next_cursor"]
        assert "next_offset" not in page
        if cursor is None:
            return pages


async def refusal(call: Tools, tool: str, arguments: Json) -> Json:
    result = await call.session.call_tool(tool, arguments)
    assert result.is_error
    error: Json = result.structured_content["error"]
    return error


@pytest.mark.spec("R-167", "R-168", "R-169", "R-171", "R-172")
def test_a_third_node_lists_and_reads_what_two_have_published(nodes: Nodes) -> None:
    anna = nodes.anna.save("Use Qdrant for local search.")
    bob = nodes.bob.save("Use Qdrant for local search.")

    async def say(call: Tools) -> None:
        records = [one for page in await every_page(call, scope=REPOSITORY) for one in page]
        assert {(one["owner"], one["id"]) for one in records} == {
            ("anna", anna["id"]),
            ("bob", bob["id"]),
        }
        assert {one["label"] for one in records} == {
            "established by anna, not by this person",
            "established by bob, not by this person",
        }
        [his] = [one for one in records if one["owner"] == "bob"]
        [[alone]] = await every_page(call, node_id=his["node_id"])
        assert alone == his
        whole = await call("get_record", {"id": his["id"], "node_id": his["node_id"]})
        assert whole["record"] == his
        [citation] = whole["revisions"][0]["evidence"]
        assert citation["quote"] == "Yes, let's use Qdrant."
        missing = await refusal(call, "get_record", {"id": his["id"]})
        assert missing["code"] == "not_found"
        assert (await call("list_records", {}))["records"] == []

    nodes.carol.talk(say)


@pytest.mark.spec("R-170", "R-099")
def test_cursors_lead_through_the_nodes_and_keep_their_filters(nodes: Nodes) -> None:
    saved = [m.save(f"{n}.") for m in (nodes.anna, nodes.bob) for n in ("One", "Two")]

    async def say(call: Tools) -> None:
        pages = await every_page(call, limit=1)
        assert [len(page) for page in pages] == [1, 1, 1, 1]
        found = [one for page in pages for one in page]
        assert {one["id"] for one in found} == {one["id"] for one in saved}
        assert [one["node_id"] for one in found] == sorted(one["node_id"] for one in found)
        first = await call("list_records", {**SHARED, "limit": 1})
        assert first["more"] is True
        other = {**SHARED, "kind": "fact", "cursor": first["next_cursor"]}
        assert (await refusal(call, "list_records", other))["code"] == "invalid_cursor"
        for wrong in ({"node_id": "n"}, {**SHARED, "offset": 20}):
            assert (await refusal(call, "list_records", wrong))["code"] == "invalid_argument"

    nodes.carol.talk(say)


@pytest.mark.spec("R-174")
def test_a_copy_is_edited_on_its_own_node_alone_and_follows(nodes: Nodes) -> None:
    made = nodes.anna.save("Use Qdrant.")
    change = nodes.anna.decision("Use Chroma.")
    change["change"]["action"] = "revise"
    del change["change"]["scope"]
    change["change"]["expected"] = {"id": made["id"], "revision": 1}

    async def say(call: Tools) -> None:
        [[listed]] = await every_page(call)
        assert (await refusal(call, "record", change))["code"] == "not_found"
        nodes.anna.place.call("record", change)
        nodes.anna.publish()
        [[revised]] = await every_page(call)
        assert (revised["statement"], revised["revision"]) == ("Use Chroma.", 2)
        asked = {"id": made["id"], "node_id": listed["node_id"], "history": True}
        whole = await call("get_record", asked)
        said = [one["body"]["statement"] for one in whole["revisions"]]
        assert said == ["Use Chroma.", "Use Qdrant."]
        forget = {"action": "forget", "id": made["id"], "revision": 2}
        nodes.anna.place.call("terminal_change", forget)
        nodes.anna.publish()
        assert await every_page(call) == [[]]

    nodes.carol.talk(say)


@pytest.mark.spec("R-172", "R-173")
@pytest.mark.row(66)
def test_without_its_server_nothing_local_is_shown_instead(nodes: Nodes) -> None:
    nodes.carol.save("Carol's own.")
    asked = [
        ("list_records", dict(SHARED)),
        ("get_record", {"id": "r", "node_id": "n"}),
    ]

    async def say(call: Tools) -> None:
        assert (await every_page(call))[0][0]["owner"] == "carol"
        assert "label" not in (await every_page(call))[0][0]
        nodes.group.server.stop()
        for tool, arguments in asked:
            error = await refusal(call, tool, arguments)
            assert error["code"] == "shared_unavailable"
            assert "nothing local is shown in its place" in error["message"]
        assert len((await call("list_records", {}))["records"]) == 1
        nodes.group.server.start()
        assert (await every_page(call))[0][0]["owner"] == "carol"

    try:
        nodes.carol.talk(say)
    finally:
        if nodes.group.server.process is None:
            nodes.group.server.start()


@pytest.mark.spec("R-172")
@pytest.mark.row(66)
def test_a_wrong_password_and_no_group_are_told_apart(nodes: Nodes) -> None:
    config = Path(nodes.carol.place.paths.config_file)
    file = nodes.group.dsn_file("carol")
    right = file.read_text()

    async def say(call: Tools) -> None:
        file.write_text(right.replace("password=", "password=no"))
        error = await refusal(call, "list_records", SHARED)
        assert error["code"] == "shared_auth_failed"
        assert "mash group join" in error["message"]
        file.write_text(right)
        await call("list_records", SHARED)
        config.write_text("")
        error = await refusal(call, "list_records", SHARED)
        assert error["code"] == "shared_not_configured"
        assert "mash group join" in error["message"]

    nodes.carol.talk(say)


def test_the_terminal_shows_whose_word_each_record_is(nodes: Nodes) -> None:
    made = nodes.bob.save("Use Qdrant for local search.")
    told = nodes.carol.mash("records", "--shared")
    assert told.returncode == 0, told.stderr
    assert made["id"] in told.stdout
    assert "bob's, node " in told.stdout
    listed = json.loads(nodes.carol.mash("records", "--shared", "--json", "qdrant").stdout)
    node = listed["records"][0]["node_id"]
    page = nodes.carol.mash("record", made["id"], "--node", node)
    assert page.returncode == 0, page.stderr
    assert f"bob, node {node}" in page.stdout
    assert "established by bob" in page.stdout
    assert "said by bob (user), as endorsement" in page.stdout
    assert "the person" not in page.stdout
    assert nodes.carol.mash("records", "--shared", "chroma").returncode == 1
    assert nodes.carol.mash("records", "--node", node).returncode == 2
    unknown = nodes.carol.mash("record", "r1", "--node", node)
    assert unknown.returncode == 1
    assert "has published no record 'r1'" in unknown.stderr
    assert "mash records --shared" in unknown.stderr
