"""The rules that prompts are read by: one file for each language (cues_*.txt), one rule a line.

cues_all.txt is read with the sentences of every language, cues_any.txt with whole prompts, their
lines, and the agent's message before.

    list NAME: WORDS         what {NAME} stands for in the patterns below it
    hint: WORD WORD          common words: of these languages the one with the most is tried
    RULE KIND WEIGHT: PATTERN
    RULE KIND WEIGHT after OFFER: PATTERN

Patterns are RE2 (linear time), tried on each lower-case sentence as it is and without its
leading words (the list `lead`). KIND is `preference`, `decision`, `remember` or `correction`
(a cue), `sign` (adds to a cue), `veto` or `question` (takes from it); in cues_any.txt `prompt`
(nobody typed this), `paste` (a line that nobody typed), `personal` (it is to hold in all projects),
and `offer`, `ask`, `how` or `step` (what the agent's message before did). `after OFFER`: counts
only after an agent's message that did that, or when the answer makes it so (cues._done_by).
"""

import re
from functools import cache, cached_property
from typing import Any, NamedTuple

# Not importlib.resources: it would double what the first prompt waits for.
_PLACE = __file__.removesuffix("cue_data.py")
THRESHOLD = 4
"""What a sentence's findings must add up to."""
CUES = frozenset({"preference", "decision", "remember", "correction"})
NAMES = ("en", "zh", "ja", "ko", "es", "pt", "fr", "de", "ru")
"""The languages with rules; of Spanish, Portuguese, French and German the likeliest is tried."""
_SCRIPTS = {"zh": "[\u4e00-\u9fff]", "ja": "[\u3040-\u30ff]", "ko": "[\uac00-\ud7a3]"}
_SCRIPTS |= {"ru": "[\u0400-\u04ff]", "en": "[a-z]{2}"}
_LATIN, _KANA = _SCRIPTS["en"], re.compile(_SCRIPTS["ja"])
_GROUPS: dict[str, frozenset[str]] = {
    "prompt": frozenset({"prompt"}),
    "paste": frozenset({"paste"}),
    "previous": frozenset({"offer", "ask", "how", "step"}),
    "whole": CUES | {"veto"},
    "extent": frozenset({"personal"}),
}
_MEMORY = 12 << 20
FEW_WORDS, MANY_WORDS = 6, 12
IN_ONE_PASS = 16


_LETTERS = "aàáâãäå cç eèéêë iìíîï nñ oòóôõö uùúûü её"
FOLDED: dict[int, str | int] = {
    ord(letter): group[0] for group in _LETTERS.split() for letter in group[1:]
}
FOLDED |= {ord("ß"): "ss", ord("œ"): "oe"}


class Rule(NamedTuple):
    """One line of the data."""

    id: str
    kind: str
    weight: int
    after: str
    pattern: str

    @property
    def is_cue(self) -> bool:
        """Whether it speaks for a note by itself."""
        return self.kind in CUES

    def met_by(self, did: frozenset[str]) -> bool:
        """Whether it counts after an agent's message that did this."""
        return not self.after or self.after in did


class Found(NamedTuple):
    """A rule that matched, and the text that it was tried on."""

    rule: Rule
    text: str

    @property
    def piece(self) -> str:
        """The part of the text that it matched."""
        import re2

        match = re2.search(self.rule.pattern, self.text)
        return str(match.group(0)) if match else ""


class Language:
    """The rules of one language, in two sets: few sentences that are read meet a cue at all."""

    def __init__(self, name: str) -> None:
        rules, lists = _read(name)
        self._script = re.compile(_SCRIPTS.get(name, _LATIN if name in NAMES else ""))
        self._never = _KANA if name == "zh" else None
        self._lead = _compiled(f"^(?:{lists['lead']})") if "lead" in lists else None
        self._cues = RuleSet([rule for rule in rules if rule.is_cue])
        self._others = RuleSet([rule for rule in rules if not rule.is_cue])

    def on_sentence(self, sentence: str, *, alone: bool = False) -> list[Found]:
        """The rules that match it as it is or without its leading words.

        What only adds to a cue or takes from it is found where there is one, or `alone`.
        """
        if not self._script.search(sentence) or (self._never and self._never.search(sentence)):
            return []
        lead = self._lead.match(sentence) if self._lead else None
        texts = [sentence, sentence[lead.end() :]] if lead and lead.end() else [sentence]
        found = self._cues.on(*texts)
        return [*found, *self._others.on(*texts)] if found or alone else []


