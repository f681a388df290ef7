"""What stands between quotation marks alone is not said by whoever typed it."""

import pytest

from mash_plugin.records.quotation_marks import places_outside


def reaches_outside(quote: str, text: str) -> bool:
    return any(places_outside(quote, text))


BETWEEN_MARKS = [
    ("Ship it on Mondays.", 'The memo reads "Ship it on Mondays." Do you agree?'),
    ('"Ship it on Mondays."', 'The memo reads "Ship it on Mondays." Do you agree?'),
    ("on Mondays", 'The memo reads "Ship it on Mondays." Do you agree?'),
    ('"Ship it on Mondays."', "The memo reads “Ship it on Mondays.” Do you agree?"),
    ("Ship it on Mondays.", "The memo reads 'Ship it on Mondays.' Do you agree?"),
    ("we don't ship", "She wrote ‘On Fridays we don’t ship’, or so I heard."),
    ("always ship on Mondays", 'Remember: "always ship on Mondays"'),
    ("Ship it.", "In `Ship it.` the full stop is missing."),
    ("Ships go.", 'payload: {"name": "Ships go.", "count": 1}'),
    ("Ships go.", 'payload: {"name":"Ships go.","count":1}'),
    ("Ships go.", r'payload: {"name": "say \"hi\" Ships go.", "count": 1}'),
    ("Ship it.", 'One mail: "Ship it." Another mail: "Ship it." Well?'),
    ("Ship it.", 'It goes "(Ship it.)", does it?'),
    ("ship", 'She calls it "to ship", he "shipping".'),
    ("Ship\n it.", 'It goes "Please.\n\nShip it.", does it?'),
    ("Wir liefern montags.", "Sie schreibt „Wir liefern montags.“ Gut so?"),
    ("Wir liefern montags.", 'Sie schreibt „Wir liefern montags." Gut so?'),
    ("Wir liefern montags.", "Sie schreibt »Wir liefern montags.« Gut so?"),
    ("Wir liefern montags.", "Sie schreibt ›Wir liefern montags.‹ Gut so?"),
    ("On livre le lundi.", "Elle écrit « On livre le lundi. » C'est bien ?"),
    ("On livre le lundi.", "Elle écrit «\u202fOn livre le lundi.\u202f» C'est bien ?"),
    ("Vi skickar.", "Hon skriver ”Vi skickar.” Bra?"),
    ("Vi skickar.", "Hon skriver »Vi skickar.» Bra?"),
    ("我们周一发布。", "邮件说“我们周一发布。”怎么看？"),
    ("我们周一发布。", '邮件说"我们周一发布。"怎么看？'),
    ("月曜に出します。", "彼女は「月曜に出します。」と言った。"),
    ("月曜", "彼女は『週の「月曜」に』と"),
    ("월요일에 내자", "그녀는 “월요일에 내자”라고 했다"),
]

REACHING_OUTSIDE = [
    ("Remember: “always ship on Mondays”", 'Remember: "always ship on Mondays"'),
    ('ship "v2" on Mondays', 'From now on ship "v2" on Mondays.'),
    ("Ship it.", 'The memo reads "Ship it." I say so as well: Ship it. Fine?'),
    ("Ship it.", 'Ship it. So "Ship it." was in the memo already.'),
    ("so ship it", 'Not "one", so ship it, not "two".'),
    ('"one" and "two" ship', 'Both "one" and "two" ship.'),
    ('we ship 5" and 7" panels', 'From now on we ship 5" and 7" panels only.'),
    ("Let's ship, it's Ann's", "Let's ship, it's Ann's turn."),
    ("the testers' builds", "Ship the testers' builds, not the users' ones."),
    ("Ship it.", 'The title is "memo. Ship it.'),
    ("Ship it.", 'The title is memo". Ship it.'),
    ("Ship it.", 'The mark " is a quote. Ship it. The mark " is one.'),
    ("Ship", "Open Settings » Ship » Now"),
    ("Ship it.", "A stray 」 and: Ship it. And 「so」 on"),
    ("Ship it.", "“One” is done. Ship it. “Two” is not."),
    ("Nous livrons", "« Un » : Nous livrons « deux »."),
    ("我们发布", "不用“甲”，我们发布“乙”。"),
]


@pytest.mark.spec("R-018", "R-029")
@pytest.mark.parametrize(("quote", "text"), BETWEEN_MARKS)
def test_words_between_marks_alone_are_somebody_elses(quote: str, text: str) -> None:
    assert not reaches_outside(quote, text)


@pytest.mark.spec("R-018", "R-029")
@pytest.mark.parametrize(("quote", "text"), REACHING_OUTSIDE)
def test_words_outside_of_marks_or_beyond_them_are_ones_own(quote: str, text: str) -> None:
    assert reaches_outside(quote, text)


@pytest.mark.parametrize("text", ['"Ship it on Mondays."', "« Ship it on Mondays. »", '"Ship it"!'])
def test_marks_around_all_that_was_typed_set_nothing_apart(text: str) -> None:
    assert reaches_outside("Ship it", text)
    assert not reaches_outside("Sail", text)


def test_words_that_are_not_there_reach_nowhere() -> None:
    assert not reaches_outside("Sail", "Ship it.")
    assert not reaches_outside("", "Ship it.")


@pytest.mark.row(55)
@pytest.mark.parametrize(
    "piece", ['"a ', '"a" ', "'a ", "`", "« ", "»a ", "「", "「a」", "„a ", "\\"]
)
def test_a_text_full_of_marks_is_read_once(piece: str) -> None:
    """What would be read again at each mark would take hours, and meets the limit of a test."""
    text = piece * (200_000 // len(piece))
    assert not reaches_outside("b", f"{text} c")


@pytest.mark.row(55)
def test_a_long_quote_that_begins_everywhere_between_marks_is_not_tried_everywhere() -> None:
    inside = "a " * 100_000 + "a"
    assert not reaches_outside("a " * 2_000, f'So "{inside}" it goes.')
    assert reaches_outside("a " * 2_000 + 'a" it', f'So "{inside}" it goes.')
