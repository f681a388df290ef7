"""Lines that say a password in plain words: `the password is hunter2`, `PIN 4711`.

A line to keep is dropped whole on suspicion; texts that are masked in place need the stricter
formats of privacy.
"""

from mash_plugin.privacy.credentials import credential_kind
from mash_plugin.privacy.patterns import compiled
from mash_plugin.privacy.secret_values import has_digit

SPOKEN = "password in plain words"
_SIGNS = r"[*`~\\]|</?[A-Za-z][^<>\n]{0,200}>"
_NAMED = (
    r"(?i)\b(?P<name>passwor[dt]|passwd|passphrase|passcode|pwd|kennwort|contrase\u00f1a"
    r"|mot de passe|pin(?:[ -]?code)?|puk|tan|cvv|cvc)\b"
    r"(?P<told>\s{0,4}(?:[:=]|->|=>)|(?:\s(?:is|ist|lautet|heisst|hei\u00dft|est|es|now|jetzt|to|auf"
    r"|von|for|f\u00fcr)\b(?:\s\w{1,30}\s(?:is|ist|to|auf)\b)?){0,2})"
    r"\s{0,4}[\"'\u201e\u201c(]?(?P<value>[^\s\"'\u201c\u201d)]{4,64})"
)
_NAMES = "passw kennwort contrase passe passc passp pwd pin puk tan cvv cvc".split()


def secret_kind(line: str) -> str | None:
    """What kind of credential the line seems to hold, or None; never its value."""
    plain = line
    if any(sign in line for sign in "*`~\\<"):
        plain = compiled(_SIGNS).sub("", line)
    if kind := credential_kind(line) or (credential_kind(plain) if plain != line else None):
        return kind
    low = plain.lower()
    if not any(name in low for name in _NAMES) or not any(map(str.isdigit, low)):
        return None
    found = compiled(_NAMED).finditer(plain)
    return (
        SPOKEN
        if any(_says_value(*match.group("name", "told", "value")) for match in found)
        else None
    )


def _says_value(name: str, told: str, value: str) -> bool:
    """Whether it is a password; people also pin a version, and that is a number with points."""
    if len(name) <= 3 and name.lower() != "pwd" and not told:
        return value.rstrip(".,;:!?").isdigit()
    return has_digit(value)
