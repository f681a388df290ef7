"""A question settles nothing, nor does what the person tells of somebody else."""

import pytest

from mash_plugin.records.own_say import Say, own_say

TOLD = 'My landlord said "we close the gate, final". Thoughts?'
WHOLE = [
    (Say.REPORTED, TOLD),
    (Say.REPORTED, '"We close the gate now", wrote the landlord.'),
    (Say.REPORTED, 'According to the notice "the gate is always closed".'),
    (Say.REPORTED, "Der Vermieter sagt „Wir schließen das Tor.“"),
    (Say.REPORTED, "Le gardien a dit « on ferme la porte »."),
    (Say.REPORTED, "El portero dijo «cerramos la puerta»."),
    (Say.REPORTED, "邮件说“我们周一关上大门。”"),
    (Say.REPORTED, "彼女は「月曜に門を閉めます」と言った。"),
    (Say.OWN, 'The landlord says we should use "hooks", and I agree: do it'),
    (Say.OWN, 'The landlord says "we close the gate", and I agree.'),
    (Say.OWN, 'I told you "never leave the gate open".'),
    (Say.OWN, 'From now on do as the landlord says: "close the gate"'),
    (Say.OWN, 'Remember: "always close the gate"'),
    (Say.OWN, 'The heading should read "Welcome to the garden"'),
    (Say.OWN, '"The landlord said to close the gate"'),
    (Say.ASKED, "What do you think of gates?"),
    (Say.ASKED, "Thoughts on the gate rule?"),
    (Say.ASKED, "Do we need gates? And why?!"),
    (Say.ASKED, "Can you explain the gate?"),
    (Say.ASKED, "我们需要大门吗？"),
    (Say.OWN, "Can you always close the gate?"),
    (Say.OWN, "Can you forget the rule on gates?"),
    (Say.OWN, "Close the gate, ok?"),
    (Say.OWN, "ok?"),
]


@pytest.mark.spec("R-018", "R-029")
@pytest.mark.parametrize(("say", "text"), WHOLE)
def test_a_prompt_is_the_persons_own_say_or_not(say: Say, text: str) -> None:
    assert own_say(text, text) is say


@pytest.mark.spec("R-018", "R-029")
@pytest.mark.parametrize(
    ("say", "quote", "text"),
    [
        (Say.ASKED, "What do you think of gates", "What do you think of gates?"),
        (Say.OWN, "Close the gate.", "Close the gate. Is that wise?"),
        (Say.OWN, "Close the gate", "Close the gate\nIs that wise?"),
        (Say.ASKED, "Is that wise?", "Close the gate\n\nIs that wise?"),
        (Say.REPORTED, '"we close the gate, final". Thoughts?', TOLD),
        (Say.QUOTED, "we close the gate", TOLD),
        (Say.OWN, "close the gate", "Why close the gate? Well: close the gate."),
    ],
)
def test_a_quote_is_read_with_the_sentences_that_it_is_cut_from(
    say: Say, quote: str, text: str
) -> None:
    assert own_say(quote, text) is say
