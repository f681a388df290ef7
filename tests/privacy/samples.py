"""Made-up credentials of every known format, put together late so that no file holds one."""

import random
import string

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
WEB = ALNUM + "-_"


def made_up(length: int, letters: str = ALNUM, seed: int = 1) -> str:
    """Random letters, the same in every run, with a digit and a letter at both ends."""
    drawn = random.Random(f"{seed} {length} {letters}")  # noqa: S311 - repeatable
    inner = "".join(drawn.choice(letters) for _ in range(length))
    digit = "7" if "7" in letters else letters[0]
    return (inner[: length // 3] + digit + inner)[:length]


def _three(*parts: object) -> list[str]:
    """Three samples; a number stands for so many letters, a tuple for a number and its letters."""
    samples = []
    for seed in range(3):
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += part
            elif isinstance(part, int):
                text += made_up(part, seed=seed)
            else:
                length, letters = part
                text += made_up(length, letters, seed)
        samples.append(text)
    return samples


def _pem(label: str, newline: str = "\n") -> str:
    body = newline.join(made_up(64, ALNUM + "+/", seed) for seed in range(3))
    dashes = "-" * 5
    return newline.join(
        [
            f"{dashes}BEGIN {label}PRIVATE" + f" KEY{dashes}",
            body,
            f"{dashes}END {label}PRIVATE" + f" KEY{dashes}",
        ]
    )


def _base64_digits(number: str) -> str:
    import base64

    return base64.b64encode(number.encode()).decode().rstrip("=")


PASSWORD = "h7nter" + "Pass93"
TOKEN = made_up(32)
PEM_BODY = made_up(64, ALNUM + "+/", 0)

SAMPLES: dict[str, list[str]] = {
    "private key": [
        _pem("RSA "),
        _pem(""),
        _pem("OPENSSH ", "\\n"),
        _pem("EC ").rsplit("\n", 1)[0],
        _pem("ENCRYPTED ").replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\n\n", 1),
        _pem("PGP ").replace("KEY-----", "KEY BLOCK-----"),
    ],
    "Anthropic key": _three("sk-" + "ant-api03-", (40, WEB))
    + _three("sk-" + "ant-oat01-", (40, WEB)),
    "OpenAI key": _three("sk-" + "proj-", (48, WEB))
    + _three("sk" + "-", 48)
    + _three("sk-" + "or-v1-", (64, HEX)),
    "Hugging Face token": _three("h" + "f_", 34),
    "model provider key": [
        *_three("xa" + "i-", 80),
        *_three("gs" + "k_", 52),
        *_three("r" + "8_", 37),
        *_three("pp" + "lx-", 48),
        *_three("nva" + "pi-", (64, WEB)),
        *_three("f" + "w_", 24),
        *_three("pc" + "sk_", 60),
        *_three("lsv2" + "_pt_", (32, HEX), "_", (10, HEX)),
        *_three("sk" + "_", (48, HEX)),
        *_three("tv" + "ly-", 32),
    ],
    "AWS key ID": [*_three("AK" + "IA", (16, UPPER)), *_three("AS" + "IA", (16, UPPER))],
    "AWS secret key": [
        *_three("aws_secret" + "_access_key = ", (40, ALNUM + "/+")),
        *_three('"Secret' + 'AccessKey": "', (40, ALNUM + "/+"), '"'),
        *_three("AWS_SECRET" + "_ACCESS_KEY=", (40, ALNUM + "/+")),
    ],
    "Google key": _three("AI" + "za", (35, WEB)),
    "Google OAuth token": [
        *_three("ya" + "29.", (60, WEB)),
        *_three("GOC" + "SPX-", (28, WEB)),
        *_three("1/" + "/0", (40, WEB)),
    ],
    "Azure secret": _three((3, ALNUM), "8" + "Q~", (34, ALNUM)),
    "Azure key": _three(76, "AZ" + "DO", 4),
    "signed URL": _three("https://a.example/b?se=1&si" + "g=", 43, "%3D"),
    "cloud token": [
        *_three("dop" + "_v1_", (64, HEX)),
        *_three("LT" + "AI", 20),
        *_three("AK" + "ID", 32),
        *_three("HR" + "KU-", (36, HEX + "-")),
        *_three("nf" + "p_", 36),
        *_three("sb" + "p_", (40, HEX)),
        *_three("da" + "pi", (32, HEX)),
        *_three("ts" + "key-auth-", 12, "-", 24),
        *_three(14, ".atlas" + "v1.", 64),
    ],
    "Vault token": [*_three("hv" + "s.", (90, WEB)), *_three("hv" + "b.", (90, WEB))],
    "GitHub token": [
        *_three("gh" + "p_", 36),
        *_three("gh" + "s_", 36),
        *_three("github" + "_pat_", 22, "_", 59),
    ],
    "GitLab token": [
        *_three("gl" + "pat-", (20, WEB)),
        *_three("gl" + "rt-", (20, WEB)),
        *_three("gl" + "dt-", (20, WEB)),
    ],
    "Atlassian token": [
        *_three("AT" + "BB", 32),
        *_three("AT" + "ATT3", (180, WEB)),
        *_three("BB" + "DC-", (44, ALNUM)),
    ],
    "Slack token": [
        *_three("xo" + "xb-1234567890-", 24),
        *_three("xo" + "xp-", (40, ALNUM)),
        *_three("xa" + "pp-1-A0", 30),
    ],
    "Slack webhook": _three("https://hooks.slack" + ".com/services/T0000/B0000/", 24),
    "Discord token": [
        f"{_base64_digits(str(number))}.{made_up(6, WEB, seed)}.{made_up(38, WEB, seed)}"
        for seed, number in enumerate((123456789012345678, 98765432109876543, 1098765432109876543))
    ],
    "Discord webhook": _three(
        "https://discord.com/a" + "pi/webhooks/123456789012345678/", (68, WEB)
    ),
    "Telegram token": _three("123456789:" + "AA", (33, WEB)),
    "SendGrid key": _three("S" + "G.", (22, WEB), ".", (43, WEB)),
    "Mailchimp key": _three((32, HEX), "-u" + "s12"),
    "service token": [
        *_three("nt" + "n_", 46),
        *_three("lin" + "_api_", 40),
        *_three("fi" + "gd_", (40, WEB)),
        *_three("pa" + "t", 14, ".", (64, HEX)),
        *_three("gl" + "sa_", 32, "_", (8, HEX)),
        *_three("NR" + "AK-", (27, UPPER)),
        *_three("PM" + "AK-", (24, HEX), "-", (34, HEX)),
        *_three("dp" + ".pt.", 43),
        *_three("AGE-SEC" + "RET-KEY-1", (58, UPPER)),
    ],
    "Stripe key": [
        *_three("sk" + "_live_", 24),
        *_three("rk" + "_test_", 24),
        *_three("wh" + "sec_", 32),
    ],
    "payment token": [
        *_three("sq" + "0atp-", (22, WEB)),
        *_three("EA" + "AA", (60, WEB)),
        *_three("shp" + "at_", (32, HEX)),
        *_three("access" + "_token$production$", (16, LOWER), "$", (32, HEX)),
    ],
    "npm token": [
        *_three("np" + "m_", 36),
        *_three("//registry.example/:_auth" + "Token=", (36, HEX + "-")),
    ],
    "PyPI token": _three("py" + "pi-", (120, WEB)),
    "crates.io token": _three("ci" + "o", 32),
    "RubyGems key": _three("ruby" + "gems_", (48, HEX)),
    "registry token": [
        *_three("oy" + "2", (43, LOWER)),
        *_three("AK" + "Cp", 69),
        *_three("dckr" + "_pat_", (27, WEB)),
        *_three("CLO" + "JARS_", (60, LOWER)),
    ],
    "JSON web token": [
        *_three("ey" + "J", (30, WEB), ".ey" + "J", (60, WEB), ".", (43, WEB)),
        *_three("ey" + "J", (30, WEB), "..", (16, WEB), ".", (60, WEB), ".", (22, WEB)),
    ],
    "password in a URL": [
        *_three("postgres://ledger:", 12, "@db.example/ledger"),
        *_three("redis://:", 8, "@cache.example:6379/0"),
        *_three("https://dev:p@", 10, "@git.example/a.git"),
        "amqp://dev:correcthorsebattery@mq.example",
    ],
    "authorization header": [
        *_three("Authorization: Bea" + "rer ", 40),
        *_three("authorization: ba" + "sic ", 24, "=="),
        *_three('"Authorization": "tok' + "en ", 40, '"'),
        *_three("curl -H 'bea" + "rer ", 20, "'"),
    ],
    "password in a command": [
        *_three("deploy --pass" + "word ", 12),
        *_three("curl -u ledger:", 12, " https://a.example"),
        *_three("machine a.example login me pass" + "word ", 12),
        *_three("tool --api-tok" + "en ", 20),
        *_three("mysql -h db.example -u ledger -p", 12),
        *_three("ssh" + "pass -p ", 12),
    ],
    "assigned secret": [
        f"DB_PASS{'WORD'}={PASSWORD}",
        f"pass{'word'}: {PASSWORD}",
        f'{{"pass{"word"}": "{PASSWORD}"}}',
        f"pass{'word'} = '{PASSWORD}'",
        f"export API_{'KEY'}={TOKEN}",
        f"sec{'ret'}: {TOKEN}",
        f'"client_sec{"ret"}" : "{TOKEN}"',
        f"access_tok{'en'} := `{TOKEN}`",
        f"api key: {TOKEN}",
        f'config.apiK{"ey"} == "{TOKEN}"',
        f"<pass{'word'}>{PASSWORD}</password>",
        f"the pass{'word'} is {PASSWORD}",
        f"密码：{PASSWORD}",
        f"密码是{PASSWORD}。",
        f"密钥＝{TOKEN}",
        f"pass{'word'}：{PASSWORD}",
        f"口令: “{PASSWORD}”",
        f"AccountK{'ey'}={made_up(86, ALNUM + '+/')}==",
        f"pwd=Tr0ub4{'dor'}&3x",
        f"Pass{'wort'}: {PASSWORD}",
        f"DB_PASS{'WORD'}=correct-lynx-{'42'}-battery",
        f"pass{'word'}: green_Lynx_{'7731'}",
        f"the staging pass{'word'} is lynx-Green-{'4471'}",
        f"The API k{'ey'} is {made_up(32, HEX)}",
        f"access tok{'en'} {made_up(32, HEX)}",
    ],
}
