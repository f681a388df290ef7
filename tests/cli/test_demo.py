"""`mash demo` tells the whole story with real hooks, and leaves nothing behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mash_plugin.agents import AGENTS, transcript_roots
from mash_plugin.cli.demo.place import DemoPlace
from mash_plugin.config import Settings
from tests.support.documents import documents

LIMIT_S = 120


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user who has transcripts and a memory of their own."""
    home = tmp_path_factory.mktemp("user")
    (home / "tmp").mkdir()
    (home / ".claude" / "projects" / "own").mkdir(parents=True)
    (home / ".claude" / "projects" / "own" / "secret.jsonl").write_text('{"own": "heron"}\n')
    return home


@pytest.fixture(scope="module")
def told(user: Path) -> str:
    """What the demonstration prints there, its broken lines whole."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(user), "LANG": "C.UTF-8"}
    environment |= {"TMPDIR": str(user / "tmp"), "MASH_HOME": str(user / "memory")}
    done = subprocess.run(
        [sys.executable, "-m", "mash_plugin", "demo"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=user,
        check=False,
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.replace("\n  | ", " ")


def chapter(told: str, number: int) -> str:
    """The part of the story under this number."""
    return told.partition(f"\n{number}. ")[2].partition(f"\n{number + 1}. ")[0]


def test_the_demo_shows_the_note_and_saves_the_persons_words(told: str) -> None:
    assert "mash: this reads like a lasting preference or decision" in chapter(told, 1)
    assert "saved as decision: Tide tables are stored in Postgres 16." in chapter(told, 1)


def test_the_demo_shows_how_words_of_the_agent_establish_nothing(told: str) -> None:
    assert "refused (endorsement_not_by_person)" in chapter(told, 2)


def test_the_demo_shows_what_the_next_session_and_a_file_bring(told: str) -> None:
    line = '"decision":"Tide tables are stored in Postgres 16."'
    assert line in chapter(told, 3)
    assert "Always run the linter before committing." in chapter(told, 3)
    assert line in chapter(told, 4)


def test_the_demo_shows_a_change_of_mind_with_its_history(told: str) -> None:
    assert "now:    decision: Tide tables are stored in SQLite." in chapter(told, 5)
    assert "before: revision 2, superseded: Tide tables" in chapter(told, 5)
    assert "before: revision 1, accepted: Tide tables" in chapter(told, 5)


@pytest.mark.parametrize("mark", ["start", "prompt"])
def test_the_readme_shows_what_the_demo_shows(told: str, mark: str) -> None:
    _, _, after = documents()["README.md"].partition(f"<!-- {mark}: mash demo -->\n```text\n")
    shown = after.partition("```\n<!-- end -->")[0]
    assert len(shown) > 200
    assert one_line(shown) in one_line(told)


def one_line(text: str) -> str:
    """Without white space, and with one date and one ID for all: they differ from run to run."""
    text = "".join(text.split())  # first, for a line may break within an ID
    for changing in (r"[0-9a-f]{8}-[0-9a-f-]{27}", r"[0-9a-f]{32}", r"\d{4}-\d\d-\d\d"):
        text = re.sub(changing, "~", text)
    return text


def test_the_demo_touches_nothing_of_the_users_and_leaves_nothing(told: str, user: Path) -> None:
    assert "heron" not in told
    left = sorted(str(path.relative_to(user)) for path in user.rglob("*") if path.is_file())
    assert left == [".claude/projects/own/secret.jsonl"]
    assert not list((user / "tmp").iterdir())
    assert not (user / "memory").exists()


def test_the_demos_daemon_reads_no_transcripts_but_its_own(tmp_path: Path) -> None:
    environ = DemoPlace(tmp_path.resolve()).daemon_environment
    for agent in AGENTS.values():  # as the daemon does, which learns of these from hooks alone
        environ.pop(agent.ROOT_VARIABLE, None)
    roots = [Path(root) for _agent, root in transcript_roots(Settings(), environ)]
    assert len(roots) == len(AGENTS)
    assert all(root.is_relative_to(tmp_path.resolve()) for root in roots)


def test_the_demos_daemon_ends_with_it(told: str, user: Path) -> None:
    mark = f"MASH_HOME={user / 'tmp'}".encode()
    assert told
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and mark in environ_of(pid)]


def environ_of(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
