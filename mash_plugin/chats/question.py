"""What a question asks for: its words, the other forms of each that the index holds. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from mash_plugin.spellings import neighbours, pieces_of
from mash_plugin.tokens import STOP, is_dense, plain_words, stem_of, words

CHARS, TERMS = 4_000, 32
SAME_STEM, LONGER, PART = 0.8, 0.45, 0.6
"""What another form of a word is worth: its inflection, a longer word, a part of a compound."""
FORMS = 10
LEAST_STEM, LEAST_BEGINNING, LEAST_PART = 4, 5, 5
COMPOUND_CHARS = 9
MOST_LONGER = 7
STEMS_KEPT = 16_384
KANA_WORTH = 0.3
"""Pairs of hiragana are mostly grammar."""

# What a question is made of besides its subject, as it is typed.
_ASKING = """
about actually again all also am any anything been being but can could did do does doing done
each else ever for get had has have having he her here his how i if into its just kind like may
me might my no not now off ok only our out over own please shall she should since so some
still tell than their them then there these they this those too up us used want was were what
when where whether which while who whom whose why will would yes your
aber alle als am an auch auf aus bei beim bin bis da damit darf das dass dein dem den der des die
dies diese dieser doch du durch ein eine einem einen einer es für gibt hat haben hatte ich ihr im
ist ja kann kein keine man mehr mein mit muss nach nicht noch nur ob oder schon sein sich sie sind
soll sollen über um und uns unser vom von vor war waren warum was welche welchem welchen welcher
welches wenn wer werden wie wieder wieso wieviel wir wird wo wofür woran wurde wurden zu zum zur
au aux avec ce ces cet cette ceci cela comment dans de des du elle elles en est et étaient était
été être eu faut fait faire il ils je la le les leur lui mais même ne nous on ont ou où par pas
pour pourquoi qu que quel quelle quelles quels qui quoi sa se ses si son sont sur t-il tu un une
vous y
a al algo como cómo con cual cuál cuáles cuando cuándo cuanto cuánto cuántos cuántas de del donde
dónde el ella ellos en era es esa ese eso esta está están este esto fue ha hace hay la las le lo
los más me mi muy no nos o para pero por porque qué que quien quién se ser si sí sin sobre son su
sus también tiene un una unas unos usar vamos y ya
без бы был была были было в вам вас во вот все всё вы где да для до его ее её если есть еще ещё же
за и из или их к как какая какие какой каком какую когда кто куда ли мне можно мы на над надо нам
нас не нет него но ну о об он она они от по под почему при про с сколько со так там то того тоже
только у уже чего чем что чтобы это этого этой этот я
""".split()
_ASKING_DENSE = """
什么 为什 么会 怎么 么用 怎样 哪里 哪个 哪些 哪几 几天 可以 应该 多少 我们 是否 如何 用了 几次 有没
没有 时候 请问 一下
나요 까요 어떻 떻게 하나 습니 니다 세요 했는 는데 인가 가요 되나 해야 있나 무엇 언제 어디 이유 원인
""".split()
_HIRAGANA = re.compile("^[\u3040-\u309f]+$")
# Tried where a word begins alone: from each of its letters anew, a long one takes its square.
_NAME = re.compile(r"(?<![^\W_])[^\W_]+(?:[_./:-]+[^\W_]+)+|(?<![a-z])[a-z]+[A-Z]\w*")
# The longest first; as they are left by the light stemming of the index, accents folded.
_LATIN = (
    "ization isation ionally issement fulness amiento amientos imiento aciones acion ations ation"
    " ition utions ution ements ement iendo ungen keiten heiten ment ness able ible ance ence ings"
    " ando ados adas ado ada idos idas ido ida aban aba aron ieron ting ung keit heit lich isch ity"
    " ive ion iv ier iert ing ers ern est ous ful ant ent ait eur eus ique ante ar er ir or al ic"
    " ly en em es ed os as an et st at ez ee te a e i o n s t y"
).split()
_VERBS_AND_NOUNS = (
    "ованность ировать ование ывается ивается ываться иваться ывает ивает ывают ивают ывать ивать"
    " ается яется аются яются аться яться иться ется ится ются ение ание ости ость енный ённый альн"
    " енн ичн ать ять ить еть уть ает яет ует ют ит ят ишь ешь ла ло ли лся лась лось лись ок ек"
    " ик к н л е и а о у ы ь й"
).split()
# The index has taken a last vowel off already.
_CYRILLIC = sorted(
    {e for ending in _VERBS_AND_NOUNS for e in (ending, ending.rstrip("аяоеиуюыьй")) if e},
    key=lambda ending: (-len(ending), ending),
)
_CYRILLIC_LETTERS = re.compile("^[\u0400-\u04ff]+$")
_SPACED_LETTERS = re.compile(r"^[^\W\d_]+$")

Forms = Mapping[str, float]
Scan = Callable[[str], Iterable[tuple[str, int]]]
"""The words of the index that begin so, each with the number of messages that hold it."""


class Word(NamedTuple):
    """One word of a question, and the words of the index that stand for it."""

    term: str
    worth: float
    forms: Forms
    """What each is worth, the word itself first."""
    documents: int
    """How many messages hold one of them, counted at most."""


def terms_of(query: str) -> list[str]:
    """The distinct words of a question without those that only ask, unless it has no other."""
    found = list(dict.fromkeys(words(query[:CHARS])))
    asking = _asking()
    kept = [t for t in found if t not in asking and t not in STOP] or found
    return kept[:TERMS]


def names_of(query: str) -> list[str]:
    """Identifiers and paths as they are written, folded."""
    return list(dict.fromkeys(name.casefold() for name in _NAME.findall(query[:CHARS])))


def respelled(
    query: str, found: Sequence[Word], count: Callable[[str, int], int], most: int
) -> list[Word]:
    """The words with their other spellings: `mysql` is `my sql` in the index where a text has
    MySQL, and of a question for MySQL the words `my` and `sql` are `mysql` too.
    """
    asked = words(query[:CHARS])[: 2 * TERMS]
    joined: dict[str, set[str]] = {}
    for pieces in neighbours(plain_words(query[:CHARS])[: 2 * TERMS]):
        for term in map(stem_of, pieces):
            joined.setdefault(term, set()).add(stem_of("".join(pieces)))
    is_there = cache(lambda piece: count(piece, 1) > 0)
    made = []
    for word in found:
        apart = [" ".join(p) for p in pieces_of(word.term) if all(map(is_there, p))]
        for other in (*sorted(joined.get(word.term, ())), *apart):
            documents = 0 if other in asked else count(other, most + 1)
            is_rare = 0 < word.documents <= most
            if documents and (not is_rare or word.documents + documents <= most):
                forms = {**word.forms, other: 1.0}
                word = word._replace(forms=forms, documents=word.documents + documents)
        made.append(word)
    return made


def word_of(term: str, scan: Scan, most: int) -> Word:
    """A word with its forms, as long as together they stand in no more messages than `most`."""
    if is_dense(term) or not _SPACED_LETTERS.match(term):
        documents = sum(n for found, n in scan(term) if found == term)
        worth = KANA_WORTH if _HIRAGANA.match(term) else 1.0
        return Word(term, worth, {term: 1.0}, documents)
    root = stem(term)
    counts, worths = {term: 0}, {term: 1.0}
    longer: list[tuple[int, str, int]] = []
    for found, documents in scan(root):
        if found == term:
            counts[term] = documents
        elif stem(found) == root:
            counts[found], worths[found] = documents, SAME_STEM
        elif len(root) >= LEAST_BEGINNING and len(found) - len(term) <= MOST_LONGER:
            longer.append((len(found), found, documents))
    for _, found, documents in sorted(longer):
        if len(counts) < FORMS and sum(counts.values()) + documents <= most:
            counts[found], worths[found] = documents, LONGER
    if not any(counts.values()) and len(term) >= COMPOUND_CHARS:
        for found, documents in _parts(term, scan):
            counts[found], worths[found] = documents, PART
    kept = sorted(worths, key=lambda t: (t != term, -worths[t], -counts[t], t))[:FORMS]
    return Word(term, 1.0, {t: worths[t] for t in kept}, sum(counts[t] for t in kept))


@lru_cache(maxsize=STEMS_KEPT)
def stem(word: str) -> str:
    """What the inflections of a word have in common, in any of the languages; a beginning of it.

    For comparing words of the index with each other alone: too coarse to store.
    """
    endings = _CYRILLIC if _CYRILLIC_LETTERS.match(word) else _LATIN
    for _ in range(2):
        ending = next(
            (e for e in endings if word.endswith(e) and len(word) - len(e) >= LEAST_STEM), None
        )
        if ending is None:
            break
        word = word[: -len(ending)]
    if len(word) > LEAST_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word


def _parts(term: str, scan: Scan) -> list[tuple[str, int]]:
    """The longest words of the index that a compound begins and ends with."""
    beginnings = [term[:end] for end in range(len(term) - 1, LEAST_PART - 1, -1)]
    ends = [term[at:] for at in range(1, len(term) - LEAST_PART + 1)]
    found = []
    for parts in (beginnings, ends):
        for part in parts:
            documents = next((n for word, n in scan(part) if word == part), 0)
            if documents:
                found.append((part, documents))
                break
    return found


@cache
def _asking() -> frozenset[str]:
    found = {token for word in _ASKING for token in words(word) if len(token) > 1 or len(word) == 1}
    return frozenset(found | set(_ASKING_DENSE))
