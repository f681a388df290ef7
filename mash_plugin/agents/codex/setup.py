"""Install the plugin into Codex with its own commands, ask for hook trust, take it out again.

Seen in 0.171.0: `plugin add` copies the folder into the cache and must run again after a
change; `config.toml` keeps comments and order; `plugin remove` leaves the trust of hooks
and empty cache folders behind. Trust is the person's to give, in `/hooks`.
"""

import hashlib
import json
import subprocess
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from mash_plugin.agents.codex import HOME_FOLDER as HOME_FOLDER
from mash_plugin.agents.codex import NAME
from mash_plugin.agents.codex import ROOT_VARIABLE as ROOT_VARIABLE
from mash_plugin.agents.codex.listing import UPDATE as UPDATE
from mash_plugin.agents.codex.listing import list_plugins as list_plugins
from mash_plugin.agents.codex.listing import remove_command as remove_command
from mash_plugin.agents.codex.permission import allow_saving as allow_saving
from mash_plugin.agents.codex.permission import may_save as may_save
from mash_plugin.agents.commands import end_group, run_client
from mash_plugin.agents.plugin import (
    MARKETPLACE,
    PLUGIN,
    PLUGIN_ID,
    Before,
    HookTrust,
    Installed,
    Place,
    find_command,
    remove_if_empty,
    remove_tree,
    sha256_of,
    user_home,
)
from mash_plugin.errors import Internal, InvalidArgument, plain_reason
from mash_plugin.file_writing import replace_file

TITLE = "Codex"
ROOTS_KEY = "codex"
REVIEW_COMMAND = (
    "start `codex`; at 'Hooks need review' choose to review and trust those of mash"
    " (or type /hooks at any time)"
)
REVIEW = """\
Codex does not run new or changed hooks until you have reviewed them. Start `codex`:
it shows 'Hooks need review' by itself; look at the hooks of mash and trust them.
Later you find them by typing /hooks. Until then they stay off."""
HOOKS_FILE = "hooks/codex.json"
SETTINGS = "config.toml"
REHEARSED: tuple[str, ...] = (SETTINGS,)
HOOK_STATE = "hooks.state"
APP_SERVER_TIMEOUT_S = 10


def find_place(environ: Mapping[str, str]) -> Place:
    """Where Codex keeps its settings, and its command if there is one."""
    config = environ.get(ROOT_VARIABLE) or user_home(environ) / HOME_FOLDER
    return Place(NAME, TITLE, find_command("codex", environ), Path(config))


def inspect(place: Place, marketplace: Path, rendered: Mapping[str, bytes]) -> Installed:
    """What the settings say, and whether the cached copy is the folder as it is now."""
    try:
        config = _parse(place, _text(place))
    except InvalidArgument as error:
        return Installed("broken", error.message, error.details.get("file", ""))
    source = _table(_table(config, "marketplaces"), MARKETPLACE).get("source")
    plugin = _table(_table(config, "plugins"), PLUGIN_ID)
    if not source and not plugin:
        return Installed("absent")
    if plugin.get("enabled") is False:
        return Installed("disabled", f"set enabled = true in {_file(place)} if you want it")
    wanted = {
        name.removeprefix(f"{PLUGIN}/"): content
        for name, content in rendered.items()
        if name.startswith(f"{PLUGIN}/")
    }
    is_current = source == str(marketplace) and plugin and _cached(place) == wanted
    return Installed("installed" if is_current else "outdated")


def note_before(place: Place) -> Before:
    """What `remove` must know later."""
    plugins = place.config / "plugins"
    absent = [f"plugins/{name}" for name in ("", "cache", "data") if not (plugins / name).exists()]
    if "state" not in _table(_parse(place, _text(place)), "hooks"):
        absent.append(HOOK_STATE)
    return Before(sha256_of(_file(place)), tuple(absent))


def install(place: Place, marketplace: Path, environ: Mapping[str, str]) -> None:
    """Add marketplace and plugin; raise before anything is done when settings are broken."""
    assert place.client  # noqa: S101 - callers install only where the command was found
    config = _parse(place, _text(place))
    source = _table(_table(config, "marketplaces"), MARKETPLACE).get("source")
    with _kept_mode(_file(place)):
        if source not in (None, str(marketplace)):
            run_client([place.client, "plugin", "marketplace", "remove", MARKETPLACE], environ)
        run_client([place.client, "plugin", "marketplace", "add", str(marketplace)], environ)
        run_client([place.client, "plugin", "add", PLUGIN_ID], environ)


