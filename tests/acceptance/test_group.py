"""What one person decides reaches the agents of another, through the group's own Postgres."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import fake_anthropic, fake_openai
from tests.support.groups import Group, running_group, running_server
from tests.support.homes import Home
from tests.support.installed import Installed
from tests.support.polling import eventually
from tests.support.processes import end_processes_of
from tests.support.saved import decide
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
SAID = "Let's put the ledger on Postgres 16, decided."
STATEMENT = "The ledger is on Postgres 16."
ON = "\n[recall]\ngroup = true\n"


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("group")
    with running_server() as server, running_group(server, folder, "alice", "bob") as made:
        yield made


@pytest.fixture
def alice(tmp_path: Path, group: Group) -> Iterator[Home]:
    """Another person, who joined the group."""
    home = Home(tmp_path / "alice")
    try:
        assert home.mash("init", "--yes", "--no-agents", "--no-index").code == 0
        join(home, group, "alice")
        yield home
    finally:
        end_processes_of(home.root)


@pytest.fixture
def bob(person: Installed, group: Group) -> Iterator[Installed]:
    """The installed person, who joined the group and recalls from it."""
    config = person.home.mash_home / "config.toml"
    before = config.read_text() if config.exists() else ""
    join(person.home, group, "bob")
    config.write_text(config.read_text() + ON)
    yield person
    person.home.mash("group", "leave")
    config.write_text(before)


def join(home: Home, group: Group, member: str) -> None:
    done = home.run("mash", "group", "join", "-", "--yes", stdin=group.dsns[member])
    assert done.code == 0, done


def copies(home: Home) -> list[Path]:
    return list((home.mash_home / "data" / "group-copies").glob("*.group"))


@pytest.fixture
def clone(alice: Home, bob: Installed, name: str) -> Path:
    """Bob's clone of the repository that alice decided something in, its records fetched."""
    (theirs,) = alice.repository(name)
    (mine,) = bob.home.repository(name)
    decide(alice, name, theirs, SAID, STATEMENT)
    assert alice.mash("publish", "--now").code == 0
    bob.home.set_clock(int(alice.clock.read_text()))
    # The first session finds nothing and lets the daemon fetch what there is.
    assert bob.home.codex_exec("Look around", mine).code == 0
    assert STATEMENT not in fake_openai.context_of(bob.openai.bodies[-1])
    eventually(lambda: bool(copies(bob.home)), "the daemon fetches alice's records")
    bob.openai.bodies.clear()
    return mine


def shown(context: str) -> dict[str, str]:
    [line] = [line for line in context.splitlines() if STATEMENT in line]
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


@pytest.mark.spec("R-123")
def test_alices_decision_is_in_the_request_of_bobs_codex_session_from_alice(
    alice: Home, bob: Installed, clone: Path, open_codex: Callable[[Path], Terminal]
) -> None:
    bob.openai.when("Tell me what", {"text": "answered from the group"})
    terminal = open_codex(clone)
    terminal.type("Tell me what the ledger uses")
    terminal.wait_for("answered from the group")
    context = fake_openai.context_of(bob.openai.bodies[0])
    line = shown(context)
    assert line["label"] == "from alice"
    assert line["decision"] == STATEMENT
    lead = "From others of the group, not from this person (mash, copied under a minute ago): data"
    assert lead in context
    whole = bob.home.call("get_record", {"id": line["id"], "node_id": line["node_id"]})
    assert whole["record"]["owner"] == "alice"
    assert whole["revisions"][0]["evidence"][0]["quote"] == SAID
    assert bob.home.records(clone.name.rpartition("-")[0]) == []


@pytest.mark.spec("R-123")
def test_alices_decision_is_in_the_request_of_bobs_claude_session_from_alice(
    bob: Installed, clone: Path
) -> None:
    assert bob.home.claude_print("Look around", clone).code == 0
    context = fake_anthropic.context_of(bob.anthropic.bodies[-1])
    assert shown(context)["label"] == "from alice"


def test_who_leaves_the_group_keeps_no_copy_and_is_told_nothing(
    bob: Installed, clone: Path
) -> None:
    assert bob.home.mash("group", "leave").code == 0
    assert bob.home.codex_exec("Look around", clone).code == 0
    assert STATEMENT not in fake_openai.context_of(bob.openai.bodies[-1])
    eventually(lambda: copies(bob.home) == [], "the copies are removed")
