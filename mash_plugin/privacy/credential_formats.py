"""Known formats of credentials: how each looks, and how a match is told from ordinary text."""

from typing import NamedTuple

from mash_plugin.privacy.secret_values import (
    has_digit,
    is_mixed,
    is_password,
    is_secret_name_value,
)

PRIVATE_KEY, BEARER, ASSIGNED = "private key", "authorization header", "assigned secret"
IN_URL, COMMAND = "password in a URL", "password in a command"


class Format(NamedTuple):
    """One kind of credential; only a text that holds one of the literals is looked at closer."""

    kind: str
    literals: tuple[str, ...]
    """In lower case. None at all: any text with a word of WORD_CHARS may hold it."""
    pattern: str
    """RE2 syntax, of the credential alone and without groups that capture."""
    lead: str = ""
    """What stands before it and is not masked."""
    behind: int = 0
    """How many characters at the end of the pattern are not masked either."""

    @property
    def is_word(self) -> bool:
        """Whether it is one word of at least SHORTEST_WORD characters."""
        return not self.lead and self.kind != PRIVATE_KEY


WORD_CHARS = 56
SHORTEST_WORD = 16


def is_secret(kind: str, lead: str, value: str, before: str, after: str) -> bool:
    """Whether a match is more than a name, a place to fill in or the middle of a long word.

    The patterns hold no word boundary of their own: with one RE2 leaves its fast path as soon
    as a text is not plain ASCII. `before` and `after` are the characters on its two sides.
    """
    if kind in (ASSIGNED, COMMAND):
        return is_secret_name_value(lead, value, after)
    if before.isalnum() and (lead or value)[0].isalnum():
        return False
    if kind == PRIVATE_KEY:
        return True
    if kind == IN_URL:
        return is_password(value)
    if kind == BEARER:
        return is_mixed(value) or "authorization" in lead.lower()
    if after.isalnum() and value[-1].isalnum():
        return False
    return has_digit(value) and len(set(value[-16:].lower())) > 3


def _format(kind: str, literals: str, pattern: str, lead: str = "", behind: int = 0) -> Format:
    return Format(kind, tuple(literals.split()), pattern, lead, behind)


_B64 = "[A-Za-z0-9_-]"
_GAP = r"(?:\s|\\[nrt]|[\"'+,\\>|])"
_PEM_HEADER = r"(?:[A-Za-z-]{2,20}: [^\n\\]{0,80}(?:\\n|\s))"
_KEY_BYTES = rf"(?:{_GAP}*[A-Za-z0-9+/=]{{16,}})+(?:{_GAP}*[A-Za-z0-9+/=]+{_GAP}*-)?"
_SEPARATED = r"[\"'`]?\s{0,4}(?::=|=>|={1,3}|:|\x{FF1A}|\x{FF1D})\s{0,4}[\"'`\x{201C}\x{300C}]?"
_PASSWORDS = (
    r"passwor[dt]|passwd|passphrase|passcode|pwd|kennwort|contrase\x{F1}a|mot de passe"
    r"|\x{5BC6}[\x{7801}\x{78BC}]|\x{53E3}\x{4EE4}|\x{30D1}\x{30B9}\x{30EF}\x{30FC}\x{30C9}"
    r"|\x{BE44}\x{BC00}\x{BC88}\x{D638}|\x{43F}\x{430}\x{440}\x{43E}\x{43B}\x{44C}"
)
_KEYS = (
    r"secret(?:[ _-]?(?:access[ _-]?)?key)?|token|credentials?"
    r"|(?:api|access|account|auth|private|signing|encryption|master|storage|shared[ _-]?access)"
    r"[ _-]?key|\x{5BC6}[\x{94A5}\x{9470}]|\x{4EE4}\x{724C}"
)
_VALUE = (
    r"[^\s\"'`,;()<>\[\]{}\x{201C}\x{201D}\x{300C}\x{300D}\x{3001}\x{3002}\x{FF0C}\x{FF1B}]{8,}"
)

