"""Does a prompt read like a lasting preference or a decision, and why; is the safety net due.

The rules of each language are data (cue_data, cues_*.txt). Silence is the default: a single
word such as "always" proves nothing, the form of the sentence decides.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mash_plugin.records.cue_data import THRESHOLD, Found, Language, languages_of, shared
from mash_plugin.records.cue_text import own_words, plain, sentences

REMINDER_MS = 15 * 60_000
PREVIOUS_END = 2_000
"""An agent's offer stands at the end of its message."""
SEVERAL_QUESTIONS = 2


class Sentence(NamedTuple):
    """One sentence with the rules that matched it; its strongest cue, signs and vetoes add up."""

    text: str
    found: tuple[Found, ...]
    score: int
    counts: bool


class Verdict(NamedTuple):
    """Whether a note is given, and everything that spoke for or against it."""

    is_lasting: bool
    kinds: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    silenced_by: tuple[Found, ...]
    """Rules that say that no person typed this; then no sentence was read."""
    previous: frozenset[str]
    """What the agent's message before did: `offer` named alternatives, `ask` asked something."""
    waits_for: frozenset[str]
    """What that message would have had to do for a rule that matched; empty when none did."""


def reads_lasting(prompt: str, previous: str | None = None) -> bool:
    """Whether the person's own words hold a lasting preference, a choice or a wish to keep it."""
    return judge(prompt, previous).is_lasting


def judge(prompt: str, previous: str | None = None) -> Verdict:
    """The verdict on a prompt, given the end of the agent's message before it."""
    text = plain(own_words(prompt))
    did = said_before(previous)
    if silenced := tuple(shared().on_prompt(text)):
        return Verdict(False, (), (), silenced, did, frozenset())
    rules = languages_of(text)
    read = [_read(sentence, rules, did) for sentence in sentences(text, shared().is_pasted)]
    if whole := tuple(shared().on_whole(text)):
        read.append(_scored(text, whole, did))
    counting = [s for s in read if s.counts]
    kinds = {f.rule.kind for s in counting for f in s.found if f.rule.is_cue and f.rule.met_by(did)}
    waits = {f.rule.after for s in read for f in s.found if not f.rule.met_by(did)}
    return Verdict(
        is_lasting=bool(counting),
        kinds=tuple(sorted(kinds)),
        sentences=tuple(s for s in read if s.found),
        silenced_by=(),
        previous=did,
        waits_for=frozenset(waits),
    )


def said_before(previous: str | None) -> frozenset[str]:
    """What the end of the agent's message did that a short answer may refer to."""
    if not previous:
        return frozenset()
    end = plain(previous[-PREVIOUS_END:])
    did = {found.rule.kind for found in shared().on_previous(end)}
    if "ask" in did and end.count("?") >= SEVERAL_QUESTIONS:
        did.add("questions")
    return frozenset(did)


def reminder_due(first_seen_at: int, last_reminder_at: int | None, now: int) -> bool:
    """Not in the first fifteen minutes of a session, then at most once in fifteen (R-126)."""
    since = first_seen_at if last_reminder_at is None else last_reminder_at
    return now - since >= REMINDER_MS


def _read(sentence: str, rules: Sequence[Language], did: frozenset[str]) -> Sentence:
    """A sentence counts when one language finds enough in it: another's veto is no matter."""
    best = Sentence(sentence, (), 0, False)
    for language in rules:
        found = _scored(sentence, tuple(language.on_sentence(sentence)), did)
        if found.found and (found.score > best.score or not best.found):
            best = found
    return best


def _scored(text: str, found: tuple[Found, ...], did: frozenset[str]) -> Sentence:
    score = _score(found, did)
    return Sentence(text, found, score, score >= THRESHOLD)


def _score(found: Sequence[Found], did: frozenset[str]) -> int:
    met = [f.rule for f in found if f.rule.met_by(did)]
    cues = [rule.weight for rule in met if rule.is_cue]
    if not cues:
        return 0
    return max(cues) + sum(rule.weight for rule in met if not rule.is_cue)
