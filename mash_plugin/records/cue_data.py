"""The rules that prompts are read by: one file for each language (cues_*.txt), one rule a line.

    list NAME: WORDS         what {NAME} stands for in the patterns below it
    hint: WORD WORD          common words: of these languages the one with the most is tried
    RULE KIND WEIGHT: PATTERN
    RULE KIND WEIGHT after OFFER: PATTERN

Patterns are RE2 (linear time), tried on each lower-case sentence as it is and without its
leading words (the list `lead`). KIND is `preference`, `decision`, `remember` or `correction`
(a cue), `sign` (adds to a cue), `veto` or `question` (takes from it); in cues_any.txt `prompt`
(nobody typed this), `paste` (a line that nobody typed), and `offer` or `ask` (what the agent's
message before did). `after OFFER`: counts only after an agent's message that did that.
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
_GROUPS: dict[str, frozenset[str]] = {
    "prompt": frozenset({"prompt"}),
    "paste": frozenset({"paste"}),
    "previous": frozenset({"offer", "ask"}),
    "whole": CUES,
}
_MEMORY = 12 << 20


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
        self._script = re.compile(_SCRIPTS.get(name, ""))
        self._lead = _compiled(f"^(?:{lists['lead']})") if "lead" in lists else None
        self._cues = RuleSet([rule for rule in rules if rule.is_cue])
        self._others = RuleSet([rule for rule in rules if not rule.is_cue])

    def on_sentence(self, sentence: str, *, alone: bool = False) -> list[Found]:
        """The rules that match it as it is or without its leading words.

        What only adds to a cue or takes from it is found where there is one, or `alone`.
        """
        if not self._script.search(sentence):
            return []
        lead = self._lead.match(sentence) if self._lead else None
        texts = [sentence, sentence[lead.end() :]] if lead and lead.end() else [sentence]
        found = self._cues.on(*texts)
        return [*found, *self._others.on(*texts)] if found or alone else []


class Shared:
    """The rules for every language: what nobody typed, and what an agent's message offers."""

    def __init__(self) -> None:
        self.rules = _read("any")[0]

    def on_prompt(self, text: str) -> list[Found]:
        """The rules that say that nobody typed this prompt."""
        return self._match("prompt", text)

    def on_previous(self, end: str) -> list[Found]:
        """What the end of an agent's message did."""
        return self._match("previous", end)

    def on_whole(self, text: str) -> list[Found]:
        """Cues in the form of the whole prompt."""
        return self._match("whole", text)

    def on_line(self, line: str) -> list[Found]:
        """The rules that say that nobody typed this line: a log, a trace, a change of code."""
        return self._match("paste", line)

    def _match(self, name: str, text: str) -> list[Found]:
        return self._group(name).on(text)

    @cache  # noqa: B019 - there is one of this class
    def _group(self, name: str) -> "RuleSet":
        return RuleSet([rule for rule in self.rules if rule.kind in _GROUPS[name]])


class RuleSet:
    """Rules that are tried in one pass, compiled when first needed."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules

    def on(self, *texts: str) -> list[Found]:
        """The rules that match one of the texts, each with the first that it matches."""
        found: dict[int, str] = {}
        for text in texts:
            found = dict.fromkeys(self._set.Match(text) or (), text) | found
        return [Found(self._rules[n], found[n]) for n in sorted(found)]

    @cached_property
    def _set(self) -> Any:  # noqa: ANN401 - no types
        import re2  # 20 ms that only prompts need to pay

        options = re2.Options()
        options.max_mem = _MEMORY
        options.log_errors = False
        patterns = re2.Set.SearchSet(options)
        for rule in self._rules:
            patterns.Add(rule.pattern)
        patterns.Compile()
        return patterns


@cache
def shared() -> Shared:
    """The rules for every language."""
    return Shared()


@cache
def language(name: str) -> Language:
    """The rules of one language, compiled when a prompt first needs them."""
    return Language(name)


def languages_of(text: str) -> list[Language]:
    """The languages that a plain text may be in, by its scripts and common words."""
    words = frozenset(_WORD.findall(text))
    hints = {name: len(words & _hints(name)) for name in NAMES if name not in _SCRIPTS}
    most = max(hints.values())
    return [
        language(name)
        for name in NAMES
        if (hints[name] == most > 0 if name in hints else _script(name).search(text))
    ]


def all_rules() -> list[Rule]:
    """Every rule of every file."""
    return [rule for name in (*NAMES, "any") for rule in _read(name)[0]]


_WORD = re.compile(r"[a-z]+")


@cache
def _script(name: str) -> re.Pattern[str]:
    return re.compile(_SCRIPTS[name])


@cache
def _hints(name: str) -> frozenset[str]:
    return frozenset(_read(name)[1]["hint"].split())


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
