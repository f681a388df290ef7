"""Characters that nobody sees carry nothing into an agent's context, a terminal or a page."""

import sys
import unicodedata

import pytest

from mash_plugin import mcp_server
from mash_plugin.cli.main import run
from mash_plugin.render.text import clean, inert_json, json_line, seen

DRAWN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
) | frozenset(map(chr, range(0x13430, 0x13456)))
"""Signs around numbers and within hieroglyphs, which Unicode counts as formats too."""
IGNORED = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFEFF, 0xFFA0),
    *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9)),
    *(*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
)
"""What Unicode lets a font leave out (Default_Ignorable_Code_Point)."""
FORMATS = [
    chr(code)
    for code in range(sys.maxunicode + 1)
    if unicodedata.category(chr(code)) == "Cf" and chr(code) not in DRAWN
]


@pytest.mark.parametrize("shown", [clean, seen, lambda text: inert_json(json_line(text))])
def test_no_character_that_nobody_sees_is_passed_on(shown) -> None:
    for hidden in (*FORMATS, *map(chr, IGNORED)):
        text = shown(f"before{hidden}after")
        assert hidden not in text, f"U+{ord(hidden):04X}"
    assert len(FORMATS) > 100


COPIED = "\u200c\u200d\xad\ufe0e\ufe0f"
"""What joins letters, breaks words and colours pictures; quotes are copied with it."""


def test_the_structure_that_a_tool_answers_hides_no_words() -> None:
    for hidden in (*FORMATS, *map(chr, IGNORED)):
        statement = f"We use {hidden}Qdrant."
        [shown] = mcp_server._result(
            {"statement": statement}, is_error=False
        ).structured_content.values()
        assert shown == (statement if hidden in COPIED else "We use Qdrant."), (
            f"U+{ord(hidden):04X}"
        )


def test_an_error_carries_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["no\x1b]0;title\x07\x1b[31m\u202e-such"]) == 2
    assert "no-such" in (told := capsys.readouterr().err)
    assert told.isascii()
    assert "\x1b" not in told
