"""Section 7 of the specification as data: which move of which record needs what.

A row reads `table  start  action  target  needs  refused`. Start and target are a review and a
state: `live`, `retired`, `out` (withdrawn or retracted), `same`, `any`, or one word. A target in
another table carries its name. Needs: E0, EA, EP, PW (see `talk.want_of`), `never`, `none`.
"""

from typing import NamedTuple

PERSON, AGENT, PREFERENCE, FACT = "7.1", "7.2", "7.3", "7.4"
LIVE = {
    PERSON: ("proposed", "accepted"),
    AGENT: ("proposed", "accepted"),
    PREFERENCE: ("active",),
    FACT: ("current",),
}
OUT = {PERSON: "withdrawn", AGENT: "withdrawn", PREFERENCE: "withdrawn", FACT: "retracted"}
KIND = {PERSON: "decision", AGENT: "decision", PREFERENCE: "preference", FACT: "fact"}
STATES = {table: (*LIVE[table], OUT[table], "superseded") for table in LIVE}
_LINES = """
7.1 | -                    | create    | candidate live       | E0    | evidence_required
7.1 | -                    | create    | established live     | EP    | endorsement_required
7.1 | candidate live       | revise    | candidate live       | E0    | evidence_required
7.1 | candidate live       | revise    | established live     | EP    | endorsement_required
7.1 | candidate live       | revise    | candidate out        | E0    | evidence_required
7.1 | candidate live       | supersede | candidate live       | E0    | evidence_required
7.1 | candidate live       | supersede | established live     | EP    | endorsement_required
7.1 | established proposed | revise    | established accepted | EP    | endorsement_required
7.1 | established proposed | revise    | established proposed | EP    | endorsement_required
7.1 | established accepted | revise    | established live     | EP    | endorsement_required
7.1 | established live     | revise    | candidate live       | EP    | endorsement_required
7.1 | established live     | revise    | any out              | EP    | endorsement_required
7.1 | established live     | supersede | established live     | EP    | endorsement_required
7.1 | established live     | supersede | candidate live       | never | established_required
7.1 | any any              | revise    | 7.2 any any          | never | decided_by_person
7.1 | any live             | supersede | 7.2 any any          | never | decided_by_person
7.1 | any live             | revise    | any superseded       | never | invalid_transition
7.1 | candidate retired    | revise    | same same            | E0    | evidence_required
7.1 | established retired  | revise    | same same            | EP    | endorsement_required
7.1 | any retired          | revise    | any live             | never | invalid_transition
7.1 | any retired          | supersede | any live             | never | invalid_transition
7.1 | any withdrawn        | revise    | any superseded       | never | invalid_transition
7.1 | any superseded       | revise    | any withdrawn        | never | invalid_transition
7.2 | -                    | create    | any live             | EA    | agent_citation_required
7.2 | any live             | revise    | any live             | EA    | agent_citation_required
7.2 | candidate live       | revise    | candidate out        | EA    | agent_citation_required
7.2 | established live     | revise    | any out              | EA    | agent_citation_required
7.2 | candidate live       | supersede | any live             | EA    | agent_citation_required
7.2 | established live     | supersede | established live     | EA    | agent_citation_required
7.2 | established live     | supersede | candidate live       | never | established_required
7.2 | any live             | revise    | 7.1 established live | EP    | endorsement_required
7.2 | any any              | revise    | 7.1 candidate any    | never | endorsement_required
7.2 | any live             | supersede | 7.1 established live | EP    | endorsement_required
7.2 | candidate live       | supersede | 7.1 candidate live   | never | endorsement_required
7.2 | established live     | supersede | 7.1 candidate live   | never | endorsement_required
7.2 | any live             | revise    | any superseded       | never | invalid_transition
7.2 | any retired          | revise    | same same            | EA    | agent_citation_required
7.2 | any retired          | revise    | any live             | never | invalid_transition
7.2 | any retired          | supersede | any live             | never | invalid_transition
7.2 | any withdrawn        | revise    | any superseded       | never | invalid_transition
7.2 | any superseded       | revise    | any withdrawn        | never | invalid_transition
7.3 | -                    | create    | candidate live       | E0    | evidence_required
7.3 | -                    | create    | established live     | EP    | endorsement_required
7.3 | candidate live       | revise    | candidate live       | E0    | evidence_required
7.3 | candidate live       | revise    | candidate out        | E0    | evidence_required
7.3 | candidate live       | revise    | established live     | EP    | endorsement_required
7.3 | candidate live       | supersede | candidate live       | E0    | evidence_required
7.3 | candidate live       | supersede | established live     | EP    | endorsement_required
7.3 | established live     | revise    | any live             | EP    | endorsement_required
7.3 | established live     | revise    | any out              | EP    | endorsement_required
7.3 | established live     | supersede | established live     | EP    | endorsement_required
7.3 | established live     | supersede | candidate live       | never | established_required
7.3 | any live             | revise    | any superseded       | never | invalid_transition
7.3 | candidate retired    | revise    | same same            | E0    | evidence_required
7.3 | established retired  | revise    | same same            | EP    | endorsement_required
7.3 | any retired          | revise    | any live             | never | invalid_transition
7.3 | any retired          | supersede | any live             | never | invalid_transition
7.3 | any withdrawn        | revise    | any superseded       | never | invalid_transition
7.3 | any superseded       | revise    | any withdrawn        | never | invalid_transition
7.4 | -                    | create    | candidate live       | E0    | evidence_required
7.4 | -                    | create    | established live     | PW    | endorsement_required
7.4 | any live             | revise    | candidate live       | E0    | evidence_required
7.4 | any live             | revise    | established live     | PW    | endorsement_required
7.4 | candidate live       | revise    | candidate out        | E0    | evidence_required
7.4 | established live     | revise    | any out              | E0    | evidence_required
7.4 | candidate live       | supersede | candidate live       | E0    | evidence_required
7.4 | any live             | supersede | established live     | PW    | endorsement_required
7.4 | established live     | supersede | candidate live       | never | established_required
7.4 | any live             | revise    | any superseded       | never | invalid_transition
7.4 | any retired          | revise    | same same            | E0    | evidence_required
7.4 | any retired          | revise    | any live             | never | invalid_transition
7.4 | any retired          | supersede | any live             | never | invalid_transition
7.4 | any retracted        | revise    | any superseded       | never | invalid_transition
7.4 | any superseded       | revise    | any retracted        | never | invalid_transition
"""
NOT_CURRENT = ("candidate", "retired", "expired", "not begun", "stale")
CONFIRMED = tuple(f"{table} established, current: confirm" for table in LIVE)
UNCONFIRMED = tuple(
    f"{table} {why}: confirm is refused"
    for table in LIVE
    for why in NOT_CURRENT
    if why != "expired" or table == FACT  # nothing else has an end
)
FORGOTTEN = (
    *(f"{table} {review}: forget" for table in LIVE for review in ("candidate", "established")),
    *(f"{table} established: forget unasked" for table in (PERSON, PREFERENCE, FACT)),
)
STATUSES = tuple(
    f"7.5 {status}"
    for status in (
        *("inactive: retired", "inactive: expired", "inactive: not begun"),
        *("stale_evidence", "candidate", "current", "conflicted"),
    )
)
LINKS = (
    *((name, "") for name in ("link", "link again", "unlink")),
    *(("unlink of none", "not_found"), ("link to itself", "invalid_argument")),
    *((f"link refused: {why}", "link_endpoint_invalid") for why in (*NOT_CURRENT, "other scope")),
    ("link refused: agent against person", "decided_by_person"),
)


