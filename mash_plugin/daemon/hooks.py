"""What the four hooks answer. An answer never raises and never waits for a disk."""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mash_plugin.agents import HOOKED
from mash_plugin.agents.hook_event import HookEvent
from mash_plugin.agents.payload import CHECK_SESSION, CHECK_TEXT, read_payload
from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.switches import MARKER_SWITCHES, is_denied, switched_off
from mash_plugin.daemon import clock
from mash_plugin.daemon import hook_parts as parts
from mash_plugin.daemon.delivery import Delivery
from mash_plugin.daemon.hook_call import Hook, HookNode
from mash_plugin.daemon.hook_starts import made_up, session_start
from mash_plugin.daemon.log import place_of
from mash_plugin.memory.call import Caller
from mash_plugin.memory.masking import masking
from mash_plugin.render import context, notes
from mash_plugin.render.text import shown_bytes
from mash_plugin.store.session_rows import CHAT, NOTED_WITH_PROMPT, SessionState

if TYPE_CHECKING:  # a hook's first answer needs no transcripts
    from mash_plugin.agents.events import HookedAgent

BUDGET_S = 0.1
PATIENCE = 0.7
"""The share of the budget that is left to the chats when the records are slow."""


class DueNote(NamedTuple):
    """Why a prompt brings a note."""

    is_lasting: bool
    is_due: bool
    was_told: bool
    is_for_all: bool = False
    """Whether it is to hold wherever the person works."""


def answer(
    node: HookNode,
    name: str,
    agent: str,
    switches: Mapping[str, str],
    body: bytes,
    delivery: Delivery | None = None,
) -> bytes:
    """The bytes that this hook prints: one JSON object, or nothing."""
    until = time.monotonic() + BUDGET_S
    way = delivery or Delivery()
    try:
        host = HOOKED.get(agent)
        event = host.parse_event(name, read_payload(body)) if host else None
        if host is None or event is None:
            return b""
        if event.session_id == CHECK_SESSION:
            node.call(Caller(event.agent, event.session_id), 0, switches)  # the store must be open
            return host.wrap_context(event, CHECK_TEXT)
        hook = _prepare(node, name, host, event, switches, until, way)
        if hook is None:
            return b""
        shown = masking(hook.call.settings)  # also over what its parts do not mask themselves
        text = shown(_text(hook))
        if text:
            told = "subagent-start" if event.name == "SubagentStart" else name
            size = len(text.encode("utf-8", "replace"))
            node.hook_state.ledger.add(event.session_id, told, size)
            way.undo.append(partial(node.hook_state.ledger.take_back, event.session_id, told, size))
        return host.wrap_context(event, text)
    except Exception as error:  # the hook's boundary: silence
        with suppress(Exception):
            node.on_hook_failure(name, place_of(error))
        way.take_back()
        return b""
    finally:
        if delivery is None:  # nobody will tell what became of it
            way.end()


def _prepare(
    node: HookNode,
    name: str,
    host: "HookedAgent",
    event: HookEvent,
    switches: Mapping[str, str],
    until: float,
    way: Delivery,
) -> Hook | None:
    """Note that the hook ran and find out what it may do; None where it must be silent."""
    now = clock.now_ms(switches.get("MASH_TEST_NOW_MS"))
    call = node.call(Caller(event.agent, event.session_id, event.tool_use_id), now, switches)
    settings = call.settings
    project = project_of(event.cwd)
    if settings.is_internal or is_denied(project, settings.deny):
        return None
    off = switched_off(project)
    if off.issuperset(MARKER_SWITCHES):  # the same as `deny`: not even its chats are hinted at
        return None
    may_index = "index" not in off and not is_denied(project, settings.no_index)
    session = _note_session(node, name, event, project, now, way, may_index=may_index)
    if node.hook_state.pauses.until(parts.pause_targets(project, event.session_id), now):
        return None
    may_recall = _may(settings.recall, "recall", off, project, settings.no_recall)
    return Hook(
        node=node,
        host=host,
        event=event,
        call=call,
        session=session,
        project=project,
        # Nothing can be saved from a session whose transcript is not read.
        may_capture=may_index
        and _may(settings.capture, "capture", off, project, settings.no_capture),
        may_recall=may_recall,
        may_group=may_recall and call.group is not None and "group" not in off,
        until=until,
        patient_until=until - BUDGET_S * PATIENCE,
        undo=way.undo,
    )


def _note_session(
    node: HookNode,
    name: str,
    event: HookEvent,
    project: Project | None,
    now: int,
    way: Delivery,
    *,
    may_index: bool,
) -> SessionState:
    place, start = project.place if project else None, None
    if event.name == "SessionStart" and not event.is_subagent:
        start = threading.Event()
        way.whenever.append(start.set)
    session = node.hook_state.touch(event.session_id, event.agent, name, now, place, start)
    if event.transcript_path and may_index and name != "file-read":
        node.index_soon(event.agent, event.transcript_path)
    if event.name == "SessionEnd":
        node.hook_state.end(event.session_id)
        node.session_ended(event.session_id)
    return session


def _may(
    setting: bool, key: str, off: frozenset[str], project: Project | None, denied: tuple[str, ...]
) -> bool:
    return setting and key not in off and not is_denied(project, denied)


