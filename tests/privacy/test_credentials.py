"""Credentials are masked and named by kind; every key here is made up, and put together late."""

import time

import pytest

from mash_plugin.privacy import credential_kind, mask

LETTERS = "Q7mZ2kX9vB4nT8wL3cR6yH1pD5sF0gJa"
KEYS = {
    "Anthropic key": "sk-" + "ant-api03-" + LETTERS,
    "OpenAI key": "sk-" + "proj-" + LETTERS,
    "AWS key ID": "AKI" + "AQ7MZ2KX9VB4NT8WL",
    "AWS secret key": "aws_secret" + "_access_key = " + LETTERS + "Kq3/Zx+9",
    "GitHub token": "gh" + "p_" + LETTERS + "abcd",
    "GitLab token": "glpat" + "-" + LETTERS[:20],
    "Slack token": "xox" + "b-1234567890-" + LETTERS[:12],
    "Slack webhook": "https://hooks.slack" + ".com/services/T0000/B0000/" + LETTERS[:24],
    "Google key": "AI" + "za" + LETTERS + "abc",
    "Google OAuth token": "ya" + "29." + LETTERS,
    "Stripe key": "sk_" + "live_" + LETTERS[:24],
    "npm token": "npm" + "_" + LETTERS + "abcd",
    "PyPI token": "pypi" + "-" + LETTERS + LETTERS,
    "Hugging Face token": "hf" + "_" + LETTERS,
    "SendGrid key": "S" + "G." + LETTERS[:22] + "." + LETTERS,
    "JSON web token": "ey" + "J" + LETTERS + ".ey" + "J" + LETTERS + "." + LETTERS,
    "password in a URL": "postgres://ledger:" + LETTERS[:10] + "@db.example/ledger",
    "authorization header": "Authorization: Bea" + "rer " + LETTERS,
    "assigned secret": "DB_PASS" + "WORD=" + LETTERS[:12],
    "private key": "-----BEGIN RSA PRIVATE"
    + " KEY-----\n"
    + LETTERS
    + "\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_each_kind_is_masked_wherever_it_stands(kind: str) -> None:
    for around in ("{}", "Ключ: {} é.", 'x = "{}"\n', "a\n{}\nb"):
        shown = mask(around.format(KEYS[kind]))
        assert f"[masked {kind}]" in shown
        assert LETTERS[:10] not in shown
        assert mask(shown) == shown


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_known_by_its_kind(kind: str) -> None:
    assert credential_kind(f"see {KEYS[kind]} there") == kind


@pytest.mark.spec("R-177")
def test_a_key_is_known_through_wide_letters_and_what_cannot_be_seen() -> None:
    key = KEYS["GitHub token"]
    assert credential_kind(f"{key[:9]}\u200b{key[9:]}") == "GitHub token"
    assert credential_kind("\uff47" + key[1:]) == "GitHub token"


@pytest.mark.parametrize(
    "text",
    [
        "We use Postgres 16 for the ledger, decided.",
        "token = refresh_token",
        "password: required",
        "the key: everything stays local",
        "password=$DB_PASSWORD",
        "postgres://ledger:$PASSWORD@db.example/ledger",
        "https://example.org/a:b/c",
        "commit bb313b63313848ffdf6207f8e09fd05f32ec3b14",
        "msg_01a22b44-f946-7820-a4d2-a6d0d73d2995",
        "task-force, disk-usage, sk-learn",
        "",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text) == text
    assert credential_kind(text) is None


@pytest.mark.spec("R-177")
def test_patterns_of_the_person_are_masked_too() -> None:
    assert mask("ticket ABC-12 é", extra=[r"[A-Z]{3}-\d+"]) == "ticket [masked] é"


def test_a_pattern_that_cannot_be_read_masks_nothing_and_breaks_nothing() -> None:
    assert mask("plain", extra=["(", r"(?=x)"]) == "plain"


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "A",
        "-----BEGIN PRIVATE" + " KEY-----",
        "sk-",
        "eyJ",
        "password=",
        "://",
        "aws secret ",
        "\n",
    ],
)
def test_time_grows_with_the_length_of_hostile_text_alone(piece: str) -> None:
    def spent(length: int) -> float:
        text, spans = piece * (length // len(piece)), []
        for _ in range(3):
            began = time.perf_counter()
            mask(text)
            spans.append(time.perf_counter() - began)
        return min(spans)

    mask(KEYS["npm token"])
    assert spent(256_000) < 12 * spent(64_000) + 0.01
