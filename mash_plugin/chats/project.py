"""Which project a folder belongs to, and its identity across clones (R-042); git is not run."""

import os
import re
import stat
from functools import lru_cache
from typing import NamedTuple

from mash_plugin.chats.remotes import normalise_remote
from mash_plugin.paths import passwd_home
from mash_plugin.records.model import Scope

_READ_LIMIT = 1 << 18
_PATH_LIMIT = 4096
"""No system takes a longer path."""


class Project(NamedTuple):
    """A folder that people work in: its real path, and its repository's identity if it has one."""

    root: str
    identity: str | None
    main_root: str | None = None
    """Of a linked work tree: the root of its repository's main one."""

    @property
    def place(self) -> str:
        """Where its memory lies when it has no identity: one place for all its work trees."""
        return self.main_root or self.root

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders whose `.mash` files count: its own, and that of the main work tree."""
        return tuple(dict.fromkeys((self.root, self.place)))

    @property
    def name(self) -> str:
        """What it is known by: its identity, or its place."""
        return self.scope.value

    @property
    def scope(self) -> Scope:
        """Where its memory lies: with its repository in every clone, else with its place."""
        if self.identity is not None:
            return Scope("repository", self.identity)
        return Scope("local_project", self.place)

    @property
    def scopes(self) -> list[Scope]:
        """The same, and its place all the same, where records lie from before it had a remote."""
        return list(dict.fromkeys((self.scope, Scope("local_project", self.place))))


def project_of(cwd: str) -> Project | None:
    """The project of a folder, or None where none may be invented: /, the home folder, /tmp.

    Reads the repository's files only; never raises, whatever the path is.
    """
    if len(cwd) > _PATH_LIMIT:
        return None  # to look for its parents one by one would take minutes
    try:
        folder = os.path.realpath(cwd)
        if not os.path.isabs(cwd) or "\n" in cwd or not folder.isprintable():
            return None
        folder.encode()
    except (OSError, ValueError):
        return None
    nowhere = _places_without_project()
    here = folder
    while here not in nowhere:
        git_folder = _git_folder(here)
        if git_folder is not None:
            return Project(here, _identity(here, git_folder), _main_root(here, git_folder))
        parent = os.path.dirname(here)
        if parent == here:
            break
        here = parent
    return None if folder in nowhere else Project(folder, None)


def shared_place(folder: str) -> str:
    """The root of the main work tree where a folder is the root of a linked one, else itself."""
    git_folder = _git_folder(folder)
    return (_main_root(folder, git_folder) if git_folder else None) or folder


def project_at(root: str, identity: str | None = None) -> Project:
    """What is known of a project whose folder may be gone by now."""
    return Project(root, identity, shared_place(root) if root else None)


def git_folders(root: str) -> tuple[str, str] | None:
    """The folder with this work tree's own HEAD and index, and the one with the settings."""
    common = _git_folder(root)
    return (_own_git_folder(root, common), common) if common else None


def may_have_upstream(root: str) -> bool:
    """Whether the repository's settings name what some branch is merged with, or include others."""
    folders = git_folders(root)
    if folders is None:
        return False
    own, common = folders
    text = read_file(os.path.join(common, "config"), _READ_LIMIT) or ""
    is_told_elsewhere = os.path.lexists(os.path.join(own, "config.worktree"))
    return is_told_elsewhere or any(word in text.lower() for word in ("merge", "include"))


def is_within(path: str, folder: str) -> bool:
    """Whether a path is this folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _places_without_project() -> frozenset[str]:
    return _real_places(os.environ.get("HOME") or "/", os.environ.get("TMPDIR") or "/")


@lru_cache(maxsize=4)
def _real_places(home: str, temporary: str) -> frozenset[str]:
    places = {"/", "/tmp", "/var/tmp", "/root", "/home", "/private/tmp"}  # noqa: S108 - compared
    places |= {passwd_home(), home, temporary}
    return frozenset({os.path.realpath(place) for place in places})


def _git_folder(folder: str) -> str | None:
    """The folder that holds the repository's configuration: of worktrees the common one."""
    place = os.path.join(folder, ".git")
    try:
        mode = os.stat(place).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return place if os.path.exists(os.path.join(place, "HEAD")) else None
    line = read_file(place, 8_192)
    if line is None or not line.startswith("gitdir:"):
        return None
    git_folder = os.path.normpath(os.path.join(folder, line[len("gitdir:") :].strip()))
    common = read_file(os.path.join(git_folder, "commondir"), 8_192)
    if common is not None:
        git_folder = os.path.normpath(os.path.join(git_folder, common.strip()))
    return git_folder if os.path.isdir(git_folder) else None


