"""Progress in words: a rate, the time left, and plain lines where a line cannot be rewritten."""

import pytest

from mash_plugin.cli.progress import Progress, pace_words, size_words, time_words

MB = 1_000_000


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12 kB"), (1_234_567_890, "1.2 GB")],
)
def test_sizes_have_two_figures_that_matter(size: int, words: str) -> None:
    assert size_words(size) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (99, "99 s"), (150, "2 min"), (9_000, "2.5 h")]
)
def test_times_are_told_in_the_unit_that_matters(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


def test_the_time_left_follows_from_the_rate_so_far_once_there_is_one() -> None:
    assert pace_words(30 * MB, 60 * MB, 3) == "10 MB/s, 6 s left"
    assert pace_words(30 * MB, 60 * MB, 0.5) == ""
    assert pace_words(0, 60 * MB, 30) == ""


def test_a_live_line_is_written_over_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter([0.0, 2.0, 4.0])
    progress = Progress("Reading chats", lambda: next(times), is_live=True)
    progress.show(0, 80 * MB)
    progress.show(20 * MB, 80 * MB, "5 of 9 files")
    progress.show(80 * MB, 80 * MB)
    progress.end()
    lines = capsys.readouterr().err.split("\r")
    assert lines[2] == "Reading chats: 25 % of 80 MB, 5 of 9 files, 10 MB/s, 6 s left"
    assert lines[3].startswith("Reading chats: 100 % of 80 MB")
    assert len(lines[3]) == len(lines[2])  # what stood there is gone
    assert lines[-2].strip() == lines[-1] == ""


def test_where_no_line_can_be_written_over_a_new_one_comes_every_few_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter(range(12))
    progress = Progress("Reading chats", lambda: next(times), is_live=False)
    progress.show(0, 0)  # still being counted
    for megabytes in range(12):
        progress.show(megabytes * MB, 11 * MB)
    progress.end()
    assert capsys.readouterr().err.splitlines() == [
        "Reading chats ...",
        "Reading chats: 45 % of 11 MB, 1.0 MB/s, 6 s left",
        "Reading chats: 90 % of 11 MB, 1.0 MB/s, 1 s left",
    ]
