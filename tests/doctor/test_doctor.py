"""The command: what it looks at, how it tells it, and that looking changes nothing."""

import ast
import hashlib
import json
import re
import shutil
import statistics
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from mash_plugin.cli.doctor import NAMES
from mash_plugin.cli.main import COMMANDS
from mash_plugin.doctor import examination
from mash_plugin.doctor.examination import CATEGORIES, Found, _safely, repair, worst
from mash_plugin.doctor.finding import Finding, Repair
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.telling import CATEGORY_WIDTH, INDENT, as_json, lines_of, report, summary
from mash_plugin.doctor.words import own_words
from mash_plugin.errors import Internal
from tests.doctor.examined import examined
from tests.doctor.machines import machine_at
from tests.setup.terminals import at_terminal
from tests.support.homes import Home
from tests.support.processes import daemons_of


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file with its mode and its content."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
        if not path.is_socket()
    }


def test_a_well_kept_home_has_no_problem_and_every_category_says_so(home: Home) -> None:
    code, report = examined(home)
    assert code == 0, report
    told = {one["category"] for one in report["findings"]}
    assert told == set(CATEGORIES)


def test_looking_changes_no_file_and_starts_no_daemon(equipped: Home) -> None:
    before = tree(equipped.mash_home)
    settings = [(equipped.claude / "settings.json"), (equipped.codex / "config.toml")]
    texts = [file.read_bytes() for file in settings]
    assert examined(equipped)[0] == 0
    assert daemons_of(equipped.mash_home) == []
    assert tree(equipped.mash_home) == before
    assert [file.read_bytes() for file in settings] == texts


def test_before_anything_was_set_up_nothing_is_made(fresh: Home) -> None:
    code, _report = examined(fresh)
    assert code == 1
    assert not fresh.mash_home.exists()


@pytest.mark.parametrize("name", ["config.toml", "run", "data"])
def test_whatever_is_broken_is_told_without_a_traceback(fresh: Home, name: str) -> None:
    fresh.mash_home.mkdir()
    (fresh.mash_home / name).write_bytes(b"\xff not what it should be")
    done = fresh.mash("doctor")
    assert done.code == 1
    assert "ERROR" in done.out
    assert "Traceback" not in done.err
    shutil.rmtree(Path(fresh.mash_home), ignore_errors=True)


def test_the_json_has_the_shape_that_scripts_rely_on(home: Home) -> None:
    (home.mash_home / "data").chmod(0o755)
    code, report = examined(home, "--category", "places", "--category", "disk")
    assert code == 1
    assert report.keys() == {"format", "ok", "worst", "findings", "repairs"}
    assert (report["format"], report["ok"], report["worst"]) == (1, False, "error")
    assert {one["category"] for one in report["findings"]} == {"places", "disk"}
    for one in report["findings"]:
        assert one.keys() == {"category", "name", "severity", "what", "why", "next", "fixable"}
    report = examined(home, "--fix")[1]
    assert [(one["name"], one["done"]) for one in report["repairs"]] == [("memory-open", True)]
    assert report["ok"]


def test_the_exit_code_follows_the_gravest_finding(home: Home) -> None:
    assert examined(home)[0] == 0
    (home.mash_home / "config.toml").write_text("[records]\ncapture = false\n")
    assert examined(home)[0] == 0
    (home.mash_home / "config.toml").write_text("[records]\ncaptur = false\n")
    assert examined(home)[0] == 1
    assert home.mash("doctor", "--category", "none").code == 2


def test_it_is_quick_where_no_agent_is_asked(home: Home) -> None:
    seconds = [home.mash("doctor").seconds for _ in range(3)]
    assert statistics.median(seconds) < 3.0  # 0.2 s on an idle machine


@pytest.mark.parametrize("columns", ["20", "40", "80", "200"])
def test_a_dumb_terminal_of_any_width_shows_plain_aligned_lines(home: Home, columns: str) -> None:
    (home.mash_home / "data").chmod(0o755)
    environment = {**home.environment, "TERM": "dumb", "COLUMNS": columns}
    code, shown = at_terminal(["mash", "doctor"], environment, home.home, ["-"])
    assert code == 1
    assert "\x1b" not in shown
    assert shown.isascii()
    lines = shown.replace("\r\n", "\n").splitlines()
    (head,) = [line for line in lines if line.startswith("ERROR")]
    assert head[:19].split() == ["ERROR", "places"]
    command, arrow = f"chmod go= {home.mash_home}/data", f"{INDENT}->"
    is_wide = int(columns) >= len(f"{arrow} {command}")
    on_lines = [f"{arrow} {command}"] if is_wide else [arrow, command]
    assert [line for line in lines if "->" in line or "chmod" in line] == on_lines


def test_advice_in_words_is_broken_between_them_and_a_command_never_is() -> None:
    advice = "start `codex`; at 'Hooks need review' choose to review and trust those of mash"
    commands = f"rm -r {'/a/long/path' * 4} {'/another' * 4}"
    found = [Found("agents", Finding("f", "warning", "What.", "", n)) for n in (advice, commands)]
    lines = lines_of(found, 60)
    assert commands in lines
    assert max(len(line) for line in lines if line != commands) <= 60
    assert advice in " ".join(" ".join(lines).split())


def test_the_sum_is_broken_between_words() -> None:
    found = [Found("agents", Finding("f", "error", "What.", "", "mash init", Repair(str)))]
    last = report(found, [], 40)[-2:]
    assert last == ["1 thing looked at: 1 error.", "`mash doctor --fix` repairs 1 of them."]


