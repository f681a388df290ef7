"""Does a short answer take up what the agent asked about: then a bare name is a choice.

"SvelteKit" is a word like any other, and after "Next.js or SvelteKit?" it is a decision. What
the two texts share is compared by the beginnings of words, and in Chinese characters, katakana
and hangul by pairs: endings and particles differ, stems do not.
"""

import re

LONGEST_ANSWER = 160
STEM = 5
_WORD = re.compile(r"[a-zа-я][a-zа-я0-9+#.-]{2,}|\d{2,}")
_PAIRED = re.compile(r"[\u4e00-\u9fff]{2,}|[\u30a0-\u30ff]{2,}|[\uac00-\ud7a3]{2,}")


def takes_up(answer: str, asked: str, small: frozenset[str]) -> bool:
    """Whether a plain answer shares a word with a plain question; `small` words do not.

    An answer that asks back is none.
    """
    if len(answer) > LONGEST_ANSWER or "?" in answer:
        return False
    return not _stems(answer, small).isdisjoint(_stems(asked, small))


def _stems(text: str, small: frozenset[str]) -> frozenset[str]:
    words = (word.rstrip(".-") for word in _WORD.findall(text))
    stems = {word[:STEM] for word in words if word not in small}
    for run in _PAIRED.findall(text):
        stems |= {run[at : at + 2] for at in range(len(run) - 1)} - small
    return frozenset(stems)
