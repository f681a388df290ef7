"""`mash records` and `mash record`: tables for people, JSON for scripts."""

import json
import unicodedata

import pytest

from mash_plugin.cli.record_page import person_of, revision_rows
from mash_plugin.records.terminal import THE_PERSON
from tests.cli.test_chats_commands import SESSION
from tests.setup.terminals import on_a_terminal
from tests.support.homes import Home
from tests.support.saved import SHOP, WORDS, begin, record, save

CHINESE = "发票用Typst排版,不再使用别的工具,因为它快而且免费。" * 3
NASTY = "Paste \x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07 and \u202eevil\u2066 text."


@pytest.fixture(scope="module")
def told(home: Home) -> Home:
    """Four records: one established, three candidates."""
    begin(home)
    for statement in (NASTY, CHINESE, "Letters may follow."):
        save(home, "candidate", statement)
    save(home, "established", "Invoices are rendered with Typst.")
    return home


@pytest.mark.spec("R-158")
def test_records_are_a_table_of_what_agents_are_told(told: Home) -> None:
    done = told.mash("records")
    assert done.code == 0, done
    heading, first, second = done.out.splitlines()
    assert heading.split() == ["ID", "Saved", "UTC+00:00", "Record"]
    assert first.endswith("  Invoices are rendered with Typst.")
    assert second.endswith("decision, host.example/team/shop")
    (listed,) = json.loads(told.mash("records", "--json").out)["records"]
    assert first.startswith(listed["id"][:12] + "  ")
    assert "--all shows 3 more, unconfirmed or out of force." in done.err
    assert "shows" not in told.mash("records", "--all").err
    assert "--all shows 1 more" in told.mash("records", "typst").err
    everything = told.mash("records", "--all").out
    assert "decision (unconfirmed), host.example/team/shop" in everything
    assert CHINESE in everything  # no line is broken in a pipe
    assert "4 records" in told.mash("doctor").out


def test_records_are_found_by_their_words_and_by_this_folder(told: Home) -> None:
    clone = told.root / "work/shop-1"
    assert told.mash("records", "--here", "rendering", "invoice", cwd=clone).code == 0
    done = told.mash("records", "letters")
    assert (done.code, done.out) == (1, "")
    assert "--all" in done.err
    assert told.mash("records", "letters", "--all").code == 0


def test_pages_of_records_advance_to_the_end(told: Home) -> None:
    seen, offset = [], 0
    while offset is not None:
        page = json.loads(
            told.mash("records", "--all", "--json", "--limit", "2", "--offset", str(offset)).out
        )
        seen += [one["statement"] for one in page["records"]]
        offset = page["next_offset"]
    assert len(seen) == len(set(seen)) == 4
    first = told.mash("records", "--all", "--limit", "2").err
    assert "1-2 of 4. More: mash records --all --limit 2 --offset 2" in first
    beyond = told.mash("records", "--all", "--offset", "9")
    assert (beyond.code, beyond.out) == (1, "")
    assert "only 4" in beyond.err


@pytest.mark.parametrize("command", [["records", "--all"], ["record", "ID"], ["log"]])
@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_is_wider_than_the_terminal_in_any_script(
    told: Home, command: list[str], columns: int
) -> None:
    shown = on_terminal(told, command, f"COLUMNS={columns}", "TERM=dumb")
    assert "\x1b" not in shown
    assert "发票" in shown
    assert max(cells(line) for line in shown.splitlines()) <= columns


@pytest.mark.parametrize("command", [["records", "--all"], ["record", "ID"], ["log"]])
def test_no_control_character_of_a_record_reaches_the_terminal(
    told: Home, command: list[str]
) -> None:
    identity = id_of(told, "Paste")
    command = [identity if part == "ID" else part for part in command]
    done = told.mash(*command)
    assert "Paste red and evil text." in done.out
    assert not {"\x1b", "\x07", "\u202e", "\u2066"} & set(done.out)


def test_styles_stand_on_a_terminal_alone_and_never_against_no_color(told: Home) -> None:
    assert "\x1b[1m" in on_terminal(told, ["records"], "TERM=xterm")
    assert "\x1b" not in on_terminal(told, ["records"], "TERM=xterm", "NO_COLOR=1")
    assert "\x1b" not in told.mash("records").out


def test_a_record_is_shown_whole(told: Home) -> None:
    first = id_of(told, "Invoices")
    done = told.mash("record", first[:8])
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0] == f"Record      {first}"
    assert "Standing    decision, established, accepted, in force" in lines
    assert f"“{WORDS}”" in done.out
    assert "said by the person (user), as endorsement; still stands there" in done.out
    assert f"by session {SESSION}" in done.out
    assert f"claude-code-{SESSION}, message " in done.out


