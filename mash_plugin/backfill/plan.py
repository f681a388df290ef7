"""Which chats are to be reviewed, and what keeps the others from it."""

from typing import NamedTuple

from mash_plugin import client
from mash_plugin.paths import Paths
from mash_plugin.render.text import local_date

MOST_REVIEWS = 100
PLAN_TIMEOUT_S = 600.0
BYTES_PER_TOKEN = 4
TOO_LONG = "it is too long to be read whole in one review"


class Planned(NamedTuple):
    """One chat of the window."""

    chat_id: str
    title: str
    agent: str
    bytes: int
    state: str
    """due, done, too_long, left_out or empty."""
    has_failed: bool = False
    """Its last review was not saved."""


class Plan(NamedTuple):
    """All chats of the window, the newest first."""

    since: int
    chats: tuple[Planned, ...]

    @property
    def due(self) -> list[Planned]:
        """What is to be reviewed; what failed comes last, so that it cannot stop every run."""
        return sorted(self.of("due"), key=lambda chat: chat.has_failed)

    def of(self, state: str) -> list[Planned]:
        """The chats in one state."""
        return [chat for chat in self.chats if chat.state == state]

    @property
    def tokens(self) -> int:
        """About how much the chats of one run give an agent to read."""
        return sum(chat.bytes for chat in self.of("due")[:MOST_REVIEWS]) // BYTES_PER_TOKEN

    def summary(self) -> str:
        """What would be done, in one or two lines."""
        due, done = len(self.of("due")), len(self.of("done"))
        text = f"Chats since {local_date(self.since)}: {due} to review"
        text += f" (about {_rounded(self.tokens)} tokens to read)" if due else ""
        text += f", {done} reviewed already" if done else ""
        for state, words in (("too_long", "too long"), ("left_out", "left out by your settings")):
            if count := len(self.of(state)):
                text += f", {count} {words}"
        if due > MOST_REVIEWS:
            text += f".\nOne run reviews {MOST_REVIEWS}; run it again for the rest"
        return text + "."


def make_plan(paths: Paths, since: int, chat_id: str | None = None) -> Plan:
    """Ask the daemon for the chats of the window, or for that chat alone."""
    params = {"since": since} | ({"chat_id": chat_id} if chat_id else {})
    found = client.call("review_plan", params, timeout_s=PLAN_TIMEOUT_S, paths=paths)
    return Plan(since, tuple(Planned(**chat) for chat in found["chats"]))


def _rounded(tokens: int) -> str:
    """A number that does not claim to be exact."""
    return f"{max(1, round(tokens / 1000)):,},000"
