"""Whom the person can have their chats reviewed by, and what they must know before."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import SubprocessError
from typing import NamedTuple

from mash_plugin.agents.headless import REVIEWERS, Reviewer
from mash_plugin.agents.plugin import Place
from mash_plugin.backfill.plan import Plan
from mash_plugin.errors import InvalidArgument
from mash_plugin.file_writing import write_private
from mash_plugin.paths import Paths


class Chosen(NamedTuple):
    """An agent that can review."""

    reviewer: Reviewer
    place: Place

    @property
    def name(self) -> str:
        return self.reviewer.NAME

    @property
    def title(self) -> str:
        return self.reviewer.TITLE


def find_reviewers(paths: Paths, environ: Mapping[str, str]) -> list[Chosen]:
    """Every agent that is there and says itself that the person is signed in."""
    found = []
    for reviewer in REVIEWERS.values():
        chosen = Chosen(reviewer, reviewer.find_place(environ))
        with suppress(InvalidArgument):  # one that does not tell is none to offer
            if chosen.place.client and _is_signed_in(paths, chosen, environ):
                found.append(chosen)
    return found


def choose(paths: Paths, environ: Mapping[str, str], name: str | None = None) -> Chosen:
    """That agent, or the only one; raises InvalidArgument where it cannot review."""
    if name is None:
        return _the_only(find_reviewers(paths, environ))
    if name not in REVIEWERS:
        known = ", ".join(REVIEWERS)
        raise InvalidArgument(f"There is no agent {name!r} to review chats; known: {known}.")
    reviewer = REVIEWERS[name]
    chosen = Chosen(reviewer, reviewer.find_place(environ))
    if chosen.place.client is None:
        raise InvalidArgument(
            f"The command of {chosen.title} is not on PATH. Install it, or add its folder to PATH."
        )
    if not _is_signed_in(paths, chosen, environ):
        raise InvalidArgument(
            f"You are not signed in to {chosen.title}: {reviewer.SIGN_IN}, then run this again."
        )
    return chosen


def offer_text(reviewers: Iterable[Chosen], plan: Plan) -> str:
    """What the wizard asks after indexing; empty where there is nothing to review."""
    titles = " or ".join(one.title for one in reviewers)
    if not plan.of("due") or not titles:
        return ""
    return (
        f"{titles} can read your chats of the last days once and note the decisions, preferences"
        " and facts in them as candidates. Nothing is settled by that: you or your agents"
        f" establish what is right later.\n{plan.summary()}"
    )


def notice(chosen: Chosen) -> str:
    """What a backfill costs and where the chats go (R-142)."""
    return (
        f"A backfill uses tokens of your {chosen.title} account, and sends the text of the chats"
        f" to the service behind {chosen.title}, also of chats that you had with another agent."
        " Private spans and known credentials are left out; output of tools is not sent."
    )


def is_declined(paths: Paths) -> bool:
    """Whether the person said no once: `mash init` does not ask again."""
    return os.path.exists(_no(paths))


def note_declined(paths: Paths) -> None:
    """Remember that the person said no."""
    write_private(_no(paths), "")


def _no(paths: Paths) -> str:
    return os.path.join(paths.reviews, "declined")


def _the_only(found: list[Chosen]) -> Chosen:
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(f"--agent {one.name}" for one in found)
        raise InvalidArgument(f"More than one agent can review: say which by {names}.")
    ways = "; ".join(f"{one.TITLE}: {one.SIGN_IN}" for one in REVIEWERS.values())
    raise InvalidArgument(f"No agent is there that you are signed in to. {ways}.")


def _is_signed_in(paths: Paths, chosen: Chosen, environ: Mapping[str, str]) -> bool:
    os.makedirs(paths.reviews, mode=0o700, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="status-", dir=paths.reviews)
    try:
        return chosen.reviewer.is_signed_in(chosen.place, Path(folder), environ)
    except (OSError, ValueError, SubprocessError) as error:
        raise InvalidArgument(
            f"{chosen.title} does not tell whether you are signed in ({error})."
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
