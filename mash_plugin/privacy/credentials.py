"""Find credentials in a text, mask them, and use the person's own patterns (R-177).

RE2 alone looks for them, so time grows with the length of a text and with nothing else.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from mash_plugin.privacy.credential_formats import (
    FORMATS,
    PRIVATE_KEY,
    SHORTEST_WORD,
    WORD_CHARS,
    Format,
    is_secret,
)
from mash_plugin.privacy.patterns import compiled
from mash_plugin.privacy.secret_values import is_mixed

MOST_TRIES = 300
"""Matches looked at one by one in one text; behind the last of them all is masked."""
PATTERN_CHARS, MOST_PATTERNS = 1_000, 100
SHORT_CHARS = 16_000
"""Up to here a text does not load RE2, which takes 20 ms: a hook's answer waits for it."""
WINDOW_BYTES, MOST_WINDOWS = 1_024, 16
"""How far a word is followed behind a credential; behind the last window all is masked."""
NEAR_BYTES = 96
"""Within so many from its beginning a credential shows by which literal it is known."""
_WORD = r"[A-Za-z0-9_~.:+/=$%-]+"
_PART = r"[A-Za-z0-9_-]{12,}"
EXTRA_KIND = "a match of [privacy] extra_patterns"
_NAMED = [(lit, form) for form in FORMATS if not form.is_word for lit in form.literals]
_WORDS = [(lit, form) for form in FORMATS if form.is_word for lit in form.literals]
_WITHOUT_LITERALS = [form for form in FORMATS if not form.literals]
_EMPTY_PROBES = (b"", b"a", b" a b\n", "é-1".encode())
Tries = Iterator[int]
Spans = Iterator[tuple[int, int]]


def mask(text: str, extra: Sequence[str] = ()) -> str:
    """The text with every known credential, and every match of `extra`, replaced by its kind."""
    formats = _likely(text)
    if not formats and not extra:
        return text
    data, tries = _bytes(text), iter(range(MOST_TRIES))
    for form in formats:
        data = _without(data, _found(form, data, tries), f"[masked {form.kind}]")
    for pattern in extra[:MOST_PATTERNS]:
        data = _without(data, _found_extra(pattern, data, tries), "[masked]")
    return data.decode("utf-8", "surrogatepass")


def get_ready() -> None:
    """Build what long texts need anyway: short ones are then read eight times as fast."""
    _hints()


def credential_kind(text: str, extra: Sequence[str] = ()) -> str | None:
    """The kind of the first known credential in the text, or None; never its value."""
    data, tries = _bytes(text), iter(range(MOST_TRIES))
    for pattern in extra[:MOST_PATTERNS]:
        if next(_found_extra(pattern, data, tries), None):
            return EXTRA_KIND
    for spelled in _spellings(text):
        data = _bytes(spelled)
        for form in _likely(spelled):
            if next(_found(form, data, tries), None):
                return form.kind
    return None


def cut_title(text: str, limit: int) -> str:
    """At most `limit` characters, and no half of a word that may be a credential."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    if "!" <= text[limit] <= "~":
        whole = compiled(r"[!-~]+\Z").sub("", cut)
        cut = whole if whole.strip() else mask(text)[:limit]
    return cut.rstrip()


def pattern_faults(patterns: Sequence[str]) -> list[str]:
    """Which of the person's patterns have no effect, and why."""
    faults = [f"{p[:60]!r} {rule}" for p in patterns if isinstance(rule := _extra(p), str)]
    if len(patterns) > MOST_PATTERNS:
        faults.append(f"only the first {MOST_PATTERNS} of {len(patterns)} patterns are used")
    return [f"privacy.extra_patterns: {fault}" for fault in faults]


def _spellings(text: str) -> Iterator[str]:
    """The text, and how it reads: wide letters and invisible characters do not hide a credential.

    Nor does the raised number of a footnote behind one, which is a digit more when spelled out.
    """
    yield text
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text)
        plain = "".join(c for c in plain if unicodedata.category(c) != "Cf")
        if plain != text:
            yield plain


def _likely(text: str) -> list[Format]:
    """The formats of which a literal stands in the text."""
    if len(text) > SHORT_CHARS or _hints.cache_info().currsize:
        hints, owners = _hints()
        wanted = {owners[hit] for hit in hints.Match(_bytes(text)) or ()}
        return [form for form in FORMATS if not form.literals or form in wanted]
    low = text.lower()
    # Quotation marks end a word too: the lines of a hook are JSON, and hold IDs.
    words = [word for word in low.replace('"', " ").split() if len(word) >= SHORTEST_WORD]
    likely = [form for literal, form in _NAMED if literal in low]
    if words:
        low = " ".join(words)
        likely += [form for literal, form in _WORDS if literal in low]
        if any(len(word) >= WORD_CHARS for word in words):
            likely += _WITHOUT_LITERALS
    return sorted(set(likely), key=FORMATS.index)  # what a key is before what it is called