def remove(place: Place, before: Before | None, environ: Mapping[str, str]) -> bool:
    """Take our entries and our hooks' trust out, also when the command is gone."""
    text = _text(place)
    try:
        config = _parse(place, text)
    except InvalidArgument:
        if PLUGIN_ID in text:
            raise
        return False
    had_entries = bool(
        _table(_table(config, "marketplaces"), MARKETPLACE)
        or _table(_table(config, "plugins"), PLUGIN_ID)
    )
    with _kept_mode(_file(place)):
        if place.client and had_entries:
            for arguments in (["remove", PLUGIN_ID], ["marketplace", "remove", MARKETPLACE]):
                with suppress(Internal):
                    run_client([place.client, "plugin", *arguments], environ)
        _settle(place, before)
    plugins = place.config / "plugins"
    remove_tree(plugins / "cache" / MARKETPLACE)
    remove_tree(plugins / "data" / f"{PLUGIN}-{MARKETPLACE}")
    ours = before.absent if before else ()
    remove_if_empty(*(plugins / name for name in ("cache", "data") if f"plugins/{name}" in ours))
    if "plugins/" in ours:
        remove_if_empty(plugins)
    return had_entries


def plugin_folder(place: Place, _marketplace: Path) -> Path | None:
    """What CLAUDE_PLUGIN_ROOT names in a hook: the copy in Codex's cache, if there is just one."""
    versions = place.config / "plugins" / "cache" / MARKETPLACE / PLUGIN
    folders = sorted(versions.iterdir()) if versions.is_dir() else []
    return folders[0] if len(folders) == 1 else None


def hook_trust(place: Place, environ: Mapping[str, str]) -> list[HookTrust]:
    """Ask `codex app-server` whether each hook of ours may run; raise Internal if it cannot say."""
    assert place.client  # noqa: S101 - callers ask only where the command was found
    with tempfile.TemporaryDirectory() as folder:
        hooks = [
            hook
            for entry in _hooks_list(place.client, folder, environ)
            for hook in entry.get("hooks", [])
            if str(hook.get("key", "")).startswith(f"{PLUGIN_ID}:")
        ]
    return [
        HookTrust(
            str(hook["key"]).removeprefix(f"{PLUGIN_ID}:"),
            str(hook.get("trustStatus", "unknown")),
            hook.get("enabled") is not False,
        )
        for hook in hooks
    ]


