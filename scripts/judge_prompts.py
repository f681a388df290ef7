"""`scripts/judge prompts`: precision and recall of the note beside a prompt, and the misses.

A line of the file is JSON with `id`, `lang`, `label` (`preference`, `decision`, `remember` or
`none`) and `text`; where they are known `sample`, `part`, `hard`, `ambiguous` and
`previous_agent_text`.
"""

import argparse
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge_figures import grouped, ratio

from mash_plugin.records.cues import judge, matched

PARTS = ("grow", "held")
HELD_OF_FIVE = 2
SHOWN = 160
PER = 50
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled prompt and whether the rules give the note."""

    row: Json
    note: bool

    @property
    def lasting(self) -> bool:
        """Whether a note is right."""
        return self.row["label"] != "none"

    @property
    def wrong(self) -> bool:
        """Whether the rules and the label disagree."""
        return self.note != self.lasting


def run(options: argparse.Namespace) -> int:
    """Print the figures; 0 whatever they are."""
    rows = [row for row in read_rows(options.file) if options.part in (None, part_of(row))]
    cases = [Case(row, noted(row)) for row in rows]
    report = figures(cases)
    if options.ablate:
        report["rules"] = ablation(cases)
    if options.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print_report(report)
    return 0


def read_rows(file: Path) -> list[Json]:
    """The labelled prompts."""
    lines = file.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def part_of(row: Json) -> str:
    """Which part a prompt belongs to: its own `part`, or by its ID two in five are held back."""
    if "part" in row:
        return str(row["part"])
    number = int(hashlib.sha256(row["id"].encode()).hexdigest(), 16)
    return "held" if number % 5 < HELD_OF_FIVE else "grow"


def noted(row: Json, without: frozenset[str] = frozenset()) -> bool:
    """Whether this prompt brings the note."""
    return judge(row["text"], row.get("previous_agent_text"), without).is_lasting


def figures(cases: list[Case]) -> Json:
    """Every group's figures, and the prompts that are judged wrong; ambiguous ones apart."""
    clear = [case for case in cases if not case.row.get("ambiguous")]
    return {
        "all": score(clear),
        "english": score(case for case in clear if case.row["lang"] == "en"),
        "other_languages": score(case for case in clear if case.row["lang"] != "en"),
        "by_language": grouped(clear, lambda case: case.row["lang"], score),
        "by_label": grouped(clear, lambda case: case.row["label"], score),
        "by_hard": grouped(clear, lambda case: "hard" if case.row.get("hard") else "plain", score),
        "by_sample": grouped(clear, lambda case: case.row.get("sample") or "unknown", score),
        "ambiguous": score(case for case in cases if case.row.get("ambiguous")),
        "misses": [miss(case) for case in clear if case.wrong],
    }


def score(cases: Iterable[Case]) -> Json:
    """Counts, precision and recall; null where there is nothing to divide by."""
    cases = list(cases)
    lasting = sum(case.lasting for case in cases)
    notes = sum(case.note for case in cases)
    right = sum(case.note and case.lasting for case in cases)
    return {
        "prompts": len(cases),
        "positives": lasting,
        "notes": notes,
        "right": right,
        "precision": ratio(right, notes),
        "recall": ratio(right, lasting),
        "false_notes_in_50": ratio(PER * (notes - right), len(cases)),
    }


def miss(case: Case) -> Json:
    """A prompt that is judged wrong, with the rules that it meets."""
    row = case.row
    verdict = judge(row["text"], row.get("previous_agent_text"))
    found = [f.rule.id for s in verdict.sentences for f in s.found]
    found += [f.rule.id for f in (*verdict.silenced_by, *verdict.pasted)]
    names = {name: row.get(name) for name in ("id", "lang", "label", "why")}
    return {**names, "note": case.note, "rules": found, "text": row["text"]}


def ablation(cases: list[Case]) -> dict[str, Json]:
    """For each rule that fires: how many notes are right and wrong only through it."""
    fires: dict[str, list[Case]] = {}
    for case in cases:
        if not case.row.get("ambiguous"):
            for rule in matched(case.row["text"], case.row.get("previous_agent_text")):
                fires.setdefault(rule, []).append(case)
    return {rule: brought(rule, fires[rule]) for rule in sorted(fires)}


def brought(rule: str, cases: list[Case]) -> Json:
    """What changes when this rule is left out."""
    changed = [case for case in cases if noted(case.row, frozenset({rule})) != case.note]
    return {
        "fires": len(cases),
        "right": sum(not case.wrong for case in changed),
        "wrong": sum(case.wrong for case in changed),
    }


def print_report(report: Json) -> None:
    """The same for people."""
    print(f"{'':24}{'prompts':>8}{'lasting':>8}{'notes':>7}{'right':>7}{'prec.':>8}{'recall':>8}")
    for name in ("all", "english", "other_languages", "ambiguous"):
        print_score(name.replace("_", " "), report[name])
    for name in ("by_language", "by_label", "by_hard", "by_sample"):
        print(name.replace("_", " "))
        for group, figures_of in report[name].items():
            print_score(f"  {group}", figures_of)
    print(f"\n{len(report['misses'])} judged wrong:")
    for wrong in report["misses"]:
        what = "a note for nothing" if wrong["note"] else f"no note for {wrong['label']}"
        print(f"  {wrong['id']} {wrong['lang']}: {what}; rules: {' '.join(wrong['rules']) or '-'}")
        print(f"      {' '.join(wrong['text'].split())[:SHOWN]}")
    if "rules" in report:
        print(f"\n{'rule':28}{'fires':>6}{'right':>6}{'wrong':>6}   (judged so only through it)")
        for rule, counts in report["rules"].items():
            print(f"{rule:28}{counts['fires']:>6}{counts['right']:>6}{counts['wrong']:>6}")


def print_score(name: str, figures_of: Json) -> None:
    """One line of figures."""
    counts = [figures_of[k] for k in ("prompts", "positives", "notes", "right")]
    rates = ["-" if figures_of[k] is None else figures_of[k] for k in ("precision", "recall")]
    line = f"{name:24}{counts[0]:>8}{counts[1]:>8}{counts[2]:>7}{counts[3]:>7}"
    print(line + f"{rates[0]:>8}{rates[1]:>8}   {figures_of['false_notes_in_50']} false in 50")
