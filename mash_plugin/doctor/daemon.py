"""The daemon: whether it answers, whether it is of this version; none is started to look."""

from collections.abc import Iterator

from mash_plugin import client
from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
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
WAIT_S = 3.0


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
    else:
        yield Finding("daemon", "ok", f"answers (process {status.get('pid')})")
        problem = status.get("problem")
        if problem:
            text = own_words(str(problem.get("message")))
            why = "the daemon reads, and saves nothing"
            code = problem.get("code")
            may_help = code not in (DiskFull.code, ReadOnly.code, StoreDamaged.code)
            yield Finding("daemon-problem", "error", text, why, RESTART if may_help else "")
        failure = (status.get("index") or {}).get("error")
        if failure:
            text = f"reading the chats ended with {failure}"
            yield Finding("index-failed", "warning", text, f"see {machine.paths.log}", "mash index")
    other = machine.other_daemon()
    if other is not None:
        why = "it was started before an upgrade, or from another environment"
        yield Finding("daemon-of-another", "warning", other, why, RESTART)


def _silent(machine: Machine, error: MashError) -> Finding:
    if "not running" in error.message:
        return Finding("daemon", "ok", "does not run; hooks and tools start it when they need it")
    why = f"hooks give up on it and show nothing; its log is {machine.paths.log}"
    text = own_words(error.message.partition(";")[0])
    return Finding("daemon-silent", "error", text, why, RESTART)
