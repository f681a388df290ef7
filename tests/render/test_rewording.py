"""A quote that no longer matches the words above it is no riddle."""

from typing import Any

from mash_plugin.memory.reading import AT_THE_TERMINAL
from mash_plugin.records.terminal import THE_PERSON
from mash_plugin.render.rewording import rewording


def revision(**changed: Any) -> dict[str, Any]:
    made = {"body": {"recorded_by": THE_PERSON}, "evidence": [{"added_by": "revision"}]}
    return made | {"origin": AT_THE_TERMINAL} | changed


def test_a_wording_of_the_persons_says_so_beside_the_quotes_that_it_kept() -> None:
    assert rewording(revision()).startswith("reworded by you: ")
    assert rewording(revision(), "anna").startswith("reworded by anna: ")


def test_what_was_only_established_or_withdrawn_keeps_the_wording_of_its_quotes() -> None:
    assert rewording(revision(body={"recorded_by": "codex"})) == ""


def test_no_tool_can_call_a_wording_the_persons() -> None:
    made = revision()
    del made["origin"]
    assert rewording(made) == ""


def test_without_a_kept_quote_there_is_nothing_to_explain() -> None:
    assert rewording(revision(evidence=[{"added_by": "confirmation"}])) == ""
    assert rewording(revision(evidence=[])) == ""
