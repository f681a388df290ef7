"""The daemon: whether it answers, whether it is of this version; none is started to look."""

import time
from collections.abc import Iterator

from mash_plugin import client, connecting, starting
from mash_plugin.doctor.finding import Finding, Repair
from mash_plugin.doctor.machine import WAIT_S, Machine
from mash_plugin.doctor.words import own_words
from mash_plugin.errors import (
    DaemonUnavailable,
    DiskFull,
    MashError,
    ReadOnly,
    Sandboxed,
    StoreDamaged,
    UnsafePlace,
    UpgradeNeeded,
)

RESTART = "mash daemon restart"
END_S = 15.0


def check_daemon(machine: Machine) -> Iterator[Finding]:
    """What the running daemon says of itself."""
    try:
        status = client.call("status", {}, start=False, timeout_s=WAIT_S, paths=machine.paths)
    except Sandboxed:
        raise  # nothing that follows could be told rightly from in here
    except UnsafePlace:
        return  # told with the places
    except UpgradeNeeded:
        pass  # told as another version
    except DaemonUnavailable as error:
        yield _silent(machine, error)
        return
    else:
        yield Finding("daemon", "ok", f"answers (process {status.get('pid')})")
        problem = status.get("problem")
        if problem:
            text = own_words(str(problem.get("message")).partition(" To repair: ")[0])
            why = "the daemon reads, and saves nothing"
            code = problem.get("code")
            may_help = code not in (DiskFull.code, ReadOnly.code, StoreDamaged.code)
            line = (problem.get("details") or {}).get("restore", RESTART if may_help else "")
            yield Finding("daemon-problem", "error", text, why, line)
        failure = (status.get("index") or {}).get("error")
        if failure:
            text = f"reading the chats ended with {failure}"
            yield Finding("index-failed", "warning", text, f"see {machine.paths.log}", "mash index")
    other = machine.other_daemon()
    if other is not None:
        why = "it was started before an upgrade, or from another environment"
        repair = Repair(lambda: _replace(machine))
        yield Finding("daemon-of-another", "warning", other, why, RESTART, repair)


def _silent(machine: Machine, error: MashError) -> Finding:
    if "not running" in error.message:
        return Finding("daemon", "ok", "does not run; hooks and tools start it when they need it")
    why = f"hooks give up on it and show nothing; its log is {machine.paths.log}"
    text = own_words(error.message.partition(";")[0])
    return Finding("daemon-silent", "error", text, why, RESTART)


def _replace(machine: Machine) -> str:
    """End it after what it is doing, and start this version."""
    witness = connecting.watch(machine.paths, WAIT_S)
    client.call("stop", {}, start=False, paths=machine.paths)
    if witness is not None and not connecting.wait_for_end(witness, time.monotonic() + END_S):
        raise DaemonUnavailable("The other daemon does not end.")
    starting.start_daemon(machine.paths).close()
    return "started the daemon of this version"
