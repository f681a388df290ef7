"""Find messages by words in any language, and chats that mention a file; by the index alone."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mash_plugin.agents.events import MessageRole
from mash_plugin.chats.project import Project
from mash_plugin.chats.reading import Chat, as_chat
from mash_plugin.records.files import mentions_path
from mash_plugin.records.model import Author
from mash_plugin.store.chats import SQL, json_list
from mash_plugin.store.sqlite import Connection, Row
from mash_plugin.tokens import STOP, index_text, is_dense, words

QUERY_CHARS = 4_000
QUERY_TERMS = 32
OR_TERMS, AND_TERMS = 12, 3
"""The rarest terms decide; more of them only cost time."""
COMMON_SHARE = 0.02
COMMON_FLOOR = 200
"""In a small index no word is common enough to be worth dropping."""
CANDIDATES = 300
REORDERED, REORDER_CHARS = 60, 4_000
MOST_HITS = 1_000
SNIPPET_BEFORE, SNIPPET_CHARS, SNIPPET_SCAN = 60, 240, 20_000
MASKED_CHARS = 2 * SNIPPET_SCAN
FILE_HITS, FILE_CANDIDATES = 5_000, 400
_FREQUENCIES: dict[tuple[str, str], tuple[int, int]] = {}
FREQUENCIES_KEPT = 4_096
_Filter = dict[str, str | int | None]


class Hit(NamedTuple):
    """One found message, with the chat that it is shown in."""

    chat_id: str
    message_id: str
    role: MessageRole
    author: Author
    snippet: str
    sent_at: int | None
    title: str | None
    project_path: str | None


def search_chats(
    db: Connection,
    query: str,
    limit: int = 10,
    offset: int = 0,
    *,
    repository: str | None = None,
    project_path: str | None = None,
    chat_id: str | None = None,
    shown: Callable[[str], str] = str,
) -> tuple[list[Hit], bool]:
    """The best messages for a query, each once, and whether more follow.

    `shown` masks a text before a snippet is cut out: half a credential is not recognised.
    Safe against any text: no character of it reaches the full-text syntax. Words that stand
    in more than 2 % of the messages are dropped for finding, not for ordering, unless no
    other is left.
    """
    within: _Filter = {
        "repository": repository,
        "project_path": project_path,
        "chat_id": chat_id,
    }
    last = min(offset + limit, MOST_HITS) + 1
    terms = list(dict.fromkeys(words(query[:QUERY_CHARS])))[:QUERY_TERMS]
    terms = [t for t in terms if t not in STOP] or terms
    rows: list[Row] = []
    for attempt in _attempts(db, terms):
        rows = _rows(db, attempt, within, last)
        if rows:
            break
    hits = [_hit(row, terms, shown) for row in rows[offset : last - 1]]
    return hits, len(rows) >= last and last <= MOST_HITS


def chats_mentioning_file(
    db: Connection, project: Project, path: str, limit: int, exclude_session: str | None
) -> list[Chat]:
    """The newest chats of a project whose words name this file as a whole path."""
    phrase = index_text(path)
    if not phrase or len(path) > QUERY_CHARS:
        return []
    keys = {
        "match": _quoted(phrase),
        "repository": project.identity,
        "project_path": None if project.identity else project.place,
        "exclude_session": exclude_session,
        "hits": FILE_HITS,
        "limit": FILE_CANDIDATES,
    }
    absolute = f"{project.root.rstrip('/')}/{path}"
    found: dict[int, Chat] = {}
    for row in db.raw.execute(SQL.mentions, keys):  # the newest chats first
        text, number = row[0], row[-1]
        if number not in found and (mentions_path(text, path) or mentions_path(text, absolute)):
            found[number] = as_chat(row[1:])
            if len(found) == limit:
                break
    return list(found.values())


class _Attempt(NamedTuple):
    """One full-text query; common words take the newest, which costs no look at all the others."""

    match: str
    common: Mapping[str, float]
    takes_newest: bool


def _attempts(db: Connection, terms: Sequence[str]) -> list[_Attempt]:
    """Full-text queries to try until one finds something."""
    row = db.one(SQL.last_seq)
    total = int(row[0]) if row else 0
    single = [t for t in terms if len(t) == 1 and is_dense(t)]
    counted = [(_documents(db, t, total), t) for t in terms if t not in single]
    counted = sorted((n, t) for n, t in counted if n)
    most = max(COMMON_FLOOR, total * COMMON_SHARE)
    rare = [t for n, t in counted if n <= most]
    common = {t: math.log(1 + total / n) for n, t in counted if n > most}
    if rare:
        return [_Attempt(" OR ".join(map(_quoted, rare[:OR_TERMS])), common, takes_newest=False)]
    found = []
    if common:
        names = list(common)
        together = " AND ".join(map(_quoted, names[:AND_TERMS]))
        found = [
            _Attempt(match, common, takes_newest=True) for match in (together, _quoted(names[0]))
        ]
    if single:
        # A lone character begins a bigram, or ends its run and then stands alone in the index.
        match = " AND ".join(f"{_quoted(t)}*" for t in single[:AND_TERMS])
        found.append(_Attempt(match, {}, takes_newest=True))
    return found


def _documents(db: Connection, term: str, total: int) -> int:
    """How many messages hold a term; remembered until the index has grown by a tenth."""
    key = (db.raw.filename, term)
    count, then = _FREQUENCIES.get(key, (0, -1))
    if then == total or (count and then <= total <= then * 1.1):
        return count
    row = db.one(SQL.documents_with, {"term": term})
    count = int(row[0]) if row else 0
    if len(_FREQUENCIES) >= FREQUENCIES_KEPT:
        _FREQUENCIES.clear()
    _FREQUENCIES[key] = (count, total)
    return count


def _rows(db: Connection, attempt: _Attempt, within: _Filter, last: int) -> list[Row]:
    many = max(CANDIDATES, last)
    keys = {"match": attempt.match, "limit": many}
    statement = SQL.newest_matches if attempt.takes_newest else SQL.best_matches
    scores: dict[int, float] = dict(db.all(statement, keys))
    if any(within.values()):
        here = {seq for (seq,) in db.all(SQL.held_within, {**within, "seqs": json_list(scores)})}
        if len(here) < last and len(scores) == many:
            statement = SQL.newest_within if attempt.takes_newest else SQL.best_within
            scores = dict(db.all(statement, {**keys, **within}))
        else:
            scores = {seq: score for seq, score in scores.items() if seq in here}
    wanted = list(scores)[: max(last, REORDERED)]
    first: dict[int, Row] = {}
    for row in db.all(SQL.found_messages, {**within, "seqs": json_list(wanted)}):
        first.setdefault(row[0], row)
    rows = [first[seq] for seq in wanted if seq in first]
    return _reordered(rows, scores, attempt.common) if attempt.common else rows


def _reordered(rows: list[Row], scores: dict[int, float], common: Mapping[str, float]) -> list[Row]:
    """Let the words that were too common to find with decide between those found."""

    def score(row: Row) -> float:
        here = set(index_text(row[2][:REORDER_CHARS]).split())
        return scores[row[0]] - sum(weight for t, weight in common.items() if t in here)

    return sorted(rows[:REORDERED], key=score) + rows[REORDERED:]


def _hit(row: Row, terms: Sequence[str], shown: Callable[[str], str]) -> Hit:
    message_id, text, role, author, sent_at, chat_id, title, project_path = row[1:]
    snippet = _snippet(shown(_beginning(text)), terms)
    return Hit(chat_id, message_id, role, author, snippet, sent_at, title, project_path)


def _beginning(text: str) -> str:
    """As much as a snippet can come from and no half word, for masking takes its time."""
    if len(text) <= MASKED_CHARS:
        return text
    end = max(text.rfind(space, SNIPPET_SCAN, MASKED_CHARS) for space in " \n")
    return text if end < 0 else text[: end + 1]


def _snippet(text: str, terms: Sequence[str]) -> str:
    """The surroundings of the first of the words, on one line."""
    wanted = set(terms)
    at = 0
    for match in re.finditer(r"\S+", text[:SNIPPET_SCAN]):
        hits = wanted.intersection(index_text(match[0]).split())
        if hits:
            inside = [match[0].find(t) for t in hits if t in match[0]]
            at = match.start() + (min(inside) if len(match[0]) > SNIPPET_BEFORE and inside else 0)
            break
    start = max(0, at - SNIPPET_BEFORE)
    if start:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    cut = " ".join(text[start : start + SNIPPET_CHARS].split())
    return ("… " if start else "") + cut + (" …" if start + SNIPPET_CHARS < len(text) else "")


def _quoted(term: str) -> str:
    return '"' + term.replace('"', "") + '"'
