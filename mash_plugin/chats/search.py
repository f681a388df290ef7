"""Find messages by words in any language, by the index alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mash_plugin.chats.question import Word, respelled, terms_of, word_of
from mash_plugin.chats.ranking import Asked, asked_of
from mash_plugin.chats.reordering import reordered
from mash_plugin.chats.snippets import FOLLOWED_CHARS, holds, snippet_of
from mash_plugin.records.model import Author, MessageRole
from mash_plugin.store.chats import SQL, json_list, quoted
from mash_plugin.store.sqlite import Connection, Row
from mash_plugin.tokens import is_dense

OR_TERMS, OR_FORMS, AND_TERMS = 12, 24, 3
"""The rarest terms decide; more of them only cost time."""
COMMON_SHARE = 0.02
COMMON_FLOOR = 200
"""In a small index no word is common enough to be worth dropping."""
CANDIDATES = 300
REORDERED, LOOKED_AROUND = 40, 16
SCANNED_WORDS, LAST_CHARACTER = 100, "\U0010ffff"
MOST_HITS = 1_000
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
    follows: str | None
    """What was found, where this message holds no word and answers it or replies to it."""


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
    other is left. The best come in the order of `ranked`, the others as the index likes them.
    """
    within: _Filter = {
        "repository": repository,
        "project_path": project_path,
        "chat_id": chat_id,
    }
    last = min(offset + limit, MOST_HITS) + 1
    row = db.one(SQL.last_seq)
    total = int(row[0]) if row else 0
    found = _words(db, query, total)
    asked = asked_of(query, found, total)
    rows: list[Row] = []
    held: Mapping[int, Row] = {}
    for attempt in _attempts(found, total):
        rows, held = _rows(db, attempt, within, last, asked)
        if rows:
            break
    terms = [form for word in found for form in word.forms]
    hits = [_hit(row, held, terms, shown) for row in rows[offset : last - 1]]
    return hits, len(rows) >= last and last <= MOST_HITS


class _Attempt(NamedTuple):
    """One full-text query; common words take the newest, which costs no look at all the others."""

    match: str
    takes_newest: bool


def _attempts(found: Sequence[Word], total: int) -> list[_Attempt]:
    """Full-text queries to try until one finds something."""
    single = [w.term for w in found if _is_single(w)]
    there = sorted((w for w in found if w.documents and not _is_single(w)), key=_commonness)
    most = _most(total)
    rare = [w for w in there if w.documents <= most]
    if rare:
        best = sorted(
            (-worth, n, form)
            for n, word in enumerate(rare[:OR_TERMS])
            for form, worth in word.forms.items()
        )
        forms = dict.fromkeys(form for *_, form in best[:OR_FORMS])
        return [_Attempt(" OR ".join(map(quoted, forms)), takes_newest=False)]
    attempts = []
    if there:
        spelled = [_spelled(w) for w in there[:AND_TERMS]]
        attempts = [
            _Attempt(match, takes_newest=True) for match in (" AND ".join(spelled), spelled[0])
        ]
    if single:
        # A lone character begins a bigram, or ends its run and then stands alone in the index.
        match = " AND ".join(f"{quoted(t)}*" for t in single[:AND_TERMS])
        attempts.append(_Attempt(match, takes_newest=True))
    return attempts


def _spelled(word: Word) -> str:
    """The word itself in any of its spellings."""
    forms = [form for form, worth in word.forms.items() if worth == 1]
    return f"({' OR '.join(map(quoted, forms))})"


def _is_single(word: Word) -> bool:
    return len(word.term) == 1 and is_dense(word.term)


def _commonness(word: Word) -> tuple[int, str]:
    return word.documents, word.term


def _most(total: int) -> int:
    """In how many messages a word may stand that is looked for."""
    return max(COMMON_FLOOR, int(total * COMMON_SHARE))


def _words(db: Connection, query: str, total: int) -> list[Word]:
    """The words of a query with the forms of each that the index holds."""

    def scan(beginning: str) -> list[tuple[str, int]]:
        keys = {"first": beginning, "end": beginning + LAST_CHARACTER, "limit": SCANNED_WORDS}
        return [(term, count) for term, count in db.all(SQL.words_from, keys)]

    def count(form: str, most: int) -> int:
        keys = {"match": quoted(form), "limit": most}
        row = db.one(SQL.count_matches, keys)
        return int(row[0]) if row else 0

    found = [word_of(term, scan, _most(total)) for term in terms_of(query)]
    return respelled(query, found, count, _most(total))


def _rows(
    db: Connection, attempt: _Attempt, within: _Filter, last: int, asked: Asked
) -> tuple[list[Row], Mapping[int, Row]]:
    """The best messages, and those of them that the index found, which are not all."""
    many = max(CANDIDATES, last)
    keys = {"match": attempt.match, "limit": many}
    statement = SQL.newest_matches if attempt.takes_newest else SQL.best_matches
    scores: dict[int, float] = dict(db.all(statement, keys))
    if any(within.values()):
        here = {seq for (seq,) in db.all(SQL.held_within, {**within, "seqs": json_list(scores)})}
        if len(here) < max(last, REORDERED) and len(scores) == many:
            statement = SQL.newest_within if attempt.takes_newest else SQL.best_within
            scores = dict(db.all(statement, {**keys, **within}))
        else:
            scores = {seq: score for seq, score in scores.items() if seq in here}
    wanted = list(scores)[: max(last, REORDERED)]
    first: dict[int, Row] = {}
    for row in db.all(SQL.found_messages, {**within, "seqs": json_list(wanted)}):
        first.setdefault(row[0], row)
    rows = [first[seq] for seq in wanted if seq in first]
    looked_around = 0 if attempt.takes_newest else LOOKED_AROUND
    best = reordered(db, rows[:REORDERED], asked, looked_around)
    there = {row[0] for row in best}
    return best + [row for row in rows[REORDERED:] if row[0] not in there], first


def _hit(
    row: Row, held: Mapping[int, Row], terms: Sequence[str], shown: Callable[[str], str]
) -> Hit:
    message_id, text, role, author, sent_at, chat_id, title, project_path = row[1:9]
    snippet, follows = snippet_of(text, terms, shown), _followed(row, held, terms, shown)
    return Hit(chat_id, message_id, role, author, snippet, sent_at, title, project_path, follows)


def _followed(
    row: Row, held: Mapping[int, Row], terms: Sequence[str], shown: Callable[[str], str]
) -> str | None:
    """Why a message is a hit that holds no word: `user: Which …`, the nearest before it."""
    if row[0] in held or holds(row[2], terms):
        return None
    before = [one for one in held.values() if one[9:11] == row[9:11] and one[11] < row[11]]
    if not before:
        return None
    found = max(before, key=lambda one: int(one[11]))
    return f"{found[3]}: {snippet_of(found[2], terms, shown, FOLLOWED_CHARS)}"
