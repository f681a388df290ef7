"""`mash status`: for people, whether mash works, what it holds and what is switched off."""

import os
from typing import Any

import click
import orjson

from mash_plugin.agents.hosts import HOSTS
from mash_plugin.cli.session_ids import SessionId
from mash_plugin.cli.telling import tell
from mash_plugin.config import is_off
from mash_plugin.doctor.words import edit_line, late_hooks, own_words
from mash_plugin.errors import StoreDamaged
from mash_plugin.paths import find_paths
from mash_plugin.render.text import clean, local_date
from mash_plugin.wording import counted

SWITCH_NAMES = {
    "records": "records ([records] enabled)",
    "capture": "saving notes ([records] capture, MASH_RECORD_CAPTURE)",
    "recall": "records in hooks ([records] recall, MASH_RECORD_RECALL)",
    "file_recall": "hints at file reads ([recall] files, MASH_FILE_RECALL)",
}
STANDINGS = {
    "established": "established",
    "candidates": "unconfirmed",
    "retired": "superseded or withdrawn",
}
"""What is counted of the records; all else that is counted is named by its noun."""
NO_BACKUP = "no backup yet: one is made each day, `mash backup make` makes one now"
BYTES_PER_TOKEN = 4
OFF_HERE = {
    "everything": "everything",
    "capture": "saving notes",
    "recall": "records in hooks",
    "index": "reading its chats, and so saving from them",
    "group": "publishing to the group and recall from it",
}


