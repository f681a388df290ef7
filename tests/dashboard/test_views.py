"""What the dashboard asks of the daemon: filters, counts, cursors, graphs and windows."""

from typing import Any

import pytest

from mash_plugin.dashboard import memory_pages
from mash_plugin.dashboard.place import Place
from mash_plugin.memory import browse, terminal
from mash_plugin.memory.freshness import recheck
from tests.conftest import CHOICE, SHOP, Memory, Shop
from tests.dashboard.conftest import View

Json = dict[str, Any]


def statements(page: Json) -> list[str]:
    return [record["statement"] for record in page["records"]]


@pytest.mark.spec("R-165")
def test_every_filter_narrows_the_list_and_counts_what_the_others_let_through(
    memory: Memory, shop: Shop, view: View
) -> None:
    memory.established("Use Qdrant.")
    memory.candidate("Perhaps use Chroma.")
    memory.candidate("Write in English.", scope={"kind": "personal"})
    page = view("view_records")
    assert page["total"] == 3
    assert page["counts"]["review"] == {"candidate": 2, "established": 1}
    candidates = view("view_records", review="candidate")
    assert set(statements(candidates)) == {"Perhaps use Chroma.", "Write in English."}
    assert candidates["counts"]["review"] == {"candidate": 2, "established": 1}
    assert candidates["counts"]["state"] == {"proposed": 2}
    shop_only = view("view_records", scope={"kind": "repository", "identity": SHOP})
    assert shop_only["total"] == 2
    assert [s["count"] for s in shop_only["counts"]["scopes"]] == [2, 1]
    assert statements(view("view_records", text="chrom")) == ["Perhaps use Chroma."]
    assert view("view_records", text="chrom")["total"] == 1
    assert view("view_records", stale=True)["records"] == []


@pytest.mark.parametrize("text", ["mysql", "MySQL", "MYSQL", "my sql"])
def test_a_name_is_found_in_whatever_case_it_is_written(
    memory: Memory, shop: Shop, view: View, text: str
) -> None:
    memory.candidate("Orders go into MySQL.")
    memory.candidate("Invoices go into mysql.")
    memory.candidate("Write in English.")
    page = view("view_records", text=text)
    assert set(statements(page)) == {"Orders go into MySQL.", "Invoices go into mysql."}
    assert page["total"] == 2


@pytest.mark.spec("R-165")
def test_an_unconfirmed_decision_is_not_told_as_a_persons(
    memory: Memory, shop: Shop, view: View, pages: Place
) -> None:
    memory.established("Use Qdrant.")
    details = {"kind": "decision", "state": "proposed", "decided_by": "person"}
    evidence = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
    body = {"statement": "Perhaps use Chroma.", "details": details}
    proposed = memory.create(body, evidence)
    assert view("view_records")["counts"]["decided_by"] == {"person": 1}
    assert statements(view("view_records", decided_by="person")) == ["Use Qdrant."]
    asked = view("view_records", decided_by="person", review="candidate")
    assert (statements(asked), asked["counts"]["decided_by"]) == (["Perhaps use Chroma."], {})
    path, told = {"record_id": proposed["id"]}, "Decided by a person"
    assert told not in memory_pages.record(pages, {}, path)
    terminal.change(memory.call, {"action": "establish", "id": proposed["id"], "revision": 1})
    assert told in memory_pages.record(pages, {}, path)


@pytest.mark.spec("R-165")
def test_quotes_under_a_wording_of_the_persons_own_are_told_to_be_older(
    memory: Memory, shop: Shop, pages: Place
) -> None:
    made = memory.established("Use Qdrant.")
    path = {"record_id": made["id"]}
    told = "Reworded by you: the quotes are what an earlier wording rests on."
    assert told not in memory_pages.record(pages, {}, path)
    edit = {"action": "edit", "statement": "Use Qdrant 1.9."}
    terminal.change(memory.call, {"id": made["id"], "revision": 1, **edit})
    page = memory_pages.record(pages, {}, path)
    assert page.count(told) == 2  # over the evidence, and in the history


