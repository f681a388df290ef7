"""The order of what a search finds, by counted reasons that can be told. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mash_plugin.chats.question import Word, names_of
from mash_plugin.tokens import index_text

READ_CHARS = 3_000
NEAR, BEFORE, IN_TITLE = 0.5, 0.5, 0.25
"""What a word is worth that stands elsewhere: in the exchange, in the one that a prompt follows,
in the chat's title."""
CLOSE = 0.5
"""Of the best score: what stands near is shown with what comes so close to it."""
LEAST_REPLY_BYTES = 40
PAIR, NAME = 0.3, 1.0
COVERED = 0.6
"""The share of a score that depends on how many of the words are there at all."""
SATURATION, LENGTH_SHARE, USUAL_WORDS = 0.7, 0.4, 50
PERSON, AUTOMATED = 1.3, 0.5
ASKED, ON_THE_WAY = 0.75, 0.7
"""A question is worth less than its answer, and what an agent says before it calls a tool."""
NEWEST, HALF_LIFE_MS = 0.12, 120 * 86_400_000
_PERSONS = frozenset({"person", "inferred", "unknown"})


Exchange = tuple[int, int]
"""The chat, and where the prompt stands."""


class Asked(NamedTuple):
    """A question, and how much each of its words tells."""

    words: Sequence[Word]
    weights: Mapping[str, float]
    names: Sequence[str]


class Found(NamedTuple):
    """A message that holds some of the words."""

    seq: int
    text: str
    role: str
    author: str
    sent_at: int | None
    title: str | None
    exchange: Exchange
    before: Exchange | None = None
    """The exchange that a prompt follows."""
    is_last: bool = False
    """The exchange ends with it."""
    is_beside: bool = False
    """The index did not find it: it stands near what was found."""
    is_on_the_way: bool = False
    """A tool call follows it."""


class Reasons(NamedTuple):
    """Why a message stands where it does."""

    words: float
    phrases: float
    near: float
    """Words in the exchange, in the one before a prompt, in the title."""
    covered: float
    speaker: float
    recency: float

    @property
    def score(self) -> float:
        said = self.words + self.phrases + self.near
        return said * (1 - COVERED + COVERED * self.covered) * self.speaker * self.recency


def asked_of(query: str, found: Sequence[Word], total: int) -> Asked:
    """What to rank by: the rarer a word, the more it tells."""
    weights = {w.term: w.worth * math.log(1 + (total + 1) / (w.documents + 1)) for w in found}
    return Asked(found, weights, names_of(query))


def ranked(found: Sequence[Found], asked: Asked) -> list[tuple[int, Reasons]]:
    """The messages from the best down, each exchange once before any comes a second time.

    A prompt that comes close to the best is followed by the answer that it got, where this says
    more than the prompt did. A text that was said before counts as its exchange's second. Equal
    ones: the newest first.
    """
    reasons = _reasons(found, asked)
    order = sorted(range(len(found)), key=lambda n: (-reasons[n].score, -found[n].seq))
    close = CLOSE * reasons[order[0]].score if order else 0.0
    answers = {f.exchange: n for n, f in enumerate(found) if f.is_last and f.role == "assistant"}
    first: dict[int, None] = {}
    rest = []
    seen: set[Exchange | str] = set()
    for number in order:
        here, reason = found[number], reasons[number]
        if here.is_beside and not (reason.words or _is_reply(here, reason, close)):
            continue
        if here.exchange in seen or here.text in seen:
            rest.append(number)
            continue
        first[number] = None
        answer = answers.get(here.exchange)
        is_close = here.role == "user" and reason.score >= close
        if is_close and answer is not None and len(found[answer].text) > len(here.text):
            first[answer] = None
        seen |= {here.exchange, here.text}
    return [(found[n].seq, reasons[n]) for n in dict.fromkeys([*first, *rest])]


def _is_reply(found: Found, reason: Reasons, close: float) -> bool:
    """Whether a prompt says something of its own about what was found just before it."""
    if found.before is None or len(found.text.encode("utf-8", "replace")) < LEAST_REPLY_BYTES:
        return False
    return reason.score >= close / 2


