"""Findings in words for a plain terminal, and as JSON for scripts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from mash_plugin.config import Settings
from mash_plugin.doctor.examination import Found, Repaired, worst
from mash_plugin.doctor.finding import Finding, Severity
from mash_plugin.memory.masking import masking
from mash_plugin.render.text import clean
from mash_plugin.wording import counted
from mash_plugin.wrapping import wrapped

LABELS = {"ok": "ok", "note": "note", "warning": "WARNING", "error": "ERROR"}
GRAVEST_FIRST: tuple[Severity, ...] = ("error", "warning", "note")
LABEL_WIDTH = 9
CATEGORY_WIDTH = 12
INDENT = " " * (LABEL_WIDTH + CATEGORY_WIDTH)
NARROWEST = 24
"""Columns of text that are left in a very narrow terminal."""
WORDS = re.compile("`|, ")
"""In what a person is to do; a command has neither."""
ARROW = "-> "
FORMAT = 1


def masked(
    found: Sequence[Found], done: Sequence[Repaired], settings: Settings
) -> tuple[list[Found], list[Repaired]]:
    """All of it with credentials masked, as everything that mash shows (R-177)."""
    hide = masking(settings)

    def of(one: Found) -> Found:
        finding = one.finding
        what, why, line = hide(finding.what), hide(finding.why), hide(finding.next)
        return one._replace(finding=replace(finding, what=what, why=why, next=line))

    shown = [one._replace(found=of(one.found), text=hide(one.text)) for one in done]
    return [of(one) for one in found], shown


def report(found: Sequence[Found], done: Sequence[Repaired], width: int) -> list[str]:
    """Everything for a person: what was repaired, what is found now, and the sum of it."""
    return [*repair_lines(done), *lines_of(found, width), *wrapped(summary(found), width)]


def lines_of(found: Iterable[Found], width: int) -> list[str]:
    """Every finding on its lines; a command stands on one line, to be copied."""
    lines: list[str] = []
    room = max(width - len(INDENT), NARROWEST)
    for category, finding in found:
        head = f"{LABELS[finding.severity]:<{LABEL_WIDTH}}{category:<{CATEGORY_WIDTH}}"
        texts = [finding.what, finding.why] if finding.severity != "ok" else [finding.what]
        for text in filter(None, texts):
            for line in wrapped(clean(text), room):
                lines.append(f"{head}{line}".rstrip())
                head = INDENT
        if finding.next and finding.severity != "ok":
            lines += _next_lines(finding.next, room)
    return lines


def summary(found: Sequence[Found]) -> str:
    """One line at the end."""
    count = Counter(one.finding.severity for one in found)
    told = [counted(count[level], level) for level in GRAVEST_FIRST if count[level]]
    text = f"{counted(len(found), 'thing')} looked at: {', '.join(told) or 'all in order'}."
    mendable = sum(f.finding.repair is not None for f in found)
    if mendable:
        text += f" `mash doctor --fix` repairs {mendable} of them."
    return text


def repair_lines(done: Iterable[Repaired]) -> list[str]:
    """What each repair did."""
    return [
        f"{'fixed' if one.is_done else 'NOT FIXED':<{LABEL_WIDTH + 1}}{one.found.finding.name}:"
        f" {clean(one.text)}"
        for one in done
    ]


def as_json(found: Sequence[Found], done: Sequence[Repaired] = ()) -> dict[str, Any]:
    """The shape that scripts may rely on; fields are only ever added."""
    return {
        "format": FORMAT,
        "ok": worst(found) in ("ok", "note"),
        "worst": worst(found),
        "findings": [_finding_json(one) for one in found],
        "repairs": [
            {"name": one.found.finding.name, "done": one.is_done, "text": one.text} for one in done
        ],
    }


def sandboxed(message: str) -> dict[str, Any]:
    """All that can be told where sockets are forbidden."""
    why, line = "from in here nothing could be told rightly", "run it in a terminal of your own"
    found = Finding("sandboxed", "error", message, why, line)
    return as_json([Found("daemon", found)])


def _finding_json(found: Found) -> dict[str, Any]:
    finding = found.finding
    return {
        "category": found.category,
        "name": finding.name,
        "severity": finding.severity,
        "what": finding.what,
        "why": finding.why,
        "next": finding.next,
        "fixable": finding.repair is not None,
    }


def _next_lines(advice: str, room: int) -> list[str]:
    """What helps: a command stays on one line, to be copied, words do not."""
    told = clean(advice)
    room -= len(ARROW)
    if len(told) > room and not WORDS.search(advice):
        return [f"{INDENT}{ARROW}".rstrip(), told]
    leads = chain([ARROW], repeat(" " * len(ARROW)))
    return [f"{INDENT}{lead}{line}" for lead, line in zip(leads, wrapped(told, room), strict=False)]