def _own_git_folder(folder: str, common: str) -> str:
    place = os.path.join(folder, ".git")
    if common == place:
        return place
    line = read_file(place, 8_192) or ""
    return os.path.normpath(os.path.join(folder, line[len("gitdir:") :].strip()))


def _main_root(folder: str, common: str) -> str | None:
    """The main work tree's root, where the repository itself names this folder as a linked one."""
    place = os.path.join(folder, ".git")
    if common == place:
        return None
    own = _own_git_folder(folder, common)
    back = read_file(os.path.join(own, "gitdir"), 8_192) if own != common else None
    if back is None:
        return None
    if os.path.realpath(os.path.join(own, back.strip())) != os.path.realpath(place):
        return None
    root = os.path.realpath(_main_of(common))
    return None if root in _places_without_project() else root


def _main_of(common: str) -> str:
    """The folder that a repository is checked out in; a bare one stands for itself."""
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    values = _git_values(read_file(os.path.join(common, "config"), _READ_LIMIT) or "")
    named = next((v for s, _, k, v in values if (s, k) == ("core", "worktree")), "")
    return os.path.normpath(os.path.join(common, named))


def _identity(root: str, git_folder: str) -> str | None:
    settings = read_file(os.path.join(git_folder, "config"), _READ_LIMIT)
    if settings is None:
        return None
    own = read_file(_own_settings(), _READ_LIMIT)
    url = _origin_url(settings, own or "")
    return normalise_remote(url, root) if url else None


@lru_cache(maxsize=1)
def _own_settings() -> str:
    """Where the person's own settings of git lie; the user database is slow to ask."""
    return os.path.join(passwd_home(), ".gitconfig")


@lru_cache(maxsize=64)
def _origin_url(settings: str, own: str) -> str | None:
    """The remote `origin` in a repository's settings, as those and the person's own rewrite it."""
    values = _git_values(settings)
    url = next((v for s, name, k, v in values if (s, name, k) == ("remote", "origin", "url")), None)
    return _insteadof(url, values + _git_values(own)) if url else None


def _insteadof(url: str, values: list[tuple[str, str, str, str]]) -> str:
    best = ("", "")
    for section, base, key, prefix in values:
        is_rule = (section, key) == ("url", "insteadof") and url.startswith(prefix)
        if is_rule and len(prefix) > len(best[0]):
            best = (prefix, base)
    return best[1] + url[len(best[0]) :]


def _git_values(text: str) -> list[tuple[str, str, str, str]]:
    """(section, subsection, key, value) of a git configuration file, in order."""
    found = []
    section = name = ""
    for line in text.replace("\\\r\n", "").replace("\\\n", "").splitlines():
        line = line.strip()
        header = re.match(r'\[([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\]', line)
        if header:
            section, name = header[1].lower(), _unescaped(header[2] or "")
            line = line[header.end() :].strip()
        key, equals, value = line.partition("=")
        if equals and key.strip() and key.lstrip()[0] not in "#;":
            found.append((section, name, key.strip().lower(), _git_value(value)))
    return found


def _git_value(value: str) -> str:
    if not any(mark in value for mark in '"#;\\'):
        return value.strip()
    # A quote that is left open runs to the end: looking for its other half from each is squared.
    parts = re.findall(r'"((?:[^"\\]|\\.)*)(?:"|\\?\Z)|([^"#;]+)|([#;].*)', value.strip())
    text = "".join(quoted or plain for quoted, plain, comment in parts if not comment)
    return _unescaped(text).strip()


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def read_file(path: str, limit: int) -> str | None:
    """A small regular file, or None; a pipe or a device in its place is not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        # Room for `limit` bytes would take longer to get than the few that are there.
        return os.read(handle, min(limit, found.st_size)).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)
