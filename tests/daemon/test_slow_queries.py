"""A daemon whose workers are busy with queries that never end."""

import threading

import apsw
import pytest

from mash_plugin.errors import StoreBusy
from tests.support.daemons import Place, event
from tests.support.polling import eventually

HANGING = 5
NEVER = """
ALTER TABLE backfill_items RENAME TO former_items;
CREATE VIEW backfill_items AS
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
SELECT former_items.* FROM n LEFT JOIN former_items WHERE x < 0;
"""
"""Whoever plans a review from now on looks for ever which failed."""


@pytest.mark.row(10)
def test_requests_that_hang_are_broken_off_while_everyone_else_is_served(place: Place) -> None:
    place.start()
    store = apsw.Connection(place.paths.store)
    store.set_busy_timeout(10_000)
    list(store.execute(NEVER))
    store.close()
    said: list[object] = []

    def ask() -> None:
        try:
            said.append(place.call("review_plan", {"since": 0}))
        except StoreBusy as error:
            said.append(error.message)

    threads = [threading.Thread(target=ask) for _ in range(HANGING)]
    for thread in threads:
        thread.start()
    assert place.call("ping", start=False)["pid"]
    assert not said  # it was served in between
    start = event("SessionStart")
    eventually(lambda: place.hook("session-start", start).out, "hooks stay silent")
    for thread in threads:
        thread.join(30)
    assert len(said) == len(threads)
    assert all("took too long and was broken off" in str(words) for words in said)
