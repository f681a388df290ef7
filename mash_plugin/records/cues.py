"""Does a prompt read like a lasting preference or a decision; is the safety net due.

The forms of each language are data, in cues.txt. Silence is the default: a single word such
as "always" proves nothing, the form of the sentence decides.
"""

import re
from functools import cache
from typing import Any, NamedTuple

from mash_plugin.privacy import persons_own, split_private

# Not importlib.resources: it would double what the first prompt waits for.
_CUES = __file__.removesuffix(".py") + ".txt"
REMINDER_MS = 15 * 60_000
LONGEST_TEXT = 6_000
"""Longer prompts hold pasted text; the person's own words stand at their ends."""
LONGEST_SENTENCE = 600
HEADINGS_OF_A_TEMPLATE = 3

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+|;\s")
_LIST_MARK = re.compile(r"^(?:[-*+•]\s+|\(?\d{1,2}[.)]\s+)+")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)


def reads_lasting(prompt: str) -> bool:
    """Whether the person's own words hold a lasting preference, a choice or a wish to keep it."""
    own = persons_own(split_private(prompt)[0])
    if len(own) > LONGEST_TEXT:
        own = f"{own[: LONGEST_TEXT // 4]}\n{own[-LONGEST_TEXT // 4 :]}"
    if len(_HEADING.findall(own)) >= HEADINGS_OF_A_TEMPLATE:
        return False
    return any(_counts(sentence) for sentence in _sentences(own))


def reminder_due(first_seen_at: int, last_reminder_at: int | None, now: int) -> bool:
    """Not in the first fifteen minutes of a session, then at most once in fifteen (R-126)."""
    since = first_seen_at if last_reminder_at is None else last_reminder_at
    return now - since >= REMINDER_MS


class _Cues(NamedTuple):
    """The compiled groups of one language."""

    said: Any
    store: Any
    veto: Any
    question: Any


def _sentences(text: str) -> list[str]:
    plain = _QUOTED.sub("_", text.replace("’", "'").lower())
    parts = (_LIST_MARK.sub("", " ".join(p.split())) for p in _SENTENCE_END.split(plain))
    return [p[:LONGEST_SENTENCE] for p in parts if p]


def _counts(sentence: str) -> bool:
    for language in _languages():
        if language.store.search(sentence):
            return True
        if language.said.search(sentence):
            is_question = sentence.endswith("?") or language.question.search(sentence)
            if not is_question and not language.veto.search(sentence):
                return True
    return False


@cache
def _languages() -> tuple[_Cues, ...]:
    import re2  # 20 ms that only prompts need to pay

    with open(_CUES, encoding="utf-8") as file:
        text = file.read()
    groups: dict[str, dict[str, list[str]]] = {}
    for line in text.splitlines():
        head, colon, pattern = line.partition(": ")
        if colon and not line.startswith("#"):
            language, group = head.split()
            groups.setdefault(language, {}).setdefault(group, []).append(pattern)
    return tuple(_compile(re2, names) for names in groups.values())


def _compile(re2: Any, groups: dict[str, list[str]]) -> _Cues:  # noqa: ANN401 - no types
    lists = {f"{{{name}}}": groups.pop(name)[0] for name in ("lead", "verb", "tongue")}
    compiled = {}
    for group, patterns in groups.items():
        joined = "|".join(f"(?:{pattern})" for pattern in patterns)
        for name, words in lists.items():
            joined = joined.replace(name, words)
        compiled[group] = re2.compile(joined)
    return _Cues(**compiled)
