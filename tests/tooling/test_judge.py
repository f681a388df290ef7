"""`scripts/judge prompts`: the figures of the note beside a prompt."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RIGHT = {"id": "a", "lang": "en", "label": "preference", "text": "From now on use tabs."}
QUIET = {"id": "b", "lang": "en", "label": "none", "text": "Fix the tabs.", "sample": "unbiased"}
MISSED = {"id": "c", "lang": "fr", "label": "decision", "text": "Le bleu.", "hard": True}
FALSE = {"id": "d", "lang": "en", "label": "none", "text": "Always use tabs.", "sample": "unbiased"}
UNSURE = {"id": "e", "lang": "en", "label": "decision", "text": "Hm, tabs.", "ambiguous": True}


def judged(file: Path | None, *options: str) -> str:
    command = [sys.executable, str(ROOT / "scripts" / "judge"), "prompts", *options]
    result = subprocess.run(
        [*command, *([str(file)] if file else [])], capture_output=True, text=True, check=True
    )
    return result.stdout


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    rows = (RIGHT, QUIET, MISSED, FALSE, UNSURE)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_precision_and_recall_are_counted_in_all_and_by_group(file):
    report = json.loads(judged(file, "--json"))
    assert report["all"] == {
        "prompts": 4,
        "positives": 2,
        "notes": 2,
        "right": 1,
        "precision": 0.5,
        "recall": 0.5,
        "false_notes_in_50": 12.5,
    }
    assert report["english"]["recall"] == 1.0
    assert report["other_languages"]["precision"] is None
    assert report["by_language"]["fr"]["recall"] == 0.0
    assert report["by_label"]["none"]["notes"] == 1
    assert report["by_hard"]["hard"]["positives"] == 1
    assert report["by_sample"]["unbiased"]["false_notes_in_50"] == 25.0
    assert report["ambiguous"]["prompts"] == 1


def test_misses_are_listed_with_the_rules_that_they_meet(file):
    misses = {miss["id"]: miss for miss in json.loads(judged(file, "--json"))["misses"]}
    assert set(misses) == {"c", "d"}
    assert "en.always-do" in misses["d"]["rules"]
    told = judged(file)
    assert "no note for decision" in told
    assert "a note for nothing" in told


def test_ablation_shows_what_each_rule_brings(file):
    rules = json.loads(judged(file, "--json", "--ablate"))["rules"]
    assert rules["en.from-now-on"] == {"fires": 1, "right": 1, "wrong": 0}
    assert rules["en.always-do"] == {"fires": 1, "right": 0, "wrong": 1}
    assert "en.from-now-on" in judged(file, "--ablate")


def test_the_projects_own_prompts_are_judged_when_no_file_is_named():
    report = json.loads(judged(None, "--json"))
    ours = report["by_sample"]["own"]
    assert ours["precision"] == ours["recall"] == 1.0
    assert report["by_sample"]["blind"]["precision"] >= 0.9
    assert {"en", "zh", "ja", "ko", "es", "pt", "fr", "de", "ru"} <= set(report["by_language"])


def test_two_parts_make_the_whole(file):
    parts = [json.loads(judged(file, "--json", "--part", part)) for part in ("grow", "held")]
    assert sum(part["all"]["prompts"] for part in parts) == 4