def _text(hook: Hook) -> str:
    match hook.event.name:
        case "SessionStart":
            return session_start(hook)
        case "UserPromptSubmit":
            return _prompt_submit(hook)
        case "PreToolUse" | "PostToolUse":
            return _file_read(hook)
        case "SubagentStart":
            return _subagent_start(hook)
        case _:
            return ""  # Stop and SessionEnd never speak


def _subagent_start(hook: Hook) -> str:
    """What the person settled for the project, once for each subagent, where it is wanted."""
    event, call = hook.event, hook.call
    if not (call.settings.subagents and hook.may_recall and event.agent_id):
        return ""
    found = parts.project_preferences(call, hook.project)
    hook.find([found], None)
    records = hook.take(found) or []
    ids = [record["id"] for record in records]
    new = hook.claim("", ids)
    return context.subagent_start([record for record in records if record["id"] in new])


def _prompt_submit(hook: Hook) -> str:
    if hook.event.is_subagent:
        return ""
    due = None if hook.event.is_machine_made else _due_note(hook)
    longest = notes.both(hook.host.TOOL_PREFIX, hook.event.session_id, hook.scope) if due else ""
    start = made_up(hook, longest)
    if not (hook.event.is_machine_made or hook.session.owed):
        hook.session.shown_since_prompt.clear()
    text = context.joined(start, _note(hook, due) if due else "")
    return text if context.fits(text) else start


def _due_note(hook: Hook) -> DueNote | None:
    event, now = hook.event, hook.call.now
    if not hook.may_capture:
        return None
    from mash_plugin.records import cues  # only prompts need its patterns

    before = hook.session.last_reminder_at
    is_due = hook.node.hook_state.claim_reminder(event.session_id, now, cues.reminder_due)
    prompt = event.prompt or ""
    verdict = cues.judge(prompt)
    is_lasting = verdict.is_lasting
    is_answer = verdict.waits_for or verdict.may_answer
    if is_answer and not is_lasting:  # to which question?
        offer = parts.last_said(hook.call, event.agent, event.session_id)
        hook.find([], offer)
        is_lasting = cues.reads_lasting(prompt, hook.take(offer))
    if not (is_lasting or is_due):
        return None
    still = before if is_due else hook.session.last_reminder_at
    hook.undo.append(partial(hook.node.hook_state.give_back_note, event.session_id, still))
    hook.note([NOTED_WITH_PROMPT])
    is_for_all = is_lasting and cues.is_for_all_projects(prompt)
    return DueNote(is_lasting, is_due, before is not None, is_for_all)


def _note(hook: Hook, due: DueNote) -> str:
    """The note that is due; how to cite, most of its text, is said once for each in a context."""
    tools, session_id = hook.host.TOOL_PREFIX, hook.event.session_id
    is_lasting, is_due, was_told, is_for_all = due
    told_by = hook.session.told_to_cite_by
    if not is_lasting and (told_by or was_told):
        return notes.sweep_again(tools)
    if is_lasting and told_by == "prompt" and not is_for_all:
        again = notes.both_again if is_due else notes.reads_lasting_again
        return again(tools, session_id)
    hook.session.told_to_cite_by = "prompt"
    word = notes.sweep if not is_lasting else notes.both if is_due else notes.reads_lasting
    return word(tools, session_id, parts.PERSONAL_SCOPE if is_for_all else hook.scope)


def _file_read(hook: Hook) -> str:
    event, call, project = hook.event, hook.call, hook.project
    if not call.settings.file_recall or project is None:
        return ""
    files = hook.host.files_read(event, hook.node.transcript_roots())
    named = (parts.path_in_project(project, file) for file in files)
    paths = list(dict.fromkeys(path for path in named if path))
    if not paths:
        return ""
    reader, state = event.agent_id or "", hook.node.hook_state
    since = {p: state.records_shown_at(event.session_id, reader, p) for p in paths}
    found = parts.file_records(call, project, since) if hook.may_recall else None
    found_chats = parts.file_chats(call, project, paths, event.session_id)
    hook.find([found] if found else [], found_chats)
    records, chats = hook.take(found) or {}, hook.take(found_chats) or {}
    texts, room = [], context.BLOCK_BYTES
    for path in paths:
        text = _file_text(hook, path, records.get(path, []), chats.get(path, []), room)
        if text:
            texts.append(text)
            room -= shown_bytes(text) if len(paths) > 1 else 0
    return "\n\n".join(texts)


def _file_text(
    hook: Hook, path: str, records: parts.Records, chats: list[context.ChatHint], room: int
) -> str:
    """What this reader has not yet seen with this file, and of chats with any file.

    A subagent reads with its own context.
    """
    if chats:
        known = hook.chats_shown_with_files()
        chats = [chat for chat in chats if f"{CHAT}{chat.id}" not in known]
    new = hook.claim(path, [r["id"] for r in records] + [f"{CHAT}{c.id}" for c in chats])
    text = context.file_read(
        path,
        [r for r in records if r["id"] in new],
        [c for c in chats if f"{CHAT}{c.id}" in new],
        hook.host.TOOL_PREFIX,
    )
    if not context.fits(text, room):
        text = ""
    unseen = [i for i in new if i.removeprefix(CHAT) not in text]
    if unseen:
        session_id, reader = hook.event.session_id, hook.event.agent_id or ""
        hook.node.hook_state.take_back(session_id, reader, path, unseen, hook.call.now)
    return text
