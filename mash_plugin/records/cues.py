"""Does a prompt read like a lasting preference or a decision, and why; is the safety net due.

The rules of each language are data (cue_data, cues_*.txt). Silence is the default: a single
word such as "always" proves nothing, the form of the sentence decides.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mash_plugin.records.cue_answers import takes_up
from mash_plugin.records.cue_data import THRESHOLD, Found, Language, languages_of, shared
from mash_plugin.records.cue_text import own_words, plain, sentences

REMINDER_MS = 15 * 60_000
PREVIOUS_END = 2_000
"""An agent's offer stands at the end of its message."""
END_OF_QUESTION = 300
"""What it asks about is named there."""
SEVERAL_QUESTIONS = 2
ANSWERS = frozenset({"named", "design"})
NONE: frozenset[str] = frozenset()


class Sentence(NamedTuple):
    """One sentence with the rules that matched it; its strongest cue, signs and vetoes add up."""

    text: str
    found: tuple[Found, ...]
    score: int

    @property
    def counts(self) -> bool:
        """Whether it brings the note."""
        return self.score >= THRESHOLD


class Verdict(NamedTuple):
    """Whether a note is given, and everything that spoke for or against it."""

    is_lasting: bool
    kinds: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    silenced_by: tuple[Found, ...]
    """Rules that say that no person typed this; then no sentence was read."""
    pasted: tuple[Found, ...]
    """Lines that no person typed, with the rules that say so."""
    previous: frozenset[str]
    """What the agent's message before did: `offer` named alternatives, `ask` asked something."""
    waits_for: frozenset[str]
    """What that message would have had to do for a rule that matched."""
    may_answer: bool = False
    """Whether the text would be a choice after some question: it is short and no step or doubt."""


def reads_lasting(prompt: str, previous: str | None = None) -> bool:
    """Whether the person's own words hold a lasting preference, a choice or a wish to keep it."""
    return judge(prompt, previous).is_lasting


def judge(prompt: str, previous: str | None = None, without: frozenset[str] = NONE) -> Verdict:
    """The verdict on a prompt, given the agent's message before it; `without` these rules."""
    text = plain(own_words(prompt))
    did = _done_by(previous, text, without)
    if silenced := _kept(shared().on_prompt(text), without):
        return Verdict(False, (), (), silenced, (), did, NONE)
    pasted: list[Found] = []

    def is_pasted(line: str) -> bool:
        found = _kept(shared().on_line(line), without)
        pasted.extend(found)
        return bool(found)

    rules = languages_of(text)
    said = dict.fromkeys(sentences(text, is_pasted))
    read = [_read(sentence, rules, did, without) for sentence in said]
    on_whole = _kept(shared().on_whole(text), without)
    whole = [found for found in on_whole if _is_worth_showing(found, did)]
    if any(found.rule.is_cue for found in whole):
        read.append(Sentence(text, tuple(whole), _score(whole, did)))
    counting = [found for sentence in read if sentence.counts for found in sentence.found]
    return Verdict(
        is_lasting=any(sentence.counts for sentence in read),
        kinds=tuple(
            sorted({f.rule.kind for f in counting if f.rule.is_cue and f.rule.met_by(did)})
        ),
        sentences=tuple(sentence for sentence in read if sentence.found),
        silenced_by=(),
        pasted=tuple(pasted),
        previous=did,
        waits_for=frozenset(f.rule.after for s in read for f in s.found if not f.rule.met_by(did)),
        may_answer=previous is None and _score(on_whole, ANSWERS) >= THRESHOLD,
    )


def is_for_all_projects(prompt: str) -> bool:
    """Whether the person says that it is to hold wherever they work."""
    return bool(shared().on_extent(plain(own_words(prompt))))


def matched(prompt: str, previous: str | None = None) -> frozenset[str]:
    """The IDs of all rules that match anywhere, whatever came of it."""
    text = plain(own_words(prompt))
    found = [*shared().on_prompt(text), *shared().on_whole(text), *_on_previous(previous)]
    found += shared().on_extent(text)
    found += [f for line in text.split("\n") for f in shared().on_line(line)]
    for sentence in sentences(text, lambda _line: False):
        found += [
            f for language in languages_of(text) for f in language.on_sentence(sentence, alone=True)
        ]
    return frozenset(f.rule.id for f in found)


def reminder_due(first_seen_at: int, last_reminder_at: int | None, now: int) -> bool:
    """Not in the first fifteen minutes of a session, then at most once in fifteen (R-126)."""
    since = first_seen_at if last_reminder_at is None else last_reminder_at
    return now - since >= REMINDER_MS


def _on_previous(previous: str | None) -> list[Found]:
    return shared().on_previous(plain(previous[-PREVIOUS_END:])) if previous else []


def _done_by(previous: str | None, answer: str, without: frozenset[str]) -> frozenset[str]:
    """What the agent's message did that a short answer may refer to.

    It let choose unless it only asked what to do next; the answer may name what it asked about.
    """
    if not previous:
        return NONE
    end = plain(previous[-PREVIOUS_END:])
    did = {found.rule.kind for found in _kept(shared().on_previous(end), without)}
    if "ask" in did and end.count("?") >= SEVERAL_QUESTIONS:
        did.add("questions")
    if "step" not in did and "offer" in did:
        did.add("choice")
    asked = end[-END_OF_QUESTION:]
    asks = {found.rule.kind for found in _kept(shared().on_previous(asked), without)}
    if "ask" in asks and "step" not in asks and asks & {"offer", "how"}:
        did |= {"design", "named"} if takes_up(answer, asked, shared().small) else {"design"}
    return frozenset(did)


def _is_worth_showing(found: Found, did: frozenset[str]) -> bool:
    """A rule for answers to a question matches any short text: it tells nothing without one."""
    return found.rule.met_by(did) or found.rule.after not in ANSWERS


def _kept(found: Sequence[Found], without: frozenset[str]) -> tuple[Found, ...]:
    return tuple(f for f in found if f.rule.id not in without) if without else tuple(found)


def _read(
    text: str, rules: Sequence[Language], did: frozenset[str], without: frozenset[str]
) -> Sentence:
    """A sentence counts when one language finds enough in it: another's veto is no matter."""
    best = Sentence(text, (), 0)
    for language in rules:
        if found := _kept(language.on_sentence(text), without):
            score = _score(found, did)
            if not best.found or score > best.score:
                best = Sentence(text, found, score)
    return best


def _score(found: Sequence[Found], did: frozenset[str]) -> int:
    met = [f.rule for f in found if f.rule.met_by(did)]
    cues = [rule.weight for rule in met if rule.is_cue]
    return max(cues) + sum(rule.weight for rule in met if not rule.is_cue) if cues else 0
