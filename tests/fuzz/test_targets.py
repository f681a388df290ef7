"""A short run over every target, the same everywhere; `scripts/fuzz` runs as long as one likes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.target import CORPUS, kept_inputs
from tests.fuzz.targets import TARGETS

EXAMPLES = 100
FEWER = {"chats": 25, "group-rows": 25, "pages": 40, "requests": 40, "sessions": 40}
"""Of those that take longest."""
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and a home that is none of a person's."""
    monkeypatch.setenv("MASH_TESTING", "1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("name", TARGETS)
def test_spoilt_input_breaks_no_promise(name: str, place: Path) -> None:
    with TARGETS[name].opened(place) as check:

        @settings(max_examples=FEWER.get(name, EXAMPLES), suppress_health_check=QUIET)
        @given(TARGETS[name].inputs)
        def run(data: bytes) -> None:
            check(data)

        run()


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_kept_of_earlier_runs_breaks_no_promise(name: str, place: Path) -> None:
    inputs = kept_inputs(name)
    assert inputs
    with TARGETS[name].opened(place) as check:
        for path in inputs:
            check(path.read_bytes())


def test_every_folder_of_the_corpus_belongs_to_a_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*")) < 1 << 20
