"""What a session's start is answered with, and what makes up for a start that never arrived."""

import time
from functools import partial
from typing import Literal, NamedTuple

from mash_plugin.daemon import hook_parts as parts
from mash_plugin.daemon.hook_call import Hook, shown_as
from mash_plugin.render import context, notes
from mash_plugin.render.text import shown_bytes
from mash_plugin.store.session_rows import CHAT, LONG_AGO, NOTED_AT_START, NOTED_WITH_PROMPT

NOTE = "note"
"""The saving note among the IDs of what was shown."""
SOURCES = ("startup", "resume", "clear", "compact", "fork")


class Told(NamedTuple):
    """What was found for the block of a start."""

    records: parts.Records
    own: parts.Records
    hints: list[context.ChatHint]
    elsewhere: list[context.Elsewhere]
    group: context.FromGroup


def session_start(hook: Hook) -> str:
    """What a session is told at its start, or when it goes on."""
    event, state = hook.event, hook.node.hook_state
    if event.is_subagent:
        return ""
    source = event.source if event.source in SOURCES else "startup"
    told_at = hook.session.last_full_block_at
    if source == "resume" and told_at is not None:
        return _resumed(hook, told_at)
    if not state.claim_block(event.session_id, source, hook.call.now):
        return ""
    still = None if source == "compact" else told_at
    hook.undo.append(partial(state.give_back_block, event.session_id, source, still))
    return _full_block(hook, source)


def made_up(hook: Hook, longest: str) -> str:
    """What the session's start should have told, where its answer never came: with a prompt, once.

    The hook of a start that is still being answered has given up, or is about to print it.
    `longest` may stand below it.
    """
    session, session_id = hook.session, hook.event.session_id
    if session.start_under_way is not None:
        session.start_under_way.wait(max(0.0, hook.until - time.monotonic()))
    if session.owed is None:
        return ""
    state, told_at = hook.node.hook_state, session.last_full_block_at
    before = frozenset(session.shown_since_prompt)
    source = state.claim_owed(session_id, hook.call.now)
    if source is None:  # another prompt brings it
        return ""
    if source == "resume" and told_at is not None:
        return _resumed(hook, told_at)
    hook.undo.append(partial(state.give_back_block, session_id, source, told_at, before))
    room = context.BLOCK_BYTES
    if context.fits(longest):  # the prompt's own note stands below, and within the same limit
        room -= shown_bytes(longest)
    return _full_block(hook, source, before, room)


def _full_block(
    hook: Hook,
    source: str,
    before: frozenset[str] | None = None,
    room: int = context.BLOCK_BYTES,
) -> str:
    """The block of a start; with `before` of one that is made up for, without what did arrive."""
    event, call, state = hook.event, hook.call, hook.node.hook_state
    records = parts.project_records(call, hook.project, hook.branch) if hook.may_recall else None
    wants_personal = hook.may_recall and call.settings.personal_at_start
    personal = parts.personal_records(call) if wants_personal else None
    chats = parts.project_chats(call, hook.project, event.session_id)
    group = parts.group_records(call, hook.project) if hook.may_group else None
    hook.find([p for p in (records, personal, group) if p], chats)
    wants_elsewhere = hook.may_recall and call.settings.capture_sessions
    elsewhere = parts.elsewhere(call, hook.project, event.session_id) if wants_elsewhere else None
    found, own, hints = hook.take(records), hook.take(personal) or [], hook.take(chats) or []
    shared = hook.take(group) or context.NOTHING_SHARED
    if found is None:
        state.note_block(event.session_id, LONG_AGO)
    if any(map(parts.is_late, (records, personal, chats))):
        state.owe(event.session_id, source)
    told = Told(found or [], own, hints, hook.take(elsewhere) or [], shared)
    return _block_of(hook, told, before, room)


def _block_of(hook: Hook, told: Told, before: frozenset[str] | None, room: int) -> str:
    """The block without what another start brings to the same prompt."""
    session, tools = hook.session, hook.host.TOOL_PREFIX
    by: Literal["start", "prompt"] = "start" if before is None else "prompt"
    if before is None:
        before = frozenset(session.shown_since_prompt if hook.host.STARTS_WITH_PROMPT else ())
    records = [record for record in told.records if record["id"] not in before]
    own = [record for record in told.own if record["id"] not in before]
    hints = [hint for hint in told.hints if f"{CHAT}{hint.id}" not in before]
    note = ""
    if hook.may_capture and NOTE not in before:
        note = notes.saving(tools, hook.event.session_id, hook.scope)
    more = notes.more(tools) if records and not hook.may_capture else ""
    shared = [record for record in told.group.records if shown_as(record) not in before]
    group = told.group._replace(records=shared)
    text = context.session_start(
        records, own, hints, note or more, tools, told.elsewhere, group, room
    )
    if NOTE not in before:
        session.told_to_cite_by = by if note and note in text else None
    if note and note in text:
        session.shown_since_prompt.add(NOTE)
        hook.note([NOTED_AT_START if by == "start" else NOTED_WITH_PROMPT])
    return hook.noted([*records, *own], hints, text, group)


def _resumed(hook: Hook, told_at: int) -> str:
    """What changed since: the rest still stands in the session's context."""
    if not hook.may_recall:
        return ""
    state, session_id = hook.node.hook_state, hook.event.session_id
    told = state.records_in_context(session_id)
    found = parts.changed_records(hook.call, hook.project, told_at, hook.branch, told)
    hook.find([found], None)
    changed = hook.take(found)
    if parts.is_late(found):
        state.owe(session_id, "resume")
    if changed is None or not any(changed):
        return ""
    state.note_block(session_id, hook.call.now)
    hook.undo.append(partial(state.give_back_block, session_id, "resume", told_at))
    return hook.noted(changed.records, [], context.resumed(*changed))
