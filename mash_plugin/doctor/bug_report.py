"""An archive for the tracker: how this mash is and what was found, and nothing that was said.

Everything in it is chosen, not filtered: versions, names and severities of findings, the log's
facts, keys of settings, the schema, and numbers of rows.
"""

import gzip
import io
import json
import os
import platform
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import apsw

from mash_plugin.agents.hosts import HOSTS
from mash_plugin.agents.listing import version_of
from mash_plugin.doctor.examination import Found
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.redaction import redact_log, redact_settings, redactor
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.file_opening import open_file
from mash_plugin.store.sqlite import Connection

LIBRARIES = ("apsw", "click", "google-re2", "mcp", "orjson", "pydantic", "rich", "tomlkit")
LOG_LINES = 500
LOG_BYTES = 256 * 1024
NAMELESS = frozenset({"settings", "projects", "group"})
"""Categories whose texts name projects, settings or servers: only the kind of finding is told."""
GROUPS = {
    "records": "kind || ' ' || review || ' ' || state || ' ' || scope_kind",
    "evidence": "purpose || ' ' || author || ' ' || status",
}
README = """\
A report of `mash bug-report`. Look through it before you send it: it is plain text.

versions.json   mash, Python, SQLite, the system, the agents
findings.json   what `mash doctor` found; of projects and settings only the kind of finding
settings.json   the keys of config.toml with switches and numbers; of texts only their length
schema.sql      the tables of the two databases
counts.json     how many rows they have
log.txt         the last lines of the daemon's log, which holds no content

Left out: records, quotes, prompts, chats, names of projects and people, secrets.
"""


def collect(machine: Machine, found: Sequence[Found]) -> dict[str, bytes]:
    """Every file of the report by its name."""
    files = {
        "README.txt": README,
        "versions.json": _json(_versions(machine)),
        "findings.json": _json(_findings(machine, found)),
        "settings.json": _json(_settings(machine)),
        "log.txt": redact_log(_log_tail(machine.paths.log), LOG_LINES),
    }
    schemas, counts = [], {}
    for path in (machine.paths.store, machine.paths.chats):
        name = os.path.basename(path)
        with suppress(MashError, OSError, apsw.Error):
            schema, rows = _database(machine, path)
            schemas.append(f"-- {name}\n{schema}\n")
            counts[name] = rows
    files["schema.sql"] = "\n".join(schemas)
    files["counts.json"] = _json(counts)
    return {name: text.encode("utf-8", "replace") for name, text in files.items()}


def write_archive(files: Mapping[str, bytes], path: str, now: int) -> None:
    """A new private .tar.gz without anything of this machine in its headers."""
    content = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=content, mtime=now // 1000) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, text in files.items():
            entry = tarfile.TarInfo(f"mash-bug-report/{name}")
            entry.size, entry.mtime, entry.mode = len(text), now // 1000, 0o644
            archive.addfile(entry, io.BytesIO(text))
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o600)
    except FileExistsError:
        raise InvalidArgument(f"{path} is there already; name another file: --out FILE") from None
    with open(fd, "wb") as file:
        file.write(content.getvalue())


def _versions(machine: Machine) -> dict[str, Any]:
    agents: dict[str, str] = {}
    for host in HOSTS:
        place = host.find_place(machine.environ)
        agents[place.agent] = "not on PATH"
        if place.client is not None:
            try:
                agents[place.agent] = ".".join(map(str, version_of(place.client, machine.environ)))
            except MashError:
                agents[place.agent] = "does not tell"
    return {
        "mash": version("mash-plugin"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "encoding": sys.getfilesystemencoding(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "agents": agents,
        "has_own_home": machine.paths.home is not None,
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _findings(machine: Machine, found: Sequence[Found]) -> list[dict[str, str]]:
    redact = redactor(machine.paths, machine.environ)
    told = []
    for category, finding in found:
        one = {"category": category, "name": finding.name, "severity": finding.severity}
        if category not in NAMELESS:
            one |= {"what": redact(finding.what), "why": redact(finding.why)}
        told.append(one)
    return told


def _settings(machine: Machine) -> Any:  # noqa: ANN401 - TOML
    try:
        with open(machine.paths.config_file, "rb", opener=open_file) as file:
            return redact_settings(tomllib.load(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        return f"cannot be read: {type(error).__name__}"


def _log_tail(path: str) -> str:
    try:
        with open(path, "rb", opener=open_file) as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LOG_BYTES, 0))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _database(machine: Machine, path: str) -> tuple[str, dict[str, Any]]:
    with machine.reading(path) as db:
        (schema,) = db.one("PRAGMA user_version") or (0,)
        rows = db.all("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        tables = [str(name) for name, sql in rows if str(sql).startswith("CREATE TABLE")]
        counts: dict[str, Any] = {"schema": schema}
        for table in tables:
            (counts[table],) = db.one(f'SELECT count(*) FROM "{table}"') or (0,)  # noqa: S608 - of the schema
        counts |= dict(_groups(db, tables))
    return ";\n".join(str(sql) for _, sql in rows), counts


def _groups(db: Connection, tables: Sequence[str]) -> Iterator[tuple[str, dict[str, int]]]:
    for table, key in GROUPS.items():
        if table in tables:
            rows = db.all(f"SELECT {key}, count(*) FROM {table} GROUP BY 1")  # noqa: S608 - constants
            yield f"{table} by kind", {str(name): int(count) for name, count in rows}


def _json(value: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
