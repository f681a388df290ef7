"""What an agent reads back, to the byte."""

import json
import re

import pytest

from mash_plugin.throughline.matching import matches, row_words, terms_of
from mash_plugin.throughline.tools import Place, call_tool
from tests.privacy.samples import SAMPLES
from tests.throughline.conftest import AGENT, CHAT, NOW, SESSION, both, lines_of

NOTHING = (
    "No memories found (agent: support-bot, budget: 50, filters: query=Zephyr,"
    " category=None, min_sig=0.0)"
)
FOOTER = (
    "\n\n---\n⚠️ **This search covered the WORKING buffer only** (recent session captures)."
    " Long-term memory was NOT searched by it. Checked for you: no long-term match either for"
    " this query."
)
SECRET = SAMPLES["GitHub token"][0]


@pytest.fixture
def drained(workspace):
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    return workspace


@both
@pytest.mark.spec("R-206", "R-197")
def test_a_normal_search_leaves_working_memories_out(drained):
    assert drained.call("mm_search", query="Zephyr") == NOTHING
    assert drained.call("mm_search", query="Zephyr", memory_stage="long_term") == NOTHING


@both
@pytest.mark.spec("R-207", "R-208", "R-205", "R-210", "R-226")
def test_a_working_search_shows_a_table_and_what_it_left_out(drained):
    text = drained.call("mm_search", query="Zephyr", memory_stage="working")
    header, _, rest = text.partition("\n\n")
    assert header.startswith("**Meaning Memory** — support-bot | 1 entries | ")
    found = re.fullmatch(
        re.escape(
            "| # | mem_id | Sig | Eligible | Category | Date | Text |\n"
            "|---|--------|-----|----------|----------|------|------|\n| 1 | `"
        )
        + "([0-9a-f]{16})"
        + re.escape(
            "` | 0.65 | - | decision | 2026-10-03 | Decided to hold Zephyr's November invoice"
            " until the address is fixed. |\n\nWhere from (UTC):\n1: 16:03, channel telegram:dm,"
            " session chat-7f3a" + FOOTER
        ),
        rest,
    )
    assert found
    session = drained.call("mm_session_recall", session_id=SESSION)
    assert f"- `{found[1]}` [keyline-m3-l0]" in session


@both
@pytest.mark.spec("R-212", "R-190", "R-192", "R-226")
def test_a_session_is_read_back_to_the_byte(drained):
    text = drained.call("mm_session_recall", session_id=SESSION)
    ids = re.findall(r"^- `([0-9a-f]{16})`", text, re.MULTILINE)
    assert text == (
        "# Session recall `chat-7f3a` — 3 row(s), newest first\n"
        f"- `{ids[0]}` [summary] 2026-10-03 · Session record [chat] on telegram:dm: 5 messages"
        " (3 agent-authored), session chat-7f3a. Span 2026-10-03T16:02:00Z →"
        " 2026-10-03T16:04:00Z. Transcript content is not represented in this memory row.\n"
        f"- `{ids[1]}` [keyline-m2-l0] 2026-10-03 · I'll resend the two bounced invoices tomorrow"
        " once Dana confirms the new address.\n"
        f"- `{ids[2]}` [keyline-m3-l0] 2026-10-03 · Decided to hold Zephyr's November invoice"
        " until the address is fixed."
    )
    assert ids == ["67972889db456ffe", "c611252db25ecbd6", "76105ad2c0a9b0cf"]


@both
@pytest.mark.spec("R-212", "R-213", "R-197")
def test_another_agent_sees_nothing(drained):
    assert drained.call("mm_session_recall", agent="other-bot", session_id=SESSION) == (
        "# Session recall `chat-7f3a` — 0 row(s)"
    )
    for stage in ("long_term", "working", "any"):
        text = drained.call("mm_search", agent="other-bot", query="Zephyr", memory_stage=stage)
        assert text.startswith("No memories found (agent: other-bot,")
    assert drained.drain(agent="other-bot").out.startswith("consolidate: 0 drained")


