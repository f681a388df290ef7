"""What a search finds stands in an order that can be told."""

from pathlib import Path

import pytest

from mash_plugin.chats.project import Project
from mash_plugin.chats.question import names_of, stem, terms_of, word_of
from mash_plugin.chats.ranking import Found, asked_of, ranked
from mash_plugin.chats.search import search_chats
from mash_plugin.tokens import words
from tests.chats.conftest import NOW, Chats
from tests.support.transcripts import START

DAY_MS = 86_400_000
LONG = "The importer reads every card twice, since the index of its files is built only afterwards."


def find(chats: Chats, query: str, limit: int = 10) -> list[str]:
    chats.index.refresh_all(NOW)
    with chats.database.reading() as db:
        hits, _ = search_chats(db, query, limit)
        texts = dict(db.all("SELECT message_id, text FROM messages"))
    return [texts[hit.message_id] for hit in hits]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("deletion", "It was deleted."),
        ("rotating", "A rotation is due."),
        ("deployments", "Deploy it."),
        ("planning", "The planner is wrong."),
        ("Aktualisierung", "Wir aktualisieren morgen."),
        ("Berichten", "Die Berichte fehlen."),
        ("Verspätung", "Es gibt Verspätungen."),
        ("Verspätungsmeldungen", "Eine Verspätung kommt an."),
        ("livraisons", "La livraison est offerte."),
        ("impression", "Il faut imprimer les impressions."),
        ("borraban", "Nunca borrar una cita."),
        ("recordatorio", "Los recordatorios llegan."),
        ("печать", "Чеки должны печататься."),
        ("остаток", "Отрицательные остатки."),
        ("закрывать", "Купол закрывается."),
    ],
)
def test_another_form_of_a_word_is_found(chats: Chats, asked: str, said: str) -> None:
    t = chats.transcript()
    t.person("Something else entirely.")
    t.person(said)
    assert find(chats, asked) == [said]


def test_the_word_itself_comes_before_its_other_forms(chats: Chats) -> None:
    t = chats.transcript()
    t.person("the rotation of keys")
    t.person("the rotated of keys")
    assert find(chats, "rotation")[0] == "the rotation of keys"
    assert find(chats, "rotated")[0] == "the rotated of keys"


