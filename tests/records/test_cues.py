"""Which prompts bring the saving note, and when the safety net is due."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from mash_plugin.records.cue_data import NAMES, THRESHOLD, all_rules
from mash_plugin.records.cues import (
    is_for_all_projects,
    judge,
    matched,
    reads_lasting,
    reminder_due,
)

FIXTURES = Path(__file__).parent.parent / "fixtures"
MINUTE = 60_000


def _prompts(name: str) -> list[str]:
    lines = (FIXTURES / name).read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines]


LABELLED = [
    json.loads(line)
    for line in (FIXTURES / "prompts-labelled.jsonl").read_text("utf-8").splitlines()
]
OURS = [row for row in LABELLED if "part" not in row]
"""Written beside the rules; the others were written by people who did not know them."""
BLIND = [row for row in LABELLED if "part" in row and not row["ambiguous"]]
OFFER = "Two ways:\n1. a cron job\n2. a queue\n\nWhich one do you prefer?"
RULES = {rule.id: rule for rule in all_rules()}
LASTING, PASSING = _prompts("prompts-lasting.txt"), _prompts("prompts-passing.txt")


@pytest.mark.spec("R-125")
def test_both_lists_hold_at_least_thirty_prompts():
    assert len(set(LASTING)) >= 30
    assert len(set(PASSING)) >= 30


@pytest.mark.spec("R-125")
@pytest.mark.parametrize("prompt", LASTING)
def test_a_lasting_preference_or_decision_is_noticed(prompt):
    assert reads_lasting(prompt)


@pytest.mark.spec("R-125")
@pytest.mark.parametrize("prompt", PASSING)
def test_an_ordinary_prompt_is_not(prompt):
    assert not reads_lasting(prompt)


@pytest.mark.spec("R-125")
@pytest.mark.parametrize("language", sorted({row["lang"] for row in OURS}))
def test_every_sentence_of_ours_is_judged_as_labelled(language):
    wrong = [
        row["id"]
        for row in OURS
        if row["lang"] == language
        and reads_lasting(row["text"], row.get("previous_agent_text")) != (row["label"] != "none")
    ]
    assert wrong == []


@pytest.mark.spec("R-125")
@pytest.mark.parametrize(
    ("part", "is_english", "precision", "recall"),
    [
        ("grow", True, 0.95, 0.88),
        ("grow", False, 0.95, 0.90),
        ("held", True, 0.92, 0.67),
        ("held", False, 0.95, 0.72),
    ],
)
def test_notes_on_sentences_written_without_the_rules(part, is_english, precision, recall):
    """No rule was made for what `held` lacks; only its false notes were looked at, at the end."""
    rows = [r for r in BLIND if r["part"] == part and (r["lang"] == "en") == is_english]
    notes = [r for r in rows if reads_lasting(r["text"], r.get("previous_agent_text"))]
    right = sum(row["label"] != "none" for row in notes)
    assert right / len(notes) >= precision
    assert right / sum(row["label"] != "none" for row in rows) >= recall


@pytest.mark.spec("R-125")
@pytest.mark.parametrize("language", NAMES)
def test_a_language_is_claimed_with_twenty_lasting_and_forty_passing_prompts(language):
    count = Counter(row["label"] != "none" for row in LABELLED if row["lang"] == language)
    assert count[True] >= 20
    assert count[False] >= 40


@pytest.fixture(scope="module")
def fired():
    rows = [(row["text"], row.get("previous_agent_text")) for row in LABELLED]
    rows += [(text, None) for text in LASTING + PASSING]
    return Counter(rule for text, previous in set(rows) for rule in matched(text, previous))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_fires_on_three_sentences_of_ours(fired, rule):
    assert fired[rule] >= 3


def test_rules_have_names_of_their_own_and_weights_of_their_kind():
    assert len(RULES) == len(all_rules())
    for rule in RULES.values():
        speaks_for = rule.is_cue or rule.kind == "sign"
        assert rule.weight > 0 if speaks_for else rule.weight <= 0
        assert rule.kind in {
            *("preference", "decision", "remember", "correction"),
            *("sign", "veto", "question", "prompt", "paste", "personal"),
            *("offer", "ask", "how", "step"),
        }


def test_a_verdict_names_the_rules_and_the_words_that_they_matched():
    verdict = judge("Thanks! Henceforth run the linter first. Stop it. Why is it red?")
    assert verdict.kinds == ("preference",)
    (sentence,) = [s for s in verdict.sentences if s.counts]
    assert [(f.rule.id, f.piece) for f in sentence.found] == [("en.from-now-on", "henceforth")]
    assert sentence.score == RULES["en.from-now-on"].weight >= THRESHOLD


def test_signs_and_vetoes_add_to_a_cue_and_are_nothing_alone():
    assert reads_lasting("Do not reset the queue, we need to keep the jobs")
    assert not reads_lasting("Do not reset the queue")
    assert not reads_lasting("This time do not reset the queue, we need to keep the jobs")
    assert not reads_lasting("We need to keep the jobs everywhere")


@pytest.mark.parametrize(
    ("both", "one"),
    [
        ("the schema is not altered until I say", "it takes a while until I say a word"),
        ("en la base, sin mi permiso no entra nadie", "el botón no entra en la fila"),
        ("sans mon accord, aucun envoi", "aucun envoi hier"),
        ("没有我的同意,服务器不重启", "服务器不重启"),
        ("내 허락 없이 서버를 재시작하면 안 돼", "서버를 재시작하면 안 돼"),
    ],
)
def test_a_consent_and_a_negation_say_together_what_one_alone_does_not(both, one):
    found = {rule.partition(".")[2] for rule in matched(both)}
    assert "not-without-me" in found
    assert reads_lasting(both)
    assert "not-without-me" not in {rule.partition(".")[2] for rule in matched(one)}
    assert not reads_lasting(one)


def test_what_a_rule_brings_is_seen_by_leaving_it_out():
    prompt = "From now on run the linter first."
    assert not judge(prompt, without=frozenset({"en.from-now-on"})).is_lasting


@pytest.mark.spec("R-125")
@pytest.mark.parametrize(
    "answer",
    ["2 sounds right to me", "go with the second", "do the second one, please", "1 but nightly"],
)
def test_a_short_pick_counts_after_an_offer(answer):
    assert reads_lasting(answer, OFFER)


def test_a_short_pick_counts_only_after_an_offer_and_says_so():
    for previous in (None, "", "I ran the tests.", "Shall I commit?"):
        verdict = judge("2 sounds right to me", previous)
        assert not verdict.is_lasting
        assert verdict.waits_for == {"offer"}


@pytest.mark.spec("R-125")
@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("SvelteKit", "Next.js or SvelteKit?"),
        ("monorepo", "¿Prefieres monorepo o repositorios separados?"),
        ("SendGrid。もう契約済み", "メール配信はSES、SendGrid、Mailgunのどれにしますか？"),
        ("per seat, billed yearly", "How should billing work: per seat or usage based?"),
        ("the table", "Table or queue for the jobs? You decide."),
        ("in cents", "How should we store amounts?"),
    ],
)
def test_a_bare_name_is_a_choice_after_a_question_that_lets_choose(answer, asked):
    alone = judge(answer)
    assert not alone.is_lasting
    assert alone.may_answer
    assert reads_lasting(answer, asked)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("the parser", "Should I continue with the parser or the printer?"),
        ("the trace", "Want me to show the full stack trace?"),
        ("what is a table?", "Table or queue for the jobs?"),
        ("not sure", "Table or queue for the jobs?"),
        ("all of them", "Which of the warnings should I fix?"),
    ],
)
def test_a_bare_name_of_a_next_step_or_no_answer_is_no_choice(answer, asked):
    assert not reads_lasting(answer, asked)


@pytest.mark.parametrize("text", ["yes", "ok, go ahead", "why is it red?", "run it", "x" * 200])
def test_what_answers_no_question_needs_no_look_at_the_agents_message(text):
    assert not judge(text).may_answer


def test_a_bare_approval_is_no_choice_and_a_standing_yes_is():
    for previous in (None, OFFER, "Want me to deploy it?"):
        for bare in ("yes", "ok, go ahead", "2", "sounds good"):
            assert not reads_lasting(bare, previous)
        assert reads_lasting("yes, always", previous)


def test_lines_of_a_log_or_a_trace_do_not_count_and_words_beside_them_do():
    log = "2031-04-05 10:11:12 always use replica 2\n  at from_now_on (main.js:3)"
    assert not reads_lasting(log)
    assert reads_lasting(f"{log}\nFrom now on write the log to a file.")
    assert {f.rule.id for f in judge(log).pasted} == {"any.clock", "any.frame"}


def test_a_short_prompt_without_common_words_is_tried_in_every_language():
    assert reads_lasting("Duzen reicht.") == reads_lasting("Menos texto.") == True  # noqa: E712
    assert not reads_lasting("Zeta kappa.")


def test_rules_of_one_language_count_in_a_prompt_of_two():
    assert reads_lasting("der test ist rot. From now on run it before each push, danke")
    assert reads_lasting("fix the login bug。以后都用中文回复我")


def test_quoted_fenced_pasted_and_private_text_is_not_the_persons_wish():
    rule = "From now on always run the linter."
    assert not reads_lasting(f"> {rule}")
    assert not reads_lasting(f"```\n{rule}\n```")
    assert not reads_lasting(f"look\n<pasted_content id=1>\n{rule}\n</pasted_content>")
    assert not reads_lasting(f"<private>{rule}</private> fix the test")
    for first, last in ('""', "''", "“”", "„“", "»«", "「」", "``"):
        assert not reads_lasting(f"The wiki says {first}{rule}{last} Where does it?")


def test_a_rule_at_either_end_of_a_long_paste_is_noticed():
    filler = "The build printed a line of its log here.\n" * 400
    assert reads_lasting(filler + "From now on keep the build log short.")
    assert reads_lasting("From now on keep the build log short.\n" + filler)
    assert not reads_lasting(filler)


def test_a_rule_at_either_end_of_a_long_text_in_few_characters_is_noticed():
    filler, rule = "ビルドのログがここに出ました。\n" * 120, "今後は日本語で答えてください。"
    assert reads_lasting(filler + rule)
    assert reads_lasting(f"{rule}\n{filler}")
    assert not reads_lasting(filler + rule + filler)


def test_a_workflow_template_is_not_a_wish():
    template = "# Step one\nAlways run it.\n# Step two\nNever skip it.\n# Step three\nCommit."
    assert not reads_lasting(template)


@pytest.mark.row(55)
def test_a_prompt_of_a_megabyte_takes_no_time():
    started = time.perf_counter()
    for text in ("always " * 150_000, "let's use " * 100_000, "`" * 1_000_000, "a\n" * 500_000):
        reads_lasting(text)
    assert time.perf_counter() - started < 5


@pytest.mark.spec("R-126")
def test_the_safety_net_waits_fifteen_minutes_and_comes_once_in_fifteen():
    due, last = [], None
    for minutes in (0, 5, 14 + 59 / 60, 15, 20, 29 + 59 / 60, 30):
        now = round(minutes * MINUTE)
        if reminder_due(0, last, now):
            due.append(minutes)
            last = now
    assert due == [15, 30]


@pytest.mark.row(39)
def test_a_clock_that_runs_backwards_brings_no_reminder():
    assert not reminder_due(10 * MINUTE, None, 0)
    assert not reminder_due(0, 20 * MINUTE, 16 * MINUTE)


def test_what_is_to_hold_in_all_projects_is_told_from_what_holds_here():
    assert is_for_all_projects("In all my projects, always use tabs.")
    assert is_for_all_projects("Ab jetzt in allen meinen Projekten nur noch uv.")
    assert is_for_all_projects("以后我的所有项目里都用 pnpm。")
    assert not is_for_all_projects("In this project always use tabs, for all modules.")
