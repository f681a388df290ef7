"""Every check by its category, and the repairs of what they find."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import apsw

from mash_plugin.doctor import (
    agents,
    backups,
    daemon,
    disk,
    group,
    heartbeats,
    index,
    places,
    program,
    projects,
    settings,
    store,
    throughline,
)
from mash_plugin.doctor.finding import ORDER, Finding, Severity
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.words import own_words
from mash_plugin.errors import MashError, Sandboxed, plain_reason

Check = Callable[[Machine], Iterator[Finding]]
CATEGORIES: dict[str, tuple[Check, ...]] = {
    "places": (
        places.check_pins,
        places.check_run_folder,
        places.check_data_folders,
        places.check_writable,
        places.check_files,
        places.check_readers,
        places.check_secrets,
    ),
    "program": (
        program.check_link,
        program.check_interpreter,
        program.check_command,
        program.check_environments,
    ),
    "disk": (disk.check_file_system, disk.check_space, disk.check_sqlite),
    "settings": (
        settings.check_file,
        settings.check_marker,
        settings.check_switches,
        settings.check_project,
        settings.check_pauses,
    ),
    "store": (store.check_store, store.check_records, store.check_evidence, store.check_clock),
    "backups": (backups.check_backups, index.check_leftovers),
    "index": (index.check_index, index.check_unread, index.check_named_folders, index.check_queues),
    "projects": (projects.check_scopes,),
    "daemon": (daemon.check_daemon,),
    "group": (group.check_connection, group.check_publication, group.check_copies),
    "throughline": (throughline.check_throughline,),
    "agents": (
        *(agents.check_folder, agents.check_agents),
        *(heartbeats.check_heartbeats, heartbeats.check_late_hooks),
    ),
}


class Found(NamedTuple):
    """A finding in its category."""

    category: str
    finding: Finding


class Repaired(NamedTuple):
    """What became of one repair."""

    found: Found
    is_done: bool
    text: str


def examine(machine: Machine, categories: Sequence[str] = ()) -> list[Found]:
    """Look at everything, or at some categories; a check that fails is a finding itself.

    Raises Sandboxed: from in there nothing could be told rightly.
    """
    return [
        Found(category, finding)
        for category in categories or CATEGORIES
        for check in CATEGORIES[category]
        for finding in _safely(check, machine)
    ]


def worst(found: Iterable[Found]) -> Severity:
    """The gravest severity among the findings."""
    ranks = [ORDER.index(one.finding.severity) for one in found]
    return ORDER[max(ranks, default=0)]


def repair(found: Iterable[Found], may_move: Callable[[str], bool]) -> Iterator[Repaired]:
    """Do every repair there is; `may_move` asks the person where data moves."""
    for one in found:
        mending = one.finding.repair
        if mending is None:
            continue
        if mending.question and not may_move(mending.question):
            yield Repaired(one, False, "left as it is: nobody said yes")
            continue
        try:
            yield Repaired(one, True, mending.run())
        except MashError as error:
            yield Repaired(one, False, own_words(error.message))
        except OSError as error:
            yield Repaired(one, False, _told(error))


def _safely(check: Check, machine: Machine) -> list[Finding]:
    found: list[Finding] = []
    try:
        for finding in check(machine):
            found.append(finding)  # noqa: PERF402 - what came before the failure counts
    except Sandboxed:
        raise
    except MashError as error:
        found.append(_failed(check, own_words(error.message)))
    except (OSError, apsw.Error) as error:
        found.append(_failed(check, f"{_told(error)}."))
    return found


def _told(error: Exception) -> str:
    place = getattr(error, "filename", None)
    return f"{place}: {plain_reason(error)}" if place else plain_reason(error)


def _failed(check: Check, text: str) -> Finding:
    name = check.__name__.removeprefix("check_").replace("_", " ")
    why = f"the check of the {name} could not go on"
    return Finding("check-failed", "error", text, why, "mash bug-report")
