"""A store that a newer mash has made: hooks keep silent, tools say why, nothing is touched."""

from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import UpgradeNeeded
from mash_plugin.store.open import open_chats, open_store
from tests.support.daemons import NAMES, Place, event

NOW = 1_796_021_684_000


@pytest.mark.parametrize("name", ["records.db", "chats.db"])
@pytest.mark.row(35)
def test_a_newer_store_is_neither_served_nor_touched(place: Place, name: str) -> None:
    open_store(place.paths, NOW).close()
    open_chats(place.paths).close()
    raw = apsw.Connection(str(Path(place.paths.data) / name))
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = stores(place)
    place.start()
    for hook in NAMES:
        ran = place.hook(hook, event("SessionStart", source="startup"))
        assert ran.is_harmless()
        assert ran.out == b""
    with pytest.raises(UpgradeNeeded, match="schema 99") as caught:
        place.call("list_records", {})
    assert "mash upgrade" in caught.value.message
    assert stores(place) == before


def stores(place: Place) -> dict[str, bytes]:
    folder = Path(place.paths.data)
    return {name: (folder / name).read_bytes() for name in ("records.db", "chats.db")}
