"""How one review ended, in plain words. Only the daemon's word makes it a success."""

from typing import NamedTuple

from mash_plugin.agents.reviewing import Ending
from mash_plugin.backfill.offer import Chosen
from mash_plugin.privacy.credentials import mask
from mash_plugin.render.text import clean, shorten

SAID_CHARACTERS = 300


class Outcome(NamedTuple):
    """A review that was saved, or why it was not."""

    is_saved: bool
    records_saved: int = 0
    kind: str = "saved"
    """saved, or: time_limit, not_signed_in, quota, refused, unreachable, not_saved, changed."""
    reason: str = ""


def unsaved(chosen: Chosen, ending: Ending, limit_s: float, *, is_late: bool) -> Outcome:
    """Why nothing was saved, with the agent's own words where it has any."""
    title = chosen.title
    if is_late:
        return Outcome(False, kind="time_limit", reason=f"{title} took more than {limit_s:g} s")
    kind, words = {
        "none": ("not_saved", f"{title} says that it saved, but it did not"),
        "not_signed_in": (
            "not_signed_in",
            f"{title} is not signed in any more ({chosen.reviewer.SIGN_IN})",
        ),
        "quota": ("quota", f"{title} has reached a limit of your account or its service"),
        "refused": ("refused", f"{title} refused to review this chat"),
        "unreachable": ("unreachable", f"{title} did not reach its service"),
        "failed": ("not_saved", f"{title} did not finish the review"),
    }[ending.failure]
    said = shorten(clean(mask(ending.said)), SAID_CHARACTERS)
    return Outcome(False, kind=kind, reason=f"{words}: {said}" if said else words)
