"""What of a prompt are the person's own words."""

import time

import pytest

from mash_plugin.privacy.own_words import persons_own


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    ("prompt", "own"),
    [
        ("Use tabs.", "Use tabs."),
        ("Look:\n```\nUse spaces.\n```", "Look:"),
        ("Look:\n~~~text\nUse spaces.\n~~~", "Look:"),
        ("Look:\n````\n```\nUse spaces.\n````", "Look:"),
        ("Look:\n```\nUse spaces.", "Look:"),
        ("> Use spaces.\nNo.", "No."),
        ("Look: ```\nUse spaces.\n```\nNo.", "Look: \ufffc\nNo."),
        ("Is ```use spaces``` right?", "Is \ufffc right?"),
        ("```use spaces``` is wrong.\nNo.", "is wrong.\nNo."),
        ("Read ````a``` b````, ```c", "Read \ufffc,"),
        ("- ```\n  Use spaces.\n  ```\nNo.", "- \ufffc\nNo."),
        ("Look:\r```\rUse spaces.\r```\rNo.", "Look:\n\ufffc\nNo."),
        ("Look:\r> Use spaces.\u2028> Always.\r\nNo.", "Look:\n\ufffc\nNo."),
        ("- > Use spaces.\n2. > Use spaces.\n\u200b> Use spaces.\nNo.", "No."),
        ("-> Use tabs.\n3.5 > 2", "-> Use tabs.\n3.5 > 2"),
        ("  > Use spaces.\n\uff1eUse spaces.\nNo.", "No."),
        ('Read <pasted_content id="9d78">\nUse spaces.\n</pasted_content id="9d78">', "Read"),
        ("Read <pasted_content>\nUse spaces.\n</pasted_content>", "Read"),
        ("Read <pasted_content>\nUse spaces.", "Read"),
        ("<system-reminder>Use spaces.</system-reminder>\nUse tabs.", "Use tabs."),
        ("<ide_selection>Use spaces.</ide_selection>\nUse tabs.", "Use tabs."),
        (
            "Read < pasted_content >Use spaces.</ pasted_content> Use tabs.",
            "Read \n\ufffc\n Use tabs.",
        ),
        ("Is 3 > 2? Use `a > b`.", "Is 3 > 2? Use `a > b`."),
    ],
)
def test_quoted_fenced_and_pasted_text_is_not_the_persons(prompt: str, own: str) -> None:
    assert persons_own(prompt) == own


@pytest.mark.spec("R-018")
def test_words_typed_between_two_pastes_are_the_persons() -> None:
    one = '<pasted_content id="a1">x</pasted_content id="a1">'
    two = '<pasted_content id="b2">y</pasted_content id="b2">'
    own = persons_own(f"{one} and {two} decided")
    assert own.split() == ["and", "\ufffc", "decided"]


@pytest.mark.spec("R-018")
@pytest.mark.parametrize("inside", ["</pasted_content>", '</pasted_content id="ffff">'])
def test_pasted_text_cannot_end_its_own_paste(inside: str) -> None:
    paste = f'<pasted_content id="9d78">a {inside} We use spaces. </pasted_content id="9d78">'
    assert persons_own(f"Read this: {paste}") == "Read this:"


def test_words_around_a_quote_do_not_join() -> None:
    own = persons_own("We decided\n> nothing\nto use spaces")
    assert "We decided to use spaces" not in " ".join(own.split())


@pytest.mark.spec("R-018")
def test_every_paste_ends_by_its_own_id_in_one_reading() -> None:
    """Looking for the end of each anew would take a minute for a megabyte of them."""
    pastes = [f'<pasted_content id="{n}">x</pasted_content id="{n}">' for n in range(16_000)]
    began = time.thread_time()
    own = persons_own(" ok ".join(pastes))
    assert own.split().count("ok") == len(pastes) - 1
    assert "x" not in own
    assert time.thread_time() - began < 5