def test_a_quote_whose_transcript_is_gone_is_said_to_be_kept(told: Home) -> None:
    (transcript,) = told.claude.glob(f"projects/*/{SESSION}.jsonl")
    aside = transcript.rename(transcript.with_suffix(".aside"))
    shown = told.mash("record", id_of(told, "Invoices")).out
    aside.rename(transcript)
    assert "as endorsement; kept as it was read; its transcript is gone" in shown
    assert "still stands there" not in shown


def test_links_and_every_revision_of_a_long_history_are_shown(told: Home) -> None:
    made = save(told, "candidate", "Draft 1 of a rule.")
    details = {"kind": "decision", "state": "accepted"}
    for number in range(1, 23):
        body = {"statement": f"Draft {number + 1} of a rule.", "details": details}
        change = {
            "action": "revise",
            "expected": {"id": made, "revision": number},
            "body": body,
            "evidence": [{"session_id": SESSION, "quote": WORDS}],
        }
        record(told, change)
    change = {
        "action": "supersede",
        "expected": {"id": made, "revision": 23},
        "body": {"statement": "The rule.", "details": details},
        "evidence": [{"session_id": SESSION, "quote": WORDS}],
    }
    newer = record(told, change)["id"]
    for listed in (told.mash("records", "--all").out, told.mash("log").out):
        assert listed.index(newer[:12]) < listed.index(made[:12])
    whole = json.loads(told.mash("record", made, "--json").out)
    assert [r["revision"] for r in whole["revisions"]] == list(range(24, 0, -1))
    assert whole["sessions"]["1"] == SESSION
    shown = told.mash("record", made).out
    assert shown.count(f"“{WORDS}”") < 24  # what two revisions have in common stands once
    assert "Superseded by  The rule." in shown
    assert newer in shown
    assert "Supersedes" in told.mash("record", newer).out


def test_an_unknown_or_too_short_id_is_one_clear_line(told: Home) -> None:
    for given, part in (("abc", "at least 8"), ("zzzzzzzz", "mash records --all")):
        done = told.mash("record", given)
        assert (done.code, done.out) == (1, "")
        assert part in done.err
        assert len(done.err.splitlines()) == 1


def id_of(home: Home, beginning: str) -> str:
    everything = home.call("list_records", {"scope": SHOP, "include_inactive": True, "limit": 50})
    return next(r["id"] for r in everything["records"] if r["statement"].startswith(beginning))


def on_terminal(home: Home, command: list[str], *environment: str) -> str:
    command = [id_of(home, "发票") if part == "ID" else part for part in command]
    code, shown = on_a_terminal(home, "", "env", *environment, "mash", *command)
    assert code == 0, shown
    return shown.replace("\r\n", "\n")


def cells(line: str) -> int:
    """The columns that a line takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize(
    ("owned", "who"),
    [
        ({}, "you"),
        ({"owner": "0f"}, "its owner"),
        ({"owner": "anna", "node_id": "n"}, "you"),
        ({"owner": "anna", "node_id": "n", "label": "from anna"}, "anna"),
    ],
)
def test_a_rewording_is_told_of_whoever_the_record_belongs_to(
    owned: dict[str, str], who: str
) -> None:
    cited = {"quote": "Typst!", "author": "person", "role": "user", "purpose": "endorsement"}
    cited |= {"added_by": "revision", "status": "matching", "chat_id": "c", "message_id": "m"}
    body = {"statement": "Typst.", "recorded_by": THE_PERSON, "review": "established"}
    revision = {
        "revision": 2,
        "body": body | {"details": {"kind": "decision", "state": "accepted"}},
        "recorded_at": 0,
        "origin": "by the person at the terminal",
        "evidence": [cited],
        "confirmation_history": [],
    }
    rows = dict(revision_rows(revision, None, {"evidence": []}, person_of(owned)))
    assert rows["  wording"].startswith(f"reworded by {who}: ")


def test_a_wording_that_stands_by_hand_alone_says_what_became_of_its_quotes():
    details = {"kind": "preference", "state": "active"}
    body = {"review": "established", "statement": "Use tabs.", "recorded_by": "codex"}
    revision = {"revision": 2, "recorded_at": 0, "body": {**body, "details": details}}
    revision |= {"origin": "by the person at the terminal", "evidence": []}
    revision |= {"confirmation_history": []}
    above = {"revision": 3, "evidence": [{"quote": "…"}]}
    rows = dict(revision_rows(revision, None, above, "the person"))
    assert rows["  evidence"] == "none but that: the quotes of earlier wordings have changed"
    said = {"quote": "Tabs, yes.", "author": "person", "role": "user", "purpose": "endorsement"}
    said |= {"added_by": "confirmation", "status": "matching", "chat_id": "c", "message_id": "m"}
    revision["evidence"] = [said]
    rows = dict(revision_rows(revision, None, above, "the person"))
    assert rows["  evidence"].startswith("none but that")
    assert "Tabs, yes." in rows["  confirmed by"]
