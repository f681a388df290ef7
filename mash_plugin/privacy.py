"""What must not be kept, shown or taken for the person's: private spans, credentials, pastes."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

PRIVATE_MARK = "[private]"
"""Stands where a span was, so that no quote can join the words on its two sides."""
GAP = "\n\ufffc\n"
"""Stands where quoted or pasted text was, for the same reason."""


def split_private(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its private spans, and what stood inside them.

    Nested spans count as one; an unclosed one runs to the end. Give the joined text of all
    blocks of a message, so that a span split over blocks is seen whole.
    """
    low = text.lower()
    if "private" not in low and _WIDE not in low:
        return text, ()
    tags = _pattern(_TAG, re.IGNORECASE)
    visible, inner, depth, start, at = [], [], 0, 0, 0
    for tag in tags.finditer(text):
        if not tag["slash"]:
            if not depth:
                visible.append(text[at : tag.start()] + PRIVATE_MARK)
                start = tag.end()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                inner.append(text[start : tag.start()])
                at = tag.end()
    if depth:
        inner.append(text[start:])
    else:
        visible.append(text[at:])
    spans = (tags.sub(" ", span).strip() for span in inner)
    return "".join(visible), tuple(span for span in spans if span)


def persons_own(text: str) -> str:
    """What the person wrote in their own words: no fenced code, quoted lines or pasted text.

    A paste ends at the last closing tag with its own ID, or else at the last of all: pasted
    text may hold closing tags too, with words behind them that would pass for the person's.
    """
    if "<" in text:
        text = _pattern(_PASTED, re.IGNORECASE | re.DOTALL).sub(GAP, text)
    if "`" in text or "~" in text or ">" in text or "\uff1e" in text:
        text = _without_quoted_lines(text)
    return text.strip(" \t\r\n\ufffc")


def mask(text: str, extra: Sequence[str] = ()) -> str:
    """The text with every known credential, and every match of `extra`, replaced by its kind."""
    low = text.lower()
    for kind, literals, _pattern in _RULES:
        if any(literal in low for literal in literals):
            text = _replace(_compiled()[kind], kind, text)
    for pattern in extra:
        rule = _extra(pattern)
        if rule is not None:
            text = str(rule.sub("[masked]", text))
    return text


def cut_title(text: str, limit: int) -> str:
    """At most `limit` characters, and no half of a word that may be a credential."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    if "!" <= text[limit] <= "~":
        whole = _pattern(r"[!-~]+\Z").sub("", cut)
        cut = whole if whole.strip() else mask(text)[:limit]
    return cut.rstrip()


def credential_kind(text: str) -> str | None:
    """The kind of the first known credential in the text, or None; never its value."""
    if not text.isascii():  # wide letters and invisible characters do not hide one
        text = unicodedata.normalize("NFKC", text)
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    low = text.lower()
    for kind, literals, _pattern in _RULES:
        if not any(literal in low for literal in literals):
            continue
        rule = _compiled()[kind]
        if any(_is_secret(kind, found, text) for found in rule.finditer(text)):
            return kind
    return None


_OPEN = r"(?:[<\uff1c\ufe64]|&lt;|&#60;|&#x3c;|\\u003c)"
_CLOSE = r"(?:[>\uff1e\ufe65]|&gt;|&#62;|&#x3e;|\\u003e)"
_WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "private")
# It never fails once the word is there and stops at the next bracket: linear on any text.
_TAG = (
    rf"{_OPEN}\s{{0,8}}(?:(?P<slash>[/\uff0f])\s{{0,8}})?(?:private|{_WIDE})(?![\w.:-])"
    rf"[^<>\uff1c\uff1e]*?(?:{_CLOSE}|\Z|(?=[<\uff1c]))"
)
# Claude Code closes a paste with its own ID again, which pasted text cannot know (2.1.332).
_PASTED = (
    r'<pasted_content id="([^"<>]{1,64})">.*</pasted_content id="\1">'
    r"|<\s{0,8}(pasted_content|system-reminder|ide_\w{1,40})\b(?:.*<\s{0,8}/\s{0,8}\2\b[^<>]*>|.*)"
)
_LINE_END = "\r\n|[\n\r\v\f\x85\u2028\u2029]"
# Pastes come with marks of lists, and with what cannot be seen, before their own.
_LEAD = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*(?:(?:[-*+\u2022]|\d{1,4}[.)])\s+)?"
_QUOTED = rf"{_LEAD}[>\uff1e]"
_FENCE = rf"{_LEAD}(`{{3,}}|~{{3,}})"
_BACKTICKS = r"`{3,}"


@cache
def _pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: all of them take 6 ms, and a session start needs none."""
    return re.compile(pattern, flags)


