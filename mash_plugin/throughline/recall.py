"""What an agent reads back: a search of its memories, and everything of one session."""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

from mash_plugin.throughline.artifacts import artifact_order
from mash_plugin.throughline.backend import Database
from mash_plugin.throughline.matching import COMMON, Term, is_sign, matches, terms_of
from mash_plugin.throughline.store import (
    Memory,
    count_word,
    newest,
    newest_with,
    session_memories,
)

BUDGET, MOST = 50, 200
COUNTED = 2_000
"""How far words are counted to find the rarest."""
STAGES = ("long_term", "working", "any")


class Question(NamedTuple):
    """A search as the agent asked it."""

    query: str | None = None
    category: str | None = None
    min_sig: float = 0.0
    budget: int = BUDGET
    stage: str = "long_term"


class Answer(NamedTuple):
    """The rows of a search, and how many match in the other stage, where that was looked for."""

    rows: tuple[Memory, ...]
    has_more: bool = False
    """Whether the budget left some out."""
    long_term_matches: int | None = None
    """Of a search of working memory alone."""
    working_matches: int | None = None
    """Of a search of long-term memory alone that found nothing."""


def search(db: Database, agent: str, question: Question) -> Answer:
    """The newest rows of the agent that hold all words of the query."""
    if question.stage == "any":
        both = merge(
            _matching(db, agent, "working", question),
            _matching(db, agent, "long_term", question),
            key=_place,
            reverse=True,
        )
        # A copy stands beside its original: both tell the time of the same event.
        return _answer(_once(list(islice(both, 2 * (question.budget + 1)))), question)
    found = _matching(db, agent, question.stage, question)
    answer = _answer(tuple(islice(found, question.budget + 1)), question)
    if question.stage == "working":
        return answer._replace(long_term_matches=_count(db, agent, "long_term", question))
    if not answer.rows:
        return answer._replace(working_matches=_count(db, agent, "working", question))
    return answer


def recall_session(db: Database, agent: str, session: str) -> list[Memory]:
    """The rows of a session: the newest capture first, within one in artifact order."""
    rows = session_memories(db, agent, session)
    return sorted(rows, key=lambda row: (-row.stored_at, artifact_order(row.artifact_key or "")))


def _answer(found: tuple[Memory, ...], question: Question) -> Answer:
    return Answer(found[: question.budget], len(found) > question.budget)


def _count(db: Database, agent: str, stage: str, question: Question) -> int:
    return sum(1 for _ in islice(_matching(db, agent, stage, question), MOST))


def _matching(db: Database, agent: str, stage: str, question: Question) -> Iterator[Memory]:
    terms = terms_of(question.query or "")
    for row in _likely(db, agent, stage, terms):
        if question.category is not None and row.category != question.category:
            continue
        if row.significance >= question.min_sig and matches(terms, row.words):
            yield row


def _likely(db: Database, agent: str, stage: str, terms: list[Term]) -> Iterator[Memory]:
    """The rows that may match, the newest first: those that hold the rarest part of a query."""
    choices = [
        _choice(db, agent, stage, term)
        for term in terms
        if not COMMON.issuperset(term.tokens) and not any(map(is_sign, term.tokens))
    ]
    if not choices:
        return newest(db, agent, stage)
    _, words = min(choices)
    return _distinct(
        merge(
            *(newest_with(db, agent, stage, word) for word in words),
            key=_place,
            reverse=True,
        )
    )


def _choice(db: Database, agent: str, stage: str, term: Term) -> tuple[int, list[str]]:
    """How many rows to look at for a term, and the words to find them by."""
    tokens = [token for token in term.tokens if token not in COMMON]
    counts = [(count_word(db, agent, stage, word, COUNTED), word) for word in tokens]
    words = [min(counts)] if counts else []
    for pieces in term.spelled:
        rows = [(count_word(db, agent, stage, piece, COUNTED), piece) for piece in pieces]
        words += [min(rows)] if min(rows)[0] else []
    words.append((count_word(db, agent, stage, term.whole, COUNTED), term.whole))
    counted = dict.fromkeys(words)
    return sum(count for count, _ in counted), [word for _, word in counted]


def _place(row: Memory) -> tuple[int, str]:
    return row.sort_at, row.mem_id


def _distinct(rows: Iterable[Memory]) -> Iterator[Memory]:
    last = None
    for row in rows:
        if row.mem_id != last:
            yield row
        last = row.mem_id


def _once(rows: list[Memory]) -> tuple[Memory, ...]:
    """A promoted copy stands for its original, too."""
    originals = {row.source_mem_id for row in rows}
    return tuple(row for row in rows if row.mem_id not in originals)
