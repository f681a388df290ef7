"""Commands that are forked instead of started do what started ones do."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import warm_starts
from tests.support.homes import Home, person


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with person(tmp_path_factory.mktemp("person")) as made:
        made.mash("init", "--yes", "--no-agents", "--no-index")
        yield made


@pytest.mark.parametrize(
    "arguments", [("status",), ("records", "--limit", "0"), ("no-such",), ("call", "record", "{")]
)
def test_a_forked_command_says_and_returns_what_a_started_one_does(
    home: Home, arguments: tuple[str, ...]
) -> None:
    assert warm_starts.can_run(home.environment)
    started, forked = home.run("mash", *arguments), home.mash(*arguments)
    assert replace(forked, seconds=0.0) == replace(started, seconds=0.0)


def test_it_runs_in_the_folder_and_with_the_words_that_it_is_given(home: Home) -> None:
    place = home.root / "shop"
    place.mkdir()
    environment = home.environment
    done = warm_starts.run(("projects", "--json"), place, environment, b"", 20.0)
    assert str(place) in done.out
    request = b'{"scope": {"kind": "personal"}}'
    done = warm_starts.run(("call", "list_records", "-"), place, environment, request, 20.0)
    assert (done.code, '"records":[]' in done.out) == (0, True), done


def test_one_that_takes_too_long_is_killed(home: Home, tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        warm_starts.run(("log", "--follow"), tmp_path, home.environment, b"", 0.3)


@pytest.mark.parametrize("change", [{"PATH": "/usr/bin"}, {"LANG": "C"}, {"PYTHONUTF8": "0"}])
def test_who_needs_another_start_is_given_it(home: Home, change: dict[str, str]) -> None:
    assert not warm_starts.can_run(home.environment | change)
