"""Make recorded text inert: one JSON object per line that no reader takes for markup or orders."""

import json
import re
import time

from mash_plugin.compact_json import compact_json

_ESCAPE_SEQUENCES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links, clipboard (OSC 52)
    r"|\x1b."
)
_UNSEEN = (
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
_HIDDEN = _UNSEEN.replace("\xad", "").replace("\u200b-\u200f", "\u200b\u200e\u200f")
_HIDDEN = _HIDDEN.replace("\ufe00-\ufe0f", "\ufe00-\ufe0d")
_MARKUP = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&`"})


def clean(text: str) -> str:
    """The text on one line without what is not seen: controls, direction marks, tag characters."""
    if not (text.isascii() and text.isprintable()):  # else not worth the patterns, 2 ms
        text = re.sub(_UNSEEN, "", re.sub(_ESCAPE_SEQUENCES, "", text))
    return " ".join(text.split())


def seen(text: str) -> str:
    """The text on its own lines without what is not seen."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSEEN, "", re.sub(_ESCAPE_SEQUENCES, "", text))


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters; a cut shows as an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def json_line(value: dict[str, object] | str) -> str:
    """Compact JSON on one line in which `<`, `>`, `&` and the backtick are written as \\uXXXX."""
    return compact_json(value).translate(_MARKUP)


def inert_json(text: str) -> str:
    """The same JSON without markup and what is not seen: those stand in it as \\uXXXX."""
    text = text.translate(_MARKUP)
    if text.isascii():
        return text
    breaks = "\x85\u2028\u2029"
    return re.sub(f"{_UNSEEN}|[{breaks}]", lambda found: json.dumps(found[0])[1:-1], text)


def without_hidden(text: str) -> str:
    """The text without what can hide words or turn their order.

    What joins letters, breaks words and colours pictures stays: a quote is copied from it.
    """
    return text if text.isascii() else re.sub(_HIDDEN, "", text)


def local_date(at_ms: object) -> str:
    """A moment in the machine's time zone, with its offset from UTC; "unknown" for none."""
    if not isinstance(at_ms, int):
        return "unknown"
    try:
        moment = time.localtime(at_ms // 1000)  # `datetime` would cost a hook's first answer 1 ms
    except (ValueError, OverflowError, OSError):
        return "unknown"
    if not 0 < moment.tm_year < 10_000:
        return "unknown"
    hours, minutes = divmod(abs(moment.tm_gmtoff) // 60, 60)
    sign = "-" if moment.tm_gmtoff < 0 else "+"
    return time.strftime(
        f"{moment.tm_year:04}-%m-%d %H:%M UTC{sign}{hours:02}:{minutes:02}", moment
    )


def ago(age_ms: int) -> str:
    """How old something is, in its largest unit: "under a minute", "5 min", "3 h", "2 days"."""
    minutes = age_ms // 60_000
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"


def fit_lines(lines: list[str], budget: int) -> list[str]:
    """The lines that fit into a budget of bytes, in their order."""
    kept = []
    for line in lines:
        cost = shown_bytes(line)
        if cost <= budget:
            kept.append(line)
            budget -= cost
    return kept


def shown_bytes(text: str) -> int:
    """The bytes that this text takes inside a hook's JSON."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
