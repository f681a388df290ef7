"""Which project a folder belongs to, and its identity across clones (R-042); git is not run."""

import os
import re
import stat
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from mash_plugin.config import is_off
from mash_plugin.paths import passwd_home

MARKER = ".mash"
MARKER_SWITCHES = ("capture", "recall", "index")
_READ_LIMIT = 1 << 20
_IDENTITY_LIMIT = 400
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_SAME_HOST = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
_URL = re.compile(r"\A([a-z][a-z0-9+.-]*)://([^/]*)(/.*)?\Z", re.IGNORECASE | re.DOTALL)
_SCP = re.compile(r"\A(?:[^@/\s]+@)?(\[[^\]]+\]|[^:/\s]+):(?!/?/)(.+)\Z", re.DOTALL)
_SCP_ROOTED = re.compile(r"\A(?:[^@/\s]+@)?(\[[^\]]+\]|[^:/\s]{2,}):(/[^/].*)\Z", re.DOTALL)
_REMOTE_SCHEMES = frozenset(
    {"ssh", "git", "http", "https", "git+ssh", "ssh+git", "git+https", "ftp"}
)


class Project(NamedTuple):
    """A folder that people work in: its real path, and its repository's identity if it has one."""

    root: str
    identity: str | None


def project_of(cwd: str) -> Project | None:
    """The project of a folder, or None where none may be invented: /, the home folder, /tmp.

    Reads the repository's files only; never raises, whatever the path is.
    """
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
            return Project(here, _identity(here, git_folder))
        parent = os.path.dirname(here)
        if parent == here:
            break
        here = parent
    return None if folder in nowhere else Project(folder, None)


def normalise_remote(url: str, base: str = "/") -> str | None:
    """`host/path` of a remote: no user, password, port or `.git`; None when it names nothing.

    A path on this machine, relative to `base`, becomes `localhost/path`.
    """
    from urllib.parse import unquote  # 2 ms that only a repository needs to pay

    url = url.strip()
    if not url or not url.isprintable() or " " in url or len(url) > _IDENTITY_LIMIT:
        return None
    match = _URL.match(url)
    if match:
        scheme, host, path = match[1].lower(), match[2], match[3] or ""
        if scheme == "file":
            return _local_identity(unquote(path), "/")
        if scheme not in _REMOTE_SCHEMES:
            return None
        return _host_identity(host.rpartition("@")[2], unquote(path))
    match = _SCP.match(url) or _SCP_ROOTED.match(url)
    if match and not url.startswith((".", "/", "~")):
        return _host_identity(match[1], match[2])
    return _local_identity(url, base) if "://" not in url else None


def is_denied(project: Project | None, deny: Iterable[str]) -> bool:
    """Whether a list of paths and identities in the settings names this project."""
    if project is None:
        return False
    for entry in deny:
        if entry.startswith(("/", "~")):
            folder = os.path.realpath(
                os.path.join(passwd_home(), entry[2:] if entry[:1] == "~" else entry)
            )
            if project.root == folder or project.root.startswith(folder.rstrip("/") + "/"):
                return True
        elif project.identity is not None:
            named = normalise_remote(entry if ":" in entry else f"https://{entry}")
            if named == project.identity:
                return True
    return False


def switched_off(project: Project | None) -> frozenset[str]:
    """What the `.mash` file of a project switches off: capture, recall, index.

    An empty file, or one line `off`, switches all three off; it can never switch one on.
    """
    if project is None:
        return frozenset()
    text = _read_file(os.path.join(project.root, MARKER), 4_096)
    if text is None:
        return frozenset()
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if not lines or any(is_off(line) for line in lines):
        return frozenset(MARKER_SWITCHES)
    pairs = [line.partition("=") for line in lines]
    return frozenset(
        key.strip().lower()
        for key, _, value in pairs
        if key.strip().lower() in MARKER_SWITCHES and is_off(value.strip().strip("\"'"))
    )


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
    line = _read_file(place, 8_192)
    if line is None or not line.startswith("gitdir:"):
        return None
    git_folder = os.path.normpath(os.path.join(folder, line[len("gitdir:") :].strip()))
    common = _read_file(os.path.join(git_folder, "commondir"), 8_192)
    if common is not None:
        git_folder = os.path.normpath(os.path.join(git_folder, common.strip()))
    return git_folder if os.path.isdir(git_folder) else None


def _identity(root: str, git_folder: str) -> str | None:
    settings = _read_file(os.path.join(git_folder, "config"), _READ_LIMIT)
    if settings is None:
        return None
    values = _git_values(settings)
    url = next((v for s, name, k, v in values if (s, name, k) == ("remote", "origin", "url")), None)
    if not url:
        return None
    own = _read_file(os.path.join(passwd_home(), ".gitconfig"), _READ_LIMIT)
    return normalise_remote(_insteadof(url, values + _git_values(own or "")), root)


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
            section, name = header[1].lower(), re.sub(r"\\(.)", r"\1", header[2] or "")
            line = line[header.end() :].strip()
        key, equals, value = line.partition("=")
        if equals and key.strip() and key.lstrip()[0] not in "#;":
            found.append((section, name, key.strip().lower(), _git_value(value)))
    return found


def _git_value(value: str) -> str:
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"|([^"#;]+)|([#;].*)', value.strip())
    text = "".join(quoted or plain for quoted, plain, comment in parts if not comment)
    return re.sub(r"\\(.)", r"\1", text).strip()


def _host_identity(host: str, path: str) -> str | None:
    host = host.lower()
    if not host.startswith("["):
        host = host.partition(":")[0]
    elif "]" in host:
        host = host.partition("]")[0] + "]"
    host = _SAME_HOST.get(host.rstrip("."), host.rstrip("."))
    parts = _path_parts(path)
    if host == "dev.azure.com":
        parts = [p for p in parts if p not in ("v3", "_git")]
    if not host or not parts:
        return None
    joined = "/".join(parts)
    return f"{host}/{joined.lower() if host in _CASELESS_HOSTS else joined}"


def _local_identity(path: str, base: str) -> str | None:
    try:
        place = os.path.realpath(os.path.join(base, os.path.expanduser(path)))
    except (OSError, ValueError):
        return None
    parts = _path_parts(place[: -len("/.git")] if place.endswith("/.git") else place)
    return "/".join(["localhost", *parts]) if parts else None


def _path_parts(path: str) -> list[str]:
    parts = [p for p in path.split("/") if p not in ("", ".")]
    if not path.isprintable() or ".." in parts:
        return []
    if parts and parts[-1].lower().endswith(".git"):
        parts[-1] = parts[-1][:-4]
    return [p for p in parts if p]


def _read_file(path: str, limit: int) -> str | None:
    """A small regular file, or None; a pipe or a device in its place is not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return os.read(handle, limit).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)
