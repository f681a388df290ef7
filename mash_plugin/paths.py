"""Where everything lives: one place per user, whatever the environment.

Codex hands MCP servers a filtered environment and hooks a full one (seen in 0.171.0), so a
path that followed XDG variables would give one person two daemons over one store.
"""

import json
import os
import pwd
import stat
import sys
from collections.abc import Mapping
from typing import NamedTuple

from mash_plugin.errors import UnsafePlace
from mash_plugin.file_opening import open_file

SOCKET_NAME = "s.sock"
OBEYS_TESTS = ".obeys-tests"


class Paths(NamedTuple):
    """Absolute paths; nothing is created by asking for them."""

    run: str
    config_file: str
    data: str
    home: str | None
    """The root given by MASH_HOME, or None for the user's ordinary places."""

    @property
    def socket(self) -> str:
        """Where clients and hooks meet the daemon."""
        return os.path.join(self.run, SOCKET_NAME)

    @property
    def daemon_lock(self) -> str:
        """The lock that the one daemon holds for as long as it lives."""
        return os.path.join(self.run, "daemon.lock")

    @property
    def spawn_lock(self) -> str:
        """The gate that one starter of a daemon holds at a time."""
        return os.path.join(self.run, "spawn.lock")

    @property
    def kept_settings(self) -> str:
        """What config.toml said when a daemon last could read it."""
        return os.path.join(self.run, "settings.json")

    @property
    def log(self) -> str:
        """The daemon's log, without content."""
        return os.path.join(self.run, "daemon.log")

    @property
    def store(self) -> str:
        """The records, which nothing else holds."""
        return os.path.join(self.data, "records.db")

    @property
    def chats(self) -> str:
        """The index of the transcripts, which can be built again."""
        return os.path.join(self.data, "chats.db")

    @property
    def backups(self) -> str:
        """The folder of the records' daily copies."""
        return os.path.join(self.data, "backups")

    @property
    def reviews(self) -> str:
        """Where agents that review chats work; never indexed."""
        return os.path.join(self.data, "reviews")

    @property
    def group(self) -> str:
        """Copies of what others of the group published, which can be fetched again."""
        return os.path.join(self.data, "group-copies")

    @property
    def marketplace(self) -> str:
        """The folder that both agents install the rendered plugin from."""
        return os.path.join(self.data, "marketplace")

    @property
    def interpreter(self) -> str:
        """The installed interpreter: a link to a versioned environment."""
        return os.path.join(self.data, "current", "bin", "python")


def obeys_tests() -> bool:
    """Whether this is a checkout, where the variables of tests count.

    An installed package holds the plugin's files. It counts too where tests built its environment
    and said so beside it: no repository comes there.
    """
    is_installed = os.path.isdir(os.path.join(os.path.dirname(__file__), "plugin"))
    environments = os.path.dirname(os.path.realpath(sys.prefix))
    return not is_installed or os.path.exists(os.path.join(environments, OBEYS_TESTS))


def passwd_home() -> str:
    """The home folder of the user database, whatever HOME says."""
    return pwd.getpwuid(os.getuid()).pw_dir


def pin_file() -> str:
    """Where `scripts/install` and `mash init` pin the configuration and data folders."""
    return os.path.join(passwd_home(), ".mash", "paths.json")


def find_paths(environ: Mapping[str, str]) -> Paths:
    """The paths of this user, or of the root that MASH_HOME names.

    Raises UnsafePlace for a root inside a git work tree or owned by someone else: a
    repository must not be able to bring a ready-made memory.
    """
    root = environ.get("MASH_HOME")
    if root:
        root = os.path.abspath(root)
        refuse_unsafe_root(root)
        return Paths(
            run=os.path.join(root, "run"),
            config_file=os.path.join(root, "config.toml"),
            data=os.path.join(root, "data"),
            home=root,
        )
    home = passwd_home()
    pins = _read_pins()
    config = pins.get("config") or os.path.join(home, ".config", "mash")
    return Paths(
        run=os.path.join(home, ".mash", "run"),
        config_file=os.path.join(config, "config.toml"),
        data=pins.get("data") or os.path.join(home, ".local", "share", "mash"),
        home=None,
    )


def refuse_unsafe_root(root: str) -> None:
    """Raise UnsafePlace when a repository or another user could have prepared this root.

    Also for a name that is no UTF-8, which neither settings nor the agents can hold.
    """
    try:
        root.encode()
    except UnicodeEncodeError as error:
        raise UnsafePlace(f"MASH_HOME={root!r} is no UTF-8; choose another.") from error
    if os.path.exists(root):
        found = os.stat(root)
        if found.st_uid != os.getuid():
            raise UnsafePlace(
                f"MASH_HOME={root} belongs to user {found.st_uid}, not to you; choose another."
            )
        if found.st_mode & stat.S_IWOTH:
            raise UnsafePlace(
                f"Anybody may put files into MASH_HOME={root}; close it with: chmod 700 '{root}'"
            )
    if tree := _tree_around(os.path.realpath(root)):
        raise UnsafePlace(
            f"MASH_HOME={root} lies inside the git work tree {tree}; choose a folder outside it."
        )


def may_be_brought(folder: str) -> bool:
    """Whether a repository or another user could have prepared what lies in this folder.

    One inside a work tree counts, unless that is the person's own home under version control.
    """
    real = os.path.realpath(folder)
    try:
        if os.stat(real).st_uid != os.getuid():
            return True
    except OSError:
        return False  # nothing lies there
    tree = _tree_around(real)
    home = os.path.realpath(passwd_home())
    return tree is not None and os.path.commonpath((tree, home)) != tree


def is_work_tree(folder: str) -> bool:
    """Whether git keeps this folder: `.git` is its file, or a folder with a HEAD.

    An empty one does not count: Codex's sandbox leaves one in /tmp while it runs (0.171.0).
    """
    git = os.path.join(folder, ".git")
    try:
        found = os.stat(git)
    except OSError:
        return False
    is_file = stat.S_ISREG(found.st_mode) and found.st_size > 0
    return is_file or os.path.lexists(os.path.join(git, "HEAD"))


def work_tree_of(file: str) -> str | None:
    """The git work tree that a file would lie in."""
    return _tree_around(os.path.dirname(os.path.realpath(file)))


def _tree_around(folder: str) -> str | None:
    """The work tree that a folder is or lies in, by its real path."""
    while not is_work_tree(folder):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    return folder


def _read_pins() -> dict[str, str]:
    try:
        with open(pin_file(), encoding="utf-8", opener=open_file) as file:
            owner = os.fstat(file.fileno()).st_uid
            pins = json.load(file)
    except (OSError, ValueError):
        return {}
    # Whoever wrote them chooses the settings, and so what is read and what is published.
    if owner not in (os.getuid(), 0) or not isinstance(pins, dict):
        return {}
    return {k: v for k, v in pins.items() if isinstance(v, str) and os.path.isabs(v)}
