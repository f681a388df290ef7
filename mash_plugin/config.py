"""Settings: config.toml and the MASH_* switches."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument, plain_reason
from mash_plugin.file_opening import open_file

OFF_WORDS = frozenset({"off", "0", "false", "no"})
ON_WORDS = frozenset({"on", "1", "true", "yes"})
SWITCHES = ("MASH_RECORD_CAPTURE", "MASH_RECORD_RECALL", "MASH_FILE_RECALL", "MASH_INTERNAL")
EXTENTS = ("established", "all", "nothing")
"""How much of a project is published to the group."""
Tables = dict[str, object]
_NUMBERS = {
    "moment": "must be Unix milliseconds and does nothing",
    "days": "is no whole number of days from 1 on: all chats are kept",
    "hours": "is no whole number of hours from 1 on: the commands refuse it",
}
_PLAIN = {"switch", "file", "extent", *_NUMBERS}
"""Kinds of a single value; of all others there may be several."""
_KEYS: Mapping[str, Mapping[str, str]] = {
    "records": dict.fromkeys(
        ("enabled", "capture", "recall", "trust_headless_prompts", "trust_inferred_authors"),
        "switch",
    )
    | {"backfill_since": "moment"},
    "recall": dict.fromkeys(("files", "personal_at_start", "subagents", "group"), "switch"),
    "privacy": {"mask_credentials": "switch", "extra_patterns": "texts"},
    "projects": dict.fromkeys(("deny", "no_capture", "no_recall", "no_index"), "projects"),
    "chats": {"roots": "table", "keep_days": "days"},
    "chats.roots": dict.fromkeys(("claude", "codex", "gemini"), "folders"),
    "group": dict.fromkeys(("publish_personal", "publish_chats"), "switch")
    | dict.fromkeys(("only", "never"), "projects")
    | {"dsn_file": "file", "publish": "extent"},
    "throughline": dict.fromkeys(("agent", "backend", "postgres_dsn", "postgres_dsn_file"), "texts")
    | {"workspace": "folders"}
    | dict.fromkeys(
        (
            "capture_sessions",
            "working_compile",
            "working_auto_refresh",
            "working_promote",
            "working_copy_promote",
        ),
        "switch",
    )
    | {"working_ttl_hours": "hours"},
}


class Settings(NamedTuple):
    """What the person chose. Either one of file and environment set to off means off."""

    records_enabled: bool = True
    capture: bool = True
    recall: bool = True
    file_recall: bool = True
    trust_headless_prompts: bool = False
    trust_inferred_authors: bool = True
    personal_at_start: bool = False
    capture_sessions: bool = False
    """Whether ended sessions become working memories, and a start tells of other sessions."""
    subagents: bool = False
    """Whether subagents are told the project's established preferences when they start."""
    mask_credentials: bool = True
    extra_patterns: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    no_capture: tuple[str, ...] = ()
    no_recall: tuple[str, ...] = ()
    no_index: tuple[str, ...] = ()
    roots: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The folders of `[chats.roots]` by their keys."""
    group_dsn_file: str | None = None
    """Where the connection string of the group lies; relative to the folder of this file."""
    group_publish: str = "established"
    """established: what the person settled; all: candidates too; nothing: only reading."""
    group_publish_personal: bool = False
    group_publish_chats: bool = False
    group_only: tuple[str, ...] = ()
    """If any are named, nothing of other projects is published."""
    group_never: tuple[str, ...] = ()
    group_recall: bool = False
    """Whether records of the group's other members may be recalled, from a local copy."""
    keep_days: int | None = None
    """How long chats stay in the index after their last word; None: for ever."""
    is_internal: bool = False
    """The call comes from an agent that we started ourselves: hooks stay silent."""
    problem: str | None = None
    """Why the file could not be read, and what is used instead of it."""
    warnings: tuple[str, ...] = ()
    """What stands in the file and has no effect, or another one than it seems to have."""
    file: str = "config.toml"
    """Where the person can change all this."""

    def chat_roots(self, key: str) -> tuple[str, ...]:
        """The folders that the person named for one agent, by its key in `[chats.roots]`."""
        return dict(self.roots).get(key, ())