class Standing(NamedTuple):
    """Where a record stands in the tables."""

    table: str
    review: str
    state: str


class Row(NamedTuple):
    """One line of a table."""

    table: str
    start: tuple[str, str] | None
    action: str
    to: Standing
    needs: str
    refused: str

    @property
    def name(self) -> str:
        """What reports call it."""
        start = " ".join(self.start) if self.start else "nothing"
        to = f"{self.to.review} {self.to.state}"
        if self.to.table != self.table:
            to = f"{self.to.table} {to}"
        return f"{self.table} {start}: {self.action} to {to}"

    def aims(self, head: Standing) -> list[Standing]:
        """Every standing that this row leads a head to."""
        table = self.to.table
        found = [Standing(table, r, s) for r in ("candidate", "established") for s in STATES[table]]
        return [aim for aim in found if self._reaches(head, aim)]

    def starts(self) -> list[Standing]:
        """Every standing that this row begins with."""
        if self.start is None:
            return []
        found = [
            Standing(self.table, r, s)
            for r in ("candidate", "established")
            for s in STATES[self.table]
        ]
        return [start for start in found if _fits(start, self.start)]

    def holds_for(self, head: Standing | None, action: str, new: Standing) -> bool:
        """Whether the move is this row's."""
        if action != self.action or new.table != self.to.table:
            return False
        if head is None or self.start is None:
            return head is None and self.start is None and self._reaches(new, new)
        if head.table != self.table or not _fits(head, self.start):
            return False
        return self._reaches(head, new)

    def _reaches(self, head: Standing, new: Standing) -> bool:
        same = Standing(new.table, head.review, head.state)
        review = same.review if self.to.review == "same" else self.to.review
        state = same.state if self.to.state == "same" else self.to.state
        return _fits(new, (review, state))


def _fits(standing: Standing, pattern: tuple[str, str]) -> bool:
    review, state = pattern
    live = standing.state in LIVE[standing.table]
    states = {
        "any": True,
        "live": live,
        "retired": not live,
        "out": standing.state == OUT[standing.table],
    }
    return review in ("any", standing.review) and states.get(state, state == standing.state)


def _row(line: str) -> Row:
    table, start, action, to, needs, refused = (part.strip() for part in line.split("|"))
    words = to.split()
    target = words.pop(0) if words[0] in LIVE else table
    begin = None if start == "-" else (start.split()[0], start.split()[1])
    return Row(table, begin, action, Standing(target, words[0], words[1]), needs, refused)


ROWS = tuple(_row(line) for line in _LINES.strip().splitlines())


def rows_for(head: Standing | None, action: str, new: Standing) -> list[Row]:
    """The rows that speak of a move; none: it is refused with invalid_transition."""
    return [row for row in ROWS if row.holds_for(head, action, new)]
