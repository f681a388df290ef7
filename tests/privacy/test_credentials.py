"""Credentials are masked and named by kind; every key here is made up, and put together late."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mash_plugin.privacy import credentials
from mash_plugin.privacy.credential_formats import FORMATS
from mash_plugin.privacy.credentials import (
    EXTRA_KIND,
    MOST_PATTERNS,
    MOST_TRIES,
    PATTERN_CHARS,
    credential_kind,
    mask,
    pattern_faults,
)
from tests.privacy.samples import PASSWORD, PEM_BODY, SAMPLES, TOKEN, made_up

EACH = [(kind, sample) for kind, samples in SAMPLES.items() for sample in samples]
GITHUB = SAMPLES["GitHub token"][0]
MEGABYTE = 1_000_000
MOST_MS = 20.0
"""Who takes longer is looked at closely."""


def test_every_format_has_three_samples() -> None:
    assert SAMPLES.keys() == {form.kind for form in FORMATS}
    assert [kind for kind, samples in SAMPLES.items() if len(set(samples)) < 3] == []


@pytest.fixture
def as_in_a_hook() -> None:
    """Before a long text came by, when the literals are looked for without RE2."""
    credentials._hints.cache_clear()


@pytest.mark.spec("R-177")
@pytest.mark.usefixtures("as_in_a_hook")
@pytest.mark.parametrize(("kind", "sample"), EACH)
@pytest.mark.row(54)
def test_a_credential_is_masked_and_named_wherever_it_stands(kind: str, sample: str) -> None:
    for around in ("{}", "Ключ: {} é.", "x = {}\n", "a\n{}\nb", "密{}钥", "see {}, then"):
        text = around.format(sample)
        shown = mask(text)
        assert f"[masked {kind}]" in shown
        assert not any(secret in shown for secret in (PASSWORD, TOKEN, PEM_BODY))
        assert mask(shown) == shown
        assert credential_kind(text) == kind


@pytest.mark.spec("R-177")
@pytest.mark.parametrize(("kind", "sample"), EACH)
def test_a_credential_is_found_in_a_long_text_as_in_a_short_one(kind: str, sample: str) -> None:
    filler = "The ledger keeps its invoices for ten years. " * 500
    assert f"[masked {kind}]" in mask(f"{filler}{sample} {filler}")


@pytest.mark.spec("R-177")
def test_only_the_secret_itself_is_masked() -> None:
    assert mask(f"postgres://ledger:{PASSWORD}@db/x") == (
        "postgres://ledger:[masked password in a URL]@db/x"
    )
    assert mask(f'{{"pass{"word"}": "{PASSWORD}", "n": 1}}') == (
        '{"password": "[masked assigned secret]", "n": 1}'
    )
    assert mask(f"Use {GITHUB}.") == "Use [masked GitHub token]."


@pytest.mark.parametrize("said", ["token {}", "the api key is {}", "secret: {}"])
def test_a_known_key_is_called_by_its_kind_whatever_the_person_calls_it(said: str) -> None:
    assert mask(said.format(GITHUB)) == said.format("[masked GitHub token]")


@pytest.mark.spec("R-177")
def test_a_key_is_known_through_wide_letters_and_what_cannot_be_seen() -> None:
    assert credential_kind(f"{GITHUB[:9]}\u200b{GITHUB[9:]}") == "GitHub token"
    assert credential_kind("\uff47" + GITHUB[1:]) == "GitHub token"


def test_half_a_surrogate_pair_hinders_nothing() -> None:
    assert mask(f"\ud800 {GITHUB} \udc00") == "\ud800 [masked GitHub token] \udc00"
    assert credential_kind(f"\ud800 {GITHUB}") == "GitHub token"


WORDS = [each for each in EACH if mask(each[1]) == f"[masked {each[0]}]" and "\n" not in each[1]]


@pytest.mark.spec("R-177")
@pytest.mark.parametrize(("kind", "sample"), dict(WORDS).items())
def test_of_two_credentials_that_are_glued_together_neither_is_left(kind: str, sample: str) -> None:
    for _, other in WORDS:
        shown = mask(f"see {sample}{other} there")
        assert [part for part in pieces(sample) + pieces(other) if part in shown] == []
        assert credential_kind(sample + other) is not None
        assert shown.startswith("see [masked ")


def pieces(secret: str) -> list[str]:
    return [secret[at : at + 14] for at in range(len(secret) - 14, 13, -14)]


@pytest.mark.parametrize(
    ("behind", "left"),
    [
        (".example.com/a-path/file_2.txt", ".example.com/a-path/file_2.txt"),
        ("-for-the-staging-cluster-2", "-for-the-staging-cluster-2"),
        ("_backup2024", "_backup2024"),
        ("\n2026-11-30T21:27:54Z", "\n2026-11-30T21:27:54Z"),
        (":" + TOKEN + "/x", "/x"),
    ],
)
def test_words_behind_a_credential_are_left_and_what_is_random_too_is_not(
    behind: str, left: str
) -> None:
    assert mask(GITHUB + behind) == "[masked GitHub token]" + left


@pytest.mark.spec("R-177")
def test_patterns_of_the_person_are_masked_and_known_too() -> None:
    assert mask("ticket ABC-12 é", extra=[r"[A-Z]{3}-\d+"]) == "ticket [masked] é"
    assert credential_kind("ticket ABC-12 é", extra=[r"[A-Z]{3}-\d+"]) == EXTRA_KIND
    assert credential_kind("ticket é", extra=[r"[A-Z]{3}-\d+"]) is None
    assert pattern_faults([r"[A-Z]{3}-\d+", r"(?i)(acme|umbrella)\b"]) == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "is no RE2 pattern (missing ): ()"),
        (r"(?=x)", "is no RE2 pattern"),
        (r"(a)\1", "is no RE2 pattern"),
        ("a{2000}", "is no RE2 pattern"),
        ("\ud800", "is no RE2 pattern"),
        ("x" * (PATTERN_CHARS + 1), "has more than"),
        ("a*", "matches where nothing stands"),
        (r"\b", "matches where nothing stands"),
        ("", "matches where nothing stands"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_told_and_breaks_nothing(pattern: str, why: str) -> None:
    assert mask("plain aaa", extra=[pattern]) == "plain aaa"
    assert credential_kind("plain aaa", extra=[pattern]) is None
    [fault] = pattern_faults(["good", pattern])
    assert fault.startswith("privacy.extra_patterns: ")
    assert why in fault
    assert len(fault) < 300


def test_more_patterns_than_are_used_are_told() -> None:
    patterns = [f"number-{n}-" for n in range(MOST_PATTERNS + 1)]
    assert "only the first" in pattern_faults(patterns)[0]
    assert mask("number-0- number-100-", extra=patterns) == "[masked] number-100-"


def test_re2_writes_no_pattern_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    mask("plain", extra=["(acme", "[z-a]"])
    assert capfd.readouterr().err == ""


@pytest.mark.spec("R-177")
def test_a_text_full_of_credentials_is_masked_to_its_end() -> None:
    text = " ".join(made_up(36, seed=n).join(("gh" + "p_", "")) for n in range(MOST_TRIES * 3))
    shown = mask(text)
    assert "gh" + "p_" not in shown
    assert shown.count("[masked GitHub token]") == MOST_TRIES + 1
    shown = mask(f"{'umbrella ' * MOST_TRIES}{GITHUB} umbrella", extra=["umbrella"])
    assert shown.count("[masked]") == MOST_TRIES
    assert "umbrella" not in shown


def test_a_session_start_without_credentials_loads_no_re2() -> None:
    code = (
        "import sys; from mash_plugin.privacy.credentials import mask\n"
        "mask('We keep the ledger in Postgres; see src/ledger.py. ' * 100)\n"
        "print('re2' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "False\n"


ROOT = Path(__file__).resolve().parents[2]


def hostile_texts(kind: str) -> list[str]:
    """A megabyte each: beginnings, near misses and matches without end, and long tails."""
    samples = [samples[0] for k, samples in SAMPLES.items() if k == kind] + SAMPLES[kind][-1:]
    pieces = {literal for form in FORMATS if form.kind == kind for literal in form.literals}
    pieces |= {piece for s in samples for piece in (s, s + " ", s[:-1], s[: len(s) // 2])}
    repeated = [piece * (MEGABYTE // len(piece.encode())) for piece in sorted(pieces)]
    return repeated + [s + "a1" * (MEGABYTE // 2) for s in samples]


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.row(55)
def test_a_megabyte_of_hostile_text_takes_linear_time(kind: str) -> None:
    mask(SAMPLES[kind][0])
    suspects = [text for text in hostile_texts(kind) if spent_ms(text) > MOST_MS]
    slow = [t[:60] for t in suspects if spent_ms(t) > 10 * spent_ms(t[: len(t) // 4])]
    assert slow == []


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+c", "(.*)*x", "a.{1,400}b"])
@pytest.mark.row(55)
def test_a_hostile_pattern_of_the_person_takes_linear_time(pattern: str) -> None:
    def spent(length: int) -> float:
        return spent_ms("a" * length, (pattern,))

    spent(1_000)
    assert spent(400_000) < 20 * spent(50_000) + 10


def spent_ms(text: str, extra: tuple[str, ...] = ()) -> float:
    """The least processor time of a few runs, so that a busy machine does not count."""
    best = float("inf")
    for _ in range(5):
        began = time.thread_time()
        mask(text, extra)
        best = min(best, (time.thread_time() - began) * 1000)
        if best < MOST_MS / 2:
            break
    return best
