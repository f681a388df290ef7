"""Take out of texts for others what is the person's: names, paths, addresses, credentials."""

import os
import pwd
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any

from mash_plugin.agents import AGENTS
from mash_plugin.paths import Paths, passwd_home
from mash_plugin.privacy.credentials import mask

SYSTEM = ("/usr/", "/bin/", "/opt/", "/lib/", "/etc/", "/proc/", "/dev/", "/nix/store/")
"""Paths that say nothing of a person."""
OWN_NAMES = frozenset(
    "bin lib python python3 mash data run backups marketplace group-copies hooks skills envs"
    " current config.toml records.db chats.db daemon.log daemon.lock s.sock paths.json .mash .local"
    " .config share"
    " claude codex settings.json".split()
)
"""Names below our own places that may be shown; others are left out."""
COMMON_USERS = frozenset({"root", "user", "nobody"})
HIDDEN = "[...]"
_PATH = re.compile(r"(?<![\w.~])(?:~|/)[^\s'\"`,;:()<>|]*")
_FACT = re.compile(r"[a-z_]+=[A-Za-z0-9_.:@+-]{0,64}")
_KEY = re.compile(r"[a-z][a-z_]{0,40}")
_LOG_HEAD = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \d{1,10} [a-z-]{1,32}")


def redactor(paths: Paths, environ: Mapping[str, str]) -> Callable[[str], str]:
    """What makes a text fit to be shown to strangers."""
    places = _places(paths, environ)
    names = _names(environ)

    def redact(text: str) -> str:
        for path, name in places:
            text = text.replace(path, name)
        text = _PATH.sub(lambda found: _path(found[0]), mask(text))
        for name in names:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "USER", text)
        return text

    return redact


def redact_log(text: str, count: int) -> str:
    """The last lines of the log; of a line that is not as the daemon writes it, only that."""
    kept = []
    for line in text.splitlines()[-count:]:
        head = _LOG_HEAD.match(line)
        facts = line[head.end() :].split() if head else []
        is_ours = head is not None and all(_FACT.fullmatch(fact) for fact in facts)
        kept.append(mask(line) if is_ours else "[a line that the daemon did not write so]")
    return "\n".join(kept) + "\n"


def redact_settings(value: Any) -> Any:  # noqa: ANN401 - TOML
    """Keys, switches and numbers; of every text only how long it is."""
    match value:
        case dict():
            return {_key(str(key)): redact_settings(inner) for key, inner in value.items()}
        case list():
            return [redact_settings(inner) for inner in value]
        case bool() | int() | float():
            return value
        case _:
            return f"[text of {len(str(value))} characters]"


def _key(key: str) -> str:
    return mask(key) if _KEY.fullmatch(key) else HIDDEN


def _places(paths: Paths, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Our places and the person's home, the longest first."""
    named = {
        paths.data: "~DATA",
        paths.run: "~RUN",
        os.path.dirname(paths.config_file): "~CONFIG",
        passwd_home(): "~",
        environ.get("HOME", ""): "~",
    }
    for agent in AGENTS.values():
        named[environ.get(agent.ROOT_VARIABLE, "")] = f"~{agent.ROOTS_KEY.upper()}"
    if paths.home:
        named[paths.home] = "~MASH"
    real = {os.path.realpath(path): name for path, name in named.items() if path}
    both = {**real, **{path: name for path, name in named.items() if path}}
    return sorted(
        ((path, name) for path, name in both.items() if len(path) > 1), key=lambda one: -len(one[0])
    )


def _names(environ: Mapping[str, str]) -> list[str]:
    """How the person and the machine are called."""
    found = {environ.get("USER", ""), environ.get("LOGNAME", ""), socket.gethostname()}
    try:
        entry = pwd.getpwuid(os.getuid())
        found |= {entry.pw_name, entry.pw_gecos.partition(",")[0]}
    except KeyError:
        pass
    return sorted(name for name in found if len(name) > 1 and name not in COMMON_USERS)


def _path(path: str) -> str:
    """A path of the system as it is, one below our places by known names, else nothing of it."""
    if path.startswith(SYSTEM) or path in ("/", "~"):
        return path
    if not path.startswith("~"):
        return f"/{HIDDEN}"
    root, *parts = path.split("/")
    return "/".join([root, *(part if _is_own(part) else HIDDEN for part in parts)])


def _is_own(part: str) -> bool:
    return part in OWN_NAMES or bool(re.fullmatch(r"records-\d{6}-\d{8}T\d{6}Z\.db|\d[\d.]*", part))
