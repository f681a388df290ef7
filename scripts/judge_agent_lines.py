"""`scripts/judge agent-lines`: precision and recall of key lines, and what is judged wrong.

A line of the file is JSON with `id`, `lang`, `label` (`decision`, `commitment`, `note` or
`none`) and `text`; where they are known `context` (`text`, `code` or `quote`: only text can be
a key line), `hard`, `ambiguous`. Right is a key line where there is one; `same_category` counts
those that also got the category of their label.
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from judge_figures import grouped, ratio

from mash_plugin.throughline.key_lines import eligible_lines, judge, may_hold_key_line

SHOWN = 160
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled line and the category that the rules give it."""

    row: Json
    category: str | None

    @property
    def is_key(self) -> bool:
        """Whether it is labelled as a key line."""
        return self.row["label"] != "none"

    @property
    def is_wrong(self) -> bool:
        """Whether rules and label disagree about that."""
        return (self.category is not None) != self.is_key


def run(options: argparse.Namespace) -> int:
    """Print the figures; 0 whatever they are."""
    rows = [json.loads(line) for line in options.file.read_text("utf-8").splitlines() if line]
    report = figures([Case(row, category_of(row)) for row in rows])
    print(json.dumps(report, ensure_ascii=False)) if options.json else print_report(report)
    return 0


def category_of(row: Json) -> str | None:
    """What capture makes of the line; nothing in code or a quotation is a key line."""
    text = str(row["text"])
    if row.get("context", "text") != "text" or not may_hold_key_line(text):
        return None
    found = (judge(line).category for _, line in eligible_lines(text))
    return next((category for category in found if category), None)


def figures(cases: list[Case]) -> Json:
    """The figures of every group; ambiguous lines apart."""
    clear = [case for case in cases if not case.row.get("ambiguous")]
    return {
        "all": score(clear),
        "by_label": grouped(clear, lambda case: case.row["label"], score),
        "by_language": grouped(clear, lambda case: case.row["lang"], score),
        "by_hard": grouped(clear, lambda case: "hard" if case.row.get("hard") else "plain", score),
        "ambiguous": score(case for case in cases if case.row.get("ambiguous")),
        "misses": [miss(case) for case in clear if case.is_wrong],
    }


def score(cases: Iterable[Case]) -> Json:
    """Counts, precision and recall; null where there is nothing to divide by."""
    cases = list(cases)
    found = [case for case in cases if case.category]
    right = [case for case in found if case.is_key]
    positives = sum(case.is_key for case in cases)
    return {
        "lines": len(cases),
        "positives": positives,
        "found": len(found),
        "right": len(right),
        "same_category": sum(case.category == case.row["label"] for case in right),
        "precision": ratio(len(right), len(found)),
        "recall": ratio(len(right), positives),
    }


def miss(case: Case) -> Json:
    """A line that is judged wrong, with the rules that it meets."""
    names = {name: case.row.get(name) for name in ("id", "lang", "label", "why")}
    rules = list(judge(case.row["text"]).rules)
    return {**names, "category": case.category, "rules": rules, "text": case.row["text"]}


def print_report(report: Json) -> None:
    """The same for people."""
    print(
        f"{'':20}{'lines':>7}{'key':>6}{'found':>7}{'right':>7}{'same':>6}{'prec.':>8}{'recall':>8}"
    )
    for name in ("all", "ambiguous"):
        print_score(name, report[name])
    for name in ("by_label", "by_language", "by_hard"):
        print(name.replace("_", " "))
        for group, figures_of in report[name].items():
            print_score(f"  {group}", figures_of)
    print(f"\n{len(report['misses'])} judged wrong:")
    for wrong in report["misses"]:
        what = f"{wrong['category'] or 'nothing'} for {wrong['label']}"
        print(f"  {wrong['id']} {wrong['lang']}: {what}; rules: {' '.join(wrong['rules']) or '-'}")
        print(f"      {' '.join(wrong['text'].split())[:SHOWN]}")


def print_score(name: str, figures_of: Json) -> None:
    """One line of figures."""
    widths = {"lines": 7, "positives": 6, "found": 7, "right": 7, "same_category": 6}
    counts = "".join(f"{figures_of[key]:>{width}}" for key, width in widths.items())
    rates = ["-" if figures_of[k] is None else figures_of[k] for k in ("precision", "recall")]
    print(f"{name:20}{counts}{rates[0]:>8}{rates[1]:>8}")
