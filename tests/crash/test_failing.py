"""A call of the disk fails: what was refused is not there, what was acknowledged is, once."""

from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import MashError
from mash_plugin.store.sqlite import Database
from tests.crash import failing, power
from tests.crash.all_work import WORK

pytestmark = pytest.mark.slow

EACH = 1
"""Calls of each kind for each piece of work; `scripts/soak crash` tries all."""
SEED = 1


# SQLite passes over some failures, as it may; apsw tells of them all the same.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.spec("R-183")
@pytest.mark.parametrize("work", [name for name in WORK if name != "joined"])
def test_no_failing_call_makes_a_false_claim_or_leaves_half(work: str, tmp_path: Path) -> None:
    with power.a_place(tmp_path) as folder:
        recorded = power.record(WORK[work](folder))
        for failure in failing.FAILURES.values():
            failing.fail(recorded, failure, failing.some_calls(recorded, failure, EACH, SEED))


def test_the_harness_sees_a_commit_that_is_wrongly_said_to_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Database._commit

    def claim(database: Database) -> None:
        try:
            usual(database)
        except MashError as error:
            error.details.pop("outcome", None)
            raise

    with power.a_place(tmp_path) as folder:
        recorded = power.record(WORK["records"](folder))
        failure = failing.FAILURES[f"xSync-{apsw.SQLITE_IOERR_FSYNC}"]
        monkeypatch.setattr(Database, "_commit", claim)
        with pytest.raises(power.Fault, match=f"--work records --failure {failure.name} --number"):
            failing.fail(recorded, failure, failing.some_calls(recorded, failure, 20, SEED))
