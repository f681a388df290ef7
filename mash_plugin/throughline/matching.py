"""Which rows a query means: all its words, or a whole channel or session ID. Pure."""

from typing import NamedTuple

from mash_plugin.normal_form import normal_form
from mash_plugin.spellings import pieces_of
from mash_plugin.throughline.artifacts import NOT_REPRESENTED
from mash_plugin.tokens import significant, stem_of, words

FIRST_SIGN = "\u2e80"
_WHOLE = "="
"""Before a channel or session ID among the words of a row: no token begins so."""
_AROUND = '.,:;!?()[]{}"`*'

COMMON = frozenset(words(f"Session record messages agent-authored session Span {NOT_REPRESENTED}"))
"""Words of every summary: a list of the rows that hold one would be a list of all."""


class Term(NamedTuple):
    """One word of a query as typed: its tokens must all be in the row, or `whole` must be.

    Or all tokens of one of its other spellings: MySQL is `my sql` to a row, mysql is one word.
    """

    tokens: tuple[str, ...]
    whole: str
    spelled: tuple[tuple[str, ...], ...] = ()


def row_words(text: str, channel: str | None, session: str | None) -> list[str]:
    """Everything that a row is found by."""
    found = dict.fromkeys(words(text))
    found |= dict.fromkeys(whole_name(name) for name in (channel, session) if name)
    return list(found)


def listed_words(row: list[str]) -> list[str]:
    """The words of a row that rows are looked up by."""
    return [word for word in row if word and word not in COMMON]


def terms_of(query: str) -> list[Term]:
    """The words of a query; small words count only where there is nothing else."""
    chunks = query.split()
    wanted = [chunk for chunk in chunks if significant(chunk)] or chunks
    return [_term(chunk) for chunk in wanted]


def _term(chunk: str) -> Term:
    tokens, name = tuple(dict.fromkeys(words(chunk))), chunk.strip(_AROUND).lower()
    if len(tokens) == 1:
        spelled = pieces_of(tokens[0])
    else:
        spelled = ((stem_of(name),),) if name.isascii() and name.isalnum() else ()
    return Term(tokens, whole_name(chunk), spelled)


def matches(terms: list[Term], row: str) -> bool:
    """Whether a row's words hold every term."""
    held = frozenset(row.split(" "))
    return all(
        term.whole in held
        or (bool(term.tokens) and all(_is_held(token, held) for token in term.tokens))
        or any(held.issuperset(pieces) for pieces in term.spelled)
        for term in terms
    )


def is_sign(token: str) -> bool:
    """Whether it is one sign of a script without spaces, which rows hold as a part of pairs."""
    return len(token) == 1 and token >= FIRST_SIGN


def _is_held(token: str, held: frozenset[str]) -> bool:
    if token in held or not is_sign(token):
        return token in held
    return any(token in word for word in held if not word.startswith(_WHOLE))


def whole_name(name: str) -> str:
    """The word that a row is found by for its whole channel or session ID."""
    return _WHOLE + "\u2581".join(normal_form("NFKC", name).casefold().split())
