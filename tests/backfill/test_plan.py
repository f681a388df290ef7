"""Which chats are to be reviewed: those of the window that are new, whole, and the person's."""

from pathlib import Path

import pytest

from mash_plugin.backfill.plan import Plan, Planned, make_plan
from mash_plugin.errors import ChatNotFound, RecordsDisabled
from tests.support.backfill_place import HOUR_MS, BackfillPlace
from tests.support.transcripts import ClaudeTranscript, write_repository


def states(plan: Plan) -> dict[str, str]:
    return {chat.chat_id.removeprefix("claude-code-"): chat.state for chat in plan.chats}


def configure(bench: BackfillPlace, text: str) -> None:
    Path(bench.place.paths.config_file).write_text(text)


@pytest.mark.spec("R-145", "R-149")
def test_chats_of_the_window_are_planned_the_newest_first(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "new", hours_ago=1)
    bench.chat("We keep times in UTC.", "older", hours_ago=50)
    bench.chat("We never log names.", "too-old", hours_ago=73)
    bench.chat("x" * 400_001, "long", hours_ago=2)
    assert states(bench.plan()) == {"new": "due", "long": "too_long", "older": "due"}
    assert list(states(bench.plan())) == ["new", "long", "older"]


def test_output_of_tools_is_not_read_and_does_not_make_a_chat_too_long(
    bench: BackfillPlace,
) -> None:
    bench.chat("We keep amounts in cents.", "one").tool_result("x" * 500_000)
    assert states(bench.plan()) == {"one": "due"}
    found = bench.place.call("review_chat", {"chat_id": "claude-code-one"})
    assert [m["by"] for m in found["messages"]] == ["person", "agent"]


def test_what_is_said_after_the_index_counts_without_a_new_one(bench: BackfillPlace) -> None:
    transcript = bench.chat("We keep amounts in cents.", "one")
    bench.run(bench.plan())
    transcript.person("And we round half up.")
    plan = make_plan(bench.place.paths, bench.now - 72 * HOUR_MS)
    assert states(plan) == {"one": "due"}


@pytest.mark.parametrize("key", ["deny", "no_capture", "no_index"])
def test_projects_that_the_person_left_out_are_not_reviewed(bench: BackfillPlace, key: str) -> None:
    bench.chat("We keep amounts in cents.", "one")
    bench.place.index()
    configure(bench, f'[projects]\n{key} = ["{bench.folder("one")}"]\n')
    assert states(bench.plan()) == {"one": "left_out"}
    with pytest.raises(RecordsDisabled):
        bench.place.call("review_chat", {"chat_id": "claude-code-one"})


def test_a_mash_file_in_the_project_keeps_its_chats_from_review(bench: BackfillPlace) -> None:
    bench.folder("one").mkdir(parents=True)
    (bench.folder("one") / ".mash").write_text("capture = off\n")
    bench.chat("We keep amounts in cents.", "one")
    assert states(bench.plan()) == {"one": "left_out"}


def test_nothing_is_planned_while_records_are_off(bench: BackfillPlace) -> None:
    configure(bench, "[records]\nenabled = false\n")
    with pytest.raises(RecordsDisabled):
        bench.plan()


@pytest.mark.spec("R-151")
def test_transcripts_of_our_own_reviews_are_never_indexed(bench: BackfillPlace) -> None:
    empty = Path(bench.place.paths.reviews) / "chat-x" / "empty"
    empty.mkdir(parents=True)
    own = ClaudeTranscript(bench.place.home / ".claude", str(empty), "own")
    own.start = bench.now - HOUR_MS
    own.person("Review the chat between the two lines")
    assert bench.plan().chats == ()
    assert bench.place.call("list_chats")["chats"] == []


def test_records_hold_in_the_repository_of_the_chat(bench: BackfillPlace) -> None:
    write_repository(bench.folder("one"), "https://github.com/acme/one")
    bench.chat("We keep amounts in cents.", "one")
    bench.chat("We keep times in UTC.", "two")
    bench.run(bench.plan())
    scopes = [record["scope"] for record in bench.records()]
    assert {"kind": "repository", "identity": "github.com/acme/one"} in scopes
    assert {"kind": "local_project", "path": str(bench.folder("two"))} in scopes


def test_one_chat_can_be_named_whenever_it_was(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "old", hours_ago=900)
    assert states(bench.plan(chat_id="claude-code-old")) == {"old": "due"}
    with pytest.raises(ChatNotFound):
        bench.plan(chat_id="claude-code-nowhere")


def test_the_summary_counts_and_warns_of_what_one_run_does_not_reach() -> None:
    chats = [Planned(str(n), "", "codex", 4_000, "due") for n in range(101)]
    chats += [Planned("l", "", "codex", 500_000, "too_long"), Planned("d", "", "codex", 0, "done")]
    text = Plan(1_796_000_000_000, tuple(chats)).summary()
    assert "101 to review (about 100,000 tokens to read), 1 reviewed already, 1 too long" in text
    assert "One run reviews 100; run it again for the rest." in text
    assert "0 to review." in Plan(0, ()).summary()


def test_planning_starts_no_agent(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "one")
    bench.plan()
    assert bench.starts() == []