FORMATS: tuple[Format, ...] = (
    _format(
        PRIVATE_KEY,
        "-----begin",
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----(?:{_GAP}|{_PEM_HEADER})*"
        rf"{_KEY_BYTES}(?:----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    # Model providers
    _format("Anthropic key", "sk-ant-", rf"sk-ant-{_B64}{{16,}}"),
    _format(
        "OpenAI key",
        "sk-",
        rf"sk-(?:(?:proj|svcacct|admin|or-v1)-{_B64}{{16,}}|[A-Za-z0-9]{{32,}})",
    ),
    _format("Hugging Face token", "hf_ api_org_", r"(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    _format(
        "model provider key",
        "xai- gsk_ r8_ pplx- nvapi- fw_ tgp_v1_ csk- tvly- pcsk_ jina_ lsv2_ sk_",
        rf"(?:xai-[A-Za-z0-9]{{60,}}|gsk_[A-Za-z0-9]{{40,}}|r8_[A-Za-z0-9]{{36,}}"
        rf"|pplx-[A-Za-z0-9]{{40,}}|nvapi-{_B64}{{60,}}|fw_[A-Za-z0-9]{{22,}}|tgp_v1_{_B64}{{40,}}"
        rf"|csk-[a-z0-9]{{40,}}|tvly-(?:dev-|prod-)?[A-Za-z0-9]{{24,}}|pcsk_[A-Za-z0-9_]{{50,}}"
        r"|jina_[A-Za-z0-9]{40,}|lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|sk_[a-f0-9]{48})",
    ),
    # Clouds
    _format("AWS key ID", "akia asia abia acca", r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}"),
    _format(
        "AWS secret key",
        "secret",
        r"[A-Za-z0-9/+]{40}",
        r"(?i:(?:aws[a-z_ .-]{0,12}secret|secret[_ -]?access[_ -]?key)[a-z_ -]{0,16})"
        r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?",
    ),
    _format("Google key", "aiza", rf"AIza{_B64}{{35}}"),
    _format(
        "Google OAuth token",
        "ya29. gocspx- 1//0",
        rf"(?:ya29\.{_B64}{{20,}}|GOCSPX-{_B64}{{20,}}|1//0{_B64}{{30,}})",
    ),
    _format("Azure secret", "q~", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    _format("Azure key", "azdo", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _format("signed URL", "sig=", r"[A-Za-z0-9%+/=]{40,}", r"[?&;]sig="),
    _format(
        "cloud token",
        "dop_v1_ doo_v1_ dor_v1_ ltai akid hrku- nfp_ sbp_ sb_secret_ pscale_ dapi"
        " tskey- scw fo1_ fm2_ atlasv1. pul-",
        rf"(?:do[opr]_v1_[a-f0-9]{{64}}|LTAI[A-Za-z0-9]{{12,}}|AKID[A-Za-z0-9]{{32}}"
        rf"|HRKU-{_B64}{{20,}}|nfp_[A-Za-z0-9]{{36}}|sbp_[a-f0-9]{{40}}|sb_secret_{_B64}{{20,}}"
        rf"|pscale_(?:tkn|oauth|pw)_{_B64}{{32,}}|dapi[a-f0-9]{{32}}|f(?:o1|m2)_[A-Za-z0-9+/=_-]{{40,}}"
        r"|tskey-[a-z]{2,10}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{8,}|SCW[A-Z0-9]{17}|pul-[a-f0-9]{40}"
        rf"|[A-Za-z0-9]{{14}}\.atlasv1\.{_B64}{{60,}})",
    ),
    _format("Vault token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_B64}{{20,}}"),
    # Git hosting
    _format(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    _format(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glimt- glagent- gr1348941",
        rf"(?:gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|imt|agent)-{_B64}{{20,}}|GR1348941{_B64}{{20,}})",
    ),
    _format(
        "Atlassian token",
        "atbb atatt3 atctt3 bbdc-",
        r"(?:ATBB[A-Za-z0-9]{24,}|AT(?:AT|CT)T3[A-Za-z0-9_=-]{20,}|BBDC-[A-Za-z0-9+/=]{40,})",
    ),
    # Chat and work tools
    _format("Slack token", "xox xapp-", r"(?:xox[abceoprs]|xapp)[.-][A-Za-z0-9.-]{12,}"),
    _format(
        "Slack webhook",
        "hooks.slack.com",
        r"[A-Za-z0-9/_-]{20,}",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/",
    ),
    _format(
        # The digits of a numeric ID in base64: no other text has this form.
        "Discord token",
        "",
        r"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[MNODTjzAEIQUYcgkw-z0-5]{0,3}"
        rf"\.{_B64}{{6}}\.{_B64}{{27,}}",
    ),
    _format("Discord webhook", "api/webhooks/", rf"{_B64}{{50,}}", r"api/webhooks/[0-9]{10,25}/"),
    _format("Telegram token", ":aa", rf"[0-9]{{8,10}}:AA{_B64}{{33}}"),
    _format("SendGrid key", "sg.", rf"SG\.{_B64}{{16,}}\.{_B64}{{16,}}"),
    _format("Mailchimp key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    _format(
        "service token",
        "ntn_ secret_ lin_api_ lin_oauth_ figd_ pat sntrys_ sntryu_ glsa_ glc_ nrak-"
        " pmak- dt0 sgp_ dp. ops_eyj age-secret-key-",
        rf"(?:ntn_[A-Za-z0-9]{{40,}}|secret_[A-Za-z0-9]{{43}}|lin_(?:api|oauth)_[A-Za-z0-9]{{32,}}"
        rf"|figd_{_B64}{{30,}}|pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}|sntry[su]_[A-Za-z0-9+/=_-]{{40,}}"
        r"|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}|NRAK-[A-Z0-9]{27}"
        r"|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"
        rf"|sgp_(?:[a-f0-9]{{16}}_)?[a-f0-9]{{40}}|dp\.[a-z]{{2,5}}\.[A-Za-z0-9._-]{{40,}}"
        rf"|ops_eyJ{_B64}{{60,}}|AGE-SECRET-KEY-1[0-9A-Za-z]{{50,}})",
    ),
    # Payment and shops
    _format(
        "Stripe key",
        "sk_ rk_ whsec_",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    _format(
        "payment token",
        "sq0 eaaa access_token$ shpat_ shpca_ shppa_ shpss_ flwseck access-",
        rf"(?:sq0[a-z]{{3}}-{_B64}{{22,}}|EAAA{_B64}{{56,}}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}"
        r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"
        r"|FLWSECK(?:_TEST)?-[A-Za-z0-9]{20,}|access-(?:sandbox|development|production)-[a-f0-9-]{36})",
    ),
    # Package registries
    _format("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _format("npm token", "_auth", r"[A-Za-z0-9+/=_-]{16,}", r"_auth(?:Token|Password)?\s?=\s?\"?"),
    _format("PyPI token", "pypi-", rf"pypi-{_B64}{{50,}}"),
    _format("crates.io token", "cio", r"cio[A-Za-z0-9]{32}"),
    _format("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _format(
        "registry token",
        "oy2 akcp dckr_ clojars_ packagist_",
        rf"(?:oy2[a-z0-9]{{43}}|AKCp[A-Za-z0-9]{{60,}}|dckr_(?:pat|oat)_{_B64}{{20,}}"
        r"|CLOJARS_[a-z0-9]{60}|packagist_[a-z]{3}_[A-Za-z0-9]{40,})",
    ),
    # Whatever names or shows itself as a secret
    _format(
        "JSON web token",
        "eyj",
        rf"eyJ{_B64}{{10,}}\.(?:eyJ{_B64}{{10,}}\.{_B64}*|{_B64}*(?:\.{_B64}{{10,}}){{3}})",
    ),
    _format(
        IN_URL,
        "://",
        r"[^\s/\"'<>]{3,}@",
        r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,100}:",
        behind=1,
    ),
    _format(
        BEARER,
        "bearer authorization",
        r"[A-Za-z0-9._~+/=-]{16,}",
        r"(?i:bearer|authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:basic|token|apikey|negotiate))\s{1,4}",
    ),
    _format(
        COMMAND,
        "-- -u login mysql mariadb sshpass",
        r"[^\s\"'@]{6,}",
        r"(?i:--(?:[a-z]{1,12}-){0,2}(?:password|passphrase|token|secret|key)[ =]"
        r"|\s(?:-u|--user)[ =][\"']?[^\s:\"'/]{1,64}:|\slogin\s[^\s]{1,64}\spassword\s"
        r"|(?:mysql(?:dump|admin)?|mariadb)\s(?:[^\n\"']{0,80}?\s)?-p|sshpass\s-p\s?)[\"']?",
    ),
    _format(
        ASSIGNED,
        "passw passphrase passcode pwd kennwort contraseña passe"
        " 密 口令 パスワード 비밀번호 пароль 令牌 secret token credential key",
        _VALUE,
        rf"(?i)(?:(?:{_PASSWORDS})(?:\s(?:is|ist|est|to)\s[\"'`]?|[\x{{662F}}\x{{4E3A}}\x{{70BA}}]\s?"
        rf"|>|{_SEPARATED})|(?:{_KEYS})(?:{_SEPARATED}|>|\s(?:(?:is|ist|est)\s)?[\"'`]?))",
    ),
)