@pytest.mark.spec("R-165")
def test_following_the_cursor_finds_every_record_once_though_times_are_equal(
    memory: Memory, shop: Shop, view: View
) -> None:
    for number in range(7):
        memory.candidate(f"Choice {number}.")
    found, after = [], None
    while True:
        page = view("view_records", limit=3, **({"after": after} if after else {}))
        found += statements(page)
        if (after := page["next"]) is None:
            break
    assert sorted(found) == [f"Choice {number}." for number in range(7)]


@pytest.mark.spec("R-165")
def test_counts_follow_a_change_at_once(memory: Memory, shop: Shop, view: View) -> None:
    memory.candidate("One.")
    assert view("view_records")["total"] == 1
    memory.candidate("Two.")
    assert view("view_records")["total"] == 2
    assert view("view_days", since=0)["days"][0]["records"] == 2


@pytest.mark.spec("R-165")
def test_contradictions_are_counted_and_found(memory: Memory, shop: Shop, view: View) -> None:
    first, second = memory.established("Use tabs."), memory.established("Use spaces.")
    memory.candidate("Use vim.")
    assert view("view_records")["counts"]["conflicted"] == 0
    target = {"id": second["id"], "revision": second["revision"]}
    memory.change("link", first, target=target, relation="contradicts")
    page = view("view_records", conflicted=True)
    assert set(statements(page)) == {"Use tabs.", "Use spaces."}
    assert page["counts"]["conflicted"] == page["total"] == 2


@pytest.mark.spec("R-165")
def test_the_graph_holds_the_whole_chain_and_the_links_of_the_middle_alone(
    memory: Memory, shop: Shop, view: View
) -> None:
    evidence = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
    chain = [memory.established("First.")]
    for text in ("Second.", "Third."):
        body = {
            "statement": text,
            "review": "established",
            "details": {"kind": "decision", "state": "accepted"},
        }
        memory.clock.advance(1000)
        made = memory.change("supersede", chain[-1], body=body, evidence=evidence)
        chain.append(made)
    newest = chain[-1]["id"]
    graph = view("view_graph", id=newest)
    assert set(statements(graph)) == {"First.", "Second.", "Third."}
    assert {link["relation"] for link in graph["links"]} == {"supersedes"}
    assert len(graph["links"]) == 2


@pytest.mark.spec("R-165")
def test_a_chat_opens_around_a_message_with_the_records_that_cite_it(
    memory: Memory, shop: Shop, view: View
) -> None:
    for number in range(60):
        shop.transcript.agent(f"Line {number}.")
    last = shop.transcript.person("The end.")
    made = memory.established("Use Qdrant.")
    window = view("view_chat", id=shop.chat, message_id=shop.choice)
    cited = {m["id"]: m["cited_by"] for m in window["messages"]}
    assert cited[shop.choice] == [made["id"]]
    assert statements(window) == ["Use Qdrant."]
    memory.index()
    around = view("view_chat", id=shop.chat, message_id=last, limit=5)
    assert around["start"] > 40
    assert len(around["messages"]) == 5
    following = view("view_chat", id=shop.chat, start=around["next"])
    assert following["messages"][-1]["id"] == last
    assert following["next"] is None
    [listed] = view("view_chats")["chats"]
    assert (listed["records"], listed["messages"]) == (1, 65)


@pytest.mark.spec("R-165")
def test_a_chat_that_is_left_out_is_not_shown(memory: Memory, shop: Shop, view: View) -> None:
    memory.established("Use Qdrant.")
    memory.set(deny=(SHOP,))
    assert view("view_chats")["chats"] == []
    page = view("view_records")
    assert (page["records"], page["total"], page["counts"]["scopes"]) == ([], 0, [])
    assert view("view_days", since=0)["days"] == []


