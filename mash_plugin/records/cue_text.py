"""The sentences of a prompt that its person typed: no code, quotes, pastes or private spans."""

import re
from collections.abc import Callable

from mash_plugin.privacy.own_words import persons_own
from mash_plugin.privacy.spans import split_private
from mash_plugin.records.cue_data import FOLDED
from mash_plugin.records.quotation_marks import BLANKS, outside

LONGEST_TEXT = 2_000
END_OF_LONG_TEXT = 750
"""Longer prompts hold pasted text; the person's own words stand at their ends."""
DENSE = 2
"""Chinese, Japanese and Korean say the same in fewer characters."""
LONGEST_SENTENCE = 600

_DENSE = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|, (?=(?:al)?though )|(?<=[。!?])|\n+|;\s*(?=\D)")
_LIST_MARK = re.compile(r"^(?:[-*+•]\s+|\(?\d{1,2}[.)]\s*(?=\D)|#{1,6} )+")
_APOSTROPHE = re.compile(r"\b(do|does|did|wo|ca|should|must|is|are|was|would|could|have|has)nt\b")
_PLAIN = FOLDED | str.maketrans(
    {
        "’": "'",
        "？": "?",
        "！": "!",
        "，": ",",
        "、": ",",
        "：": ":",
        "；": ";",
        "（": "(",
        "）": ")",
    }
    | {chr(code): chr(code - 0xFEE0) for code in range(0xFF10, 0xFF1A)}
)


def own_words(prompt: str) -> str:
    """The person's own text, without its middle when it is long."""
    own = persons_own(split_private(prompt)[0])
    of = DENSE if 2 * len(_DENSE.findall(own[:LONGEST_TEXT])) > len(own[:LONGEST_TEXT]) else 1
    if len(own) > LONGEST_TEXT // of:
        end = END_OF_LONG_TEXT // of
        own = f"{own[:end]}\n{own[-end:]}"
    return own


def plain(own: str) -> str:
    """Lower case, no accents, and the marks of one keyboard: how the rules are written."""
    low = own.lower()
    return low if low.isascii() else low.translate(_PLAIN)


def sentences(text: str, is_pasted: Callable[[str], bool]) -> list[str]:
    """The sentences of a plain text without list marks; code and quoted text stand as _."""
    found = []
    for line in text.split("\n"):
        if not line or is_pasted(line):
            continue
        for part in _SENTENCE_END.split(BLANKS.sub("_", outside(line))):
            sentence = _LIST_MARK.sub("", " ".join(part.split()))
            if sentence:
                found.append(_APOSTROPHE.sub(r"\1n't", sentence[:LONGEST_SENTENCE]))
    return found
