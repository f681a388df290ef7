"""A copy on this machine of what others of the group established, a small file per repository.

No answer of a hook waits for a server: it reads what the daemon fetched earlier. A file that
does not fit its checksum, its repository or the membership it was read under is thrown away;
all of them can be fetched again.
"""

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.config import Settings
from mash_plugin.digest import sha256_of
from mash_plugin.file_opening import open_file
from mash_plugin.memory.group_copy import GroupCopy, GroupRecord
from mash_plugin.paths import passwd_home

FORMAT = 1
MOST_RECORDS = 256
MOST_BYTES = 1 << 20
"""Of one repository: the records with the lowest standing are left out beyond it."""
MOST_REPOSITORIES = 64
KEPT_IN_MEMORY = 16
SUFFIX = ".group"
Membership = tuple[str | int, ...]
"""The connection file and its state: another file is another membership."""


def membership_of(settings: Settings) -> Membership | None:
    """What tells one membership from the next; None without a connection file."""
    path = connection_file(settings)
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (path, found.st_mtime_ns, found.st_size, found.st_ino)


def connection_file(settings: Settings) -> str | None:
    """Where the connection string lies; None where no group is joined."""
    path = settings.group_dsn_file
    if path is not None and path.startswith("~/"):
        path = os.path.join(passwd_home(), path[2:])
    return None if path is None else os.path.join(os.path.dirname(settings.file), path)


class Kept(NamedTuple):
    """One repository's copy, as the folder holds it."""

    identity: str
    membership: Membership
    read_at: int
    state: str
    """What the server told of its own state then."""
    records: int
    """How many it holds."""


class _Copy:
    """One copy in memory: lines are parsed as far as somebody asks."""

    def __init__(
        self, membership: Membership, read_at: int, state: str, lines: list[bytes]
    ) -> None:
        self.membership = membership
        self.read_at = read_at
        self.state = state
        self._lines: list[bytes | GroupRecord] = [*lines]

    def __iter__(self) -> Iterator[GroupRecord]:
        for number, line in enumerate(self._lines):
            record = GroupRecord(*json.loads(line)) if isinstance(line, bytes) else line
            self._lines[number] = record
            yield record


class GroupCache:
    """Owns the folder of copies."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._copies: dict[str, _Copy] = {}

    def look(self, identity: str, membership: Membership) -> GroupCopy | None:
        """The copy of a repository under this membership."""
        copy = self._copies.get(identity) or self._open(identity)
        if copy is None or copy.membership != membership:
            return None
        return GroupCopy(copy, copy.read_at)

    def state_of(self, identity: str, membership: Membership) -> str | None:
        """What the server told of its state when the copy was read, if there is one."""
        copy = self._copies.get(identity) or self._open(identity)
        return None if copy is None or copy.membership != membership else copy.state

    def keep(
        self,
        identity: str,
        records: Iterable[GroupRecord],
        membership: Membership,
        now: int,
        state: str = "",
    ) -> None:
        """Replace the copy of a repository; `records` are in order, the best first."""
        lines = list(_within(records))
        header = compact_json([identity, membership, now, state])
        os.makedirs(self._folder, 0o700, exist_ok=True)
        _replace(self._path(identity), [header.encode("utf-8", "replace"), *lines])
        self._remember(identity, _Copy(membership, now, state, lines))
        self._drop_beyond()

    def renew(self, identity: str, membership: Membership, now: int) -> None:
        """Note that the copy is what the server holds now, too."""
        copy = self._copies.get(identity) or self._open(identity)
        if copy is not None:
            self.keep(identity, copy, membership, now, copy.state)

    def kept(self) -> list[Kept]:
        """All copies on this machine, the newest first."""
        whole = [one for path in self._files() if (one := _whole(path)) is not None]
        found = [Kept(*one[:4], records=len(one.lines)) for one in whole]
        return sorted(found, key=lambda one: (-one.read_at, one.identity))

    def drop_damaged(self) -> None:
        """Remove files that are not what was written, such as one whose writer died."""
        for path in self._files():
            if _whole(path) is None:
                _remove(path)

    def drop(self, identity: str) -> None:
        """Remove the copy of one repository."""
        self._copies.pop(identity, None)
        _remove(self._path(identity))

    def clear(self) -> None:
        """Remove all copies."""
        self._copies.clear()
        for path in self._files():
            _remove(path)
        with suppress(OSError):
            os.rmdir(self._folder)

    def _open(self, identity: str) -> _Copy | None:
        path = self._path(identity)
        whole = _read(path)
        if whole is None or whole.identity != identity:
            _remove(path)
            return None
        return self._remember(identity, _Copy(*whole[1:]))

    def _remember(self, identity: str, copy: _Copy) -> _Copy:
        if len(self._copies) >= KEPT_IN_MEMORY:
            self._copies.clear()
        self._copies[identity] = copy
        return copy

    def _path(self, identity: str) -> str:
        name = sha256_of(identity.encode("utf-8", "replace")).hex()[:32]
        return os.path.join(self._folder, name + SUFFIX)

    def _files(self) -> list[str]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return [os.path.join(self._folder, name) for name in names if SUFFIX in name]

    def _drop_beyond(self) -> None:
        files = sorted(self._files(), key=_changed_at, reverse=True)
        for path in files[MOST_REPOSITORIES:]:
            _remove(path)


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _within(records: Iterable[GroupRecord]) -> Iterator[bytes]:
    size = 0
    for number, record in enumerate(records):
        line = compact_json(record).encode("utf-8", "replace")
        size += len(line) + 1
        if number == MOST_RECORDS or size > MOST_BYTES:
            return
        yield line


class _Whole(NamedTuple):
    """What a file holds."""

    identity: str
    membership: Membership
    read_at: int
    state: str
    lines: list[bytes]


def _read(path: str) -> _Whole | None:
    """The file, or None where it is not there or not what was written."""
    try:
        with open(path, "rb", opener=open_file) as file:
            mark, _, rest = file.read(2 * MOST_BYTES).partition(b"\n")
        if mark != _mark(rest):
            return None
        head, *lines = rest.split(b"\n")
        identity, membership, read_at, state = json.loads(head)
    except (OSError, ValueError):
        return None
    return _Whole(identity, tuple(membership), read_at, state, lines)


def _whole(path: str) -> _Whole | None:
    return _read(path) if path.endswith(SUFFIX) else None


def _mark(rest: bytes) -> bytes:
    """The first line: what wrote the file, in which form, and a checksum of the rest."""
    return f"mash group {FORMAT} {zlib.crc32(rest):08x}".encode()


def _replace(path: str, lines: Sequence[bytes]) -> None:
    rest = b"\n".join(lines)
    temporary = f"{path}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    handle = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_mark(rest) + b"\n" + rest)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    with suppress(OSError):
        os.remove(path)
