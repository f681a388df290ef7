"""Texts of people and agents: what is looked for, what is private, what is a credential."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.chats.search import search_chats
from mash_plugin.errors import MashError
from mash_plugin.memory.call import Caller
from mash_plugin.memory.matches import find_record_matches
from mash_plugin.memory.recall import recall_records
from mash_plugin.privacy.credentials import credential_kind, cut_title, mask
from mash_plugin.privacy.own_words import persons_own
from mash_plugin.privacy.spans import PRIVATE_MARK, split_private
from mash_plugin.protocol import validate
from mash_plugin.records import cues
from mash_plugin.tokens import TOKEN_CHARS, index_text, significant, words
from tests.fuzz.shapes import encoded, some_text
from tests.fuzz.target import FIXTURES, Check, Target
from tests.hooks_answers.conftest import IDENTITY, Desk, make_repository, open_node
from tests.privacy.samples import SAMPLES

SECRET = "qqqTheLedgerMovesqqq"
LONGEST_MARK = 80
_NAMED = re.compile(r"@\{([\w ]+)\}")
_BRACKETS = ("<", "\uff1c", "&lt;", "&amp;lt;", "&#60;", "&#x003c;", "\\u003c", "\\x3c", "%3C")
_ENDS = (">", "\uff1e", "&gt;", "&amp;gt;", "&#62;", "&#x3e;", "\\u003e", "\\x3e", "%3E", "")


def queries() -> SearchStrategy[bytes]:
    """What people and agents look for, in many scripts."""
    lines = [
        line
        for path in sorted(FIXTURES.glob("search/*.txt"))
        for line in path.read_text("utf-8").splitlines()[:6]
    ]
    syntax = ('"', "*", "^", "NEAR(a b)", " AND ", " OR ", " NOT ", "title:", "-", "{a b}:", "()")
    odd = ("C++", "src/main.rs", "it's", "a_b-c.d:e", "カ", "用户", "😀", "'; DROP TABLE--", "%_")
    return encoded(some_text((*lines, *syntax, *odd)))


@contextmanager
def searching(folder: Path) -> Iterator[Check]:
    """A memory with records and chats in many scripts."""
    desk = Desk(folder, open_node(folder), make_repository(folder / "shop"))
    for path in sorted(FIXTURES.glob("search/*.txt")):
        desk.chat(path.read_text("utf-8")[:2_000], f"s-{path.stem}")
        desk.keep(path.read_text("utf-8").splitlines()[0])
    try:
        yield lambda data: _check_query(desk, data.decode("utf-8", "replace"))
    finally:
        desk.node.close()


def _check_query(desk: Desk, query: str) -> None:
    found = words(query)
    assert all(0 < len(word) <= 2 * TOKEN_CHARS for word in found)
    assert set(significant(query)) <= set(found)
    assert set(found) <= set(index_text(query).split())
    with desk.node.chats.database.reading() as db:
        hits, _ = search_chats(db, query, 5)
    assert len(hits) <= 5
    call = desk.node.call(Caller("codex", "s-1", None), desk.now, {})
    scope = {"kind": "repository", "identity": IDENTITY}
    asked = {"scope": scope, "query": query[:2_000], "byte_budget": 2_048}
    recalled = recall_records(call, validate("recall_records", asked))
    assert len(recalled["records"]) <= 8
    body = {"statement": query, "details": {"kind": "fact"}}
    try:
        asked = validate("find_record_matches", {"scope": scope, "body": body})
    except MashError:
        return  # no statement of a record
    find_record_matches(call, asked)


def spans() -> SearchStrategy[bytes]:
    """Texts with tags of private spans in every spelling."""
    tags = [
        f"{start}{slash}private{end}"
        for start in _BRACKETS
        for end in _ENDS
        for slash in ("", "/", " / ")
    ]
    quoted = ("```", "~~~", "> ", '<pasted_content id="a">', '</pasted_content id="a">', "<ide_x>")
    pieces = some_text((*tags, *tags, *quoted, "words ", "PRIVATE", "\n", "&", "\\"))
    around = pieces.map(lambda text: text.replace("qqq", ""))
    kept_back = st.builds(
        lambda before, start, after: f"{before}{start}private>{SECRET}{after}",
        around,
        st.sampled_from(_BRACKETS),
        around,
    )
    return encoded(pieces | kept_back)


@contextmanager
def text_checks(_folder: Path) -> Iterator[Check]:
    """What is done with every text of a chat."""
    yield _check_text


def _check_text(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    visible, inner = split_private(text)
    assert split_private(visible) == (visible, ())
    if text.count(SECRET) == 1 and any(f"{mark}private>{SECRET}" in text for mark in _BRACKETS):
        assert SECRET not in visible
    assert len(visible) <= 2 * len(text) + len(PRIVATE_MARK)
    assert all(one == one.strip() and one for one in inner)
    own = persons_own(visible)
    assert len(own) <= 2 * len(visible) + 2
    assert all(part in visible for part in own.replace("\ufffc", "\n").split("\n"))
    assert persons_own(own) == own
    assert len(cut_title(visible, 60)) <= 60
    cues.judge(own)


def secrets() -> SearchStrategy[bytes]:
    """Made-up credentials in texts, whole and in pieces."""
    samples = list(chain.from_iterable(SAMPLES.values()))
    around = ("Bearer ", "password = ", "https://user:", "@host/x", "\\", "'", "“", "\u200b", "=")
    halves = [sample[: len(sample) // 2] for sample in samples]
    return encoded(some_text((*samples, *samples, *halves, *around)))


def _sample(name: re.Match[str]) -> str:
    """A credential that a kept input only names: no file of ours holds one."""
    return SAMPLES.get(name[1], [name[0]])[0]


@contextmanager
def masks(_folder: Path) -> Iterator[Check]:
    """Masking, with and without patterns of the person."""
    yield _check_mask


def _check_mask(data: bytes) -> None:
    text = _NAMED.sub(_sample, data.decode("utf-8", "replace"))
    for extra in ((), (r"\bledger-\d+", "(a|b", "x*")):
        masked = mask(text, extra)
        # One may swallow the word that tells of the next, where no space stands between them.
        again = mask(masked, extra)
        assert mask(again, extra) == again
        assert len(masked) <= len(text) + LONGEST_MARK * (masked.count("[masked") + 1)
        masked.encode()
        assert masked == text or credential_kind(text, extra)
    alone = f"see\n{text}\nend"
    for samples in SAMPLES.values():
        for sample in samples:
            if text == sample:
                assert sample not in mask(alone)


TARGETS = {
    "queries": Target(queries(), searching),
    "spans": Target(spans(), text_checks),
    "masking": Target(secrets(), masks),
}
