"""The one conversation that every run cites, and what its words can carry.

Written from the specification: nothing here looks at the rules that are tested.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Speaker = Literal["words", "bare", "proposal", "agent", "tool", "notice"]
Purpose = Literal["context", "endorsement", "report"]
ROUNDS = 4
SPEAKERS: tuple[Speaker, ...] = ("proposal", "bare", "words", "agent", "tool", "notice")
"""In the order of the transcript: each bare approval directly follows its proposal."""
_TEXTS: dict[Speaker, str] = {
    "proposal": "I propose plan {0}, which keeps the parser small.",
    "bare": "yes",
    "words": "Let's keep plan {0} from now on.",
    "agent": "I split module {0} because the parser is reused.",
    "tool": "The page says that limit {0} is a hundred megabytes.",
    "notice": "Background task {0} has finished with status zero.",
}


class Cite(NamedTuple):
    """One citation: the whole text of one message."""

    speaker: Speaker
    round: int
    purpose: Purpose

    @property
    def message(self) -> tuple[Speaker, int]:
        """What is cited, whatever for."""
        return self.speaker, self.round

    @property
    def is_persons(self) -> bool:
        """Whether the person typed it."""
        return self.speaker in ("words", "bare")

    @property
    def is_agents(self) -> bool:
        """Whether it explains a choice in the agent's own words."""
        return self.speaker in ("proposal", "agent") and self.purpose != "endorsement"


Cites = tuple[Cite, ...]


def messages() -> Iterator[tuple[Speaker, int, str]]:
    """The conversation from its first line to its last."""
    for number in range(ROUNDS):
        for speaker in SPEAKERS:
            yield speaker, number, text_of(speaker, number)


def text_of(speaker: Speaker, number: int) -> str:
    """What was said."""
    return _TEXTS[speaker].format(number)


SORTS: dict[str, tuple[tuple[Speaker, Purpose], ...]] = {
    "both": (("agent", "context"), ("words", "endorsement")),
    "person": (("words", "endorsement"),),
    "agent": (("agent", "context"),),
    "approved proposal": (("proposal", "context"), ("bare", "endorsement")),
    "agent's report": (("proposal", "report"),),
    "person in passing": (("words", "context"),),
    "person's report": (("words", "report"),),
    "bare approval": (("bare", "endorsement"),),
    "tool": (("tool", "report"),),
    "notice": (("notice", "report"),),
    "agent as person": (("agent", "endorsement"),),
    "notice as person": (("notice", "endorsement"),),
    "nothing": (),
}
"""What a change can bring along, by name."""


def cites_of(sort: str, number: int) -> Cites:
    """The citations of one sort in one round of the conversation."""
    return tuple(Cite(speaker, number, purpose) for speaker, purpose in SORTS[sort])


def misattributed(cites: Sequence[Cite]) -> bool:
    """Whether somebody else's words are offered as the person's endorsement (R-017, R-029)."""
    return any(c.purpose == "endorsement" and not c.is_persons for c in cites)


def want_of(needs: str, cites: Sequence[Cite]) -> str | None:
    """The code that tells what the citations lack of a need, None where they carry it.

    E0 any; EA the agent's own words; EP the person's endorsement; PW the person's words, whatever
    their purpose (decisions 3.3, 3.5).
    """
    if needs == "none":
        return None
    if not cites:
        return "evidence_required"
    if needs == "E0":
        return None
    if needs == "EA":
        return None if any(c.is_agents for c in cites) else "agent_citation_required"
    persons = [c for c in cites if c.is_persons]
    if needs == "EP":
        persons = [c for c in persons if c.purpose == "endorsement"]
    if not persons:
        return "endorsement_required"
    if any(says_to_what(c, cites) for c in persons):
        return None
    return "evidence_required"


def says_to_what(cite: Cite, cites: Sequence[Cite]) -> bool:
    """Whether it is more than a bare approval, or stands beside the proposal that it answers."""
    proposal = Cite("proposal", cite.round, "context")
    return cite.speaker != "bare" or proposal in cites
