"""After an upgrade the daemon that runs is the new one."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

from tests.support.homes import ROOT, Home
from tests.support.processes import daemons_of


def other_environment(folder: Path) -> Path:
    """A second environment with the same version of mash, as another build has."""
    ours = Path(sys.prefix)
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_bytes((ours / "pyvenv.cfg").read_bytes())
    (folder / "bin/python").symlink_to(os.path.realpath(sys.executable))
    packages = folder / Path(sysconfig.get_path("purelib")).relative_to(ours)
    packages.parent.mkdir(parents=True)
    packages.symlink_to(sysconfig.get_path("purelib"))
    return folder / "bin/python"


def start_other(home: Home) -> str:
    python = str(other_environment(home.root / "former"))
    done = home.run(python, "-I", "-m", "mash_plugin", "daemon", "start")
    assert done.code == 0, done
    return python


def program_of(home: Home) -> str:
    (pid,) = daemons_of(home.root)
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()


def test_init_replaces_the_daemon_of_a_former_build(fresh: Home) -> None:
    python = start_other(fresh)
    assert program_of(fresh) == python
    done = fresh.mash("init", "--yes", "--no-agents", "--no-index")
    assert done.code == 0, done
    former = f"version {version('mash-plugin')} from {python}"
    assert f"The daemon is replaced; the former was {former}." in done.out
    assert program_of(fresh) != python
    assert "replaced" not in fresh.mash("init", "--yes", "--no-agents", "--no-index").out


def test_hooks_are_answered_while_the_daemon_is_replaced(fresh: Home) -> None:
    (clone,) = fresh.repository("shop")
    start_other(fresh)
    hook = [sys.executable, "-I", "-S", str(ROOT / "hooks/session-start"), "claude-code"]
    mash = shutil.which("mash", path=fresh.environment["PATH"]) or ""
    command = [mash, "init", "--yes", "--no-agents", "--no-index"]
    silent = []
    with subprocess.Popen(command, env=fresh.environment, stdout=subprocess.PIPE) as init:
        number, has_ended = 0, False
        while not has_ended:
            has_ended = init.poll() is not None  # and one more after the end
            number += 1
            event = {
                "session_id": f"session-{number}",
                "hook_event_name": "SessionStart",
                "source": "startup",
                "cwd": str(clone),
                "transcript_path": "/nowhere",
            }
            done = fresh.run(*hook, str(fresh.mash_home), cwd=clone, stdin=json.dumps(event))
            silent += [number] * (not done.out)
        assert init.stdout is not None
        assert b"The daemon is replaced" in init.stdout.read()
    assert not silent, f"of {number}"


def test_doctor_names_a_daemon_of_another_build_and_its_command_helps(fresh: Home) -> None:
    python = start_other(fresh)
    doctor = ("doctor", "--category", "daemon")
    told = fresh.mash(*doctor).out
    assert str(python) in told
    assert "-> mash daemon restart" in told
    assert fresh.mash("daemon", "restart").code == 0
    assert str(python) not in fresh.mash(*doctor).out
    assert program_of(fresh) != python
