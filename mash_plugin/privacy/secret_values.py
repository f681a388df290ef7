"""Tell a secret's value from a name, a type, a path, a call or a place to fill in."""

from itertools import pairwise

from mash_plugin.privacy.patterns import compiled

JUDGED_CHARS = 64
SHORTEST_SAID = 16
"""Behind a key's name without a sign between them, which may be any sentence."""
MANY_DIGITS, MANY_CHANGES = 3, 4
_ASSIGNS = (":", "=", ">", "\uff1a", "\uff1d")
_VARIABLES = ("$", "{", "%", "<", "*", "[")
_NOT_LITERAL = (*_VARIABLES, "&", "(", "@", "#{", "!", "\\")
_PATHS = ("/", "./", "../", "~/", "file:")
_TO_FILL_IN = frozenset(
    "password passwd pass pwd passw0rd secret user username admin root postgres mysql test guest"
    " example changeme token credentials your-password yourpassword my-password mypassword"
    " p4ssw0rd password1 password123 secret123 changeme123 redacted masked hidden".split()
)
_TO_FILL_IN_STARTS = ("your", "my_", "my-", "example", "changeme", "placeholder", "xxx", "redacted")
# Words of the field that hold digits; the short ones only where they stand alone.
_TERMS = (
    r"(?i)(?:oauth|openid|sha|md|base|aes|rsa|argon|utf|http|ipv|pkcs|secp|u?int|float|python|neo"
    r"|postgres|log|layer|level|tls|ssl|gpt|claude|gemini|node|java|bcrypt|pbkdf|hmac|blake|chacha"
    r"|curve|ed|[rhep]s|php|mysql|redis|cve|rfc|iso)-?\d{1,5}(?:id|d)?"
    r"|(?<![A-Za-z0-9])(?:[a-z]{1,3}\d{1,4}[a-z]{0,2}|\d{1,2}fa)(?![A-Za-z0-9])"
)
_NAME_PART = r"[A-Za-z]+\d{0,2}|\d+|"
_BETWEEN = r"[-_./:@+=~?&]"
_ATTRIBUTE = r"[A-Za-z_]+\d{0,2}(?:\.[A-Za-z_]\w*)+"
_WEAK_NAME_PART = r"[A-Za-z]+|\d+|[A-Za-z]{2,}\d|[vV]\d+|"


def has_digit(value: str) -> bool:
    """Whether a digit stands in it: random text of some length nearly always holds one."""
    return any(c.isdigit() for c in value[:JUDGED_CHARS])


def is_mixed(value: str) -> bool:
    """Whether it holds letters and digits, and not as words and numbers next to each other."""
    value = value[:JUDGED_CHARS]
    return _has_both(value) and not _are_parts(_NAME_PART, value)


def is_password(value: str) -> bool:
    """Whether this is somebody's password rather than a place to fill in or a variable."""
    low = value[:JUDGED_CHARS].lower()
    if low in _TO_FILL_IN or low.startswith((*_TO_FILL_IN_STARTS, *_VARIABLES)):
        return False
    return len(set(low)) > 2 and not (value.isdigit() and len(value) < 8)


def is_secret_name_value(lead: str, value: str, after: str) -> bool:
    """Whether a value behind a name such as `password` or `token` is a secret.

    After a password's name, letters with digits are enough; behind other names, which code
    and prose use for much else, the value must not read like words with numbers.
    """
    value = value[:JUDGED_CHARS].rstrip(".:!?")
    is_quoted = lead[-1:] in "\"'`\u201c\u300c"
    if value.startswith((*_NOT_LITERAL, *_PATHS)) or "://" in value or "${" in value:
        return False
    if not is_quoted and (after[:1] in ("(", "[", "{") or compiled(_ATTRIBUTE).fullmatch(value)):
        return False
    low = value.lower()
    if low in _TO_FILL_IN or low.startswith(_TO_FILL_IN_STARTS) or len(set(low)) < 4:
        return False
    plain = compiled(_TERMS).sub("", value)
    if not _has_both(plain):
        return False
    if _names_password(lead):
        is_variable = lead.isupper() and lead.endswith("=")  # DB_PASSWORD=...
        return is_quoted or is_variable or not _reads_like_names(plain)
    if not any(sign in lead for sign in _ASSIGNS):
        return len(plain) >= SHORTEST_SAID and _changes(plain) >= MANY_CHANGES
    return len(plain) >= 8 and not _are_parts(_NAME_PART, plain)


def _has_both(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _changes(value: str) -> int:
    """How often a digit stands beside a letter: words with numbers hold few such places."""
    beside = (pair for pair in pairwise(value) if pair[0].isalnum() and pair[1].isalnum())
    return sum(one.isdigit() != other.isdigit() for one, other in beside)


def _names_password(lead: str) -> bool:
    low = lead.lower()
    return not any(
        name in low for name in ("secret", "token", "key", "credential", "钥", "鑰", "令牌")
    )


def _reads_like_names(value: str) -> bool:
    """Whether words and numbers follow each other, not in the mixture that passwords must have."""
    parts = compiled(_BETWEEN).split(value)
    is_mixture = value.lower() != value and sum(c.isdigit() for c in value) >= MANY_DIGITS
    return len(parts) > 1 and not is_mixture and _are_parts(_WEAK_NAME_PART, value)


def _are_parts(part: str, value: str) -> bool:
    return all(compiled(part).fullmatch(each) for each in compiled(_BETWEEN).split(value))