def is_off(value: object) -> bool:
    """Whether a switch says off: off, 0, false or no in any case."""
    return _says(value, OFF_WORDS)


def is_on(value: object) -> bool:
    """Whether a switch says on: on, 1, true or yes in any case."""
    return _says(value, ON_WORDS)


def read_settings(config_file: str, switches: Mapping[str, str]) -> Settings:
    """Settings of the file under the switches of this call, for who knows no earlier ones."""
    tables, problem = read_tables(config_file)
    return settings_of(config_file, tables, problem, switches)


def read_tables(config_file: str) -> tuple[Tables | None, str | None]:
    """What stands in the file, or why it cannot be read; neither when there is none."""
    try:
        with open(config_file, "rb", opener=open_file) as file:
            import tomllib  # only for those who have a file: it is on a hook's way

            return tomllib.load(file), None
    except FileNotFoundError:
        return None, None
    except (OSError, ValueError) as error:
        return None, f"{config_file}: {plain_reason(error)}"


def settings_of(
    config_file: str, tables: Tables | None, problem: str | None, switches: Mapping[str, str]
) -> Settings:
    """Settings of these tables: those of the file, or with a problem the last that were good.

    Where the file is broken and none are known, the defaults hold without saving notes:
    nobody can tell which projects the person wanted left alone.
    """
    settings = _settings(tables or {}, switches)._replace(file=config_file)
    if problem is None:
        return settings
    if tables is None:
        used = "the defaults are used, saving notes are off, and no project is left out"
        return settings._replace(problem=f"{problem}; {used}", capture=False)
    return settings._replace(problem=f"{problem}; the settings of before are still used")


def check_settings(config_file: str) -> None:
    """Raise InvalidArgument when the configuration file cannot be read; for commands."""
    problem = read_settings(config_file, {}).problem
    if problem:
        raise InvalidArgument(f"The configuration cannot be read: {problem}. Correct or move it.")


def _settings(tables: Tables, switches: Mapping[str, str]) -> Settings:
    records, recall = _table(tables, "records"), _table(tables, "recall")
    privacy, projects = _table(tables, "privacy"), _table(tables, "projects")
    chats, group = _table(tables, "chats"), _table(tables, "group")
    roots = _table(chats, "roots")
    enabled = _switch(records.get("enabled"))
    return Settings(
        records_enabled=enabled,
        capture=enabled and _on(records.get("capture"), switches.get("MASH_RECORD_CAPTURE")),
        recall=_on(records.get("recall"), switches.get("MASH_RECORD_RECALL")),
        file_recall=_on(recall.get("files"), switches.get("MASH_FILE_RECALL")),
        trust_headless_prompts=is_on(records.get("trust_headless_prompts")),
        trust_inferred_authors=_switch(records.get("trust_inferred_authors")),
        personal_at_start=is_on(recall.get("personal_at_start")),
        capture_sessions=is_on(_table(tables, "throughline").get("capture_sessions")),
        subagents=is_on(recall.get("subagents")),
        mask_credentials=not is_off(privacy.get("mask_credentials")),
        extra_patterns=_texts(privacy.get("extra_patterns")),
        deny=_texts(projects.get("deny")),
        no_capture=_texts(projects.get("no_capture")),
        no_recall=_texts(projects.get("no_recall")),
        no_index=_texts(projects.get("no_index")),
        roots=tuple(
            (key, named) for key in _KEYS["chats.roots"] if (named := _texts(roots.get(key)))
        ),
        group_dsn_file=_text(group.get("dsn_file")),
        group_publish=_extent(group),
        group_publish_personal=is_on(group.get("publish_personal")),
        group_publish_chats=is_on(group.get("publish_chats")),
        group_only=_texts(group.get("only")),
        group_never=_texts(group.get("never")),
        group_recall=is_on(recall.get("group")),
        keep_days=_number(chats.get("keep_days")),
        is_internal=switches.get("MASH_INTERNAL", "") not in ("", "0"),
        warnings=tuple(_warnings(tables, "")),
    )