def _reasons(found: Sequence[Found], asked: Asked) -> list[Reasons]:
    stands_for = _stands_for(asked.words)
    lines = [_line(f.text[:READ_CHARS], stands_for) for f in found]
    titles = {title: _line(title, stands_for).strengths for title in {f.title or "" for f in found}}
    together: dict[Exchange, dict[str, float]] = {}
    for f, line in zip(found, lines, strict=True):
        _join(together.setdefault(f.exchange, {}), line.strengths, 1)
    after = {a.term: b.term for a, b in zip(asked.words, asked.words[1:], strict=False)}
    newest = max((f.sent_at or 0 for f in found), default=0)
    weights = asked.weights
    all_weight = sum(weights.values()) or 1.0
    made = []
    for f, line in zip(found, lines, strict=True):
        near: dict[str, float] = {}
        _join(near, titles[f.title or ""], IN_TITLE)
        if f.before in together:
            _join(near, together[f.before], BEFORE)
        _join(near, together[f.exchange], NEAR)
        here = sum(weights[t] * s for t, s in line.strengths.items())
        beside = sum(weights[t] * s for t, s in near.items() if t not in line.strengths)
        made.append(
            Reasons(
                words=_words(line, weights),
                phrases=_phrases(line, after, weights) + _names(f.text, asked),
                near=beside,
                covered=(here + beside) / all_weight,
                speaker=_speaker(f),
                recency=1 + NEWEST * 0.5 ** ((newest - (f.sent_at or 0)) / HALF_LIFE_MS),
            )
        )
    return made


_StandsFor = Mapping[str, Sequence[tuple[str, float]]]


class _Line(NamedTuple):
    """Where the words of a question stand in a text."""

    length: int
    at: list[tuple[int, Sequence[tuple[str, float]]]]
    strengths: dict[str, float]
    """The words that are there, each by its best form."""


def _line(text: str, stands_for: _StandsFor) -> _Line:
    tokens = index_text(text).split()
    at = [(n, stands_for[token]) for n, token in enumerate(tokens) if token in stands_for]
    if any(len(form) == 1 for form in stands_for):
        # A lone character stands in the index as the beginning of a pair.
        at += [(n, stands_for[t[0]]) for n, t in enumerate(tokens) if t[1:] and t[0] in stands_for]
    spelled = [form.split() for form in stands_for if " " in form]
    for pieces in spelled:
        at += [
            (n, stands_for[" ".join(pieces)])
            for n in range(len(tokens) - len(pieces) + 1)
            if tokens[n : n + len(pieces)] == pieces
        ]
    strengths: dict[str, float] = {}
    for _, terms in at:
        _join(strengths, dict(terms), 1)
    return _Line(len(tokens), sorted(at) if spelled else at, strengths)


def _stands_for(found: Iterable[Word]) -> _StandsFor:
    """Words of the index to the words of the question that they stand for."""
    made: dict[str, list[tuple[str, float]]] = {}
    for word in found:
        for form, worth in word.forms.items():
            made.setdefault(form, []).append((word.term, worth))
    return made


def _join(into: dict[str, float], more: Mapping[str, float], share: float) -> None:
    for term, strength in more.items():
        into[term] = max(strength * share, into.get(term, 0.0))


def _words(line: _Line, weights: Mapping[str, float]) -> float:
    """Each word by how often it stands here, more in a short message than in a long one."""
    counts: dict[str, int] = {}
    for _, terms in line.at:
        for term, _ in terms:
            counts[term] = counts.get(term, 0) + 1
    slow = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * line.length / USUAL_WORDS)
    return sum(
        weights[term] * strength * counts[term] * (1 + SATURATION) / (counts[term] + slow)
        for term, strength in line.strengths.items()
    )


def _phrases(line: _Line, after: Mapping[str, str], weights: Mapping[str, float]) -> float:
    """Words that follow each other here as they do in the question."""
    pairs = {
        (term, other)
        for (at, terms), (next_at, others) in zip(line.at, line.at[1:], strict=False)
        if next_at == at + 1
        for term, _ in terms
        for other, _ in others
        if after.get(term) == other
    }
    return PAIR * sum(min(weights[a], weights[b]) for a, b in sorted(pairs))


def _names(text: str, asked: Asked) -> float:
    """Identifiers and paths that stand here to the letter."""
    if not asked.names:
        return 0.0
    folded, usual = text.casefold(), sum(asked.weights.values()) / max(1, len(asked.weights))
    return NAME * usual * sum(name in folded for name in asked.names)


def _speaker(found: Found) -> float:
    if found.role == "user":
        if found.author not in _PERSONS:
            return AUTOMATED
        return PERSON * (ASKED if is_question(found.text) else 1)
    return ON_THE_WAY if found.is_on_the_way else 1.0


def is_question(text: str) -> bool:
    """Whether a short text ends with a question mark."""
    return len(text) < 1_000 and text.rstrip().endswith(("?", "？", "か", "か。"))