@click.command()
@click.option(
    "--session", type=SessionId(), metavar="ID", help="What hooks gave one session; or `newest`."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(session: str | None, as_json: bool) -> int:
    """Show the daemon, the store, the agents' last hooks and what is switched off.

    With --session how many bytes each hook put into the context of that session. Exit code 1
    when the store is missing or damaged, nothing can be saved, or the settings cannot be read.
    """
    if session is not None:
        return _show_session(session, as_json=as_json)
    from mash_plugin import client
    from mash_plugin.store.checks import store_report

    paths = find_paths(os.environ)
    body = client.call("status", _here(), paths=paths)
    report = store_report(paths, is_thorough=False)
    body["last_backup_at"] = report.last_backup_at
    body["store"] = {"state": report.state, "size_bytes": report.size_bytes}
    if report.state in ("missing", "damaged") and not body.get("problem"):
        body["problem"] = {"code": StoreDamaged.code, "message": report.problem}
    if as_json:
        click.echo(orjson.dumps(body).decode())
    else:
        for line in _lines(body):
            tell(clean(line))
    return 1 if body.get("problem") or body.get("settings_problem") else 0


def _lines(body: dict[str, Any]) -> list[str]:
    places = body.get("places", {})
    lines = [f"Daemon: running (process {body.get('pid')}), log in {places.get('log')}"]
    if body.get("problem"):
        lines.append(f"PROBLEM: {_with_next(body['problem']['message'])}")
    counts = body.get("counts") or {}
    backup = body.get("last_backup_at")
    saved = f"last backup {local_date(backup)}" if backup else NO_BACKUP
    shown = ", ".join(_count_words(name, count) for name, count in _with_rest(counts).items())
    size = f"{body['store']['size_bytes'] / 1e6:.1f} MB"
    file = "is missing" if body["store"]["state"] == "missing" else size
    lines.append(f"Store: {shown or 'not open'}; records.db {file}, {saved}")
    lines.append(f"Places: data {places.get('data')}, settings {places.get('config')}")
    lines += _agent_lines(body.get("hooks") or [])
    if late := body.get("late_hooks"):
        lines.append(f"Late since yesterday: {late_hooks(late)} (`mash doctor` tells more)")
    if body.get("settings_problem"):
        edit = edit_line(places.get("config"))
        lines.append(f"PROBLEM: settings cannot be read: {body['settings_problem']}. Next: {edit}")
    lines += [f"PROBLEM in {places.get('config')}: {w}" for w in body.get("settings_warnings", ())]
    some = _project_lines(body)
    off = [SWITCH_NAMES.get(name, name) for name, is_on in _switches(body).items() if not is_on]
    lines += [_pause_line(pause) for pause in body.get("paused", ())]
    where = " for all projects" if some else ""
    return [*lines, *some, f"Switched off{where}: {', '.join(off) or 'nothing'}"]


def _with_rest(counts: dict[str, int]) -> dict[str, int]:
    """The counts with those records that are neither established nor unconfirmed any more."""
    retired = counts.get("records", 0) - counts.get("established", 0) - counts.get("candidates", 0)
    if retired <= 0:
        return counts
    names = ("records", "established", "candidates")
    first = {name: counts[name] for name in names if name in counts}
    return {**first, "retired": retired, **counts}


def _count_words(name: str, count: int) -> str:
    if name in STANDINGS:
        return f"{count} {STANDINGS[name]}"
    return counted(count, name.removesuffix("s"))


def _with_next(message: str) -> str:
    """The problem on one line, with one command: its own, else the doctor's."""
    text = own_words(message)
    return text if "To repair: " in text else f"{text} Next: mash doctor"


def _pause_line(pause: dict[str, Any]) -> str:
    from mash_plugin.cli.pause import ending, paused_words

    until = f"until {local_date(pause['until'])}" if pause["until"] else "until ended"
    what = paused_words(pause["target"], pause.get("session"))
    end = ending(pause["target"], is_here=pause.get("is_here", True))
    return f"Paused {until}: hooks in {what} ({end})"


def _show_session(session: str, *, as_json: bool) -> int:
    from mash_plugin import client
    from mash_plugin.cli.asking import plain
    from mash_plugin.cli.tables import print_table

    body = client.call("session_ledger", {"session": plain(session)})
    if as_json:
        click.echo(orjson.dumps(body).decode())
        return 0
    one, total = body["session"], body["total"]
    tell(clean(f"Session {one['session_id']} of {one['agent']}, {one['project'] or 'nowhere'}"))
    seen = [local_date(one[at]) for at in ("first_seen_at", "last_activity_at")]
    tell(f"First hook {seen[0]}, last hook {seen[1]}")
    rows = [(told["hook"], told["times"], told["bytes"]) for told in body["injected"]]
    rows.append(("in all", total["times"], total["bytes"]))
    print_table(
        [(hook, f"{times:,}", f"{size:,}") for hook, times, size in rows],
        ("Hook", "Notes", "Bytes given to the agent"),
    )
    tell(f"About {-(-total['bytes'] // BYTES_PER_TOKEN):,} tokens.")
    return 0


def _project_lines(body: dict[str, Any]) -> list[str]:
    """What is off for single projects: the lists, and the project of this folder."""
    lists = {name: entries for name, entries in (body.get("projects") or {}).items() if entries}
    lines = [f"Projects under {name}: {', '.join(entries)}" for name, entries in lists.items()]
    here = body.get("here") or {}
    lines += [f"PROBLEM in {warning}" for warning in here.get("warnings", ())]
    for off in here.get("off", ()):
        what = OFF_HERE[off["what"]]
        lines.append(f"Switched off in {here['project']}: {what} ({off['why']})")
    return lines


def _here() -> dict[str, Any]:
    try:
        return {"cwd": os.getcwd()}
    except OSError:  # the folder is gone
        return {}


def _agent_lines(hooks: list[dict[str, Any]]) -> list[str]:
    lines = []
    for host in HOSTS:
        place = host.find_place(os.environ)
        seen = [hook["seen_at"] for hook in hooks if hook["agent"] == place.agent]
        last = f"last hook {local_date(max(seen))}" if seen else "no hook seen yet"
        if not seen and place.client is None:
            last = "its command is not on PATH"
        elif not seen and host.REVIEW:
            last += " (new hooks must be reviewed there; `mash doctor` tells whether they are)"
        lines.append(f"{host.TITLE}: {last}")
    return lines


def _switches(body: dict[str, Any]) -> dict[str, bool]:
    """The file's switches under those of this shell: either one set to off means off."""
    switches = {name: bool(is_on) for name, is_on in (body.get("switches") or {}).items()}
    variables = {
        "capture": "MASH_RECORD_CAPTURE",
        "recall": "MASH_RECORD_RECALL",
        "file_recall": "MASH_FILE_RECALL",
    }
    for name, variable in variables.items():
        if is_off(os.environ.get(variable)):
            switches[name] = False
    return switches
