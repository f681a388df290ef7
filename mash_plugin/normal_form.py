"""Normal forms of Unicode in linear time, whatever the text. Pure."""

import re
import unicodedata
from functools import cache
from typing import Literal

LONGEST_RUN = 64
"""Python sorts the marks on one letter in quadratic time; no script puts more than a few on it."""
_KANA_MARKS = ("\uff9e", "\uff9f")


def normal_form(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in this form; a run of marks without end is cut and each part taken alone."""
    if len(text) <= LONGEST_RUN or text.isascii():
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, part) for part in parts(text))


def parts(text: str) -> list[str]:
    """The text, cut where marks go on and on; one part for anything that people write."""
    cuts = [0]
    for run in _runs(any(mark in text for mark in _KANA_MARKS)).finditer(text):
        cuts += range(run.start() + LONGEST_RUN, run.end(), LONGEST_RUN)
    return [text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


@cache
def _runs(has_kana_marks: bool) -> re.Pattern[str]:
    """Marks are no word characters, but two half-width ones of Japanese are."""
    mark = r"[^\w\s\x00-\x7f]"
    if has_kana_marks:
        mark = f"(?:{mark}|[{''.join(_KANA_MARKS)}])"
    return re.compile(f"{mark}{{{LONGEST_RUN + 1},}}")
