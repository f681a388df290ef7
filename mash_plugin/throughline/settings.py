"""The settings of the working buffer, from the environment and from the configuration file."""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mash_plugin.config import is_off, is_on, read_tables
from mash_plugin.errors import InvalidArgument

CONFIG_FILE = "config.toml"
TABLE = "throughline"
TTL_HOURS = 72
LONGEST_TTL_HOURS = 24 * 366 * 100
BACKENDS = ("file", "postgres")
SWITCHES = (
    *("working_compile", "working_auto_refresh", "working_promote", "working_copy_promote"),
    "capture_sessions",
)
OTHER_KEYS = (
    *("agent", "workspace", "backend", "postgres_dsn", "postgres_dsn_file"),
    "working_ttl_hours",
)
HELP = {
    "MM_BACKEND": "which store is used: file (a SQLite file in the workspace) or postgres",
    "MM_POSTGRES_DSN": "where Postgres is; without a password",
    "MM_POSTGRES_DSN_FILE": "a file with mode 0600 that says it, else postgres.dsn beside the"
    " configuration",
    "MM_WORKSPACE": "where queue, store and compiled file lie, unless --workspace says so",
    "MM_CONFIG_DIR": "the folder of config.toml, unless --config-dir says so",
    "MM_WORKING_COMPILE": "1: the compiled file gets a section Recent (48h)",
    "MM_WORKING_AUTO_REFRESH": "1: a drain of important working memories rebuilds that file",
    "MM_WORKING_PROMOTE": "1: consolidate --promote-only copies what matters, then expires",
    "MM_WORKING_COPY_PROMOTE": "0: expiry without copying (the file backend cannot copy)",
    "MM_WORKING_TTL_HOURS": f"hours from capture to expiry, {TTL_HOURS} unless set",
}


class Settings(NamedTuple):
    """Everything that the environment or the file may say; all steps beyond storing are off."""

    workspace: str
    backend: str = "file"
    compile: bool = False
    auto_refresh: bool = False
    promote: bool = False
    copy_promote: bool = True
    ttl_hours: int = TTL_HOURS
    dsn: str | None = None
    """Where Postgres is, in words that others may see; wins over the file."""
    dsn_file: str = ""
    without_effect: tuple[str, ...] = ()
    """What the file's table says that has no meaning."""
    is_backend_said: bool = True
    """Whether anything names the backend."""


def read_settings(
    config_dir: str,
    workspace: str | None,
    environ: Mapping[str, str],
    faults: list[str] | None = None,
) -> Settings:
    """The settings of a command. Raises InvalidArgument for a file or value that has no meaning.

    The environment wins over the file, but either one set to off means off. `faults`, for who
    only looks, takes what is wrong with the time limit; the default stands for it then.
    """
    file = os.path.join(config_dir, CONFIG_FILE)
    in_file = _read_file(file)
    place = workspace or environ.get("MM_WORKSPACE") or _text(in_file, "workspace") or config_dir
    said = environ.get("MM_BACKEND") or _text(in_file, "backend")
    backend = said or "file"
    if backend not in BACKENDS:
        raise InvalidArgument(f"MM_BACKEND={backend!r} is unknown; use {' or '.join(BACKENDS)}.")

    def switch(name: str) -> bool:
        values = (environ.get(f"MM_WORKING_{name.upper()}"), in_file.get(f"working_{name}"))
        return any(map(is_on, values)) and not any(map(is_off, values))

    try:
        hours = _hours(environ, in_file, file)
    except InvalidArgument as error:
        if faults is None:
            raise
        faults.append(error.message)
        hours = TTL_HOURS
    copying = (environ.get("MM_WORKING_COPY_PROMOTE"), in_file.get("working_copy_promote"))
    return Settings(
        workspace=_folder(place),
        backend=backend,
        is_backend_said=said is not None,
        compile=switch("compile"),
        auto_refresh=switch("auto_refresh"),
        promote=switch("promote"),
        copy_promote=not any(map(is_off, copying)),
        ttl_hours=hours,
        without_effect=tuple(_without_effect(in_file.get(TABLE))),
        dsn=environ.get("MM_POSTGRES_DSN") or _text(in_file, "postgres_dsn"),
        dsn_file=os.path.join(
            config_dir,
            os.path.expanduser(
                environ.get("MM_POSTGRES_DSN_FILE")
                or _text(in_file, "postgres_dsn_file")
                or "postgres.dsn"
            ),
        ),
    )


