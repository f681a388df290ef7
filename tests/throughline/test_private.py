"""What an agent marked as private is kept nowhere, however its lines and tags stand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.privacy.spans import private_lines, split_private
from mash_plugin.throughline.session import session_of
from mash_plugin.throughline.transcript import Message
from tests.throughline.conftest import AGENT, CHAT, SESSION, both, lines_of

HIDDEN = "Decided to hide the quince harvest."
KEPT = "Decided to keep the ledger open."
SPANS = [
    f"<private>\n{HIDDEN}\n</private>",
    f"<private>\n{HIDDEN}",
    f"<PRIVATE>\n{HIDDEN}\n</PRIVATE>",
    f"< private reason='x' >\n\n{HIDDEN}\n</ private >",
    f"<private>a</private> <private>\n{HIDDEN}\n</private>",
    f"<private>\n```\n{HIDDEN}\n```\n{HIDDEN}\n</private>",
    f"&lt;private&gt;\r\n{HIDDEN}\r\n&lt;/private&gt;",
    f"<pri\x1b[31mvate>\n{HIDDEN}\n</private>",
    f"<private>\n{HIDDEN}\n</private>\n{HIDDEN}",
]


def kept_of(*texts):
    session = session_of([[Message("agent", text, None) for text in texts]])
    return [line.text for line in session.key_lines], session.dropped


@pytest.mark.parametrize("span", SPANS)
def test_a_key_line_within_a_span_over_several_lines_is_dropped(span):
    assert kept_of(f"{KEPT}\n{span}") == ([KEPT], kept_of(f"{KEPT}\n{span}")[1])
    assert kept_of(f"{KEPT}\n{span}")[1] >= 1


def test_an_open_span_ends_with_its_message():
    assert kept_of(f"<private>\n{HIDDEN}", KEPT) == ([KEPT], 1)


def test_what_a_person_marked_as_private_is_not_kept_from_the_agent():
    short = "Decided to hide."
    said = [Message("person", f"<private>{short}</private>", None), Message("agent", short, None)]
    assert session_of([said]).key_lines == ()


@both
def test_nothing_private_reaches_queue_store_memory_file_or_search(workspace):
    chat = CHAT + lines_of(("assistant", f"{KEPT}\n<Private>\n{HIDDEN}\nRemember: quince.\n"))
    blocks = [{"type": "text", "text": part} for part in ("<private>", HIDDEN, "</private>")]
    chat += json.dumps({"role": "assistant", "content": blocks}) + "\n"
    workspace.environment |= {"MM_WORKING_COMPILE": "1", "MM_WORKING_AUTO_REFRESH": "1"}
    workspace.capture(workspace.write(chat))
    assert b"quince" not in b"".join(file.read_bytes() for file in workspace.queued)
    workspace.drain()
    found = workspace.call("mm_search", memory_stage="any") + workspace.call(
        "mm_session_recall", session_id=SESSION
    )
    assert KEPT in found
    assert "quince" not in found
    assert "quince" not in str(workspace.rows())
    for file in (file for file in workspace.folder.rglob("*") if file.is_file()):
        assert b"quince" not in file.read_bytes(), file
    assert f"Memory of {AGENT}" in (workspace.folder / "MEMORY.md").read_text()


PIECES = st.sampled_from(["<private>", "</private>", "<PRIVATE a=b>", "< / private >", "```", "x"])


@given(st.lists(PIECES | st.just(None), max_size=12))
def test_of_any_lines_only_those_are_kept_that_no_span_touches(pieces):
    lines = [
        f"Decided to plant pear number {number}." if piece is None else piece
        for number, piece in enumerate(pieces)
    ]
    text = "\n".join(lines)
    visible = split_private(text)[0].splitlines()
    hidden = private_lines(text)
    assert all(line in visible for number, line in enumerate(lines) if number not in hidden)
    assert set(kept_of(text)[0]) <= set(visible)


def test_colour_codes_and_nul_keep_no_key_line_out(workspace):
    text = "\x1b[1;32mRemember:\x1b[0m the \x1b]0;title\x07job ended with \0code 3."
    workspace.capture(workspace.write(lines_of(("assistant", text))))
    assert workspace.drain().out.startswith("consolidate: 2 drained")
    assert "Remember: the job ended with code 3." in workspace.call(
        "mm_search", memory_stage="working"
    )


def test_a_key_line_that_is_too_long_is_counted_as_dropped(workspace):
    text = f"Remember: {'ledger ' * 200}"
    done = workspace.capture(workspace.write(lines_of(("assistant", text))), "--verbose")
    assert done.err.startswith("1 key line(s) dropped")
