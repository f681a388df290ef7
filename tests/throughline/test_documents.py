"""What the documents promise about captures."""

import json
import re
from pathlib import Path

import pytest

from mash_plugin.cli import meaning_memory
from mash_plugin.cli.serve import serve
from mash_plugin.throughline.key_lines import category_of
from mash_plugin.throughline.openapi import document
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.tools import (
    REMEMBER,
    SEARCH,
    SESSION_RECALL,
    Place,
    call_tool,
    tool_schemas,
)
from tests.throughline.conftest import AGENT, NOW

ROOT = Path(__file__).resolve().parents[2]
README, PAGE = (
    " ".join((ROOT / name).read_text().split()) for name in ("README.md", "docs/throughline.md")
)


@pytest.mark.spec("R-196")
def test_the_readme_says_what_the_filter_is_not():
    assert "**not a security boundary**" in README
    assert "**not a security boundary**" in PAGE
    assert "in an unusual format, split across lines or encoded can pass it" in PAGE


@pytest.mark.spec("R-199")
def test_the_page_names_who_captures_and_when():
    for caller in (
        "| a chat host | when a session closes or times out",
        "| a scheduled job | after its own output, also after a failure",
        "| a loop | at the end of each cycle that did something | `heartbeat` |",
    ):
        assert caller in PAGE


@pytest.mark.spec("R-222")
def test_the_page_recommends_an_order():
    order = PAGE.partition("Begin with capture and recall alone")[2].partition("consolidate")[0]
    steps = ("MM_WORKING_COMPILE", "MM_WORKING_AUTO_REFRESH", "for one agent", "MM_WORKING_PROMOTE")
    places = [order.index(step) for step in steps]
    assert places == sorted(places)


def table(head):
    """The cells of each row of the one table of the page that begins with this word."""
    text = (ROOT / "docs/throughline.md").read_text()
    (rows,) = re.findall(rf"^\| {head} \|.*\n\|-.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split(" |")] for row in rows.splitlines()]


def named(cell):
    return re.findall(r"`(\w+)`", cell)


def test_the_page_has_the_exit_codes_of_the_program():
    assert [(int(code), means) for code, means in table("exit code")] == list(
        meaning_memory.EXIT_CODES.items()
    )


def test_the_page_has_every_tool_with_its_arguments_and_defaults():
    told = {named(tool)[0]: arguments for tool, arguments, _ in table("tool")}
    schemas = {tool["name"]: tool["inputSchema"] for tool in tool_schemas(Settings("", "postgres"))}
    assert list(told) == list(schemas)
    for name, schema in schemas.items():
        rules = schema["properties"]
        assert named(told[name]) == list(rules)
        defaults = re.findall(r'`(\w+)` = "?([\w.]+)"?', told[name])
        assert dict(defaults) == {n: str(r["default"]) for n, r in rules.items() if "default" in r}
        required = re.findall(r"`(\w+)` \(required", told[name])
        assert required == list(schema.get("required", []))
        for rule in rules.values():
            for bound in {"maxLength", "maximum"} & set(rule):
                assert rule[bound] == 200 or str(int(rule[bound])) in told[name]


def test_the_page_has_what_the_tools_answer(workspace):
    told = {named(tool)[0]: named(answer) for tool, _, answer in table("tool")}
    place = Place(AGENT, workspace.settings, NOW)
    asked = {REMEMBER: {"text": "Tea."}, SEARCH: {}, SESSION_RECALL: {"session_id": "s"}}
    for name, arguments in asked.items():
        assert told[name] == list(call_tool(name, arguments, place).data)
    workspace.drain()
    (entry,) = call_tool(SEARCH, {}, place).data["entries"]
    assert named(PAGE.partition("An entry has ")[2].partition(";")[0]) == list(entry)


def test_the_page_has_what_commands_print_as_json(workspace):
    (_, _, of_capture), (_, _, of_drain), *_ = table("command")
    transcript = ("--transcript", "-", "--json", "--config-dir", workspace.path)
    names = ("--agent", AGENT, "--session-id", "s", "--channel", "c", "--source-kind", "cron")
    done = workspace.run("capture-session", *names, *transcript)
    assert set(json.loads(done.out)) == set(named(of_capture))
    where = ("consolidate", "--agent", AGENT, "--json", "--config-dir", workspace.path)
    assert set(json.loads(workspace.run(*where).out)) | {"moved"} == set(named(of_drain))


@pytest.mark.spec("R-191")
def test_the_page_has_lines_of_every_language_that_are_what_it_says():
    rows = table("language")
    assert len(rows) == 10
    for language, *cells in rows:
        for category, cell in zip(("decision", "note", "commitment"), cells, strict=True):
            lines = re.findall(r"`([^`]+)`", cell)
            assert lines
            assert {category_of(line) for line in lines} == {category}, (language, lines)


def test_the_page_has_the_port_and_every_request_with_its_statuses():
    (port,) = [option.default for option in serve.params if option.name == "port"]
    assert f"`http://127.0.0.1:{port}`" in PAGE
    requests = [
        (re.findall(r"[A-Z]+ /[^?`]+", one)[0], codes) for one, _, codes in table("request")
    ]
    known = [
        (f"{verb.upper()} {path}", ", ".join(one["responses"]))
        for path, verbs in document()["paths"].items()
        for verb, one in verbs.items()
    ]
    assert sorted(requests) == sorted([*known, ("GET /openapi.json", "200")])
    listed = {code for _, codes in known for code in codes.split(", ") if code > "299"}
    errors = {status for row in table("status") for status in row[0].split(", ")}
    assert errors == listed | {"404", "405"}
