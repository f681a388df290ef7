"""A transcript is read block by block, and from its end: nothing of that may show."""

import io
import json
import os
import random
import threading
import time

import pytest

from mash_plugin.throughline import candidates, persons_words, transcript, word_runs
from mash_plugin.throughline.key_lines import category_of, eligible_lines
from mash_plugin.throughline.persons_words import PersonsWords
from mash_plugin.throughline.session import read_session
from tests.throughline.conftest import lines_of

DECISION = "Decided to paint the boat before the first frost."
MARK = '"0011223344556677"'


def read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return read_session(io.BytesIO(data))


def texts(session):
    return [line.text for line in sorted(session.key_lines)]


def write_all(handle, data):
    with os.fdopen(handle, "wb") as pipe:
        pipe.write(data)


def a_long_session(count=4_000):
    chance = random.Random(5)  # noqa: S311 - only a text
    openers = ("The", "I'll check the", "This is the", "Fixed the", "Nobody saw the")
    nouns = ("crate", "harbour", "ledger", "lantern", "rope", "cellar", "window", "kettle")
    rows = []
    for number in range(count):
        said = " ".join(chance.choices(nouns, k=12))
        role = ("assistant", "tool", "user", "tool", "assistant")[number % 5]
        rows.append((role, f"{chance.choice(openers)} {said}, {number}.\n{said}"))
    return rows


@pytest.mark.spec("R-187")
@pytest.mark.parametrize(
    ("lines", "messages", "malformed"),
    [
        (['{"role":"user","content":"a","x":[{}', "{}]}"], 0, 2),
        (['{"role":"user","content":"a"},{"role":"user","content":"b"}'], 0, 1),
        (['{"role":"user","content":"a","x":[{}', "{}]}", "{},{}"], 0, 3),
        (['{"role":"user","content":"a"},' + MARK + ',{"role":"user","content":"b"}'], 0, 1),
        (['{"role":"user","content":"a"}', "", '{"role":"user","content":"b"}'], 2, 0),
        (['{"role":["user"],"content":"a"}', '{"role":"user","content":"b"}'], 1, 1),
    ],
)
def test_no_two_lines_pass_for_one_and_none_for_two(lines, messages, malformed, monkeypatch):
    monkeypatch.setattr(transcript.os, "urandom", lambda size: bytes(size))
    session = read("\n".join(lines))
    assert (session.messages, session.malformed) == (messages, malformed)


@pytest.mark.parametrize("block", [7, 100, 1 << 16])
def test_it_does_not_matter_where_a_block_ends(block, monkeypatch):
    rows = lines_of(("user", "Wo ist die Kiste?"), ("assistant", f"Ähem. {DECISION}")) * 9
    whole = read(rows + "not json\n" + rows)
    monkeypatch.setattr(transcript, "BLOCK", block)
    assert read(rows + "not json\n" + rows) == whole
    assert whole.messages == 36


def test_a_pipe_gives_what_its_file_gives(tmp_path):
    data = lines_of(*a_long_session(1_000), ("assistant", DECISION)).encode()
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        writer = threading.Thread(target=write_all, args=(writing, data))
        writer.start()
        piped = read_session(pipe)
        writer.join()
    file = tmp_path / "chat.jsonl"
    file.write_bytes(data)
    with open(file, "rb") as opened:
        assert read_session(opened) == piped
    assert texts(piped) == [DECISION]


def test_a_line_is_too_long_by_its_length_alone(monkeypatch):
    monkeypatch.setattr(transcript, "MAX_LINE", 4_000)
    monkeypatch.setattr(transcript, "BLOCK", 512)
    empty = len(lines_of(("user", "")))
    for before in (0, 100, 511):
        first = lines_of(("assistant", "x" * before))
        fits = lines_of(("user", "y" * (4_000 - empty)))
        longer = lines_of(("user", "y" * (4_001 - empty)))
        session = read(first + fits + longer + lines_of(("assistant", DECISION)))
        assert (session.messages, session.malformed) == (3, 1), before
        assert texts(session) == [DECISION]


@pytest.mark.spec("R-189")
@pytest.mark.parametrize("most_chars", [1, 2_000, 3_000_000])
def test_judging_from_the_end_finds_what_judging_everything_finds(most_chars, monkeypatch):
    monkeypatch.setattr(candidates, "MOST_CHARS", most_chars)
    chance = random.Random(11)  # noqa: S311 - only a text
    rows = a_long_session(900)
    kinds = ("Note: the gate of port {} is shut.", "I'll call port {} tomorrow.", "Decided on {}.")
    for number in range(40):
        line = kinds[0 if number % 4 else number % 3].format(number)
        rows.insert(chance.randrange(len(rows)), ("assistant", f"Fine.\n{line}\nThat is all."))
    ranked = []
    for number, (role, text) in enumerate(rows):
        for place, line in eligible_lines(text) if role == "assistant" else ():
            if category := category_of(line):
                ranked.append((category == "decision", number, place, line))
    wanted = [line for *_, line in sorted(sorted(ranked)[-4:], key=lambda row: row[1:])]
    assert texts(read(lines_of(*rows))) == wanted
    assert len(ranked) > 30


