"""Which lines of an agent read as a decision, a note to remember or a commitment. Pure.

The rules are data (key_lines.txt); they are RE2 patterns, so that time grows with the length
of a line and with nothing else. A line is read sentence by sentence.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

# Not importlib.resources: it would double what a short capture costs.
_RULES = __file__.removesuffix(".py") + ".txt"
LONGEST = 1_000
CATEGORIES = ("decision", "note", "commitment")
"""In this order: the first that fits gives the category."""
_LEAD = re.compile(
    r"^(?:[\s*_•▪◦·–—✅❌⚠️📌📝🔑💡➡️→]|[-+]\s|\(?\d{1,3}[.)]\s|\[[ xX]?\]\s|#{1,6}\s)+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"'*_)]*\s+|(?<=[。！？；])")
_CURLY = str.maketrans({"‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "：": ": ", "\xa0": " "})
_MARKS = re.compile("[.!?;。！？；]")
_FENCES = ("```", "~~~")
_MEMORY = 16 << 20


class Rule(NamedTuple):
    """One line of the data: what it says of a sentence or a whole line, and its pattern."""

    id: str
    kind: str
    pattern: str


class Found(NamedTuple):
    """What the rules say about one line."""

    category: str | None
    rules: tuple[str, ...]


def eligible_lines(text: str, *, longest: int | None = LONGEST) -> Iterator[tuple[int, str]]:
    """The lines of a message that stand in no fence or quotation, by number and as written."""
    fence = ""
    for number, line in enumerate(text.splitlines()):
        stripped = line.strip()
        mark = stripped[:3]
        if mark in _FENCES:
            if not fence:
                fence = mark
            elif mark == fence:
                fence = ""
            continue
        is_quotation = stripped[:1] in (">", "＞")
        is_short = longest is None or len(stripped) <= longest
        if stripped and not fence and not is_quotation and is_short:
            yield number, stripped


def may_hold_key_line(text: str) -> bool:
    """Whether any line of the text can be one; quick, for the many texts that hold none."""
    return bool(_hint("hint").Match(text))


def may_hold_decision(text: str) -> bool:
    """Whether any line of the text can be a decision; as quick, and true of far fewer texts."""
    return bool(_hint("hint-decision").Match(text))


def category_of(line: str) -> str | None:
    """What the line reads as, or None."""
    return judge(line).category


def judge(line: str) -> Found:
    """The category of a line and every rule that spoke for or against it."""
    plain = _plain(line)
    if plain.rstrip("\"'*_) ").endswith(("?", "？")):
        return Found(None, ("question",))
    said = [_match("line", plain)]
    if any(rule.kind == "never" for rule in said[0]):
        return Found(None, tuple(rule.id for rule in said[0]))
    said += [_match("sentence", sentence) for sentence in _sentences(plain)]
    kinds = [frozenset(rule.kind for rule in rules) for rules in said]
    category = next((name for name in CATEGORIES if any(_says(name, k) for k in kinds)), None)
    return Found(category, tuple(rule.id for rules in said for rule in rules))


def _says(category: str, kinds: frozenset[str]) -> bool:
    """Whether a sentence reads as this; a bare promise needs a time, or must be no mere step."""
    if f"not-{category}" in kinds:
        return False
    if category in kinds:
        return True
    if category == "commitment" and "promise" in kinds and "polite" not in kinds:
        return "later" in kinds or not kinds & {"step", "code"}
    return False


def _plain(line: str) -> str:
    """The line without list signs and bold marks, its apostrophes straight; for matching only."""
    plain = line.translate(_CURLY) if not line.isascii() else line
    return _LEAD.sub("", plain).replace("**", "").replace("__", "").strip()


def _sentences(plain: str) -> list[str]:
    if not _MARKS.search(plain, 0, len(plain) - 1):
        return [plain]
    return [part for part in _SENTENCE_END.split(plain) if part]


class _RuleSet:
    """Rules that are tried in one pass."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        import re2  # only for sessions in which an agent speaks

        self._rules = rules
        self._set = re2.Set.SearchSet(_options())
        for rule in rules:
            self._set.Add(rule.pattern)
        self._set.Compile()

    def on(self, text: str) -> list[Rule]:
        """The rules that match the text."""
        return [self._rules[n] for n in sorted(self._set.Match(text) or ())]


def _match(scope: str, text: str) -> list[Rule]:
    return _rule_set(scope).on(text)


@cache
def _rule_set(scope: str) -> _RuleSet:
    of_line = scope == "line"
    return _RuleSet([rule for rule in all_rules() if rule.kind.startswith("never") is of_line])


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of the data, its lists filled in."""
    return _read()[0]


@cache
def _hint(name: str) -> Any:  # noqa: ANN401 - re2 has no types
    import re2

    # A set of one: its answer is a bare yes or no, three times as fast as a search.
    hint = re2.Set.SearchSet(_options())
    hint.Add(f"(?i){_read()[1][name]}")
    hint.Compile()
    return hint


def _options() -> Any:  # noqa: ANN401 - re2 has no types
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = _MEMORY, False, True
    return options


@cache
def _read() -> tuple[tuple[Rule, ...], dict[str, str]]:
    rules: list[Rule] = []
    lists: dict[str, str] = {}
    both_forms: dict[int, str] = {}
    with open(_RULES, encoding="utf-8") as file:
        for line in file:
            head, colon, pattern = line.rstrip("\n").partition(": ")
            if not colon or line.startswith("#"):
                continue
            for name, words in lists.items():
                pattern = pattern.replace(f"{{{name}}}", words)
            if ".zh" in head or head.startswith("list hint"):
                pattern = pattern.translate(both_forms)
            match head.split():
                case ["traditional"]:
                    both_forms = str.maketrans({pair[0]: f"[{pair}]" for pair in pattern.split()})
                case ["list", name]:
                    lists[name] = f"(?:{pattern})"
                case [rule, kind]:
                    rules.append(Rule(rule, kind, f"(?i){pattern}"))
                case _:
                    raise ValueError(f"key_lines.txt: not a rule: {line[:60]}")
    return tuple(rules), lists