@cache
def _hints() -> tuple[Any, list[Format]]:
    """All literals as one automaton: a long text is read once instead of two hundred times."""
    import re2

    options = _options()
    options.literal, options.case_sensitive = True, False
    hints, owners = re2.Set.SearchSet(options), []
    for form in FORMATS:
        for literal in form.literals:
            hints.Add(literal)
            owners.append(form)
    hints.Compile()
    return hints, owners


def _found(form: Format, data: bytes, tries: Tries) -> Spans:
    """Where credentials of this format stand, each with what more of the kind is glued to it.

    The last span reaches to the end without tries.
    """
    rule, lead_rule = _rules_of(form)
    until = 0
    for match in rule.finditer(data):
        start, end = match.span()
        if start < until:
            continue
        if next(tries, None) is None:
            yield start, len(data)
            return
        lead, end = b"", end - form.behind
        if lead_rule is not None:
            lead = lead_rule.match(data[start : start + 400])[0]
        value, after = _text(data[start + len(lead) : end]), _text(data[end : end + 1])
        if form.is_word and after.isalnum() and _begins_another(data, end):
            after = ""
        if is_secret(form.kind, _text(lead), value, _text(data[max(0, start - 1) : start]), after):
            until = end if form.behind or form.kind == PRIVATE_KEY else _end_of_glued(data, end)
            yield start + len(lead), until
            if until == len(data):
                return


def _begins_another(data: bytes, start: int) -> bool:
    """Whether one more credential stands here, without anything between."""
    near = _text(data[start : start + NEAR_BYTES]).lower()
    near_forms = [form for literal, form in _WORDS if literal in near]
    for form in near_forms + _WITHOUT_LITERALS:
        match = _rules_of(form)[0].match(data, start)
        if match and is_secret(form.kind, "", _text(match[0]), "", ""):
            return True
    return False


def _end_of_glued(data: bytes, end: int) -> int:
    """Where the last random part of the word ends that goes on behind a credential.

    The first of two without a gap takes letters of the second, up to a sign that it does not know.
    """
    for _ in range(MOST_WINDOWS):
        run = compiled(_WORD).match(data[end : end + WINDOW_BYTES].decode("ascii", "replace"))
        parts = compiled(_PART).finditer(run[0]) if run else ()
        further = max((part.end() for part in parts if is_mixed(part[0])), default=0)
        if not further:
            return end
        end += further
    return len(data)


def _found_extra(pattern: str, data: bytes, tries: Tries) -> Spans:
    rule = _extra(pattern)
    if isinstance(rule, str):
        return
    for match in rule.finditer(data):
        start, end = match.span()
        if next(tries, None) is None:
            yield start, len(data)
            return
        if start < end:
            yield start, end


def _without(data: bytes, spans: Spans, mark: str) -> bytes:
    parts, at = [], 0
    for start, end in spans:
        parts += [data[at:start], mark.encode()]
        at = end
    return b"".join((*parts, data[at:])) if parts else data


@cache
def _rules_of(form: Format) -> tuple[Any, Any]:
    """The rule of a format and that of its lead: without groups RE2 needs its fast engine alone."""
    import re2  # when a text first looks like it holds one: a hook's answer rarely does

    lead = re2.compile(form.lead, _options()) if form.lead else None
    return re2.compile(form.lead + form.pattern, _options()), lead


@lru_cache(maxsize=2 * MOST_PATTERNS)
def _extra(pattern: str) -> Any:  # noqa: ANN401 - re2 has no types
    """The rule of a pattern of the person, or what is wrong with it."""
    import re2

    if len(pattern) > PATTERN_CHARS:
        return f"has more than {PATTERN_CHARS} characters and does nothing"
    try:
        rule = re2.compile(pattern, _options())
    except (re2.error, UnicodeEncodeError) as error:
        return f"is no RE2 pattern ({_reason(error)}) and does nothing"
    if any(m.start() == m.end() for probe in _EMPTY_PROBES for m in rule.finditer(probe)):
        return "matches where nothing stands and does nothing"
    return rule


def _reason(error: Exception) -> str:
    [*_, reason] = error.args or (error,)
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _options() -> Any:  # noqa: ANN401 - re2 has no types
    """Options under which RE2 writes nothing to standard error: a pattern may be private too."""
    import re2

    options = re2.Options()
    options.log_errors, options.never_capture = False, True
    return options


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data[:200].decode("utf-8", "replace")
