"""`mash explain-prompt`: which rules a prompt meets, and whether it brings the saving note."""

import sys
from collections.abc import Iterable
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import plain
from mash_plugin.cli.tables import print_table
from mash_plugin.privacy.credentials import mask
from mash_plugin.records.cue_data import THRESHOLD, Found
from mash_plugin.records.cues import Sentence, Verdict, judge
from mash_plugin.render.text import clean, shorten

WIDTHS = (6, 20, 10)
LONGEST = 100
WAITED_FOR = {
    "offer": "named alternatives",
    "ask": "asked something",
    "questions": "asked several things",
    "choice": "let you choose",
    "design": "asked how things should be",
    "named": "asked about something named here",
}
Json = dict[str, Any]


@click.command("explain-prompt")
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("--previous", metavar="TEXT", help="What the agent had said just before.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain_prompt(text: tuple[str, ...], previous: str | None, as_json: bool) -> int:
    """Tell whether TEXT, typed by a person, would bring the note to save it, and why.

    TEXT may be - for standard input. A sentence counts when its strongest cue and all signs and
    vetoes add up to 4.
    """
    prompt = " ".join(text)
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    # Masked before it is read: sentences are shown in lower case, where no credential is known.
    verdict = judge(mask(plain(prompt)), mask(plain(previous)) if previous else None)
    if as_json:
        click.echo(orjson.dumps(_as_json(verdict)).decode())
    else:
        _print(verdict)
    return 0


def _print(verdict: Verdict) -> None:
    kinds = " and ".join(verdict.kinds)
    click.echo(f"A note is given: {kinds}." if verdict.is_lasting else "No note is given.")
    if verdict.silenced_by:
        click.echo("\nNo person typed this:")
        print_table(map(_row, verdict.silenced_by), widths=WIDTHS)
    for sentence in verdict.sentences:
        click.echo(f"\n{sentence.score:+} of {THRESHOLD}: {_shown(sentence.text)}")
        print_table((_row(found) for found in sentence.found), widths=WIDTHS)
    if verdict.pasted:
        click.echo("\nLeft out, no person typed these lines:")
        print_table(map(_row, verdict.pasted), widths=WIDTHS)
    if verdict.waits_for:
        what = " or ".join(WAITED_FOR[name] for name in sorted(verdict.waits_for))
        click.echo(f"\nThe rules in brackets count only after an agent's message that {what}.")


def _row(found: Found) -> tuple[str, str, str, str]:
    rule = found.rule
    weight = f"({rule.weight:+})" if rule.after else f"{rule.weight:+}"
    return weight, rule.id, rule.kind, _shown(found.piece)


def _shown(text: str) -> str:
    return shorten(clean(text), LONGEST)


def _as_json(verdict: Verdict) -> Json:
    return {
        "note": verdict.is_lasting,
        "kinds": verdict.kinds,
        "threshold": THRESHOLD,
        "sentences": [_sentence(sentence, verdict.previous) for sentence in verdict.sentences],
        "silenced_by": _rules(verdict.silenced_by, verdict.previous),
        "pasted": _rules(verdict.pasted, verdict.previous),
        "previous": sorted(verdict.previous),
        "waits_for": sorted(verdict.waits_for),
    }


def _sentence(sentence: Sentence, did: frozenset[str]) -> Json:
    return {
        "text": sentence.text,
        "score": sentence.score,
        "counts": sentence.counts,
        "rules": _rules(sentence.found, did),
    }


def _rules(found: Iterable[Found], did: frozenset[str]) -> list[Json]:
    return [
        {
            "id": f.rule.id,
            "kind": f.rule.kind,
            "weight": f.rule.weight,
            "piece": f.piece,
            "met": f.rule.met_by(did),
        }
        for f in found
    ]
