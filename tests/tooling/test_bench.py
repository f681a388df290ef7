"""What `scripts/bench` makes of its timings: fits, plots, tables, and who else is measured."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


@pytest.fixture
def rows():
    """Two hooks, a peer and calls at two sizes, as rows yield them."""
    from bench_table import NOT_MEASURED, Line

    growth = [
        Line(f"list, {size} records, {part}", value, "ms", key=f"growth/list/{part}/{size}")
        for size, of_size in ((1_000, (1.0, 2.0)), (10_000, (3.0, 50.0)))
        for part, value in zip(("p50", "p99"), of_size, strict=True)
    ]
    return {
        "hooks": [Line("hook", 0.9, "x", 1.25, f"in {ROOT}", key="hooks/session-start")],
        "peers": [
            Line("other", 1_234.5, "x", key="peers/other <&> SessionStart"),
            Line("away", NOT_MEASURED, "", note="not measured here: no npm", key="peers/away"),
        ],
        "quality": [Line("found", 0.98, "", None, "of 127", 0.9, "short/search")],
        "growth": [*growth, Line("list", 0.48, "", key="exponent/list")],
    }


@pytest.fixture
def written(rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a README whose figures were written."""
    import bench_write

    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{bench_write.BEGIN}\nold\n{bench_write.END}\nafter\n")
    monkeypatch.setattr(bench_write, "FOLDER", tmp_path / "bench")
    monkeypatch.setattr(bench_write, "README", readme)
    bench_write.write(rows, bench_write.about("scripts/bench hooks", "nothing"))
    return tmp_path


def elements(plot: Path) -> list[ET.Element]:
    return [*ET.parse(plot).iter()]  # noqa: S314 - our own file


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_the_exponent_of_a_power_is_found(power: float) -> None:
    from bench_growth import fitted_exponent

    points = [(10.0**n, 3 * 10 ** (n * power)) for n in range(3, 7)]
    assert fitted_exponent(points) == pytest.approx(power)


def test_a_missed_promise_is_told_and_a_missing_figure_is_no_promise_missed() -> None:
    from bench_table import NOT_MEASURED, Line

    assert "(at most 1 MISSED)" in str(Line("slow", 2, "x", 1))
    assert "not measured" in str(Line("away", NOT_MEASURED, "x", 1))
    assert not Line("away", NOT_MEASURED, "x", 1).is_missed


def test_every_figure_is_written_as_data_and_what_is_missing_is_null(written: Path) -> None:
    told = json.loads((written / "bench" / "results.json").read_text())
    assert told["command"] == "scripts/bench hooks"
    other, away = told["rows"]["peers"]
    assert (other["value"], away["value"]) == (1_234.5, None)
    assert len(told["rows"]["growth"]) == 5


def test_the_readme_gets_new_figures_between_its_marks_and_keeps_the_rest(written: Path) -> None:
    import bench_write

    text = (written / "README.md").read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count(bench_write.BEGIN) == text.count(bench_write.END) == 1
    assert "| mash session-start | 0.90x |" in text
    assert "| away |  | not measured here: no npm |" in text
    assert "| found | 0.98 | at least 0.9 |" in text
    assert "| list | 1.0 / 2.0 | 3.0 / 50.0 | 0.48 |" in text


def test_nothing_that_is_written_names_a_folder_of_this_machine(written: Path) -> None:
    files = [*(written / "bench").iterdir()]
    assert {file.suffix for file in files} == {".md", ".json", ".svg"}
    for file in files:
        assert str(ROOT) not in file.read_text()


def test_plots_are_well_formed_and_nothing_but_text_and_shapes(written: Path) -> None:
    plots = sorted((written / "bench").glob("*.svg"))
    assert [plot.name for plot in plots] == ["growth.svg", "hooks.svg"]
    for plot in plots:
        tags = {element.tag.partition("}")[2] for element in elements(plot)}
        assert tags <= {"svg", "title", "style", "rect", "line", "text", "polyline", "circle"}
        assert "prefers-color-scheme: dark" in plot.read_text()
    words = [element.text for element in elements(plots[1]) if element.text]
    assert {"other <&> SessionStart", "1,234x", "0.90x"} <= set(words)


def test_hooks_that_run_beside_the_agent_are_not_held_against_a_peer() -> None:
    from bench_peer_homes import waited_for

    def entry(command: str, **more: object) -> dict[str, object]:
        return {"hooks": [{"type": "command", "command": command, **more}]}

    file = {
        "SessionStart": [entry("first"), entry("beside", **{"async": True})],
        "UserPromptSubmit": [entry("second")],
        "SessionEnd": [entry("never")],
    }
    assert waited_for(file) == [("SessionStart", "first"), ("UserPromptSubmit", "second")]


def test_a_short_run_tells_each_kind_of_call_at_each_size() -> None:
    command = [sys.executable, ROOT / "scripts" / "bench", "growth"]
    options = ["--rounds", "1", "--largest", "1000", "--megabytes", "1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert not done.stderr
    for kind in ("recall", "recall after a save", "list", "save"):
        assert f"{kind}, 1,000 records, p99" in done.stdout
    assert "chat search, 1,000 messages, p50" in done.stdout
    assert "10,000" not in done.stdout
