"""What a repository is called wherever it lies: `host/path` out of the address of its remote."""

import os
import re

_IDENTITY_LIMIT = 400
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_SAME_HOST = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
# Compiled when first used: a hook's first answer rarely needs more than one.
_SCP = r"(?s)\A(?:[^@/\s]+@)?(\[[^\]]+\]|[^:/\s]+):(?!/?/)(.+)\Z"
_SCP_ROOTED = r"(?s)\A(?:[^@/\s]+@)?(\[[^\]]+\]|[^:/\s]{2,}):(/[^/].*)\Z"
_REMOTE_SCHEMES = frozenset(
    {"ssh", "git", "http", "https", "git+ssh", "ssh+git", "git+https", "ftp"}
)


def normalise_remote(url: str, base: str = "/") -> str | None:
    """`host/path` of a remote: no user, password, port or `.git`; None when it names nothing.

    A path on this machine, relative to `base`, becomes `localhost/path`.
    """
    url = url.strip()
    if not url or not url.isprintable() or " " in url or len(url) > _IDENTITY_LIMIT:
        return None
    scheme, mark, rest = url.partition("://")
    if mark and _is_scheme(scheme):
        host, slash, path = rest.partition("/")
        if scheme.lower() == "file":
            return _local_identity(_unquote(slash + path), "/")
        if scheme.lower() not in _REMOTE_SCHEMES:
            return None
        return _host_identity(host.rpartition("@")[2], _unquote(slash + path))
    match = re.match(_SCP, url) or re.match(_SCP_ROOTED, url)
    if match and not url.startswith((".", "/", "~")):
        return _host_identity(match[1], match[2])
    return _local_identity(url, base) if "://" not in url else None


def _is_scheme(text: str) -> bool:
    plain = text.replace("+", "").replace("-", "").replace(".", "")
    return text.isascii() and text[:1].isalpha() and plain.isalnum()


def _unquote(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote  # 4 ms that few remotes need

    return unquote(path)


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