@pytest.mark.spec("R-190")
@pytest.mark.parametrize(
    ("stamps", "span"),
    [
        (
            ["2026-10-03T16:00:00", "2026-10-03T17:00:00"],
            "2026-10-03T16:00:00Z → 2026-10-03T17:00:00Z",
        ),
        (
            ["2026-10-03T16:00:00", "2026-10-03T17:00:00+02:00"],
            "2026-10-03T15:00:00Z → 2026-10-03T16:00:00Z",
        ),
        (
            ["2026-10-03T16:00:00+02:00", "2026-10-03T15:00:00Z"],
            "2026-10-03T14:00:00Z → 2026-10-03T15:00:00Z",
        ),
        (
            ["0001-01-01T00:00:00+09:00", "2026-10-03T15:00:00Z", 7],
            "2026-10-03T15:00:00Z → 2026-10-03T15:00:00Z",
        ),
        (
            ["0001-01-01T00:00:00+09:00", "2026-10-03T15:00:00Z"],
            "2026-10-03T15:00:00Z → 2026-10-03T15:00:00Z",
        ),
        (["soon", None], None),
    ],
)
def test_the_span_is_that_of_all_times_that_can_be_read(stamps, span):
    rows = [{"role": "user", "content": "x", "ts": stamp} for stamp in stamps]
    session = read("\n".join(map(json.dumps, rows)))
    assert str(session.span) == (f"Span {span}." if span else "Span unknown.")


@pytest.mark.spec("R-194")
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "Fine.  We  paint the boat\tbefore the first frost.",
            "Decided: we paint the boat before the first frost.",
        ),
        ("no. go. see it now. ok so be it", "Decided: no. go. see it now. ok so be it"),
        ("「船は来週の月曜日に塗る。」", "決定: 船は来週の月曜日に塗る。"),
        ("好的。船下周一再刷漆，不要忘记。", "决定：船下周一再刷漆，不要忘记。"),
        (
            "yes\r\npaint the boat before the frost\r\n",
            "Decided to **paint the boat** before the frost",
        ),
        ("\x0bpaint the boat before the frost\x0c", "Decided to paint the boat before the frost."),
        ("sell it", "Sell it."),
        ("paint the boat before the frost", "Decided: paint the bo\u200bat before the frost"),
        ("paint the boat before the frost", "Decided: paint the ~~boat~~ before the frost"),
        ("paint the boat before the frost", r"Decided: paint the \*boat\* before the frost"),
        ("Der Anstrich der Straßenseite ist blau", "Der Anstrich der STRASSENSEITE ist blau"),
    ],
)
def test_what_a_person_typed_is_known_again_however_it_was_typed(typed, said):
    persons = PersonsWords()
    persons.add(["hello", typed, "Ünrelated words of another message."])
    assert persons.repeated_in(["Decided to sell the rope of the boat.", said]) == {1}


@pytest.mark.spec("R-194")
def test_what_a_person_typed_is_known_again_after_very_many_words(monkeypatch):
    monkeypatch.setattr(persons_words, "MOST_IN_MEMORY", 50)
    persons = PersonsWords()
    for number in range(300):
        persons.add([f"Paint boat {number} before Monday."])
    said = [f"Decided: paint boat {n} before Monday." for n in (0, 299, 300)]
    assert persons.repeated_in(said) == {0, 1}
    persons.close()


P = "we will move the invoices to the new Berlin warehouse on Friday"


@pytest.mark.spec("R-194")
@pytest.mark.parametrize(
    "said",
    [
        "Decided: move the invoices to the new Berlin warehouse.",
        "Decided: the new Berlin warehouse on Friday.",
        "Decided: we will move the invoices, to the new Berlin warehouse on Friday.",
        "Decided: we will move the invoices to the new-Berlin warehouse on Friday.",
        "Decided: we will move the invoices to the new <b>Berlin</b> warehouse on Friday.",
        "Decided: we will move<br>the invoices to the new Ber<i>lin</i> warehouse.",
        "Decided: we will move the&nbsp;invoices to the new&#32;Berlin warehouse on Friday.",
        "Decided: we will move the invoices to the [new Berlin](https://e.org/a) warehouse.",
        "Decided: we will move the invoices to the new Berlin w\u0430rehouse on Friday.",
        "Decided: Postgres it is. Use Postgres 16 with a replica.",
    ],
)
def test_words_of_a_person_in_a_line_of_the_agents_own_are_known(said):
    persons = PersonsWords()
    persons.add([f"ok so, {P}, and thanks", "Good morning! Use postgres 16."])
    assert persons.repeated_in([said]) == {0}


@pytest.mark.parametrize(
    "said",
    [
        "Decided: the invoices go to Hamburg; the Berlin warehouse closes.",
        "Decided to use Postgres with 16 replicas.",
        "I'll let you know what we will do as soon as I can.",
        "Note: the gate is shut on Sundays, see the ledger.",
    ],
)
def test_a_few_words_in_common_are_no_repeat(said):
    persons = PersonsWords()
    persons.add([P, "use postgres 16", "let me know what we will do as soon as you can"])
    persons.add(["Is the gate shut?", "on Sundays, you mean", "see the ledger", "the gate is"])
    assert persons.repeated_in([said]) == set()


def test_what_was_typed_long_ago_makes_room(monkeypatch):
    monkeypatch.setattr(word_runs, "MOST_CHARS", 200)
    persons = PersonsWords()
    for text in (f"so {P}", "x" * 150, f"so {P.replace('Berlin', 'Ulm')}"):
        persons.add([text])
    said = [f"Decided: the new {town} warehouse on Friday." for town in ("Berlin", "Ulm")]
    assert persons.repeated_in(said) == {1}


def test_the_same_words_typed_without_end_take_no_longer_to_find():
    persons = PersonsWords()
    for _ in range(200):
        persons.add(["Please check the lanterns of the harbour and tell me."] * 100)
    start = time.process_time()
    assert persons.repeated_in(["I'll check: please check the lanterns of the " + "x" * 900]) == {0}
    assert time.process_time() - start < 1
