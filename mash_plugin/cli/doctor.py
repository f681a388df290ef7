"""`mash doctor`: every part looked at, and for what is wrong the exact command that helps."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import click
import orjson

from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.plugin import Place
from mash_plugin.cli.plugin import launch_of, read_folder, render, source_folder
from mash_plugin.cli.running import find_running, this_program
from mash_plugin.config import read_settings
from mash_plugin.errors import (
    DiskFull,
    MashError,
    ReadOnly,
    Sandboxed,
    StoreDamaged,
    UnsafePlace,
)
from mash_plugin.paths import Paths, find_paths, pin_file
from mash_plugin.render.text import clean, local_date

INTERPRETER_TIMEOUT_S = 20
COUNTED = {"records": "records", "revisions": "revisions of them", "evidence": "quotes"}
MARKS = {"ok": "ok ", "note": "-- ", "problem": "!! "}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    part: str
    state: Literal["ok", "note", "problem"]
    text: str
    fix: str = ""
    """The command that repairs it, to be copied as it stands."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> int:
    """Check everything and print, for each fault, the command that repairs it."""
    from mash_plugin import client

    paths = find_paths(os.environ)
    client.refuse_sandbox()
    findings: list[Finding] = []
    for part, check in CHECKS:
        try:
            findings += check(paths)
        except Sandboxed:
            raise
        except MashError as error:
            findings.append(Finding(part, "problem", _own_words(error.message)))
        except OSError as error:
            findings.append(Finding(part, "problem", f"{error}."))
    has_problem = any(finding.state == "problem" for finding in findings)
    if as_json:
        shown = {"ok": not has_problem, "findings": [asdict(finding) for finding in findings]}
        click.echo(orjson.dumps(shown).decode())
    else:
        _print(findings)
    return 1 if has_problem else 0


def _own_words(message: str) -> str:
    """The message without its advice to call this very command, or to retry a tool's call."""
    message = re.sub(r"[;,.]? ?(?:[Ss]ee|[Rr]un) `mash doctor`[^.]*", "", message)
    message = re.sub(r"\.? ?Retry the same operation(?: ID)?\.?", "", message)
    return f"{message.rstrip(' .')}."


def _restart_after(error: MashError) -> str:
    """Starting anew is no help against a disk or a folder that cannot be used."""
    is_place = isinstance(error, DiskFull | ReadOnly | StoreDamaged | UnsafePlace)
    texts = ("read-only", "read only", "permission denied", "no space left", "cannot be used")
    says_place = any(text in error.message.lower() for text in texts)
    return "" if is_place or says_place else "mash daemon restart"


def _is_agent_here() -> bool:
    return any(host.find_place(os.environ).client for host in HOSTS)


def _print(findings: list[Finding]) -> None:
    for finding in findings:
        click.echo(f"{MARKS[finding.state]}{finding.part}: {clean(finding.text)}")
        if finding.fix:
            click.echo(f"   -> {finding.fix}")


def check_places(paths: Paths) -> Iterator[Finding]:
    """Folders, pins and the configuration file."""
    if paths.home is None and not os.path.exists(pin_file()):
        yield Finding("places", "problem", f"{pin_file()} is missing", "mash init")
    else:
        yield Finding("places", "ok", f"data {paths.data}, run {paths.run}")
    from mash_plugin.chats.switches import list_faults

    settings = read_settings(paths.config_file, {})
    edit = f"${{EDITOR:-vi}} {shlex.quote(paths.config_file)}"
    if settings.problem:
        text = f"{settings.problem}; a daemon that could read it before still uses what it said"
        yield Finding("configuration", "problem", text, edit)
    warnings = [*settings.warnings, *list_faults(settings)]
    for warning in warnings:
        yield Finding("configuration", "problem", warning, edit)
    if not settings.problem and not warnings:
        yield Finding("configuration", "ok", paths.config_file)
    yield from _check_marker()


def _check_marker() -> Iterator[Finding]:
    """What in the `.mash` file of the current project has no effect."""
    from mash_plugin.chats.project import project_of
    from mash_plugin.chats.switches import marker_faults

    with suppress(OSError):  # the current folder may be gone
        for fault in marker_faults(project_of(os.getcwd())):
            yield Finding("project", "problem", fault)


def check_store(paths: Paths) -> Iterator[Finding]:
    """The record store as it lies on disk, and its last backup."""
    from mash_plugin.store.checks import store_report

    report = store_report(paths)
    if report.too_open:
        fix = f"chmod go= {shlex.join(report.too_open)}"
        yield Finding("store", "problem", f"others may read {', '.join(report.too_open)}", fix)
    if report.state == "missing" and not report.restore_command:
        yield Finding("store", "note", "nothing is stored yet; it is made when the daemon starts")
        return
    if report.state != "ok":
        text = _own_words(report.problem or f"the store is {report.state}")
        yield Finding("store", "problem", text, report.restore_command or "")
        return
    names = {table: name for table, name in COUNTED.items() if table in report.counts}
    counts = ", ".join(f"{report.counts[table]} {name}" for table, name in names.items())
    yield Finding("store", "ok", f"{report.path}: {counts}")
    if report.last_backup_at is None:
        yield Finding("backup", "note", "none yet; one is made on every day of use")
    else:
        yield Finding(
            "backup", "ok", f"{report.last_backup} of {local_date(report.last_backup_at, None)}"
        )