def _hooks_list(client: str, folder: str, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"clientInfo": {"name": "mash", "version": "1"}},
        },
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}},
    ]
    try:
        with subprocess.Popen(
            [client, "app-server"],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            timer = threading.Timer(APP_SERVER_TIMEOUT_S, end_group, [process.pid])
            timer.start()
            try:
                return _ask(process.stdin, process.stdout, requests)
            finally:
                timer.cancel()
                end_group(process.pid)
    except (OSError, ValueError, KeyError) as error:  # also of closing a pipe that broke
        raise Internal(
            f"`codex app-server` gave no list of hooks ({plain_reason(error)}). Type"
            " /hooks in codex."
        ) from None


def _ask(
    stdin: IO[bytes] | None, stdout: IO[bytes] | None, requests: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    assert stdin is not None  # noqa: S101 - both are pipes
    assert stdout is not None  # noqa: S101
    for request in requests:
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        if "id" in request:
            answer = next(_answers(stdout, request["id"]), None)
            if answer is None:
                raise ValueError("it ended")
            if "error" in answer:
                raise ValueError(str(answer["error"].get("message")))
    data = answer["result"]["data"] if answer else []
    return [entry for entry in data if isinstance(entry, dict)]


def _answers(stdout: IO[bytes], request_id: int) -> Iterator[dict[str, Any]]:
    for line in stdout:
        answer = json.loads(line)
        if answer.get("id") == request_id and "method" not in answer:
            yield answer


def _settle(place: Place, before: Before | None) -> None:
    """Remove what the commands left; end with the very bytes of before where only we wrote."""
    file = _file(place)
    text = _text(place)
    if not file.exists():
        return
    rest = without_tables(text, _is_ours)
    if before and HOOK_STATE in before.absent:
        state = _table(_parse(place, rest), "hooks").get("state")
        if state == {}:
            rest = without_tables(rest, lambda header: header == ("hooks", "state"))
    for candidate in _former_texts(rest):
        if before and hashlib.sha256(candidate.encode()).hexdigest() == before.sha256:
            rest = candidate
            break
    if before is not None and before.sha256 is None and not rest.strip():
        file.unlink()
    elif rest != text:
        _parse(place, rest)
        replace_file(file, rest.encode())


def _former_texts(rest: str) -> Iterator[str]:
    """What the text may have been before Codex wrote to it; a hash tells which it was.

    Codex ends a file with a newline that had none, begins an empty one with one, writes LF for
    CRLF, and drops an empty `plugins = {}` (seen in 0.171.0).
    """
    rest = rest.replace("\r\n", "\n")
    bare = rest.rstrip("\n")
    shapes = [rest, bare + "\n", bare, rest.lstrip("\n"), bare.lstrip("\n")]
    lines = rest.splitlines(keepends=True)
    shapes += [
        "".join([*lines[:number], f"{name} = {{}}\n", *lines[number:]])
        for name in ("plugins", "marketplaces")
        for number in range(len(lines) + 1)
    ]
    for shape in shapes:
        yield shape
        yield shape.replace("\n", "\r\n")


@contextmanager
def _kept_mode(file: Path) -> Iterator[None]:
    """Give the file its mode back: Codex closes it to 0600 with every write."""
    mode = file.stat().st_mode if file.exists() else None
    try:
        yield
    finally:
        if mode is not None and file.exists() and file.stat().st_mode != mode:
            file.chmod(mode & 0o7777)


def without_tables(text: str, is_ours: Callable[[tuple[str, ...]], bool]) -> str:
    """The TOML text without the tables that `is_ours` names; every other line is kept."""
    kept: list[str] = []
    tail: list[str] = []
    is_dropping = False
    for line in text.splitlines(keepends=True):
        header = _header(line)
        if header is not None:
            was_dropping, is_dropping = is_dropping, is_ours(header)
            if is_dropping and not was_dropping and kept and not kept[-1].strip():
                kept.pop()  # the blank line before our table came with it
            if was_dropping:
                kept += _left_of(tail) or _blank_line(kept, is_needed=not is_dropping)
                tail.clear()
        if not is_dropping:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            tail.clear()
        else:
            tail.append(line)
    return "".join(kept + _left_of(tail))


def _left_of(tail: list[str]) -> list[str]:
    """Comments that stood after our last table belong to what follows."""
    return list(tail) if any(line.strip() for line in tail) else []


def _blank_line(kept: list[str], *, is_needed: bool) -> list[str]:
    return ["\n"] if is_needed and kept and kept[-1].strip() else []


def _is_ours(header: tuple[str, ...]) -> bool:
    match header:
        case ("marketplaces", name):
            return name == MARKETPLACE
        case ("plugins", name, *_):
            return name == PLUGIN_ID
        case ("hooks", "state", name):
            return name.startswith(f"{PLUGIN_ID}:")
        case _:
            return False


def _header(line: str) -> tuple[str, ...] | None:
    """The dotted name of a `[table]` or `[[table]]` line, or None for any other line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        table: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    names = []
    while isinstance(table, dict) and table:
        (name,) = table
        names.append(str(name))
        table = table[name]
    return tuple(names)


def _cached(place: Place) -> dict[str, bytes] | None:
    folder = plugin_folder(place, Path())
    if folder is None:
        return None
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _file(place: Place) -> Path:
    return place.config / SETTINGS


def _text(place: Place) -> str:
    try:
        return _file(place).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"{_file(place)} cannot be read ({plain_reason(error)}); it was left alone.",
            file=str(_file(place)),
        ) from None


def _parse(place: Place, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(
            f"{_file(place)} is not valid TOML ({error}); it was left alone. Correct it, then run "
            "`mash init` again.",
            file=str(_file(place)),
        ) from None


def _table(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = table.get(name)
    return value if isinstance(value, dict) else {}
