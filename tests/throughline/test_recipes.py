"""The recipes of docs/throughline.md, run as they stand; only places and a name are put in."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.throughline.conftest import CHAT

PAGE = (Path(__file__).parents[2] / "docs/throughline.md").read_text("utf-8")
RECIPES = PAGE.partition("\n## Recipes\n")[2].partition("\n## A team's Postgres\n")[0]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", RECIPES, re.DOTALL)


def recipe(kind, holding):
    """The one block of this language that holds a word."""
    (found,) = [text for name, text in BLOCKS if name == kind and holding in text]
    return found


class Place:
    """A folder in the place of /srv/deskbot, and programs in that of /usr/local/bin."""

    def __init__(self, root):
        self.bin, self.home = root / "bin", root / "deskbot"
        self.bin.mkdir()
        self.home.mkdir()
        self.program(
            "meaning-memory", f'exec {sys.executable} -m mash_plugin.cli.meaning_memory "$@"'
        )
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(root)}

    def program(self, name, body):
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)

    def here(self, text):
        return text.replace("/srv/deskbot", str(self.home)).replace("/usr/local/bin", str(self.bin))

    def sh(self, text):
        return subprocess.run(
            ["sh", "-c", self.here(text)], capture_output=True, text=True, env=self.environment
        )

    def recalled(self):
        """Everything that the agent has in its working memory after a drain."""
        drained = self.sh(recipe("crontab", "--drain-only").split(" ", 5)[5])
        assert drained.returncode == 0, drained
        call = "meaning-memory call --agent deskbot --config-dir /srv/deskbot mm_search"
        return self.sh(f"""{call} '{{"memory_stage":"working"}}'""").stdout


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.mark.spec("R-184", "R-199")
def test_a_chat_host_captures_on_close_and_on_timeout(place, monkeypatch):
    file = place.home / "host.py"
    file.write_text(place.here(recipe("python", "session_over")))
    transcript = place.home / "chat.jsonl"
    transcript.write_text(CHAT)
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    session_over = runpy.run_path(str(file))["session_over"]
    session_over("closed", str(transcript))
    session_over("timed-out", str(transcript))
    told = place.recalled()
    assert "session closed." in told
    assert "session timed-out." in told


@pytest.mark.spec("R-199")
@pytest.mark.parametrize("code", [0, 3])
def test_a_cron_job_is_captured_also_when_it_fails_and_its_exit_code_stays(place, code):
    place.program("check-stock", f"echo counting; echo 12 kg left >&2; exit {code}")
    script = recipe("sh", '--plain "$log"')
    assert script.startswith("#!/bin/sh\n")
    done = place.sh(script)
    assert done.returncode == code
    assert re.search(
        r"cron:stock: plain log of 2 lines, session stock-\d{4}-\d\d-\d\d", place.recalled()
    )


@pytest.mark.spec("R-199")
@pytest.mark.parametrize("code", [0, 3])
def test_a_cron_job_tells_how_it_ended_and_its_exit_code_stays(place, code):
    place.program("check-stock", f"exit {code}")
    done = place.sh(recipe("sh", "tell()"))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    assert f"Remember: check-stock ended with exit code {code}." in place.recalled()
    assert re.search(r"session stock-\d{4}-\d\d-\d\dT\d{4}\.", place.recalled()), "a run of its own"


@pytest.mark.spec("R-199")
def test_a_systemd_service_is_sound_and_its_last_command_captures(place):
    place.program("check-stock", "echo counting")
    (place.home / "stock.log").write_text("counting\n")
    unit = place.here(recipe("ini", "ExecStopPost"))
    verify({"stock.service": unit}, place)
    (command,) = re.findall(r"^ExecStopPost=/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    # As systemd reads it: two dollars or percent signs stand for one.
    done = place.sh(command.replace("$$", "$").replace("%%", "%"))
    assert done.returncode == 0, done
    assert "plain log of 1 lines, session stock-2" in place.recalled()


def test_a_loop_is_captured_after_each_cycle_that_did_something(place):
    count = place.home / "count"
    place.program(
        "one-cycle",
        f"echo x >>{count}; n=$(wc -l <{count})\n"
        'case $n in 1) echo "Moved two crates.";; 2) ;; *) exit 1;; esac',
    )
    place.program("sleep", ":")
    place.sh(recipe("sh", "one-cycle"))
    told = place.recalled()
    assert "| 1 entries |" in told
    assert "[heartbeat] on loop:watch: plain log of 1 lines" in told


@pytest.mark.spec("R-201", "R-202")
def test_the_drain_by_cron_and_by_timer_is_one_command_every_five_minutes(place):
    line = recipe("crontab", "--drain-only")
    assert line.startswith("*/5 * * * * /usr/local/bin/meaning-memory consolidate ")
    service, timer = recipe("ini", "--drain-only"), recipe("ini", "OnCalendar")
    (command,) = re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE)
    assert command == line.split(" ", 5)[5].strip()
    assert "OnCalendar=*:0/5\n" in timer
    units = {"drain.service": place.here(service), "drain.timer": timer}
    verify(units, place)
    done = place.sh(command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def verify(units, place):
    """Let systemd judge the units where it is there."""
    if shutil.which("systemd-analyze") is None:
        return
    for name, text in units.items():
        (place.home / name).write_text(text)
    files = [str(place.home / name) for name in units]
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if str(place.home) in line or "stock" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