def check_daemon(paths: Paths) -> Iterator[Finding]:
    """Whether it answers, or starts when it must."""
    from mash_plugin import client

    try:
        status = client.call("status", {}, paths=paths)
    except Sandboxed:
        raise  # nothing that follows could be told rightly from in here
    except MashError as error:
        yield Finding("daemon", "problem", _own_words(error.message), _restart_after(error))
        return
    if status.get("problem"):
        yield Finding("daemon", "problem", _own_words(status["problem"]["message"]))
    yield Finding("daemon", "ok", f"answers (process {status.get('pid')})")
    running = find_running(paths)
    if running is not None and not running.is_this:
        ours = f"version {version('mash-plugin')} from {this_program()}"
        text = f"{running.name} runs, but this is {ours}"
        yield Finding("daemon", "problem", text, "mash daemon restart")


def check_interpreter(paths: Paths) -> Iterator[Finding]:
    """The Python that the hooks' commands name."""
    interpreter = launch_of(paths).interpreter
    rendered = _interpreter_in_hooks(paths)
    for path in dict.fromkeys(filter(None, (rendered, interpreter))):
        problem = _problem_of(path)
        if problem:
            text = f"{path} {problem}; hooks stay silent"
            yield Finding("interpreter", "problem", text, "scripts/install   (in the checkout)")
        else:
            yield Finding("interpreter", "ok", path)


def check_plugin(paths: Paths) -> Iterator[Finding]:
    """The folder that the agents installed, against what this version renders."""
    folder = Path(paths.marketplace)
    if not folder.is_dir():
        fix = "mash init" if _is_agent_here() else ""
        yield Finding("plugin folder", "note", "not made yet: no agent was set up", fix)
    elif read_folder(folder) == render(source_folder(), launch_of(paths)):
        yield Finding("plugin folder", "ok", str(folder))
    else:
        text = f"{folder} is not what this version renders"
        yield Finding("plugin folder", "problem", text, "mash init")


def check_agents(paths: Paths) -> Iterator[Finding]:
    """Each agent: installed, allowed to run its hooks, and when a hook was last seen."""
    rendered = read_folder(Path(paths.marketplace)) if os.path.isdir(paths.marketplace) else {}
    seen = last_seen(paths)
    for host in HOSTS:
        place = host.find_place(os.environ)
        if place.client is None:
            text = "its command is not on PATH; once it is, run `mash init`"
            yield Finding(host.TITLE, "note", text)
            continue
        try:
            yield from _check_host(paths, host, place, rendered, seen)
        except MashError as error:
            yield Finding(host.TITLE, "problem", _own_words(error.message))


def _check_host(
    paths: Paths, host: Host, place: Place, rendered: Mapping[str, bytes], seen: Mapping[str, int]
) -> Iterator[Finding]:
    installed = host.inspect(place, Path(paths.marketplace), rendered)
    match installed.state:
        case "installed":
            yield Finding(host.TITLE, "ok", f"plugin installed in {place.config}")
            yield from _check_trust(host, place)
            if place.agent in seen:
                text = f"last hook seen {local_date(seen[place.agent], None)}"
                yield Finding(host.TITLE, "ok", text)
            else:
                text = "no hook was seen yet; restart it and send a prompt"
                yield Finding(host.TITLE, "note", text)
        case "disabled":
            yield Finding(host.TITLE, "note", "the plugin is switched off", installed.detail)
        case "broken":
            yield Finding(host.TITLE, "problem", installed.detail)
        case "absent" | "outdated":
            text = f"the plugin is {installed.state} in {place.config}"
            yield Finding(host.TITLE, "problem", text, "mash init")


def _check_trust(host: Host, place: Place) -> Iterator[Finding]:
    hooks = host.hook_trust(place, os.environ)
    off = [
        hook for hook in hooks if hook.status not in ("trusted", "managed") or not hook.is_enabled
    ]
    if off:
        states = ", ".join(sorted({hook.status if hook.is_enabled else "off" for hook in off}))
        text = f"{len(off)} of {len(hooks)} hooks do not run ({states})"
        yield Finding(host.TITLE, "problem", text, host.REVIEW_COMMAND)
    elif hooks:
        yield Finding(host.TITLE, "ok", f"all {len(hooks)} hooks are trusted")


def last_seen(paths: Paths) -> dict[str, int]:
    """When a hook of each agent was last answered, as far as a running daemon knows."""
    from mash_plugin import client

    seen: dict[str, int] = {}
    try:
        hooks = client.call("heartbeats", {}, start=False, paths=paths)["hooks"]
    except MashError:
        return seen
    for hook in hooks:
        seen[hook["agent"]] = max(hook["seen_at"], seen.get(hook["agent"], 0))
    return seen


def _interpreter_in_hooks(paths: Paths) -> str | None:
    file = Path(paths.marketplace) / "mash" / "hooks" / "hooks.json"
    try:
        groups: dict[str, Any] = orjson.loads(file.read_bytes())["hooks"]
        return shlex.split(groups["SessionStart"][0]["hooks"][0]["command"])[0]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _problem_of(interpreter: str) -> str | None:
    if not os.path.exists(interpreter):
        return "is gone"
    command = [interpreter, "-I", "-m", "mash_plugin", "--version"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=INTERPRETER_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "does not run"
    return None if done.returncode == 0 else "cannot import mash"


CHECKS: tuple[tuple[str, Callable[[Paths], Iterator[Finding]]], ...] = (
    ("places", check_places),
    ("store", check_store),
    ("daemon", check_daemon),
    ("interpreter", check_interpreter),
    ("plugin folder", check_plugin),
    ("agents", check_agents),
)
