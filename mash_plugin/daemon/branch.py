"""Which files the branch of a work tree changes: asked of git, in bounds, and kept.

A repository may be hostile: nothing that it names is run, neither hooks nor filters nor
helpers, and nothing of the caller's environment reaches git.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mash_plugin.chats.project import git_folders, is_within, read_file
from mash_plugin.daemon.lanes import Lane, Part

LIMIT_S = 0.05
"""Git is killed then: a session's start waits for it no longer."""
FRESH_S = 60.0
OLD_S = 600.0
"""What is older is not answered with: a start rather waits for git."""
MOST_FILES = 200
"""A branch that changes more tells little of what is being worked on."""
MOST_BYTES = 1 << 16
KEPT = 32
_KILL = 9
_CONFIG_BYTES = 1 << 18
GIT_FOLDERS = (
    *("/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin", "/home/linuxbrew/.linuxbrew/bin"),
    *("/usr/bin", "/bin", "/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin"),
)
"""Where systems and package managers put git. Not PATH: a project's settings can set it."""

Files = tuple[str, ...]
Stamp = tuple[int, ...]

_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.sshCommand": "false",
    "credential.helper": "",
    "protocol.allow": "never",
}
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    # HOME is left out: git before 2.32 does not know GIT_CONFIG_GLOBAL.
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


class Unfinished(Exception):
    """Git took too long or told too much."""


class _Known(NamedTuple):
    """What git told of a work tree, and the state of HEAD and the index before it was asked."""

    files: Files
    folder: str
    head: Stamp
    staged: Stamp
    asked_at: float

    @property
    def holds(self) -> bool:
        """Whether it is of the branch that is checked out, and not old."""
        age_s = time.monotonic() - self.asked_at
        return age_s < OLD_S and _stamp(self.folder, "HEAD") == self.head

    @property
    def is_fresh(self) -> bool:
        if time.monotonic() - self.asked_at >= FRESH_S:
            return False
        return _stamp(self.folder, "index") == self.staged


class Branches:
    """Owns what is known of branches, and the thread in which git is asked."""

    def __init__(self, git_folders: Sequence[str] = GIT_FOLDERS) -> None:
        self._git_folders = git_folders
        self._lane = Lane("branch", threads=1)
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._asked: dict[str, Part[Files]] = {}

    def ask(self, root: str, on_failure: Callable[[str], None]) -> Part[Files]:
        """The files that the branch changes: at once where they are known, else soon.

        What is known holds while the same branch is checked out; what may be old is asked anew
        for the next one. `on_failure` gets one word.
        """
        known = self._known.get(root)
        if known is not None and not known.holds:
            known = None
        if known is not None and known.is_fresh:
            return _done(known.files)
        with self._lock:
            asked = self._asked.get(root) or self._begin(root, on_failure)
        return _done(known.files) if known is not None else asked

    def _begin(self, root: str, on_failure: Callable[[str], None]) -> Part[Files]:
        part = Part(lambda: self._find(root, on_failure))
        self._asked[root] = part
        self._lane.begin(part)
        if part.error is not None:  # the lane refused it
            del self._asked[root]
        return part

    def _find(self, root: str, on_failure: Callable[[str], None]) -> Files:
        folders = git_folders(root)
        own = folders[0] if folders else root
        head, staged = _stamp(own, "HEAD"), _stamp(own, "index")
        files: Files = ()
        asked_at = time.monotonic()
        try:
            if folders is not None:
                files = changed_files(root, folders, self._git_folders)
        except (Unfinished, OSError, ValueError) as error:
            on_failure(type(error).__name__)
            asked_at -= FRESH_S  # nothing is known, so that the next start has it asked again
        with self._lock:
            del self._asked[root]
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[root] = _Known(files, own, head, staged, asked_at)
        return files


BRANCHES = Branches()


def changed_files(
    root: str, folders: tuple[str, str], git_folders: Sequence[str] = GIT_FOLDERS
) -> Files:
    """The files that differ from where the branch left its upstream; none without an upstream.

    Raises Unfinished when git takes too long.
    """
    git = _find_git(git_folders, root)
    if git is None:
        return ()
    # A filter is a program that git runs over files of the work tree: leave those alone then.
    without_files = ["--cached"] if _may_name_filters(*folders) else []
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    command = [
        *(git, "-C", root, "--no-pager", "--no-optional-locks", *settings),
        *("diff-index", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"),
        *("--ignore-submodules=all", *without_files, "--merge-base", "@{upstream}", "--"),
    ]
    environment = {**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": os.path.dirname(root)}
    names = _output(command, environment, time.monotonic() + LIMIT_S).split(b"\0")[:-1]
    if len(names) > MOST_FILES:
        return ()
    return tuple(name.decode("utf-8", "replace") for name in names)


def _find_git(folders: Sequence[str], root: str) -> str | None:
    """Git that neither the work tree nor another user could have put there."""
    for folder in folders:
        place = os.path.join(folder, "git")
        if is_within(os.path.realpath(place), root) or not os.access(place, os.X_OK):
            continue
        if os.path.isfile(place) and {os.stat(folder).st_uid, os.stat(place).st_uid} <= _trusted():
            return place
    return None


def _trusted() -> set[int]:
    return {0, os.getuid()}


def _may_name_filters(own: str, common: str) -> bool:
    if os.path.lexists(os.path.join(own, "config.worktree")):
        return True
    text = read_file(os.path.join(common, "config"), _CONFIG_BYTES)
    if text is None or len(text) >= _CONFIG_BYTES:
        return True
    # Names of sections cannot be written in another way; `include` may bring a filter.
    return any(name in text.lower() for name in ("filter", "include"))


def _output(command: list[str], environment: dict[str, str], deadline: float) -> bytes:
    """What a command prints, nothing when it fails. Raises Unfinished.

    Not subprocess: a daemon's first answer would wait for its import.
    """
    reader, writer = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            child = os.posix_spawn(
                command[0], command, environment, file_actions=actions, setpgroup=0
            )
        finally:
            os.close(writer)
        try:
            text = _read_all(reader, deadline)
            return text if _exit_code(child, deadline) == 0 else b""
        except BaseException:
            os.killpg(child, _KILL)
            os.waitpid(child, 0)
            raise
    finally:
        os.close(reader)


def _read_all(reader: int, deadline: float) -> bytes:
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    text = b""
    while len(text) < MOST_BYTES:
        left_ms = (deadline - time.monotonic()) * 1000
        if left_ms <= 0 or not waiting.poll(left_ms):
            raise Unfinished
        piece = os.read(reader, MOST_BYTES)
        if not piece:
            return text
        text += piece
    raise Unfinished


def _exit_code(child: int, deadline: float) -> int:
    """Its output has ended, so that it is as good as gone."""
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    raise Unfinished


def _stamp(folder: str, name: str) -> Stamp:
    try:
        found = os.stat(os.path.join(folder, name))
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _done(files: Files) -> Part[Files]:
    part = Part(lambda: files)
    part.run()
    return part
