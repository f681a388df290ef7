"""`mash explain-prompt`: the verdict on a prompt and the rules behind it."""

import json

import pytest
from click.testing import CliRunner

from mash_plugin.cli.explain import WAITED_FOR, explain_prompt
from mash_plugin.records.cue_data import all_rules

OFFER = "1. a cron job\n2. a queue\nWhich one do you prefer?"


def explained(*arguments: str, typed: str | None = None) -> str:
    result = CliRunner().invoke(explain_prompt, arguments, input=typed, standalone_mode=False)
    assert result.exception is None
    assert result.return_value == 0
    return result.output


def asked(*arguments: str) -> dict[str, object]:
    return json.loads(explained("--json", *arguments))


@pytest.mark.spec("R-125")
def test_it_names_the_rule_and_the_words_that_bring_the_note():
    told = explained("From now on run the linter first.")
    assert told.startswith("A note is given: preference.")
    assert "en.from-now-on" in told
    assert "from now on" in told


def test_words_without_quotes_are_one_prompt():
    assert explained("from", "now", "on", "use", "tabs") == explained("from now on use tabs")


def test_it_shows_what_speaks_against_a_cue():
    told = explained("This time let's use the mock")
    assert told.startswith("No note is given.")
    assert "+0 of 4" in told
    assert "en.lets-use" in told
    assert "en.this-once" in told


def test_what_no_person_typed_is_named_with_its_rule():
    assert "any.clock" in explained("2031-04-05 10:11:12 from now on replica 2 leads")
    assert "any.headings" in explained("# a\nAlways run it.\n# b\nx\n# c\ny")


def test_a_short_answer_is_told_apart_by_what_the_agent_said():
    alone = explained("2 sounds right to me")
    assert alone.startswith("No note")
    assert "named alternatives" in alone
    assert explained("2 sounds right to me", "--previous", OFFER).startswith("A note is given")
    previous = asked("2 sounds right to me", "--previous", OFFER)["previous"]
    assert previous == ["ask", "choice", "design", "offer"]


def test_every_condition_of_a_rule_has_words_for_people():
    assert {rule.after for rule in all_rules()} - {""} <= set(WAITED_FOR)


def test_standard_input_is_read_and_control_characters_are_not_printed():
    told = explained("-", typed="From now on be \x1b[31mred\x1b[0m please.\n")
    assert told.startswith("A note")
    assert "\x1b" not in told


def test_json_holds_every_finding_with_its_weight():
    body = asked("Do not reset the queue, we need to keep the jobs.")
    (sentence,) = body["sentences"]
    assert body["note"] is True
    assert sentence["score"] == sum(rule["weight"] for rule in sentence["rules"])
    assert {rule["kind"] for rule in sentence["rules"]} == {"preference", "sign"}
