"""The compiled file: what it holds, and what makes it anew."""

import os

import pytest

from mash_plugin.throughline.compile import name_beside
from tests.throughline.conftest import CHAT, NOW, both, lines_of

DECISION = "Decided to hold Zephyr's November invoice until the address is fixed."
BOTH = {"MM_WORKING_COMPILE": "1", "MM_WORKING_AUTO_REFRESH": "1"}


def compiled(workspace):
    return (workspace.folder / "MEMORY.md").read_text()


def at(moment):
    return {"MM_TEST_NOW_MS": str(moment)}


def keep(workspace, text, moment=NOW, session="chat-7f3a", **environment):
    workspace.capture(workspace.write(text), session=session, **at(moment))
    return workspace.drain(**at(moment), **environment)


def remember(workspace, agent="support-bot", **arguments):
    return workspace.call("mm_remember", agent, **arguments)


@both
@pytest.mark.spec("R-216", "R-218")
def test_a_drained_decision_brings_the_recent_section(workspace):
    keep(workspace, CHAT, **BOTH)
    text = compiled(workspace)
    recent = text.partition("## Recent (48h)\n\n")[2]
    assert f"- 2026-10-03 [decision] {DECISION}\n" in recent
    assert "[summary]" not in recent  # it says less than what the session said


@both
@pytest.mark.spec("R-216")
def test_after_two_days_it_is_gone_at_the_next_rebuild(workspace):
    keep(workspace, CHAT, **BOTH)
    later = NOW + 3 * 86_400_000
    keep(workspace, lines_of(("assistant", "Decided to sell.")), later, session="b", **BOTH)
    text = compiled(workspace)
    assert "Zephyr" not in text
    assert "Decided to sell." in text


@pytest.mark.spec("R-216", "R-218")
def test_without_the_section_the_file_is_rebuilt_without_it(workspace):
    keep(workspace, CHAT, MM_WORKING_AUTO_REFRESH="1")
    assert "Recent" not in compiled(workspace)


@both
@pytest.mark.spec("R-217")
def test_working_memories_alone_rebuild_nothing_but_a_long_term_one_does(workspace):
    keep(workspace, CHAT, MM_WORKING_COMPILE="1")
    assert not (workspace.folder / "MEMORY.md").exists()
    remember(workspace, text="Dana handles the addresses.")
    workspace.drain(MM_WORKING_COMPILE="1")
    text = compiled(workspace)
    assert "## Long-term memory\n\n- 2026-10-03 [note] Dana handles the addresses.\n" in text
    assert DECISION in text


@pytest.mark.spec("R-218")
def test_a_summary_alone_rebuilds_nothing(workspace):
    keep(workspace, lines_of(("user", "hello")), **BOTH)
    assert not (workspace.folder / "MEMORY.md").exists()


@pytest.mark.spec("R-218")
@pytest.mark.parametrize(("status", "is_rebuilt"), [("completed", True), ("started", False)])
def test_a_completed_tool_action_rebuilds_it(workspace, status, is_rebuilt):
    remember(
        workspace,
        text="Sent two invoices.",
        category="tool_action",
        status=status,
        memory_stage="working",
        significance=0.1,
    )
    workspace.drain(**BOTH)
    assert (workspace.folder / "MEMORY.md").exists() is is_rebuilt


@both
@pytest.mark.spec("R-218")
def test_it_is_rebuilt_once_a_minute_and_what_came_too_early_is_made_up_for(workspace):
    keep(workspace, CHAT, **BOTH)
    second = lines_of(("assistant", "Decided to sell the boat."))
    keep(workspace, second, NOW + 30_000, session="b", **BOTH)
    assert "boat" not in compiled(workspace)
    workspace.drain(**at(NOW + 59_999), **BOTH)
    assert "boat" not in compiled(workspace)
    workspace.drain(**at(NOW + 60_000), **BOTH)
    assert "boat" in compiled(workspace)
    assert DECISION in compiled(workspace)


def test_a_clock_that_was_put_back_does_not_stop_rebuilds(workspace):
    keep(workspace, CHAT, **BOTH)
    second = lines_of(("assistant", "Decided to sell the boat."))
    keep(workspace, second, NOW - 7_200_000, session="b", **BOTH)
    assert "boat" in compiled(workspace)


@pytest.mark.spec("R-216")
def test_the_section_stays_short(workspace):
    for n in range(5):
        said = [("assistant", f"Decided to use berth {n}{m} for {'x' * 300}.") for m in range(4)]
        keep(workspace, lines_of(*said), session=f"s{n}")
    remember(workspace, text="Dana handles the addresses.")
    workspace.drain(MM_WORKING_COMPILE="1")
    section = compiled(workspace).partition("## Recent (48h)")[2]
    assert 0 < section.count("\n- ") <= 12
    assert len(section.encode()) <= 2_010


@both
@pytest.mark.spec("R-216")
def test_a_file_of_the_persons_own_stays_and_ours_goes_beside_it(workspace):
    own = workspace.folder / "MEMORY.md"
    own.write_text("# My notes\nkeep me\n")
    remember(workspace, text="Dana handles the addresses.")
    done = workspace.drain()
    assert own.read_text() == "# My notes\nkeep me\n"
    beside = workspace.folder / "MEMORY-support-bot.md"
    assert "Dana handles the addresses." in beside.read_text()
    assert done.code == 0
    assert f"the memory of support-bot is in {beside}" in done.err
    remember(workspace, text="Dana is away in May.")
    assert workspace.drain().err == ""
    assert "Dana is away in May." in beside.read_text()


@pytest.mark.spec("R-197", "R-216")
def test_agents_of_one_workspace_have_a_file_each(workspace):
    remember(workspace, text="Dana handles the addresses.")
    remember(workspace, agent="other-bot", text="The boat is blue.")
    workspace.drain()
    workspace.drain("other-bot")
    workspace.drain()
    assert "Dana" in compiled(workspace)
    assert "boat" not in compiled(workspace)
    assert "The boat is blue." in (workspace.folder / "MEMORY-other-bot.md").read_text()


def test_with_both_places_taken_nothing_is_replaced_and_the_memory_is_stored(workspace):
    for name in ("MEMORY.md", "MEMORY-support-bot.md"):
        (workspace.folder / name).write_text("mine\n")
    remember(workspace, text="Dana handles the addresses.")
    done = workspace.drain()
    assert done.code == 1
    assert "Move one of them away." in done.err
    assert compiled(workspace) == "mine\n"
    assert "Dana" in workspace.call("mm_search", query="Dana")


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link"])
def test_what_is_no_file_of_ours_is_left_alone(workspace, kind):
    place = workspace.folder / "MEMORY.md"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("notes.md")
    before = place.lstat()
    remember(workspace, text="Dana handles the addresses.")
    assert workspace.drain().code == 0
    assert place.lstat().st_ino == before.st_ino
    assert not (workspace.folder / "notes.md").exists()
    assert (workspace.folder / "MEMORY-support-bot.md").exists()


def test_names_of_agents_never_lead_to_one_file():
    names = ["a b", "a-b", "A-b", "a/b", "a.b", "ä b", "../x", "x" * 100, "x" * 101]
    assert len({name_beside(name).lower() for name in names}) == len(names)
    assert not any("/" in name_beside(name) for name in names)
