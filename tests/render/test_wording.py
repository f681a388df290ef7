"""What agents are told names tools that exist, in few tokens, and nowhere differently."""

import json
import re
from collections.abc import Callable, Mapping

import pytest

from mash_plugin import wording
from mash_plugin.agents import HOOKED
from mash_plugin.agents.plugin import PLUGIN
from mash_plugin.cli.main import COMMANDS
from mash_plugin.daemon.methods import TOOLS
from mash_plugin.mcp_server import INSTRUCTIONS
from mash_plugin.protocol import tool_schemas, validate
from mash_plugin.protocol.texts import DESCRIPTIONS, RECORD
from mash_plugin.render import context, notes
from tests.render.test_context import CHATS, RECORDS, SESSION
from tests.support.homes import ROOT

Note = Callable[[str, str, Mapping[str, str]], str]
PREFIXES = {name: agent.TOOL_PREFIX for name, agent in HOOKED.items()}
PLACES = [
    {"kind": "repository", "identity": "github.com/acme-payments/checkout"},
    {"kind": "local_project", "path": "/home/someone/work/checkout-service"},
    {"kind": "chat", "id": "codex-0b1f2c3d-aaaa-4bbb-8ccc-123456789abc"},
]
PROMPT_NOTES = (notes.reads_lasting, notes.sweep, notes.both)
NOTES_AGAIN = (notes.reads_lasting_again, notes.both_again)
OFFERED = {str(tool["name"]) for tool in tool_schemas()}
LOOKS_LIKE_A_TOOL = re.compile(
    r"\b(\w*?(?:record|extract|recall|find|list|search|get)_"
    r"(?:records?|chats?|record_matches|extraction_checkpoint))\b"
)
PREFIXED = re.compile(r"\bmcp__[a-z_]*__([a-z_]+)\b")


def tokens(text: str) -> int:
    """No tokeniser of either agent needs more for such text: English takes 4.5 bytes each."""
    return -(-len(text.encode()) // 3)


def every_note(prefix: str) -> dict[str, str]:
    scope = PLACES[0]
    told = {note.__name__: note(prefix, SESSION, scope) for note in PROMPT_NOTES}
    told |= {note.__name__: note(prefix, SESSION) for note in NOTES_AGAIN}
    told["sweep_again"] = notes.sweep_again(prefix)
    saving = notes.saving(prefix, SESSION, scope)
    own = [{**RECORDS[0], "kind": "preference"}]
    start = context.session_start(RECORDS, own, CHATS, saving, prefix)
    file = context.file_read("src/ledger.py", RECORDS, CHATS, prefix)
    return {**told, "session-start": start, "file-read": file}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place["kind"])
@pytest.mark.parametrize("note", PROMPT_NOTES)
def test_a_prompt_note_takes_under_120_tokens(
    note: Note, place: Mapping[str, str], prefix: str
) -> None:
    assert tokens(note(prefix, SESSION, place)) < 120


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place["kind"])
def test_the_words_of_a_session_start_take_under_250_tokens(
    place: Mapping[str, str], prefix: str
) -> None:
    saving = notes.saving(prefix, SESSION, place)
    own = [{**RECORDS[0], "kind": "preference"}]
    text = context.session_start(RECORDS, own, CHATS, saving, prefix)
    lines = text.splitlines()
    assert sum(line.startswith('{"date"') for line in lines) == 6
    assert tokens("\n".join(line for line in lines if not line.startswith('{"date"'))) < 250


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("note", [*PROMPT_NOTES, notes.saving])
@pytest.mark.spec("R-124", "R-125")
def test_what_a_note_holds_is_a_request_but_for_the_quote(note: Note, prefix: str) -> None:
    text = note(prefix, SESSION, PLACES[0])
    assert f"`{prefix}record`" in text
    scope = re.search(r"scope:? (\{.*?\})", text)
    evidence = re.search(r"evidence:? (\[.*?\])", text)
    assert scope
    assert evidence
    request = {
        "operation_id": "o-1",
        "change": {
            "action": "create",
            "scope": json.loads(scope[1]),
            "body": {"statement": "S.", "details": {"kind": "decision", "state": "accepted"}},
            "evidence": json.loads(evidence[1]),
        },
    }
    change = validate("record", request)["change"]
    assert change["evidence"][0]["session_id"] == SESSION
    assert change["evidence"][0]["purpose"] == "endorsement"
    assert change["scope"] == PLACES[0]


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_every_tool_that_a_note_names_stands_there_as_the_agent_shows_it(prefix: str) -> None:
    shown = {f"{prefix}{name}" for name in OFFERED}
    for name, text in every_note(prefix).items():
        quoted = set(re.findall(r"`([^`]+)`", text))
        assert quoted, name
        assert quoted <= shown, name
        assert not LOOKS_LIKE_A_TOOL.findall(re.sub(rf"{prefix}\w+", "", text)), name


def test_every_tool_named_anywhere_exists() -> None:
    skills = {path.parent.name: path.read_text() for path in ROOT.glob("skills/*/SKILL.md")}
    readme = (ROOT / "README.md").read_text()
    texts = {"instructions": INSTRUCTIONS, "readme": readme, **skills, **DESCRIPTIONS}
    for name, text in texts.items():
        found = set(PREFIXED.findall(text)) | set(LOOKS_LIKE_A_TOOL.findall(PREFIXED.sub("", text)))
        assert found <= OFFERED, name
    assert {*wording.SKILLS, "working-memory"} == set(skills)  # that one is of another server
    commands = set(re.findall(r"`mash ([a-z][a-z-]+)", "\n".join(texts.values())))
    assert commands <= set(COMMANDS)


def test_the_names_have_one_source() -> None:
    assert set(wording.TOOLS) == OFFERED == set(TOOLS) == set(DESCRIPTIONS)
    assert {
        "claude-code": f"mcp__plugin_{PLUGIN}_{PLUGIN}__",  # plugin, then its server
        "codex": f"mcp__{PLUGIN}__",
    } == PREFIXES


@pytest.mark.spec("R-124", "R-140")
def test_instructions_notes_description_and_skill_name_the_same_occasions() -> None:
    skill = (ROOT / "skills" / "remember" / "SKILL.md").read_text()
    for text in (notes.saving("", SESSION, PLACES[0]), INSTRUCTIONS, RECORD, skill):
        for occasion in wording.OCCASIONS:
            assert occasion in text


@pytest.mark.spec("R-127")
def test_no_note_asks_for_a_turn_or_for_an_answer_about_itself() -> None:
    texts = [note("", SESSION, PLACES[0]) for note in PROMPT_NOTES]
    for text in [*texts, notes.sweep_again(""), *(note("", SESSION) for note in NOTES_AGAIN)]:
        assert text.endswith("do not mention this.")
        assert not re.search(r"reply|respond|confirm that|let .* know|tell|nothing to save", text)
