"""When each hook of each agent was last answered, and whether chats went by without."""

import os
from collections.abc import Iterator

from mash_plugin import client
from mash_plugin.agents.hosts import HOSTS
from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.words import late_hooks
from mash_plugin.errors import MashError
from mash_plugin.render.text import local_date
from mash_plugin.store.latency import late_answers
from mash_plugin.store.queries import load

SQL = load("doctor")
SESSIONS = load("sessions")
ALWAYS = ("session-start", "prompt-submit")
"""Every session of a person runs these."""
GRACE_MS = 10 * 60 * 1000
Beats = dict[str, dict[str, int]]


def check_heartbeats(machine: Machine) -> Iterator[Finding]:
    """Hooks that run leave a mark; a chat that is newer than all marks had none."""
    beats, chats = _beats(machine), _last_chats(machine)
    installed_at = _installed_at(machine)
    for host in HOSTS:
        place = host.find_place(machine.environ)
        if place.client is None or installed_at is None:
            continue
        seen = beats.get(place.agent, {})
        last = max(seen.values(), default=installed_at)
        chat = chats.get(place.agent, 0)
        if chat > last + GRACE_MS:
            text = f"{host.TITLE} was used {local_date(chat)}, but no hook ran then"
            known = f"the last hook ran {local_date(last)}" if seen else "none ever ran"
            why = f"{known}; an agent that runs since before mash was set up knows no hooks"
            line = f"restart {host.TITLE} and send a prompt, then: mash doctor --category agents"
            yield Finding("hooks-not-running", "warning", text, why, line)
        elif not seen:
            text = f"{host.TITLE}: no hook was seen yet"
            why = "they show here once they ran"
            line = f"restart {host.TITLE} and send a prompt"
            yield Finding("hooks-unseen", "note", text, why, line)
        else:
            yield from _seen_findings(host.TITLE, seen)


def check_late_hooks(machine: Machine) -> Iterator[Finding]:
    """Answers for which a hook no longer waited; told only where there were some."""
    try:
        asked = client.call("heartbeats", {}, start=False, timeout_s=3.0, paths=machine.paths)
        late: dict[str, int] = asked.get("late_hooks") or {}
    except MashError:
        if not machine.has_store:
            return
        with machine.reading(machine.paths.store) as db:
            late = late_answers(db, machine.now)
    if late:
        text = f"{late_hooks(late)} came too late since yesterday"
        why = (
            "the machine was busy, or the daemon had only just been started; what a session's"
            " start could not tell came with its next prompt, so nothing is lost"
        )
        line = f"nothing while it is rare; if it is not, see which in {machine.paths.log}"
        yield Finding("hooks-late", "note", text, why, line)


def _seen_findings(title: str, seen: dict[str, int]) -> Iterator[Finding]:
    shown = ", ".join(f"{hook} {local_date(at)}" for hook, at in sorted(seen.items()))
    missing = [hook for hook in ALWAYS if hook not in seen]
    if missing:
        text = f"{title}: {', '.join(missing)} was never seen; seen: {shown}"
        why = "a hook that the agent does not run, or a session that has had no prompt yet"
        line = f"send a prompt in {title}, then: mash doctor --category agents"
        yield Finding("hook-missing", "note", text, why, line)
    else:
        yield Finding("hooks-seen", "ok", f"{title}: {shown}")


def _beats(machine: Machine) -> Beats:
    """From the daemon, which writes them down late, else from the store."""
    try:
        rows = client.call("heartbeats", {}, start=False, timeout_s=3.0, paths=machine.paths)
        found = [(one["agent"], one["hook"], one["seen_at"]) for one in rows["hooks"]]
    except MashError:
        if not machine.has_store:
            return {}
        with machine.reading(machine.paths.store) as db:
            found = [tuple(row) for row in db.all(SESSIONS.list_heartbeats)]
    beats: Beats = {}
    for agent, hook, seen_at in found:
        beats.setdefault(str(agent), {})[str(hook)] = int(seen_at)
    return beats


def _last_chats(machine: Machine) -> dict[str, int]:
    """When each agent was last used by a person, as far as its chats were read."""
    if not os.path.exists(machine.paths.chats):
        return {}
    try:
        with machine.reading(machine.paths.chats) as db:
            return {str(source): int(at or 0) for source, at in db.all(SQL.last_chats)}
    except MashError:
        return {}  # told with the index


def _installed_at(machine: Machine) -> int | None:
    try:
        return int(os.stat(machine.paths.marketplace).st_mtime * 1000)
    except OSError:
        return None
