"""A disk that remembers what it was told, and what may lie on it when the power goes.

Data is safe once its file was synced, a name once its folder was. Of what was not, a disk may
keep any part: writes are lost, kept out of their order, torn within, or leave other bytes behind;
of the names of a folder it keeps the first so many.
"""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SECTOR = 512
LEFT_OUT = "-shm"
"""Shared memory of SQLite: nothing of it outlives the machine."""


class Written(NamedTuple):
    file: int
    at: int
    data: bytes


class Truncated(NamedTuple):
    file: int
    size: int


class Synced(NamedTuple):
    """Of a file its data, of a folder its names."""

    node: int


class Named(NamedTuple):
    folder: int
    name: str
    node: int


class Unnamed(NamedTuple):
    folder: int
    name: str


class Moved(NamedTuple):
    folder: int
    name: str
    source: int
    old_name: str


Operation = Written | Truncated | Synced | Named | Unnamed | Moved
Names = dict[int, dict[str, int]]
Data = dict[int, bytes]
ROOT = 0


class Journal:
    """Every operation on the files below a folder, in order, from what lay there before."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.operations: list[Operation] = []
        self._nodes = ROOT
        self._names: Names = {}
        self._data: Data = {}
        self._read(self.root, ROOT)
        self.names: Names = {folder: dict(names) for folder, names in self._names.items()}
        """As they are now."""
        self.content = {node: bytearray(data) for node, data in self._data.items()}

    def __len__(self) -> int:
        return len(self.operations)

    def find(self, path: str) -> int | None:
        """The file or folder of that name now; None for none, or one beside our folder."""
        node: int | None = ROOT
        for part in self._parts(path) or ():
            node = self.names.get(node, {}).get(part) if node is not None else None
        return None if self._parts(path) is None else node

    def is_ours(self, path: str) -> bool:
        parts = self._parts(path)
        return parts is not None and not path.endswith(LEFT_OUT)

    def make(self, path: str, *, is_folder: bool = False) -> int:
        """A new file or folder; its name is not safe yet."""
        self._nodes += 1
        if is_folder:
            self.names[self._nodes] = {}
        else:
            self.content[self._nodes] = bytearray()
        return self.link(path, self._nodes)

    def link(self, path: str, node: int) -> int:
        folder, name = self._place(path)
        self.names[folder][name] = node
        self.operations.append(Named(folder, name, node))
        return node

    def unlink(self, path: str) -> None:
        folder, name = self._place(path)
        if self.names[folder].pop(name, None) is not None:
            self.operations.append(Unnamed(folder, name))

    def move(self, old: str, new: str) -> None:
        source, old_name = self._place(old)
        folder, name = self._place(new)
        self.names[folder][name] = self.names[source].pop(old_name)
        self.operations.append(Moved(folder, name, source, old_name))

    def write(self, node: int, at: int, data: bytes) -> None:
        _put(self.content[node], at, data)
        self.operations.append(Written(node, at, bytes(data)))

    def truncate(self, node: int, size: int) -> None:
        _resize(self.content[node], size)
        self.operations.append(Truncated(node, size))

    def sync(self, node: int) -> None:
        self.operations.append(Synced(node))

    def image(self, cut: int, chance: random.Random | None) -> dict[str, bytes | None]:
        """What lies there when the power goes after so many operations; folders are None.

        Without `chance` everything is kept, as after a kill.
        """
        told = self.operations[:cut]
        keep = 1.0 if chance is None else chance.choice((0.0, 0.5, 0.9, 1.0))
        synced: dict[int, int] = {o.node: n for n, o in enumerate(told) if isinstance(o, Synced)}
        data = {node: bytearray(content) for node, content in self._data.items()}
        names = {folder: dict(self._names.get(folder, {})) for folder in self.names}
        stopped: set[int] = set()
        for number, operation in enumerate(told):
            match operation:
                case Written(node) | Truncated(node):
                    content = data.setdefault(node, bytearray())
                    is_safe = number < synced.get(node, -1) or chance is None
                    _apply(content, operation, keep, None if is_safe else chance)
                case Named(folder) | Unnamed(folder) | Moved(folder):
                    is_safe = number < synced.get(folder, -1)
                    if chance and not is_safe and chance.random() > keep:
                        stopped.add(folder)
                    if is_safe or folder not in stopped:
                        _rename(names, operation)
        return dict(_tree(names, data, ROOT, ""))

    def lay(self, image: dict[str, bytes | None]) -> None:
        """Put it in the place of our folder."""
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(self.root, 0o700)
        for name, content in image.items():
            path = os.path.join(self.root, name)
            if content is None:
                os.mkdir(path, 0o700)
            else:
                with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                    file.write(content)

    def _read(self, path: str, folder: int) -> None:
        inside = self._names[folder] = {}
        for entry in sorted(os.scandir(path), key=lambda e: e.name):
            if entry.name.endswith(LEFT_OUT):
                continue
            self._nodes += 1
            inside[entry.name] = node = self._nodes
            if entry.is_dir():
                self._read(entry.path, node)
            else:
                self._data[node] = Path(entry.path).read_bytes()

    def _place(self, path: str) -> tuple[int, str]:
        folder = self.find(os.path.dirname(path))
        assert folder is not None, f"nobody made the folder of {path}"
        return folder, os.path.basename(path)

    def _parts(self, path: str) -> list[str] | None:
        """The names below our folder that lead there; None for a path beside it."""
        if path == self.root:
            return []
        if not path.startswith(self.root + "/"):
            return None
        return path[len(self.root) + 1 :].split("/")


def _apply(
    content: bytearray, told: Written | Truncated, keep: float, chance: random.Random | None
) -> None:
    """What becomes of one operation; without `chance` it is kept whole."""
    if chance and chance.random() > keep:
        if isinstance(told, Truncated) or chance.random() < 0.7:
            return
        told = told._replace(data=_spoilt(told.data, chance))
    if isinstance(told, Truncated):
        _resize(content, told.size)
    else:
        _put(content, told.at, told.data)


def _spoilt(data: bytes, chance: random.Random) -> bytes:
    """Torn at a sector, or with other bytes in one."""
    at = chance.randrange(0, len(data) + 1, SECTOR)
    if chance.random() < 0.5:
        return data[:at]
    return data[:at] + chance.randbytes(len(data[at : at + SECTOR])) + data[at + SECTOR :]


def _put(content: bytearray, at: int, data: bytes) -> None:
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


def _rename(names: Names, told: Named | Unnamed | Moved) -> None:
    match told:
        case Named(folder, name, node):
            names.setdefault(folder, {})[name] = node
        case Unnamed(folder, name):
            names.get(folder, {}).pop(name, None)
        case Moved(folder, name, source, old_name):
            # The file may have lost its first name already: then there is nothing to move.
            node = names.get(source, {}).pop(old_name, None)
            if node is not None:
                names.setdefault(folder, {})[name] = node


def _tree(
    names: Names, data: dict[int, bytearray], folder: int, before: str
) -> Iterator[tuple[str, bytes | None]]:
    for name, node in names[folder].items():
        if node in names:
            yield before + name, None
            yield from _tree(names, data, node, f"{before}{name}/")
        else:
            yield before + name, bytes(data.get(node, b""))