def _without_quoted_lines(text: str) -> str:
    fences, quoted = _pattern(_FENCE), _pattern(_QUOTED)
    kept: list[str] = []
    fence = ""
    for line in _pattern(_LINE_END).split(text):
        if fence:
            mark = fences.match(line)
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip(" \t`~"):
                fence = ""
            continue
        own = "\ufffc"
        if not quoted.match(line):
            own, fence = _before_fence(line)
        if own != "\ufffc" or kept[-1:] != [own]:
            kept.append(own)
    return "\n".join(kept)


def _before_fence(line: str) -> tuple[str, str]:
    """The person's part of a line, and the fence that it leaves open."""
    mark = _pattern(_FENCE).match(line)
    if mark and mark[1][0] == "~":
        return "\ufffc", mark[1]
    if "```" not in line:
        return line, ""
    own, at, fence = "", 0, ""
    for run in _pattern(_BACKTICKS).finditer(line):
        if not fence:
            own += line[at : run.start()] + "\ufffc"
            fence = run[0]
        elif run[0] == fence:
            at, fence = run.end(), ""
    own = own if fence else own + line[at:]
    return (own if own.strip(" \t\ufffc") else "\ufffc"), fence


# Kind, literals of which one must occur (in lower case), RE2 pattern. Its one group, if
# any, is what is masked, else the whole match.
_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private key",
        ("private key-----",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:-?[\sA-Za-z0-9+/=:,.\\])*"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
    ),
    ("Anthropic key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{16,}"),
    (
        "OpenAI key",
        ("sk-",),
        r"sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{32,})",
    ),
    ("AWS key ID", ("akia", "asia"), r"(?:AKIA|ASIA)[A-Z0-9]{16}"),
    (
        "AWS secret key",
        ("aws",),
        r"(?i)aws[a-z_ ]{0,12}secret[a-z_ ]{0,16}[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
        r"([A-Za-z0-9/+]{40})",
    ),
    (
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    ("GitLab token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", ("xox", "xapp-"), r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    (
        "Slack webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})",
    ),
    ("Google key", ("aiza",), r"AIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth token", ("ya29.", "gocspx-"), r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    (
        "Stripe key",
        ("sk_", "rk_", "whsec_"),
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,})",
    ),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("SendGrid key", ("sg.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    (
        "JSON web token",
        ("eyj",),
        r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    (
        "password in a URL",
        ("://",),
        r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,100}:([^\s/@\"'<>]{3,200})@",
    ),
    (
        "authorization header",
        ("bearer", "basic "),
        r"(?i)(?:bearer|authorization:\s{0,4}basic)\s{1,4}([A-Za-z0-9._~+/=-]{20,})",
    ),
    (
        "assigned secret",
        ("passw", "passphrase", "pwd", "secret", "key", "token"),
        r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|account[_-]?key|token)"
        r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z0-9!@#%^&*_+=/~?-]{8,})",
    ),
)


@lru_cache(maxsize=1)
def _compiled() -> dict[str, Any]:
    import re2  # when a text first looks like it holds one: a hook's answer rarely does

    return {kind: re2.compile(pattern) for kind, _literals, pattern in _RULES}


@lru_cache(maxsize=64)
def _extra(pattern: str) -> Any:  # noqa: ANN401 - re2 has no types
    import re2

    try:
        return re2.compile(pattern)
    except re2.error:
        return None


def _replace(rule: Any, kind: str, text: str) -> str:  # noqa: ANN401 - re2 has no types
    parts, at = [], 0
    for found in rule.finditer(text):
        if not _is_secret(kind, found, text):
            continue
        start, end = found.span(rule.groups)
        parts.append(f"{text[at:start]}[masked {kind}]")
        at = end
    return "".join(parts) + text[at:]


def _is_secret(kind: str, found: Any, text: str) -> bool:  # noqa: ANN401 - re2 has no types
    """Whether a match is more than a name or the tail of a word.

    `token = refresh_token` is code. The patterns hold no word boundary of their own: with one
    RE2 leaves its fast path as soon as a text is not plain ASCII.
    """
    start = found.start()
    if start and text[start].isalnum() and text[start - 1].isalnum():
        return kind == "assigned secret" and _is_value(kind, str(found[1]))
    return _is_value(kind, str(found[found.re.groups]))


def _is_value(kind: str, value: str) -> bool:
    if kind == "password in a URL":
        return not value.startswith(("$", "{", "*", "%"))
    if kind != "assigned secret":
        return True
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