def forgotten_backend(settings: Settings) -> str:
    """What to say where a Postgres login waits beside settings that name no backend."""
    if settings.is_backend_said or not os.path.exists(settings.dsn_file):
        return ""
    return (
        f"{settings.dsn_file} is there, but nothing names the backend, so memories go into the"
        f" SQLite file of {settings.workspace}. Set MM_BACKEND=postgres (or file, to say that you"
        f' mean it), or write backend = "postgres" into {CONFIG_FILE} beside it.'
    )


def configured_agent(config_file: str) -> tuple[str, Settings] | None:
    """The agent and workspace that [throughline] of mash's own configuration names, if it does.

    The environment has no say: a project's settings can set MM_POSTGRES_DSN for the servers that
    its agent starts, and the daemon would not see it. Raises InvalidArgument as `read_settings`.
    """
    in_file = _read_file(config_file)
    agent, workspace = _text(in_file, "agent"), _text(in_file, "workspace")
    if agent is None or workspace is None:
        return None
    return agent, read_settings(os.path.dirname(config_file), workspace, {})


def _folder(place: str) -> str:
    if place.startswith("~") and place[1:2] not in ("", os.sep):
        raise InvalidArgument(
            f"The workspace {place!r:.200} lies in the home of another user or of nobody;"
            " write the whole path, or ~/ for your own home."
        )
    return os.path.abspath(os.path.expanduser(place))


def _hours(environ: Mapping[str, str], in_file: Mapping[str, object], file: str) -> int:
    said = environ.get("MM_WORKING_TTL_HOURS")
    value: object = said or in_file.get("working_ttl_hours")
    if value is None:
        return TTL_HOURS
    text = str(value).strip()
    is_short = len(text) <= len(str(LONGEST_TTL_HOURS))  # Python reads no number of any length
    if not (is_short and text.isdecimal() and 1 <= int(text) <= LONGEST_TTL_HOURS):
        where = "MM_WORKING_TTL_HOURS" if said else f"working_ttl_hours in {file}"
        raise InvalidArgument(
            f"{where} = {value!r:.100} is no whole number of hours from 1 on; nothing was changed."
        )
    return int(text)


def _read_file(path: str) -> dict[str, object]:
    """The [throughline] table over the keys that stand outside any table."""
    tables, problem = read_tables(path)
    if problem:
        raise InvalidArgument(f"The configuration cannot be read: {problem}. Correct or move it.")
    found = {key: value for key, value in (tables or {}).items() if not isinstance(value, dict)}
    table = (tables or {}).get(TABLE)
    return found | (table if isinstance(table, dict) else {}) | {TABLE: table}


def _without_effect(table: object) -> Iterator[str]:
    if table is not None and not isinstance(table, dict):
        yield f"{TABLE} = {table!r:.60} is no table; write [{TABLE}]"
        return
    for key, value in (table or {}).items():
        if key in SWITCHES:
            if not (is_on(value) or is_off(value)):
                yield f"[{TABLE}] {key} = {value!r:.60} is neither on nor off"
        elif key not in OTHER_KEYS:
            yield f"[{TABLE}] has no key {key!r:.60}"


def _text(in_file: Mapping[str, object], key: str) -> str | None:
    value = in_file.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise InvalidArgument(f"{CONFIG_FILE}: {key} = {value!r} must be a text.")