class Shared:
    """The rules for every language: what nobody typed, and what an agent's message offers."""

    def __init__(self) -> None:
        self.rules, lists = _read("any")
        self.small = frozenset(lists["small"].split())

    def on_prompt(self, text: str) -> list[Found]:
        """The rules that say that nobody typed this prompt."""
        return self._match("prompt", text)

    def on_previous(self, end: str) -> list[Found]:
        """What the end of an agent's message did."""
        return self._match("previous", end)

    def on_whole(self, text: str) -> list[Found]:
        """Cues in the form of the whole prompt."""
        return self._match("whole", text)

    def on_extent(self, text: str) -> list[Found]:
        """The rules that say that it is to hold in all projects of the person."""
        return self._match("extent", text)

    def on_line(self, line: str) -> list[Found]:
        """The rules that say that nobody typed this line: a log, a trace, a change of code."""
        return self._match("paste", line)

    def _match(self, name: str, text: str) -> list[Found]:
        return self._group(name).on(text)

    @cache  # noqa: B019 - there is one of this class
    def _group(self, name: str) -> "RuleSet":
        return RuleSet([rule for rule in self.rules if rule.kind in _GROUPS[name]])


class RuleSet:
    """Rules that are tried in few passes, compiled when first needed.

    What a pass remembers of all its rules together grows with their product, so not all in one.
    """

    def __init__(self, rules: list[Rule]) -> None:
        self._parts = [rules[at : at + IN_ONE_PASS] for at in range(0, len(rules), IN_ONE_PASS)]

    def on(self, *texts: str) -> list[Found]:
        """The rules that match one of the texts, each with the first that it matches."""
        found = []
        for rules, patterns in zip(self._parts, self._sets, strict=True):
            matches: dict[int, str] = {}
            for text in texts:
                for n in patterns.Match(text) or ():
                    matches.setdefault(n, text)
            found += [Found(rules[n], matches[n]) for n in sorted(matches)]
        return found

    @cached_property
    def _sets(self) -> list[Any]:
        import re2  # 20 ms that only prompts need to pay

        options = re2.Options()
        options.max_mem = _MEMORY
        options.log_errors = False
        sets = []
        for rules in self._parts:
            patterns = re2.Set.SearchSet(options)
            for rule in rules:
                patterns.Add(rule.pattern)
            patterns.Compile()
            sets.append(patterns)
        return sets


@cache
def shared() -> Shared:
    """The rules for every language."""
    return Shared()


@cache
def language(name: str) -> Language:
    """The rules of one language, compiled when a prompt first needs them."""
    return Language(name)


def languages_of(text: str) -> list[Language]:
    """The languages that a plain text may be in, by its scripts and common words.

    The likeliest of these are tried; on a text of a few words, which tell too little, all.
    """
    words = frozenset(_WORD.findall(text))
    hints = {name: len(words & _hints(name)) for name in NAMES if name not in _SCRIPTS}
    most = max(hints.values())
    least = 0 if 0 < len(words) <= FEW_WORDS else max(1 + (len(words) > MANY_WORDS), most - 1)
    return [
        language(name)
        for name in NAMES
        if (hints[name] >= least if name in hints else _script(name).search(text))
    ] + [language("all")]


def all_rules() -> list[Rule]:
    """Every rule of every file."""
    return [rule for name in (*NAMES, "all", "any") for rule in _read(name)[0]]


_WORD = re.compile(r"[a-z]+")
_LONG_WORD = re.compile(r"(?<![a-z\\])[a-z]{4,}")


@cache
def _script(name: str) -> re.Pattern[str]:
    return re.compile(_SCRIPTS[name])


@cache
def _hints(name: str) -> frozenset[str]:
    """Its common words, and those of its rules that no other guessed language has in its own."""
    others = [_words_of_rules(other) for other in NAMES if other not in _SCRIPTS and other != name]
    own = _words_of_rules(name).difference(*others, _words_of_rules("en"))
    return own | frozenset(_read(name)[1]["hint"].split())


@cache
def _words_of_rules(name: str) -> frozenset[str]:
    rules = _read(name)[0]
    return frozenset(_LONG_WORD.findall(" ".join(rule.pattern for rule in rules)))


@cache
def _read(name: str) -> tuple[list[Rule], dict[str, str]]:
    with open(f"{_PLACE}cues_{name}.txt", encoding="utf-8") as file:
        text = file.read().translate(FOLDED)
    if name == "ru":
        text = text.replace("\\w", "[а-яa-z\\d_]")  # RE2's own letters are those of English
    rules: list[Rule] = []
    lists: dict[str, str] = {}
    for line in text.splitlines():
        head, colon, pattern = line.partition(": ")
        if not colon or line.startswith("#"):
            continue
        for key, words in lists.items():
            pattern = pattern.replace(f"{{{key}}}", words)
        match head.split():
            case ["list", key]:
                lists[key] = pattern
            case ["hint"]:
                lists["hint"] = pattern
            case [rule, kind, weight]:
                rules.append(Rule(f"{name}.{rule}", kind, int(weight), "", pattern))
            case [rule, kind, weight, "after", offer]:
                rules.append(Rule(f"{name}.{rule}", kind, int(weight), offer, pattern))
            case _:
                raise ValueError(f"cues_{name}.txt: not a rule: {line[:60]}")
    return rules, lists


def _compiled(pattern: str) -> Any:  # noqa: ANN401 - no types
    import re2

    return re2.compile(pattern)