def test_without_fix_the_command_line_says_what_fix_would_do(home: Home) -> None:
    (home.mash_home / "data").chmod(0o755)
    assert "`mash doctor --fix` repairs 1 of them." in home.mash("doctor").out
    done = home.mash("doctor", "--fix")
    assert f"memory-open: closed {home.mash_home}/data to other users" in done.out
    assert done.code == 0


def test_every_command_that_a_finding_names_is_one() -> None:
    files = Path(examination.__file__).parent.glob("*.py")
    text = "\n".join(file.read_text() for file in files)
    named = set(re.findall(r"""[`"']mash ([a-z][a-z-]+)""", text))
    assert named <= set(COMMANDS), named - set(COMMANDS)
    assert {"rebind", "restore", "init", "daemon", "backup", "forget-record"} <= named


def test_every_fault_comes_with_what_to_do_next() -> None:
    bare = set()
    for file in Path(examination.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id="Finding"),
                    args=[ast.Constant(value=str(name)), ast.Constant(value=severity), _, _],
                ) if severity != "ok":
                    bare.add(name)
    assert bare == {"agent-not-found"}  # nothing helps before it is there


def test_every_fault_that_can_be_found_is_planted_by_a_test() -> None:
    here = Path(__file__).parent
    told = "".join(file.read_text() for file in here.glob("test_*.py"))
    faults = set(
        chain.from_iterable(map(faults_in, Path(examination.__file__).parent.glob("*.py")))
    )
    assert len(faults) > 60
    assert {name for name in faults if f'"{name}"' not in told} == set()


def faults_in(file: Path) -> Iterator[str]:
    """The names of the findings in a module that are not in order."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(
                func=ast.Name(id="Finding" | "_open_to_others"),
                args=[ast.Constant(value=str(name)), severity, *_],
            ) if not (isinstance(severity, ast.Constant) and severity.value == "ok"):
                yield name


def test_the_names_of_the_option_are_the_categories() -> None:
    assert set(CATEGORIES) == set(NAMES)
    assert max(map(len, NAMES)) < CATEGORY_WIDTH  # a blank stands between a name and what it says


def test_a_check_that_fails_is_a_finding_beside_what_it_had_found(tmp_path: Path) -> None:
    def check_weather(_machine: Machine) -> list[Finding]:
        raise Internal("It rains. Run `mash doctor`.")

    (found,) = _safely(check_weather, machine_at(tmp_path))  # type: ignore[arg-type]
    assert (found.name, found.severity, found.what) == ("check-failed", "error", "It rains.")
    assert "weather" in found.why


def test_a_repair_that_moves_data_is_asked_for_and_one_that_fails_is_told() -> None:
    def fail() -> str:
        raise OSError("no room")

    moving = Found("a", Finding("moving", "warning", "x", repair=Repair(lambda: "moved", "Move?")))
    failing = Found("a", Finding("failing", "warning", "x", repair=Repair(fail)))
    asked: list[str] = []

    def refuse(question: str) -> bool:
        asked.append(question)
        return False

    left, failed = repair([moving, failing], refuse)
    assert asked == ["Move?"]
    assert (left.is_done, failed.is_done, failed.text) == (False, False, "no room")
    (done,) = repair([moving], lambda _question: True)
    assert (done.is_done, done.text) == (True, "moved")


def test_the_gravest_severity_counts_and_no_finding_is_in_order() -> None:
    notes = [Found("a", Finding("x", "note", "n")), Found("a", Finding("y", "warning", "w"))]
    assert worst(notes) == "warning"
    assert worst([]) == "ok"
    assert as_json([])["ok"]
    assert summary(notes) == "2 things looked at: 1 warning, 1 note."


@pytest.mark.row(50)
def test_controls_in_a_text_never_reach_the_terminal() -> None:
    evil = Found("a", Finding("x", "error", "bad\x1b[31m\nred", "why\x07", "rm \x1b]0;x\x07y"))
    assert lines_of([evil], 80) == [
        "ERROR    a           bad red",
        f"{INDENT}why",
        f"{INDENT}-> rm y",
    ]


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("The store is damaged. Run `mash doctor`: it prints the rest.", "The store is damaged."),
        (
            "It does not answer; see `mash doctor`. Retry the same operation ID.",
            "It does not answer.",
        ),
        ("/x is damaged: bad. Run `mash doctor`.", "/x is damaged: bad."),
        ("Free some space and retry the same operation ID.", "Free some space."),
        ("Nothing of that kind", "Nothing of that kind."),
    ],
)
def test_the_doctor_does_not_send_people_to_the_doctor(message: str, left: str) -> None:
    assert own_words(message) == left


def test_no_advice_is_given_that_cannot_help(home: Home) -> None:
    done = home.mash("doctor")
    assert done.code == 0, done
    assert "-> mash init" not in done.out
    home.mash("daemon", "stop")
    (home.mash_home / "data/records.db").write_bytes(b"not a database" * 1000)
    done = home.mash("doctor")
    assert done.code == 1
    assert "-> mash daemon restart" not in done.out
    assert "-> mash doctor" not in done.out


def test_each_name_of_a_finding_is_told_once_in_the_json_of_a_broken_home(home: Home) -> None:
    (home.mash_home / "config.toml").write_text("[records\n")
    names = [one["name"] for one in examined(home)[1]["findings"] if one["severity"] == "error"]
    assert names == ["settings-unreadable"]
    assert json.loads(home.mash("doctor", "--json").out)["worst"] == "error"
