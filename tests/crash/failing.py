"""Work on a disk whose n-th call fails: what was refused is not there, the rest is."""

import errno
import random
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import apsw

from mash_plugin.errors import MashError
from tests.crash.faults import Faults
from tests.crash.power import Fault, Recorded, told
from tests.crash.watched import watched


class Failure(NamedTuple):
    """A call of the disk and how it fails."""

    site: str
    code: int
    is_lasting: bool = False
    is_short: bool = False

    @property
    def name(self) -> str:
        words = (self.site, str(self.code), "lasting" * self.is_lasting, "short" * self.is_short)
        return "-".join(word for word in words if word)


_ONCE = (
    Failure("xWrite", apsw.SQLITE_FULL),
    Failure("xWrite", apsw.SQLITE_IOERR_WRITE, is_short=True),
    Failure("xSync", apsw.SQLITE_IOERR_FSYNC),
    Failure("xRead", apsw.SQLITE_IOERR_READ),
    Failure("xOpen", apsw.SQLITE_CANTOPEN),
    Failure("xTruncate", apsw.SQLITE_IOERR_TRUNCATE),
    Failure("xDelete", apsw.SQLITE_IOERR_DELETE),
    Failure("write", errno.ENOSPC, is_short=True),
    Failure("write", errno.EIO),
    Failure("open", errno.ENOSPC),
    Failure("fsync", errno.EIO),
    Failure("rename", errno.EIO),
    Failure("unlink", errno.EIO),
    Failure("mkdir", errno.ENOSPC),
)
FAILURES = {
    failure.name: failure for one in _ONCE for failure in (one, one._replace(is_lasting=True))
}


def count_calls(recorded: Recorded, failure: Failure) -> int:
    """How often undisturbed work comes to that call; done once for all failures of a call."""
    if failure.site not in recorded.calls:
        recorded.calls[failure.site] = _count(recorded, failure)
    return recorded.calls[failure.site]


def _count(recorded: Recorded, failure: Failure) -> int:
    faults = Faults()
    faults.arm(failure.site, 0, failure.code)
    recorded.journal.lay(recorded.journal.image(0, None))
    with watched(recorded.work.root, faults=faults):
        recorded.work.finish()
    return faults.calls


def fail(recorded: Recorded, failure: Failure, calls: Iterable[int]) -> Counter[str]:
    """Let each of these calls fail in a run of its own; how often what came of the work.

    Raises Fault with what shows it again.
    """
    found: Counter[str] = Counter()
    for at in calls:
        recorded.journal.lay(recorded.journal.image(0, None))
        try:
            found[_judge(recorded, failure, at)] += 1
        except Exception as error:
            again = f"--only faults --work {recorded.work.name} --failure {failure.name}"
            raise Fault(f"scripts/soak crash {again} --number {at}\n{error!r}") from error
    return found


def some_calls(recorded: Recorded, failure: Failure, most: int, seed: int) -> list[int]:
    """So many of the calls that there are, chosen by the seed."""
    calls = range(1, count_calls(recorded, failure) + 1)
    chance = random.Random(f"{seed}/{recorded.work.name}/{failure.name}")  # noqa: S311 - to be had again
    return sorted(chance.sample(calls, min(most, len(calls))))


def _judge(recorded: Recorded, failure: Failure, at: int) -> str:
    faults = Faults()
    faults.arm(
        failure.site,
        at,
        failure.code,
        is_lasting=failure.is_lasting,
        is_short=failure.is_short,
    )
    with watched(recorded.work.root, faults=faults):
        done, refusal = run(recorded)
    assert faults.has_failed, "the call was not met"
    return judge(recorded, done, refusal)


def run(recorded: Recorded) -> tuple[int, MashError | None]:
    """Do the work as far as it goes: how many steps were acknowledged, and what was refused."""
    done = 0
    try:
        for _ in recorded.work.run():
            done += 1
    except MashError as error:
        return done, error
    return done, None


def judge(recorded: Recorded, done: int, refusal: MashError | None) -> str:
    """Compare what is there with what was claimed, and go on with it to the end."""
    work, states = recorded.work, recorded.states
    state = work.look(done)
    if work.is_atomic:
        is_unknown = refusal is not None and refusal.details.get("outcome") == "unknown"
        may_be = states[done : done + 2] if is_unknown else states[done : done + 1]
        for part, value in state.items():
            allowed = may_be
            if part in work.lagging | work.ahead:
                allowed = states[0 if part in work.lagging else done : done + 2]
            said = f"{part} after {refusal!r}"
            assert any(value == s[part] for s in allowed), f"{said}: {told(value, may_be, part)}"
    work.finish()
    for part, value in work.look(len(recorded.ends)).items():
        assert value == states[-1][part], f"gone on with, {part}: {told(value, states[-1:], part)}"
    return refusal.code if refusal else "done all the same"
