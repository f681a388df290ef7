"""`mash size`: what takes how much on the disk, and how long chats are kept."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from mash_plugin.cli.tables import print_table
from mash_plugin.cli.telling import tell
from mash_plugin.errors import MashError
from mash_plugin.paths import Paths, find_paths
from mash_plugin.render.text import clean, local_date
from mash_plugin.wording import counted

BESIDE = ("-wal", "-shm", "-open", "-reserve")
"""What SQLite and we keep beside a database while it is used."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def size(as_json: bool) -> int:
    """Show what takes how much room, and how long chats are kept.

    Chats are kept for ever unless the settings say `[chats] keep_days = N`: then a chat leaves the
    index when nobody has gone on with it for so long. Records stay, with the text that they cite.
    """
    from mash_plugin import client

    paths = find_paths(os.environ)
    told: dict[str, Any] = {"places": list(_places(paths))}
    told["bytes"] = sum(place["bytes"] for place in told["places"])
    try:
        told["index"] = client.call("size", {}, paths=paths)
    except MashError as error:
        told["problem"] = error.message
    if as_json:
        click.echo(orjson.dumps(told).decode())
    else:
        _show(told, paths)
    return 1 if "problem" in told else 0


def _places(paths: Paths) -> Iterator[dict[str, Any]]:
    """Each kind of thing with its place and its bytes on the disk."""
    data, backups = Path(paths.data), Path(paths.backups)
    databases = {name: Path(getattr(paths, name)) for name in ("store", "chats")}
    parts = {
        "records": _database(databases["store"]),
        "chat index": _database(databases["chats"]),
        "backups of records": [backups],
        "copies of the group's records": [Path(paths.group)],
        "plugin of the agents": [Path(paths.marketplace)],
        "program": [data / "envs"],
        "log and socket": [Path(paths.run)],
    }
    known = {file for files in parts.values() for file in files}
    others = sorted(data.iterdir()) if data.is_dir() else []
    parts["set aside and other"] = [o for o in others if o not in known and not o.is_symlink()]
    for name, files in parts.items():
        place = files[0] if len(files) == 1 or name in ("records", "chat index") else data
        yield {"what": name, "place": str(place), "bytes": sum(map(_bytes_of, files))}


def _database(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + end) for end in BESIDE)]


def _bytes_of(path: Path) -> int:
    """The bytes that a file or a folder takes on the disk; what is gone meanwhile takes none."""
    try:
        found = path.lstat()
        below = list(path.iterdir()) if path.is_dir() and not path.is_symlink() else []
    except OSError:
        return 0
    return found.st_blocks * 512 + sum(map(_bytes_of, below))


def _show(told: dict[str, Any], paths: Paths) -> None:
    rows = [(p["what"], _shown(p["bytes"]), clean(p["place"])) for p in told["places"]]
    print_table([*rows, ("in all", _shown(told["bytes"]), "")], ("What", "Size", "Where"))
    tell("Records and index: each with SQLite's log and a reserve for a full disk beside the file.")
    if "problem" in told:
        click.echo(f"PROBLEM: {clean(told['problem'])}")
        return
    index = told["index"]
    counts = index["counts"]
    click.echo(f"\n{counted(counts['chats'], 'chat')}, {counted(counts['messages'], 'message')}")
    if index["oldest_chat_at"]:
        click.echo(f"The oldest ended {local_date(index['oldest_chat_at'])}.")
    if index["projects"]:
        print_table(
            [
                (f"{p['messages']:,}", f"{p['chats']:,}", clean(p["project"] or "no project"))
                for p in index["projects"]
            ],
            ("Messages", "Chats", "Project"),
        )
    tell(_kept(index, paths))


def _kept(index: dict[str, Any], paths: Paths) -> str:
    days = index["keep_days"]
    if days is None:
        return (
            f"Chats are kept for ever; `keep_days` under [chats] in {paths.config_file} ends that."
        )
    soon = index["chats_to_drop"]
    also = f" {counted(soon, 'chat')} will leave with the next reading." if soon else ""
    return f"Chats are kept {counted(days, 'day')} after their last word ([chats] keep_days).{also}"


def _shown(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
