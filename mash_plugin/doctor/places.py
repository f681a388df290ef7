"""The folders, the socket and who else may look into them."""

import json
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress

from mash_plugin.config import read_tables
from mash_plugin.doctor.finding import Finding, Repair, Severity
from mash_plugin.doctor.machine import Machine
from mash_plugin.file_opening import not_a_file, open_file
from mash_plugin.paths import pin_file
from mash_plugin.privacy.credentials import credential_kind

OTHERS = 0o077
SECRET_WORDS = ("password", "passwd", "secret", "token", "dsn", "api_key")


def check_pins(machine: Machine) -> Iterator[Finding]:
    """Whether it is written down where the memory lies."""
    paths = machine.paths
    if paths.home is None and not os.path.exists(pin_file()):
        yield Finding(
            "pins-missing",
            "error",
            f"{pin_file()} is missing",
            "it tells hooks and tools where the memory lies, whatever their environment says",
            "mash init",
        )
    elif paths.home is None and not _names_folders(pin_file()):
        yield Finding(
            "pins-unreadable",
            "error",
            f"{pin_file()} cannot be read, or names no folders",
            "the memory is looked for in the ordinary places, where it may not be",
            f"{_move_aside(pin_file())} && mash init",
        )
    else:
        yield Finding("places", "ok", f"data {paths.data}, run {paths.run}")


def _names_folders(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", opener=open_file) as file:
            pins = json.load(file)
    except (OSError, ValueError):
        return False
    named = [pins.get(key) for key in ("config", "data")] if isinstance(pins, dict) else [None]
    return all(isinstance(path, str) and os.path.isabs(path) for path in named)


def check_run_folder(machine: Machine) -> Iterator[Finding]:
    """The folder where hooks and tools meet the daemon: of this person alone."""
    run = machine.paths.run
    try:
        found = os.lstat(run)
    except FileNotFoundError:
        return
    aside = _move_aside(run)
    if not stat.S_ISDIR(found.st_mode):
        text = f"{run} is a link or a file, not a folder"
        yield Finding("run-folder-not-a-folder", "error", text, "no daemon starts there", aside)
    elif found.st_uid != os.getuid():
        text = f"{run} belongs to user {found.st_uid}, not to you"
        yield Finding("run-folder-of-another", "error", text, "no daemon starts there", aside)
    elif found.st_mode & OTHERS:
        why = f"its mode is {_octal(found.st_mode)}; daemon and hooks refuse to meet there"
        yield _open_to_others("run-folder-open", "error", [run], why, 0o700)
    else:
        yield from _check_socket(machine)


def _check_socket(machine: Machine) -> Iterator[Finding]:
    path = machine.paths.socket
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        yield Finding(
            "socket-not-a-socket",
            "error",
            f"{path} is not a socket",
            "something else stands where the daemon listens",
            _move_aside(path),
        )
    elif found.st_mode & OTHERS:
        why = f"its mode is {_octal(found.st_mode)}; the folder still keeps others out"
        yield _open_to_others("socket-open", "warning", [path], why, 0o600)


def check_data_folders(machine: Machine) -> Iterator[Finding]:
    """Whether there are folders where the memory and its copies go."""
    paths = machine.paths
    for path, why in (
        (paths.data, "nothing can be remembered"),
        (paths.backups, "no backup can be made"),
    ):
        if os.path.lexists(path) and not os.path.isdir(path):
            text = f"{path} is a file or a link that leads nowhere, not a folder"
            yield Finding("data-folder-not-a-folder", "error", text, why, _move_aside(path))


def check_writable(machine: Machine) -> Iterator[Finding]:
    """Whether the folders can be made, and the run folder written: no daemon starts otherwise."""
    paths = machine.paths
    for folder in (paths.run, paths.data):
        there = folder
        while not os.path.lexists(there):
            there = os.path.dirname(there)
        is_told = there == paths.data  # with the store
        if os.path.isdir(there) and not is_told and not os.access(there, os.W_OK | os.X_OK):
            text = f"{there} cannot be written by you"
            why = "no daemon can start: agents have no memory"
            yield Finding("folder-not-writable", "error", text, why, f"chmod u+rwx {_q(there)}")
            return


def check_files(machine: Machine) -> Iterator[Finding]:
    """Whether a pipe, a folder or a device stands where a file of mash belongs."""
    paths = machine.paths
    marks = [f"{name}{end}" for name in (paths.store, paths.chats) for end in ("-open", "-reserve")]
    own = (paths.store, paths.chats, paths.config_file, paths.daemon_lock, paths.spawn_lock)
    noted = [os.path.join(paths.data, "setup.json"), paths.kept_settings]
    pins = [] if paths.home else [pin_file()]
    for path in (*own, *marks, paths.log, *noted, *pins):
        if kind := not_a_file(path):
            text = f"{path} is {kind}, not a regular file"
            why = "something else put it there, and what belongs there cannot be read or kept"
            yield Finding("not-a-file", "error", text, why, _move_aside(path))


def check_readers(machine: Machine) -> Iterator[Finding]:
    """Whether others may read the memory."""
    data = machine.paths.data
    if os.path.isdir(data) and os.stat(data).st_uid != os.getuid():
        owner = os.stat(data).st_uid
        text = f"{data} belongs to user {owner}, not to you"
        why = "that user can read and change what your agents are told"
        yield Finding("data-of-another", "error", text, why, f"sudo chown -R $(id -u) {_q(data)}")
    found = [path for path in machine.report.too_open if path != machine.paths.run]
    if found:
        why = "records and quotes of your chats lie there"
        yield _open_to_others("memory-open", "error", found, why, None)


def check_secrets(machine: Machine) -> Iterator[Finding]:
    """Settings that hold a secret must be read by nobody else."""
    for path in _with_secrets(machine.paths.config_file):
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if mode & OTHERS:
            why = f"it holds a secret, and its mode is {_octal(mode)}"
            yield _open_to_others("secret-open", "error", [path], why, 0o600)


def _with_secrets(config_file: str) -> Iterator[str]:
    """The settings, if they hold a secret, and the file of a password that they name."""
    try:
        with open(config_file, encoding="utf-8", errors="replace", opener=open_file) as file:
            text = file.read(1 << 20)
    except OSError:
        return
    keys = [line.partition("=")[0].strip().lower() for line in text.splitlines() if "=" in line]
    names = [key for key in keys if key != "dsn_file"]
    if credential_kind(text) or any(word in key for key in names for word in SECRET_WORDS):
        yield config_file
    tables, _problem = read_tables(config_file)
    group = (tables or {}).get("group")
    named = group.get("dsn_file") if isinstance(group, dict) else None
    if isinstance(named, str):
        yield os.path.expanduser(named)


def _open_to_others(
    name: str, severity: Severity, paths: list[str], why: str, mode: int | None
) -> Finding:
    command = f"chmod {mode:o}" if mode else "chmod go="

    def close() -> str:
        for path in paths:
            with suppress(FileNotFoundError):
                os.chmod(path, mode or stat.S_IMODE(os.stat(path).st_mode) & ~OTHERS)
        return f"closed {', '.join(paths)} to other users"

    text = f"others may read {', '.join(paths)}"
    line = f"{command} {shlex.join(paths)}"
    return Finding(name, severity, text, why, line, Repair(close))


def _move_aside(path: str) -> str:
    return f"mv {_q(path)} {_q(path + '.moved')}"


def _octal(mode: int) -> str:
    return f"{stat.S_IMODE(mode):04o}"


_q = shlex.quote