def test_words_that_only_ask_find_nothing_beside_others(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Why did we do this?")
    t.person("The heron flies.")
    assert find(chats, "why did we choose the heron") == ["The heron flies."]
    assert find(chats, "why did we") == ["Why did we do this?"]


def test_a_prompt_is_followed_by_the_answer_it_got(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Why is lumen slow?")
    t.agent("Let me look at src/import.rs.")
    t.tool_call("Read", {"file_path": "src/import.rs"}, "toolu_1")
    t.tool_result("fn main() {}")
    t.agent(LONG)
    t.person("Thanks.")
    t.person("lumen has a new logo")
    assert find(chats, "lumen slow") == ["Why is lumen slow?", LONG, "lumen has a new logo"]


def test_a_hit_that_holds_no_word_tells_which_message_it_follows(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Why is lumen slow?")
    t.agent("Let me look at the lumen of src/import.rs.")
    t.agent(LONG)
    chats.refresh()
    with chats.database.reading() as db:
        hits, _ = search_chats(db, "lumen slow", shown=lambda text: text.replace("Let me", "[…]"))
    told = {hit.snippet: hit.follows for hit in hits}
    assert told.pop(LONG) == "assistant: […] look at the lumen of src/import.rs."
    assert list(told.values()) == [None, None]


def test_a_word_of_the_question_lifts_its_answer(chats: Chats) -> None:
    t = chats.transcript()
    for bird in ("crane", "heron", "stork"):
        t.person(f"Is the {bird} safe?")
        t.agent(f"Yes, it has been since the migration of {len(bird)} days, {bird[-1]}.")
    assert find(chats, "heron migration", 2) == [
        "Is the heron safe?",
        "Yes, it has been since the migration of 5 days, n.",
    ]


def test_an_exchange_comes_once_before_any_comes_twice(chats: Chats) -> None:
    t = chats.transcript()
    t.person("heron one")
    for number in range(5):
        t.agent(f"heron heron heron {number}")
        t.tool_call("Read", {}, f"toolu_{number}")
    t.person("and the heron of long ago, which nobody knows any more since it is gone")
    found = find(chats, "heron")
    assert found[:2] == ["heron one", "and the heron of long ago, which nobody knows any more since"
                         " it is gone"]  # fmt: skip
    assert len(found) == 7


def test_what_is_said_on_the_way_to_a_tool_counts_less(chats: Chats) -> None:
    t = chats.transcript()
    t.person("go")
    t.agent("The heron cache is stale.")
    t.person("go on")
    t.agent("The heron cache is next.")
    t.tool_call("Read", {}, "toolu_1")
    assert find(chats, "heron cache")[0] == "The heron cache is stale."


def test_the_persons_words_come_before_notifications(chats: Chats) -> None:
    t = chats.transcript()
    t.person("The heron build must stay green.")
    t.notification("The heron build is green, heron build done.")
    assert find(chats, "heron build")[0] == "The heron build must stay green."


def test_of_equal_messages_the_newer_comes_first(chats: Chats) -> None:
    for session, age in (("s-1", 300), ("s-2", 2), ("s-3", 90)):
        t = chats.transcript(session)
        t.start = START - age * DAY_MS
        t.person(f"We use heron for queues, said in {session}.")
    found = find(chats, "heron queues")
    assert [text[-4:-1] for text in found] == ["s-2", "s-3", "s-1"]


def test_a_title_lifts_the_messages_of_its_chat(chats: Chats) -> None:
    for session, title in (("s-1", "Ferry prices"), ("s-2", "Other things")):
        t = chats.transcript(session)
        t.title(title)
        t.person(f"Round the total up in {session}.")
    assert find(chats, "ferry total") == [
        "Round the total up in s-1.",
        "Round the total up in s-2.",
    ]


def test_words_that_stand_together_come_before_scattered_ones(chats: Chats) -> None:
    t = chats.transcript()
    t.person("the lock of the last row of the seat")
    t.person("the row lock of the last of the seat")
    assert find(chats, "row lock")[0] == "the row lock of the last of the seat"
    assert find(chats, "last row")[0] == "the lock of the last row of the seat"


def test_a_name_to_the_letter_comes_before_its_parts(chats: Chats) -> None:
    t = chats.transcript()
    t.person("parse the args and parse args")
    t.person("somewhere parse_args is called with the list of all that was given")
    assert find(chats, "parse_args")[0].startswith("somewhere")


def test_pages_of_a_scope_never_repeat(chats: Chats, tmp_path: Path) -> None:
    for number in range(8):
        t = chats.transcript(f"s-{number}", tmp_path / "other")
        for n in range(10):
            t.person(f"heron {number} {n}")
            t.agent(f"What was said about it, at some length, {number} {n}.")
    chats.index.refresh_all(NOW)
    seen: list[str] = []
    with chats.database.reading() as db:
        more, offset = True, 0
        while more:
            hits, more = search_chats(db, "heron", 7, offset, project_path=str(tmp_path / "other"))
            seen += [hit.message_id for hit in hits]
            offset += 7
    assert len(seen) == len(set(seen)) >= 80


def test_the_same_question_gives_the_same_order(chats: Chats) -> None:
    t = chats.transcript()
    for number in range(30):
        t.person(f"heron {number % 3} and {number % 5}")
        t.agent("heron")
    assert find(chats, "heron 2") == find(chats, "heron 2")


def test_the_order_tells_its_reasons() -> None:
    asked = asked_of("row lock", [word_of(t, lambda _: [], 9) for t in terms_of("row lock")], 9)
    found = [
        Found(1, "a row lock", "user", "person", START, None, (1, 0)),
        Found(2, "a row", "assistant", "agent", START - 400 * DAY_MS, "lock", (1, 5)),
    ]
    (first, best), (second, other) = ranked(found, asked)
    assert (first, second) == (1, 2)
    assert best.words > other.words > 0
    assert best.phrases > other.phrases == 0
    assert other.near > best.near == 0
    assert best.covered == 1 > other.covered > 0
    assert best.speaker > other.speaker
    assert best.recency > other.recency
    assert best.score > other.score


@pytest.mark.parametrize(
    "word", words("deployments stations Verspätungen livraisons recordatorios остатки печататься a")
)
def test_a_stem_is_a_beginning_of_its_word(word: str) -> None:
    assert word.startswith(stem(word))
    assert len(stem(word)) >= min(4, len(word)) - 1


def test_names_are_told_from_words() -> None:
    text = "why does parse_args in src/cli/main.rs call readConfig, is it v1.2 or well-known?"
    assert names_of(text) == ["parse_args", "src/cli/main.rs", "readconfig", "v1.2", "well-known"]


def test_a_chat_where_the_person_named_the_file_is_hinted_first(chats: Chats) -> None:
    for number in range(5):
        t = chats.transcript(f"s-{number}")
        t.start = START + number * DAY_MS
        (t.person if number == 1 else t.agent)("see src/ledger.py")
        if number == 2:
            t.agent("and src/ledger.py again")
    chats.index.refresh_all(NOW)
    project = Project(str(chats.project), None)
    found = chats.index.mentions.chats(project, "src/ledger.py", 3, None)
    assert [chat.session_id for chat in found] == ["s-1", "s-2", "s-4"]
