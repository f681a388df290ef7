"""The end of `mash init`: does it answer, what is remembered, what is to be done by hand."""

import os
from typing import Any

from mash_plugin.cli.telling import tell
from mash_plugin.cli.wizard.check import check_hook
from mash_plugin.cli.wizard.found import Found, titles_of
from mash_plugin.cli.wizard.plan import Choices, Plan, captures_sessions
from mash_plugin.cli.wizard.steps import Done
from mash_plugin.errors import MashError
from mash_plugin.paths import Paths
from mash_plugin.render.text import clean, local_date

PAGE = 20
Json = dict[str, Any]
NO_AGENT = (
    "Neither `claude` nor `codex` is on PATH: nothing to install into. Once one is, run `mash init`"
    " again and restart the agent."
)
SESSIONS_OFF = (
    "Off unless you want it: working memories of ended sessions, shown where the next one begins."
    " `mash init --capture-sessions` switches them on."
)
EXAMPLE = (
    'Try it: tell an agent a decision, such as "We use tabs here from now on, that\'s decided."'
    " The next session, in either agent, is reminded of it by itself. `mash status` shows how it"
    " goes."
)


def tell_end(plan: Plan, choices: Choices, done: Done) -> int:
    """Check the hooks, show one record or how to make one, and what comes next; the exit code."""
    if not choices.wants_agents:
        return 0
    if not plan.agents:
        tell(NO_AGENT)
        return 0
    silent = [one for one in done.working if _is_on(one) and not _answers(one, plan)]
    if done.working:
        _tell_record(plan.paths)
    if asking := [one for one in done.changed if not one.host.may_save(one.place)]:
        who = titles_of(asking)
        tell(f"{who} will ask before each save; `mash init --allow-saving` ends that.")
    for one in done.working:
        _tell_review(one)
    if done.changed and not captures_sessions(plan.paths):
        tell(f"\n{SESSIONS_OFF}")
    if done.changed:
        titles = titles_of(done.changed)
        tell(f"\nRestart {titles} now (end it and start it again), so that mash is loaded.")
    elif not done.has_failed:
        tell("\nNo agent had to be changed; none needs a restart.")
    if without := [one for one in plan.agents if one not in done.working]:
        titles = titles_of(without)
        tell(
            f"\nmash: not set up: {titles}. The reason stands above; `mash init` again then.",
            err=True,
        )
    return 1 if done.has_failed or silent else 0


def _is_on(one: Found) -> bool:
    return one.installed.state != "disabled"


def _answers(one: Found, plan: Plan) -> bool:
    problem = check_hook(one, plan.folder)
    if problem is None:
        tell(f"{one.title}: checked, a hook answers.")
        return True
    tell(f"mash: {one.title}: no hook answers: {problem}. See `mash doctor`.", err=True)
    return False


def _tell_record(paths: Paths) -> None:
    from mash_plugin.cli.record_words import kind_words

    one = _newest(paths, {}) or _newest(paths, {"include_inactive": True})
    if one is None:
        tell(f"\n{EXAMPLE}")
        return
    tell(f"\nThe newest record: {kind_words(one)} of {local_date(one['recorded_at'])}")
    tell(f"  {clean(one['statement'])}")
    tell(f"  With its evidence: mash record {clean(one['id'])[:12]}")


def _newest(paths: Paths, request: Json) -> Json | None:
    """The newest record whose text may be shown, and that is not out of force."""
    from mash_plugin import client

    try:
        found = client.call("list_records", {"limit": PAGE, **request}, paths=paths)["records"]
    except MashError:
        return None
    shown = (r for r in found if "statement" in r and r["status"] != "inactive")
    return next(shown, None)


def _tell_review(one: Found) -> None:
    """Say what the person must do for the hooks to run, now or since an earlier time."""
    advice = one.host.REVIEW or f"{one.title} runs no hooks: {one.host.REVIEW_COMMAND}."
    try:
        hooks = one.host.hook_trust(one.place, os.environ)
    except MashError:
        if one.is_due and one.host.REVIEW:
            tell(f"\n{advice}")
        return
    if any(hook.status not in ("trusted", "managed") for hook in hooks):
        tell(f"\n{advice}")
