"""`mash size`: what takes how much, and how long chats are kept."""

import json
from pathlib import Path

import pytest
import tomlkit

from tests.cli.test_forget import CHAT, chats
from tests.support.homes import Home
from tests.support.polling import eventually

YEARS_MS = 3 * 365 * 24 * 60 * 60 * 1000


def test_every_file_is_counted_once(told: Home) -> None:
    data = told.mash_home / "data"
    (data / "envs").mkdir(exist_ok=True)
    (data / "envs" / "big").write_bytes(bytes(3_000_000))
    (data / "chats.db.damaged-1").write_bytes(bytes(2_000_000))
    (data / "current").symlink_to("envs/big")
    done = told.mash("size", "--json")
    assert done.code == 0, done
    size = json.loads(done.out)
    sizes = {place["what"]: place["bytes"] for place in size["places"]}
    assert sizes["program"] >= 3_000_000
    assert 2_000_000 <= sizes["set aside and other"] < 3_000_000
    assert sizes["records"] > 1_000_000  # with the reserve
    assert size["bytes"] == sum(sizes.values())
    on_disk = sum(f.lstat().st_blocks * 512 for f in [*data.rglob("*"), data])
    assert size["bytes"] >= on_disk - data.lstat().st_blocks * 512
    (project,) = size["index"]["projects"]
    assert project == {"project": "host.example/team/shop", "chats": 1, "messages": 1}


def test_people_are_told_what_is_kept_and_how_that_changes(told: Home) -> None:
    text = told.mash("size").out
    for part in ("records", "chat index", "program", "in all", "1 chat, 1 message", "for ever"):
        assert part in text, text
    assert str(told.mash_home / "config.toml") in text


@pytest.mark.spec("R-027")
def test_a_chat_leaves_after_the_days_that_it_is_kept(told: Home) -> None:
    config = told.mash_home / "config.toml"
    settings = tomlkit.parse(config.read_text())
    settings.setdefault("chats", tomlkit.table())["keep_days"] = 900
    config.write_text(tomlkit.dumps(settings))
    assert "Chats are kept 900 days" in told.mash("size").out
    told.mash("index")
    assert chats(told) == [CHAT]
    told.move_clock(YEARS_MS / 60_000)
    assert "1 chat will leave" in told.mash("size").out
    told.mash("index")
    eventually(lambda: chats(told) == [], "the chat stayed")
    assert told.records("shop")[0]["status"] == "current"


def test_where_the_daemon_cannot_serve_the_places_are_still_shown(told: Home) -> None:
    told.mash("daemon", "stop")
    store = told.mash_home / "data" / "records.db"
    Path(store).write_bytes(b"no database" * 1000)
    done = told.mash("size", "--json")
    assert "places" in json.loads(done.out)
