"""What `mash init` notes for `mash uninstall`: what was there before, never a copy of it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mash_plugin.agents.plugin import Before, Place
from mash_plugin.file_opening import open_file
from mash_plugin.file_writing import replace_file
from mash_plugin.paths import Paths


@dataclass(frozen=True, slots=True)
class Memo:
    """One place that the plugin was installed into."""

    agent: str
    config: str
    before: Before


def read_memos(paths: Paths) -> list[Memo]:
    """Every place noted so far; an unreadable file counts as none."""
    try:
        with open(_file(paths), "rb", opener=open_file) as file:
            entries = json.loads(file.read())
        return [
            Memo(
                str(entry["agent"]),
                str(entry["config"]),
                Before(entry["before"]["sha256"], tuple(entry["before"]["absent"])),
            )
            for entry in entries
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def memo_of(memos: list[Memo], place: Place) -> Memo | None:
    """The note on this place, if there is one."""
    here = (place.agent, str(place.config))
    return next((memo for memo in memos if (memo.agent, memo.config) == here), None)


def add_memo(paths: Paths, place: Place, before: Before) -> None:
    """Note a place once: the first note alone knows how things were before mash."""
    memos = read_memos(paths)
    if memo_of(memos, place) is None:
        _write(paths, [*memos, Memo(place.agent, str(place.config), before)])


def drop_memo(paths: Paths, place: Place) -> None:
    """Forget a place that the plugin has left."""
    memos = read_memos(paths)
    left = [memo for memo in memos if memo != memo_of(memos, place)]
    if left:
        _write(paths, left)
    else:
        _file(paths).unlink(missing_ok=True)


def _write(paths: Paths, memos: list[Memo]) -> None:
    replace_file(_file(paths), json.dumps([asdict(memo) for memo in memos], indent=1).encode())


def _file(paths: Paths) -> Path:
    return Path(paths.data) / "setup.json"