@both
@pytest.mark.spec("R-184")
def test_another_process_elsewhere_finds_it(drained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    where = ("call", "--agent", AGENT, "--config-dir", drained.path)
    asked = '{"query": "zephyr", "memory_stage": "working"}'
    assert "Decided to hold" in drained.run(*where, "mm_search", asked).out


@both
@pytest.mark.spec("R-208")
def test_a_working_search_without_a_hit_says_so_and_still_tells_of_the_other(drained):
    text = drained.call("mm_search", query="unicorn", memory_stage="working")
    assert text == NOTHING.replace("Zephyr", "unicorn")[:-1] + ", memory_stage=working)" + FOOTER


@both
@pytest.mark.spec("R-208", "R-209")
def test_long_term_matches_are_counted_and_any_shows_both(drained):
    drained.call("mm_remember", text="Zephyr | likes\nmail.", significance=0.9)
    drained.drain()
    working = drained.call("mm_search", query="Zephyr", memory_stage="working")
    assert working.endswith(
        "Checked for you: 1 long-term match(es) for this query; search again with"
        ' "memory_stage": "any" to see them.'
    )
    both = drained.call("mm_search", query="Zephyr", memory_stage="any")
    assert "WORKING buffer" not in both
    assert "| decision (working) |" in both
    assert "| 0.90 | - | note | 2026-10-03 | Zephyr \\| likes mail. |" in both
    alone = drained.call("mm_search", query="Zephyr")
    assert "| 1 entries |" in alone
    assert alone.endswith("\n\nWhere from (UTC):\n1: 17:00"), "of no session and no channel"


@both
@pytest.mark.spec("R-206", "R-207")
@pytest.mark.parametrize("stage", ["working", "any"])
def test_a_search_that_its_budget_cuts_says_so(drained, stage):
    cut = drained.ask("mm_search", memory_stage=stage, budget=2)
    assert "| 2 entries | " in cut.text
    assert "newest first; there are more (budget: 2)\n" in cut.text
    assert cut.data["more"] is True
    whole = drained.ask("mm_search", memory_stage=stage, budget=3)
    assert ("there are more" in whole.text, whole.data["more"]) == (False, False)


@both
@pytest.mark.spec("R-206")
def test_a_normal_search_without_a_hit_counts_in_its_data_what_working_memory_holds(drained):
    found = drained.ask("mm_search", query="Zephyr")
    assert found.text == NOTHING
    assert found.data["working_matches"] == 1
    assert drained.ask("mm_search", query="unicorn").data["working_matches"] == 0
    assert drained.ask("mm_search", memory_stage="any").data["working_matches"] is None


@pytest.mark.spec("R-207")
@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("zephyr", True),
        ("ZEPHYR’S november", True),
        ("the invoice", True),
        ("zephyr october", False),
        ("telegram:dm", True),
        ("chat-7f3a", True),
        ("chat-7f3a zephyr", True),
        ("telegram", False),
        ("Zep", False),
        ("ZEPHyr", True),
        ("novemberinvoice", True),
        ("novemberfridge", False),
    ],
)
def test_all_words_of_a_query_must_be_in_the_text_or_name_the_channel(query, is_found):
    row = row_words("Decided to hold Zephyr's November invoice.", "telegram:dm", SESSION)
    assert matches(terms_of(query), " ".join(row)) is is_found


@both
@pytest.mark.parametrize("query", ["ZEPHyr", "novemberinvoice"])
def test_a_name_is_found_in_whatever_case_it_is_written(drained, query):
    assert "| 1 entries |" in drained.call("mm_search", query=query, memory_stage="working")


@both
def test_filters_and_budget_bound_what_is_shown(drained):
    everything = drained.call("mm_search", memory_stage="working")
    assert "| 3 entries |" in everything
    assert "| 1 entries |" in drained.call("mm_search", memory_stage="working", budget=1)
    assert "| 1 entries |" in drained.call("mm_search", memory_stage="working", min_sig=0.61)
    some = drained.call("mm_search", memory_stage="working", category="commitment")
    assert "resend the two" in some
    assert "Decided" not in some