@pytest.mark.spec("R-165")
def test_a_page_of_the_longest_statements_stays_light(
    memory: Memory, shop: Shop, pages: Place
) -> None:
    for number in range(50):
        memory.established(f"{number} " + "漢字は長い。" * 330)
    page = memory_pages.memory(pages, {}, {})
    assert (page.count("data-row"), page.count("…</a>")) == (50, 50)
    assert len(page.encode()) < 100_000


COUNTED = """
SELECT kind, state, review, coalesce(decided_by, ''), evidence_stale, scope_kind, scope_value,
  count(*) FROM records WHERE hidden_at IS NULL GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4,
  5, 6, 7
"""
KEPT = "SELECT * FROM record_counts ORDER BY 1, 2, 3, 4, 5, 6, 7"


@pytest.mark.spec("R-165")
def test_the_kept_counts_are_those_of_the_records_after_any_change(
    memory: Memory, shop: Shop
) -> None:
    changes = (
        "UPDATE records SET state = 'withdrawn', retired = 1 WHERE head_revision = 1 AND rowid < 3",
        "UPDATE records SET hidden_at = 5 WHERE rowid IN (1, 4)",
        "UPDATE records SET evidence_stale = 1",  # of hidden ones too
        "UPDATE records SET scope_kind = 'chat', scope_value = 'c' WHERE rowid IN (3, 4)",
        "UPDATE records SET review = review, state = state",
        "UPDATE records SET hidden_at = NULL WHERE rowid = 4",
        "DELETE FROM records WHERE rowid IN (1, 2)",
        "DELETE FROM records",
    )
    for number in range(3):
        memory.established(f"Use {number} queues.")
        memory.candidate(f"Perhaps {number}.", scope={"kind": "personal"})
    for change in changes:
        with memory.call.store.writing() as db:
            assert db.all(KEPT) == db.all(COUNTED) != []
            db.run(change)
    with memory.call.store.reading() as db:
        assert db.all(KEPT) == []


@pytest.mark.spec("R-165")
def test_what_holds_words_is_found_alike_however_much_of_it_there_is(
    memory: Memory, shop: Shop, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        memory.established(f"Queue {number} holds {'red' if number % 2 else 'green'} work.")
    asked = (
        {"text": "queue red"},
        {"text": "que gre", "review": "established"},
        {"text": "red", "review": "candidate"},
    )

    def pages() -> list[Json]:
        found = []
        for request in asked:
            first = view("view_records", limit=4, **request)
            after = {"after": first["next"]} if first["next"] else {}
            found += [first, view("view_records", limit=4, **request, **after)]
        return found

    few = pages()
    assert [(page["total"], len(page["records"])) for page in few] == [
        *[(6, 4), (6, 2)] * 2,
        *[(0, 0)] * 2,
    ]
    monkeypatch.setattr(browse, "MOST_ROWS", 0)
    browse._counted.clear()
    assert pages() == few


def test_a_quote_whose_transcript_is_gone_is_said_to_be_kept(
    memory: Memory, shop: Shop, pages: Place
) -> None:
    path = {"record_id": memory.established("Use Qdrant.")["id"]}
    assert "still stands there" in memory_pages.record(pages, {}, path)
    shop.transcript.path.unlink()
    page = memory_pages.record(pages, {}, path)
    assert "kept as it was read; its transcript is gone" in page
    assert "still stands there" not in page


def test_the_page_of_a_record_whose_quotes_changed_names_the_command_that_brings_it_back(
    memory: Memory, shop: Shop, pages: Place
) -> None:
    made = memory.established("Use Qdrant.")
    path, advice = {"record_id": made["id"]}, "Bring it back into force"
    assert advice not in memory_pages.record(pages, {}, path)
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    recheck(memory.call, memory.index())
    page = memory_pages.record(pages, {}, path)
    assert advice in page
    assert f"mash establish {made['id']}" in page
    by_hand = "None but the person's own hand"
    assert by_hand not in page
    terminal.change(memory.call, {"action": "establish", "id": made["id"], "revision": 1})
    page = memory_pages.record(pages, {}, path)
    assert advice not in page
    assert by_hand in page
