"""Questions in eight languages find the messages that answer them, as labelled by hand."""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from mash_plugin.chats.search import search_chats
from tests.chats.conftest import NOW, Chats
from tests.chats.search_corpus import LANGUAGES, questions, write_chats

LEAST_HITS, LEAST_HITS_OF_A_LANGUAGE = 0.9, 0.8
Ranks = dict[str, list[int]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    """Where each answer stands, 0 for nowhere on the first page: in all, by part, by language."""
    folder: Path = tmp_path_factory.mktemp("search")
    chats = Chats(folder)
    answers = write_chats(chats.claude, chats.codex)
    chats.index.refresh_all(NOW)
    found: Ranks = defaultdict(list)
    with chats.database.reading() as db:
        for question in questions():
            hits = [hit.message_id for hit in search_chats(db, question.text)[0]]
            answer = answers[question.answer]
            rank = hits.index(answer) + 1 if answer in hits else 0
            for group in ("all", question.part, question.language):
                found[group].append(rank)
    chats.database.close()
    return found


def report(group: str, ranks: list[int]) -> float:
    """The share of answers among the first five, told with `pytest -s`."""
    hits = sum(0 < rank <= 5 for rank in ranks) / len(ranks)
    mean = sum(1 / rank for rank in ranks if rank) / len(ranks)
    sys.stdout.write(f"\n{group}: {len(ranks)} questions, hit@5 {hits:.3f}, MRR {mean:.3f}")
    return hits


def test_the_set_is_large_and_keeps_a_part_aside() -> None:
    asked = questions()
    assert len(asked) == len({q.text for q in asked}) >= 120
    assert all(sum(q.part == part for q in asked) >= 30 for part in ("tune", "held", "fresh"))
    assert {q.language for q in asked} == set(LANGUAGES)


@pytest.mark.parametrize("part", ["all", "tune", "held", "fresh"])
def test_nine_answers_in_ten_are_among_the_first_five(ranks: Ranks, part: str) -> None:
    assert report(part, ranks[part]) >= LEAST_HITS


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_language_is_left_behind(ranks: Ranks, language: str) -> None:
    assert report(language, ranks[language]) >= LEAST_HITS_OF_A_LANGUAGE