@both
@pytest.mark.spec("R-214")
def test_an_agent_remembers_in_a_session_and_numbers_are_given(drained):
    told = {"memory_stage": "working", "session_id": SESSION, "channel": "telegram:dm"}
    first = drained.call("mm_remember", text="Dana is away until Monday.", **told)
    assert first.startswith("Queued as working memory of support-bot")
    assert drained.call("mm_remember", text="Dana is away until Monday.", **told).startswith(
        "Already queued"
    )
    drained.call("mm_remember", text="Zephyr pays by post.", **told)
    drained.drain()
    drained.call("mm_remember", text="Zephyr pays by post.", **told)
    assert "0 drained, 1 already stored" in drained.drain().out
    text = drained.call("mm_session_recall", session_id=SESSION)
    assert "5 row(s)" in text
    assert "[remember-1] 2026-10-03 · Dana is away until Monday." in text
    assert "[remember-2] 2026-10-03 · Zephyr pays by post." in text
    assert drained.call("mm_search", query="Dana Monday").startswith("No memories")
    drained.capture(drained.write(CHAT + lines_of(("user", "bye"))))
    drained.drain()
    assert "5 row(s)" in drained.call("mm_session_recall", session_id=SESSION)


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("mm_search", {"agent": "other"}, "'agent' is no argument"),
        ("mm_search", {"budget": 0}, "budget must be from 1 to 200"),
        ("mm_search", {"min_sig": "high"}, "min_sig must be of type number"),
        ("mm_search", {"memory_stage": "deep"}, "long_term, working, any"),
        ("mm_session_recall", {}, "'session_id' is required"),
        ("mm_remember", {"text": ""}, "text has 0 characters"),
        ("mm_remember", {"text": "x\x00"}, "NUL"),
        ("mm_compile_memory", {}, "There is no tool"),
        ("mm_remember", {"text": f"The key is {SECRET}."}, "text holds a credential"),
        ("mm_remember", {"text": "password: hunter2-Sommer!"}, "text holds a credential"),
        ("mm_remember", {"text": "The door: PIN 4711"}, "text holds a credential"),
        ("mm_remember", {"text": "a <private>wish</private>"}, "text holds a private span"),
        ("mm_remember", {"text": "x", "status": "<private> b"}, "status holds a private span"),
        ("mm_remember", {"text": "x", "category": SECRET}, "category holds a credential"),
        ("mm_remember", {"text": "x", "session_id": SECRET}, "session holds a credential"),
        ("mm_remember", {"text": None}, "'text' is required"),
    ],
)
def test_a_wrong_call_is_told_with_the_field(workspace, tool, arguments, why):
    where = ("--agent", AGENT, "--config-dir", workspace.path)
    done = workspace.run("call", *where, tool, json.dumps(arguments))
    assert done.code == 1
    assert why in json.loads(done.out)["error"]["message"]
    assert SECRET not in done.out
    assert workspace.queued == []


@pytest.mark.spec("R-197", "R-206")
def test_a_person_who_searches_is_told_of_matches_in_working_memory(drained):
    where = ("call", "--agent", AGENT, "--config-dir", drained.path, "mm_search")
    done = drained.run(*where, '{"query": "Zephyr"}')
    assert json.loads(done.out)["text"].startswith("No memories found")
    assert "1 match(es) in working memory" in done.err
    assert drained.run(*where, '{"query": "boat"}').err == ""
    assert drained.run(*where, '{"query": "boat", "memory_stage": "working"}').err == ""


@pytest.mark.spec("R-207")
@pytest.mark.parametrize(("query", "count"), [("秤", 1), ("秤 漂移", 1), ("面", 0), ("c", 0)])
def test_one_sign_of_a_script_without_spaces_finds_the_words_that_hold_it(workspace, query, count):
    workspace.call("mm_remember", text="三号秤漂移四十克。", channel="面粉")
    workspace.drain()
    assert f"| {count} entries |" in workspace.call("mm_search", query=query) or not count
    assert ("三号秤" in workspace.call("mm_search", query=query)) is bool(count)


def test_a_line_end_in_a_category_breaks_no_table(drained):
    drained.call("mm_remember", text="Zephyr pays by post.", category="note\n")
    drained.drain()
    assert "| note | 2026-10-03 | Zephyr pays by post. |" in drained.call("mm_search")


@both
@pytest.mark.spec("R-177")
def test_a_credential_that_slipped_in_is_masked_in_every_text(drained):
    drained.rows(f"UPDATE mm_memories SET text = 'Zephyr key {SECRET}'")  # noqa: S608
    for text in (
        drained.call("mm_search", query="Zephyr", memory_stage="working"),
        drained.call("mm_search", query="Zephyr", memory_stage="any"),
        drained.call("mm_session_recall", session_id=SESSION),
    ):
        assert "[masked GitHub token]" in text
        assert SECRET not in text


def test_nothing_unseen_is_in_an_answer_or_in_the_compiled_file(workspace):
    text = "Note to self: pay\u202e \x1b[31mthe\x1b[0m \u2066ferry\x07 in\u200b May."
    call_tool("mm_remember", {"text": text}, Place(AGENT, workspace.settings, NOW))
    workspace.drain()
    shown = "Note to self: pay the ferry in May."
    found = call_tool("mm_search", {}, Place(AGENT, workspace.settings, NOW))
    assert shown in found.text
    assert found.data["entries"][0]["text"] == shown
    assert shown in (workspace.folder / "MEMORY.md").read_text()