def _warnings(tables: Mapping[str, object], within: str) -> Iterator[str]:
    known = _KEYS[within] if within else _KEYS
    for key, value in tables.items():
        name = f"{within}.{key}" if within else key
        if key not in known or "." in key:
            yield f"{name!r} is not known to this version and does nothing"
        elif not within or known[key] == "table":
            if isinstance(value, dict):
                yield from _warnings(value, name)
            else:
                yield f"{name!r} must be a table, [{name}], and does nothing"
        else:
            yield from _value_warnings(name, str(known[key]), value)


def _value_warnings(name: str, kind: str, value: object) -> Iterator[str]:
    if kind in _PLAIN:
        if fault := _value_fault(name, kind, value):
            yield f"{name} = {value!r} {fault}"
        return
    effect = "so that nothing is published" if name.startswith("group.") else "and does nothing"
    if not isinstance(value, (str, list)):
        yield f"{name} = {value!r} must be a list of texts {effect}"
        return
    for entry in _listed(value):
        if not isinstance(entry, str):
            yield f"{name}: {entry!r} is no text {effect}"
        elif kind != "texts" and (fault := _entry_fault(entry, kind)):
            yield f"{name}: {entry!r} {fault}"


def _value_fault(name: str, kind: str, value: object) -> str | None:
    """Why a single value has no meaning, and what is used instead."""
    if kind in _NUMBERS:
        return None if _number(value) is not None else _NUMBERS[kind]
    if kind == "switch":
        taken = "on" if name == "privacy.mask_credentials" else "off"
        is_clear = is_on(value) or is_off(value)
        return None if is_clear else f"is neither true nor false and counts as {taken}"
    if kind == "file":
        return None if _text(value) is not None else "names no file and does nothing"
    wanted = ", ".join(EXTENTS)
    return None if value in EXTENTS else f"is none of {wanted}: nothing is published"


def _entry_fault(entry: str, kind: str) -> str | None:
    """Why an entry can name no folder, and no repository where one may stand."""
    if entry.startswith(("/", "~/")) or entry == "~":
        has_pattern = any(mark in entry for mark in "*?[")
        return "is taken as it stands: * and ? have no meaning" if has_pattern else None
    host = entry.partition("/")[0]
    names_host = "." in host.strip(".") or ":" in host or host == "localhost"
    if kind == "projects" and names_host and ("/" in entry or ":" in entry):
        is_odd = any(mark in entry.removesuffix("/*") for mark in "*?")
        return "holds a * elsewhere than as its last part, and does nothing" if is_odd else None
    wanted = "an absolute path" + (" or host/owner/name" if kind == "projects" else "")
    return f"is not {wanted} and does nothing"


def _says(value: object, words: frozenset[str]) -> bool:
    return isinstance(value, (str, int)) and str(value).strip().lower() in words


def _switch(in_file: object) -> bool:
    """A switch of the file that is on unless it says otherwise: what is unclear means off."""
    return in_file is None or is_on(in_file)


def _table(tables: Mapping[str, object], name: str) -> dict[str, object]:
    value = tables.get(name)
    return value if isinstance(value, dict) else {}


def _on(in_file: object, in_environment: str | None) -> bool:
    return _switch(in_file) and not is_off(in_environment)


def _number(value: object) -> int | None:
    """A whole number from 1 on; None for all else."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(str(value)) if is_number else None


def _extent(group: Mapping[str, object]) -> str:
    """How much is published: nothing where the table does not say clearly what is to stay here."""
    extent = group.get("publish", EXTENTS[0])
    lists = (group.get(name, []) for name in ("only", "never"))
    are_clear = all(
        isinstance(named, (str, list)) and len(_texts(named)) == len(_listed(named))
        for named in lists
    )
    return str(extent) if extent in EXTENTS and are_clear else "nothing"


def _listed(value: str | list[object]) -> list[object]:
    return [value] if isinstance(value, str) else value


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
