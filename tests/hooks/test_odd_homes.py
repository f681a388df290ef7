"""Hooks, tools and commands meet at one place, whatever each of them finds in its environment."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.daemons import HOOKS, ROOT

HOOK = f"""
import os, sys
sys.path.insert(0, {str(HOOKS)!r})
import relay
place = relay.Place(["session-start", "claude-code", "-"], os.environb)
relay.connect = lambda run: None
def found(run, _fcntl):
    print(run.decode())
    raise SystemExit
relay.take_gate = found
relay.await_daemon(place)
"""
CLIENT = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from mash_plugin.paths import find_paths
print(find_paths(os.environ).run)
"""
TEMPORARY = {"TMPDIR": "/nowhere/at all"}
XDG = {
    "XDG_RUNTIME_DIR": "/run/user/4711",
    "XDG_STATE_HOME": "/elsewhere",
    "XDG_CONFIG_HOME": "/elsewhere",
    "XDG_DATA_HOME": "relative",
}
OTHERS = {"MASH_HOME": "/planted", "MASH_SOCKET": "/planted/s.sock"}


def told(code: str, environment: dict[str, str]) -> Path:
    command = [sys.executable, "-I", "-c", code]
    return Path(subprocess.check_output(command, env=environment, text=True).strip())


@pytest.mark.parametrize(
    "home", [None, "", "relative", "/nowhere", "/" + "x" * 200], ids=lambda home: repr(home)[:12]
)
@pytest.mark.row(18, 19)
def test_hooks_and_clients_agree_on_the_place_whatever_the_environment(home: str | None) -> None:
    few = {} if home is None else {"HOME": home}
    places = {told(CLIENT, few), told(CLIENT, few | TEMPORARY | XDG)}
    places |= {told(HOOK, few), told(HOOK, few | TEMPORARY | XDG | OTHERS)}
    assert len(places) == 1, places
    assert places.pop().parts[-2:] == (".mash", "run")
