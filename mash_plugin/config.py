"""Settings: config.toml and the MASH_* switches (decisions 1, configuration table)."""

from collections.abc import Mapping
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument

OFF_WORDS = frozenset({"off", "0", "false", "no"})
SWITCHES = ("MASH_RECORD_CAPTURE", "MASH_RECORD_RECALL", "MASH_FILE_RECALL", "MASH_INTERNAL")


class Settings(NamedTuple):
    """What the person chose. Either one of file and environment set to off means off."""

    records_enabled: bool = True
    capture: bool = True
    recall: bool = True
    file_recall: bool = True
    trust_headless_prompts: bool = False
    trust_inferred_authors: bool = True
    personal_at_start: bool = False
    mask_credentials: bool = True
    extra_patterns: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    no_capture: tuple[str, ...] = ()
    no_recall: tuple[str, ...] = ()
    no_index: tuple[str, ...] = ()
    claude_roots: tuple[str, ...] = ()
    codex_roots: tuple[str, ...] = ()
    is_internal: bool = False
    """The call comes from an agent that we started ourselves: hooks stay silent."""
    problem: str | None = None
    """Why the file could not be read; hooks then use the defaults."""


def is_off(value: object) -> bool:
    """Whether a switch says off: off, 0, false or no in any case."""
    return value is False or (isinstance(value, str) and value.strip().lower() in OFF_WORDS)


def read_settings(config_file: str, switches: Mapping[str, str]) -> Settings:
    """Settings of the file under the switches of this call; a broken file gives the defaults."""
    problem = None
    tables: dict[str, object] = {}
    try:
        with open(config_file, "rb") as file:
            import tomllib  # only for those who have a file: it is on a hook's way

            tables = tomllib.load(file)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        tables, problem = {}, f"{config_file}: {error}"
    return _settings(tables, switches, problem)


def check_settings(config_file: str) -> None:
    """Raise InvalidArgument when the configuration file cannot be read; for commands."""
    problem = read_settings(config_file, {}).problem
    if problem:
        raise InvalidArgument(f"The configuration cannot be read: {problem}. Correct or move it.")


def _settings(
    tables: dict[str, object], switches: Mapping[str, str], problem: str | None
) -> Settings:
    records, recall = _table(tables, "records"), _table(tables, "recall")
    privacy, projects = _table(tables, "privacy"), _table(tables, "projects")
    roots = _table(_table(tables, "chats"), "roots")
    enabled = not is_off(records.get("enabled"))
    return Settings(
        records_enabled=enabled,
        capture=enabled and _on(records.get("capture"), switches.get("MASH_RECORD_CAPTURE")),
        recall=_on(records.get("recall"), switches.get("MASH_RECORD_RECALL")),
        file_recall=_on(recall.get("files"), switches.get("MASH_FILE_RECALL")),
        trust_headless_prompts=records.get("trust_headless_prompts") is True,
        trust_inferred_authors=not is_off(records.get("trust_inferred_authors")),
        personal_at_start=recall.get("personal_at_start") is True,
        mask_credentials=not is_off(privacy.get("mask_credentials")),
        extra_patterns=_texts(privacy.get("extra_patterns")),
        deny=_texts(projects.get("deny")),
        no_capture=_texts(projects.get("no_capture")),
        no_recall=_texts(projects.get("no_recall")),
        no_index=_texts(projects.get("no_index")),
        claude_roots=_texts(roots.get("claude")),
        codex_roots=_texts(roots.get("codex")),
        is_internal=switches.get("MASH_INTERNAL", "") not in ("", "0"),
        problem=problem,
    )


def _table(tables: Mapping[str, object], name: str) -> dict[str, object]:
    value = tables.get(name)
    return value if isinstance(value, dict) else {}


def _on(in_file: object, in_environment: str | None) -> bool:
    return not is_off(in_file) and not is_off(in_environment)


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
