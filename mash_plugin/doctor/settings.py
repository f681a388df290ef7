"""The configuration file, the project's `.mash` file, and switches that silence mash."""

import os
import shlex
from collections.abc import Iterator

from mash_plugin.chats.switches import Off, list_faults, marker_faults, what_is_off
from mash_plugin.config import is_off, read_settings
from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.words import edit_line
from mash_plugin.render.text import local_date
from mash_plugin.store.pauses import FOR_EVER
from mash_plugin.store.queries import load

PAUSES = load("pauses")
RECORDS_OFF = "records are off: nothing is saved"
CAPTURE_OFF = "saving notes are off: agents are not asked to save"
RECALL_OFF = "records in hooks are off: agents are not reminded"
FILES_OFF = "hints at file reads are off"
SWITCHES = (
    ("records_enabled", RECORDS_OFF, "[records] enabled"),
    ("capture", CAPTURE_OFF, "[records] capture"),
    ("recall", RECALL_OFF, "[records] recall"),
    ("file_recall", FILES_OFF, "[recall] files"),
)
VARIABLES = {
    "MASH_RECORD_CAPTURE": CAPTURE_OFF,
    "MASH_RECORD_RECALL": RECALL_OFF,
    "MASH_FILE_RECALL": FILES_OFF,
}
OFF_IN_PROJECT = {
    "everything": "everything is off",
    "capture": "saving notes are off",
    "recall": "records in hooks are off",
    "index": "its chats are not read",
    "group": "nothing goes to the group or comes from it",
}


def check_file(machine: Machine) -> Iterator[Finding]:
    """Whether config.toml can be read, and what in it does nothing."""
    settings, edit = machine.settings, edit_line(machine.paths.config_file)
    if settings.problem:
        # A daemon that runs knows what the file said before.
        problem = machine.served.get("settings_problem") or settings.problem
        file, _, fault = problem.partition(": ")
        fault, _, why = fault.partition("; ")
        text = f"{file} cannot be read: {fault}"
        yield Finding("settings-unreadable", "error", text, why, edit)
        return
    warnings = [*settings.warnings, *list_faults(settings)]
    for warning in warnings:
        why = f"it stands in {machine.paths.config_file}"
        yield Finding("setting-without-effect", "warning", warning, why, edit)
    if not warnings:
        is_there = os.path.exists(machine.paths.config_file)
        which = "" if is_there else "all as delivered: there is no "
        yield Finding("settings", "ok", which + machine.paths.config_file)


def check_marker(machine: Machine) -> Iterator[Finding]:
    """What in the `.mash` file of this project is not clear."""
    for fault in marker_faults(machine.project):
        path = fault.partition(": ")[0]
        why = "what such a file does not say clearly counts as off"
        yield Finding("marker-unclear", "warning", fault, why, edit_line(path))


def check_switches(machine: Machine) -> Iterator[Finding]:
    """What is switched off for all projects: in the file, and in this shell."""
    yield from _off_in_file(machine)
    for variable, text in VARIABLES.items():
        value = machine.environ.get(variable)
        if is_off(value):
            why = f"{variable}={value} is set in this shell, and agents inherit it"
            yield Finding("switched-off-by-variable", "note", text, why, f"unset {variable}")
    if machine.environ.get("MASH_INTERNAL", "") not in ("", "0"):
        text = "every hook of an agent that is started from here stays silent"
        why = "MASH_INTERNAL is set in this shell; it is meant for agents that mash itself starts"
        yield Finding("internal-variable", "warning", text, why, "unset MASH_INTERNAL")


def _off_in_file(machine: Machine) -> Iterator[Finding]:
    settings = read_settings(machine.paths.config_file, {})
    if settings.problem:
        return  # told with the file
    off = [(text, key) for name, text, key in SWITCHES if not getattr(settings, name)]
    for text, key in off if settings.records_enabled else off[:1]:
        why = f"{key} in {machine.paths.config_file} says so"
        yield Finding("switched-off", "note", text, why, edit_line(machine.paths.config_file))


def check_project(machine: Machine) -> Iterator[Finding]:
    """What is switched off in the project of this folder."""
    project = machine.project
    found = what_is_off(project, machine.settings)
    if machine.settings.problem and machine.served:
        found = [Off(**off) for off in machine.served.get("here", {}).get("off", ())]
    for off in found:
        assert project is not None  # noqa: S101 - nothing is off in no project
        text = f"in {project.root} {OFF_IN_PROJECT[off.what]}"
        marker = off.why.removesuffix(" says so")
        file = marker if marker != off.why else machine.paths.config_file
        yield Finding("project-off", "note", text, off.why, edit_line(file))


def check_pauses(machine: Machine) -> Iterator[Finding]:
    """Where a person paused the hooks."""
    if not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        paused = [row for row in db.all(PAUSES.list_pauses) if row[1] > machine.now]
    for target, until in paused:
        kind, _, name = str(target).partition(":")
        end = "until you end it" if until >= FOR_EVER else f"until {local_date(until)}"
        why = "`mash pause` asked for it; there the hooks show nothing and ask for nothing"
        text = f"hooks are paused in the {kind} {name} {end}"
        yield Finding("paused", "note", text, why, _end_pause(machine, kind, name))


def _end_pause(machine: Machine, kind: str, name: str) -> str:
    if kind == "session":
        return f"mash pause --off --session {shlex.quote(name)}"
    if name.startswith("/"):
        return f"cd {shlex.quote(name)} && mash pause --off"
    is_here = machine.project is not None and machine.project.identity == name
    return "mash pause --off" if is_here else f"in a clone of {name}: mash pause --off"
