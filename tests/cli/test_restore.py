"""`mash restore` at the terminal."""

import json
import re
from pathlib import Path

import pytest

from tests.setup.terminals import on_a_terminal
from tests.support.homes import Home
from tests.support.saved import begin, save, statements

KEPT, GONE, LATER = "Invoices are rendered with Typst.", "Letters follow.", "Mails too."


@pytest.fixture
def told(fresh: Home) -> Home:
    """A home with a backup of two records, one of which was forgotten since, and a later one."""
    begin(fresh)
    save(fresh, "established", KEPT)
    gone = save(fresh, "candidate", GONE)
    assert fresh.mash("backup", "make").code == 0
    code, shown = on_a_terminal(fresh, "y\n", "mash", "forget-record", gone)
    assert code == 0, shown
    save(fresh, "candidate", LATER)
    return fresh


@pytest.mark.spec("R-064", "R-065")
def test_an_older_state_comes_back_without_what_was_forgotten_since(told: Home) -> None:
    assert set(statements(told)) == {KEPT, LATER}
    refused = told.mash("restore")
    assert refused.code == 2
    assert "add --yes" in refused.err
    code, shown = on_a_terminal(told, "n\n", "mash", "restore")
    assert (code, "Nothing was changed." in shown) == (1, True)
    at = r"\d{4}-\d\d-\d\d \d\d:\d\d[^(]*"
    question = " ".join(shown.split())
    assert "is in order and has 2 records. Replace it by" in question
    assert re.search(rf"the backup of {at}\(/.*\) with 2 records\?", question)
    done = told.mash("restore", "--yes")
    assert done.code == 0, done
    assert "Left out, for it was forgotten since: 1 record." in done.out
    assert "It holds 1 record, 1 revision, 1 quote, 0 links." in done.out
    assert set(statements(told)) == {KEPT}
    assert told.mash("doctor", "--category", "store").code == 0


def test_a_damaged_store_needs_no_yes_and_is_kept(told: Home) -> None:
    told.mash("daemon", "stop")
    store = told.mash_home / "data" / "records.db"
    store.write_bytes(b"damaged" * 1000)
    done = told.mash("restore", "--json")
    assert done.code == 0, done
    result = json.loads(done.out)
    assert result["forgotten_again"] is None
    assert Path(result["kept"]).read_bytes().startswith(b"damaged")
    assert KEPT in set(statements(told))


def test_the_backups_are_listed_with_what_they_hold(told: Home) -> None:
    listed = told.mash("restore", "--list").out.splitlines()
    assert listed[0].endswith("2 records")
    (newest, *_) = json.loads(told.mash("restore", "--list", "--json").out)["backups"]
    Path(newest["path"]).write_bytes(b"damaged")
    assert "is damaged" in told.mash("restore", "--list").out
    assert set(statements(told)) == {KEPT, LATER}
