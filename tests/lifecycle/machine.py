"""Arbitrary lives of records: every step is judged by the model and put to a tested system."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.lifecycle.model import PURGE_MS, Action, Change, Json, Model, Say
from tests.lifecycle.tables import (
    FACT,
    KIND,
    LIVE,
    NOT_CURRENT,
    OUT,
    ROWS,
    STATES,
    Row,
    Standing,
)
from tests.lifecycle.talk import ROUNDS, SORTS, Cites, Speaker, cites_of

START = 1_796_100_000_000
MINUTE = 60_000
STEPS = 50


class Seen(NamedTuple):
    """One record as a system shows it."""

    revision: int
    review: str
    state: str
    statement: str
    status: str
    confirmations: int
    conflicted: bool


class System(Protocol):
    """What is tested: scopes and a conversation of its own for each run."""

    def apply(self, operation: str, change: Change, now: int) -> Json:
        """The receipt, or `error` with its code and details."""

    def read(self, record_id: str, now: int) -> Seen | str:
        """The record, or the code of the refusal."""

    def set_clock(self, now: int) -> None:
        """What the time is from here on."""

    def edit(self, message: tuple[Speaker, int], is_changed: bool) -> None:
        """Change the words of a message on disk and index again, or put them back."""

    def check(self, model: Model) -> None:
        """Compare everything that can be read with the model."""


class World:
    """Where the runs of one machine happen, and how often each row was taken in all of them."""

    def __init__(self, begin: Callable[[int], System]) -> None:
        self.begin = begin
        self.taken: Counter[str] = Counter()
        self.begun = self.runs = self.steps = 0
        """`runs` counts those that came to their end."""


GOOD = ("both", "person", "agent", "approved proposal")
ODD = tuple(SORTS)
LACKING = {"E0": "nothing", "EA": "person", "EP": "agent", "PW": "agent"}
sorts = st.sampled_from((*GOOD, *GOOD, "both", "both", "both", *ODD))
rounds = st.integers(0, ROUNDS - 1)
CASES = {row.name: (row, False) for row in ROWS}
CASES |= {f"{row.name}, unfounded": (row, True) for row in ROWS if row.needs != "never"}
cases = st.sampled_from(tuple(CASES))
picks = st.integers(0, 63)
UNEDITED = ROUNDS - 1
"""The last two rounds of the conversation: no run changes their words."""
times = st.sampled_from(("always", "always", "always", "later", "soon over"))


class Lives(RuleBasedStateMachine):
    """Some records of two scopes, changed in every way that the tool knows."""

    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self.world.begun += 1
        self.number = self.world.begun
        self.system = self.world.begin(self.number)
        self.model = Model(START, self.world.taken)
        self.count = 0
        self.steps = -1  # `begin` is none
        self.is_broken = self.may_edit = False

    @initialize(may_edit=st.booleans())
    def begin(self, may_edit: bool) -> None:
        """Only some runs edit their transcript: to index it again takes time."""
        self.may_edit = may_edit

    def take_every_row(self) -> None:
        """Walk through the tables in their order: no row of them is left to chance."""
        self.begin(may_edit=True)
        for pick, (row, is_refused) in enumerate(CASES.values()):
            self._follow(row, is_refused, pick)
        for number, (table, why) in enumerate(product(LIVE, ("current", *NOT_CURRENT))):
            self._rely_on(table, why, number % ROUNDS)
        for table in LIVE:
            self._turn_into_another_kind(table)
        self._link_again_and_across_scopes()
        self.teardown()

    @rule(
        aim=st.sampled_from(
            [
                Standing(table, review, state)
                for table, live in LIVE.items()
                for review in ("candidate", "established", "established")
                for state in (*live, *live, *live, OUT[table])
            ]
        ),
        sort=sorts,
        number=rounds,
        when=times,
        scope=st.sampled_from((0, 0, 0, 1)),
    )
    def create(self, aim: Standing, sort: str, number: int, when: str, scope: int) -> None:
        say = self._say(aim, when)
        self._do(Change("create", scope=scope, say=say, cites=cites_of(sort, number)))

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, reuse=st.booleans(), sort=st.sampled_from(GOOD), number=rounds)
    def create_the_same(self, pick: int, reuse: bool, sort: str, number: int) -> None:
        record = self.model.records[self._pick(pick)]
        say = record.say
        if not say.is_live:  # a retired record is never found again
            say = say._replace(state=LIVE[say.table][0])
        cites = cites_of(sort, number)
        self._do(Change("create", scope=record.scope, say=say, cites=cites, reuse=reuse))

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, move=st.integers(0, 47), sort=sorts, number=rounds, when=times)
    def revise(self, pick: int, move: int, sort: str, number: int, when: str) -> None:
        self._move("revise", self._pick(pick), move, cites_of(sort, number), when)

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, move=st.integers(0, 47), sort=st.sampled_from(GOOD), number=rounds)
    def revise_a_live_one(self, pick: int, move: int, sort: str, number: int) -> None:
        found = self._pick(pick, lambda i: self.model.records[i].say.is_live)
        self._move("revise", found, move, cites_of(sort, number), "always")

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, move=st.integers(0, 47), sort=sorts, number=rounds)
    def supersede(self, pick: int, move: int, sort: str, number: int) -> None:
        self._move("supersede", self._pick(pick), move, cites_of(sort, number), "always")

    @rule(moves=st.tuples(cases, cases, cases, picks))
    def follow_some_rows(self, moves: tuple[str, str, str, int]) -> None:
        """Some lines of the tables, each with the evidence that it needs or without."""
        *chosen, pick = moves
        for name in chosen:
            self._follow(*CASES[name], pick)

    def _follow(self, row: Row, is_refused: bool, pick: int) -> None:
        sort = LACKING.get(row.needs, "both") if is_refused else "both"
        number = UNEDITED - pick % 2
        if row.start is None:
            aims = row.aims(row.to)
            say = self._say(aims[pick % len(aims)], "always")
            self._do(Change("create", say=say, cites=cites_of(sort, number)))
            return
        starts = [start for start in row.starts() if row.aims(start)]
        found = self._record_at(starts[pick % len(starts)])
        aims = row.aims(self.model.records[found].say.standing)
        say = self._say(aims[pick // len(starts) % len(aims)], "always")
        action: Action = "revise" if row.action == "revise" else "supersede"
        self._do(self._at(action, found)._replace(say=say, cites=cites_of(sort, number)))

    @rule(
        table=st.sampled_from(tuple(LIVE)),
        why=st.sampled_from(("current", *NOT_CURRENT, "stale", "stale")),
        number=rounds,
    )
    def rely_on_one_that_is(self, table: str, why: str, number: int) -> None:
        """Confirm and link a record whatever it is."""
        self._rely_on(table, why, number)

    def _rely_on(self, table: str, why: str, number: int) -> None:
        found = self._record_that_is(FACT if why == "expired" else table, why)
        if found is None:
            return
        sort = "tool" if self.model.records[found].say.table == FACT and number % 2 else "person"
        self._do(self._at("confirm", found)._replace(cites=cites_of(sort, number)))
        other = self._record_at(Standing(table, "established", LIVE[table][0]))
        self._do(self._between("link", found, other, "contradicts" if number else "supports"))

    @rule(pick=picks, number=rounds, story=st.integers(0, 2))
    def live_through_a_story(self, pick: int, number: int, story: int) -> None:
        """What takes several changes in their order, and would hardly come about by chance."""
        if story == 0:
            self._outlive_a_contradiction(pick % 2 == 0, "supports" if number else "contradicts")
        elif story == 1:
            self._say_again_what_was_forgotten(pick, number)
        elif self.may_edit:
            self._lose_a_confirmation(tuple(LIVE)[number])

    def _lose_a_confirmation(self, table: str) -> None:
        """Words that confirmed a record are edited: they are not counted, nothing gets stale."""
        edited: tuple[Speaker, int] = ("words", 0)
        if edited in self.model.changed:
            self._edit(edited)
        found = self._record_at(Standing(table, "established", LIVE[table][0]))
        self._do(self._at("confirm", found)._replace(cites=cites_of("person", 0)))
        self._edit(edited)
        self._look(found)

    def _outlive_a_contradiction(self, is_source: bool, relation: str) -> None:
        """One of two linked facts ends: the other is in no conflict any more."""
        aim = Standing(FACT, "established", "current")
        cites = cites_of("both", UNEDITED)
        ends = [
            str(self._do(Change("create", say=self._say(aim, when), cites=cites), look=False)["id"])
            for when in (("always", "soon over") if is_source else ("soon over", "always"))
        ]
        self._do(self._between("link", ends[0], ends[1], relation))
        self._pass_time(MINUTE)
        for record_id in ends:
            self._look(record_id)

    def _turn_into_another_kind(self, table: str) -> None:
        """A revision keeps the kind of its record."""
        found = self._record_at(Standing(table, "established", LIVE[table][0]))
        other = "7.3" if table != "7.3" else "7.1"
        say = self._say(Standing(other, "established", LIVE[other][0]), "always")
        self._do(self._at("revise", found)._replace(say=say, cites=cites_of("both", UNEDITED)))

    def _link_again_and_across_scopes(self) -> None:
        """The same link twice is one; none leads into another scope."""
        aim, cites = Standing(FACT, "established", "current"), cites_of("both", UNEDITED)
        ends = [
            str(self._do(Change("create", scope, say=self._say(aim, "always"), cites=cites))["id"])
            for scope in (0, 0, 1)
        ]
        for target in (ends[1], ends[1], ends[2]):
            self._do(self._between("link", ends[0], target, "supports"))

    def _say_again_what_was_forgotten(self, pick: int, number: int) -> None:
        """Neither what is gone nor what is out of sight is found again as a duplicate."""
        found = self._record_at(Standing("7.3", "established", "active"))
        if pick % 2:
            found = self._pick(pick, self._is_current)
        record = self.model.records[found]
        self._do(self._at("forget", found))
        if record.say.is_live:
            cites = cites_of("both", number)
            self._do(Change("create", scope=record.scope, say=record.say, cites=cites, reuse=True))

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, sort=sorts, number=rounds)
    def confirm(self, pick: int, sort: str, number: int) -> None:
        found = self._pick(pick) if pick % 2 else self._pick(pick, self._is_current)
        self._do(self._at("confirm", found)._replace(cites=cites_of(sort, number)))

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, sort=st.sampled_from(("nobody", "nobody", "agent", *GOOD)), number=rounds)
    def forget(self, pick: int, sort: str, number: int) -> None:
        cites = None if sort == "nobody" else cites_of(sort, number)
        self._do(self._at("forget", self._pick(pick))._replace(cites=cites))

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, other=picks, relation=st.sampled_from(("contradicts", "supports")))
    def link(self, pick: int, other: int, relation: str) -> None:
        source = self._pick(pick) if pick % 4 == 0 else self._pick(pick, self._is_current)
        target = self._pick(other) if other % 4 == 0 else self._pick(other, self._is_current)
        self._do(self._between("link", source, target, relation))

    @precondition(lambda self: self.model.seen())
    @rule(pick=picks, other=picks)
    def unlink(self, pick: int, other: int) -> None:
        links = [link for link in self.model.links if set(link[:2]) <= set(self.model.seen())]
        links = [link for link in links if link[2] != "supersedes"]
        if links and other % 4:
            source, target, relation = links[pick % len(links)]
        else:
            source, target, relation = self._pick(pick), self._pick(other), "supports"
        if source != target:
            self._do(self._between("unlink", source, target, relation))

    @precondition(lambda self: self.model.seen() or self.model.gone)
    @rule(pick=picks, behind=st.sampled_from((-1, 1, 7)), action=st.integers(0, 5))
    def name_another_revision(self, pick: int, behind: int, action: int) -> None:
        actions: tuple[Action, ...] = (
            *("revise", "supersede", "confirm", "forget", "link", "unlink"),
        )
        known = [*self.model.seen(), *self.model.gone]
        found = known[pick % len(known)]
        record = self.model.records.get(found)
        revision = max(1, len(record.revisions) + behind if record else 1)
        cites = cites_of("both", 0)
        say = record.say if record else self._say(Standing("7.3", "candidate", "active"), "always")
        change = Change(actions[action], record=found, revision=revision)
        match change.action:
            case "revise" | "supersede":
                change = change._replace(say=say, cites=cites)
            case "confirm":
                change = change._replace(cites=cites)
            case "link" | "unlink":
                if not self.model.seen() or (other := self._pick(pick)) == found:
                    return
                target = len(self.model.records[other].revisions)
                change = change._replace(target=other, target_revision=target, relation="supports")
        self._do(change)

    @precondition(lambda self: self.model.receipts)
    @rule(pick=picks)
    def retry(self, pick: int) -> None:
        operation = self._operation(pick)
        answer = self.system.apply(operation, self.model.receipts[operation].change, self.model.now)
        self._compare(lambda: self.model.retry(operation, answer))

    @precondition(lambda self: self.model.receipts)
    @rule(pick=picks)
    def send_another_request_under_a_known_operation(self, pick: int) -> None:
        operation = self._operation(pick)
        say = self._say(Standing("7.3", "candidate", "active"), "always")
        change = Change("create", say=say, cites=cites_of("both", 0))
        answer = self.system.apply(operation, change, self.model.now)
        self._compare(lambda: self.model.conflict(operation, answer))

    @rule(step=st.sampled_from((MINUTE // 2, MINUTE, PURGE_MS // 2, PURGE_MS)))
    def let_time_pass(self, step: int) -> None:
        self._pass_time(step)
        for record_id in [*self.model.seen()][:2]:
            self._look(record_id)

    @precondition(lambda self: self.may_edit)
    @rule(number=st.integers(0, 1), speaker=st.sampled_from(("words", "agent")))
    def edit_the_transcript(self, number: int, speaker: Speaker) -> None:
        self._edit((speaker, number))

    @invariant()
    def count_the_steps(self) -> None:
        self.steps += 1
        self.world.steps += 1

    def teardown(self) -> None:
        if not self.is_broken:
            self.system.check(self.model)
            self.world.runs += self.steps >= STEPS

    def _record_at(self, standing: Standing) -> str:
        """A record that stands there; brought there when there is none."""
        for record_id in self.model.seen():
            if self.model.records[record_id].say.standing == standing:
                return record_id
        live = LIVE[standing.table]
        state = standing.state if standing.state in live else live[0]
        cites = cites_of("both", UNEDITED)
        say = self._say(Standing(standing.table, standing.review, state), "always")
        found = str(self._do(Change("create", say=say, cites=cites), look=False)["id"])
        if standing.state not in live:
            action: Action = "supersede" if standing.state == "superseded" else "revise"
            to = standing._replace(state=state) if action == "supersede" else standing
            say = self._say(to, "always")
            self._do(self._at(action, found)._replace(say=say, cites=cites), look=False)
        return found

    def _record_that_is(self, table: str, why: str) -> str | None:
        """A record of the table that is so; made so when there is none and it can be."""
        for record_id in self.model.seen():
            record = self.model.records[record_id]
            is_so = (self.model.why_not_current(record) or "current") == why
            if is_so and record.say.table == table:
                return record_id
        live = LIVE[table][0]
        match why:
            case "current" | "candidate":
                review = "candidate" if why == "candidate" else "established"
                return self._record_at(Standing(table, review, live))
            case "retired":
                return self._record_at(Standing(table, "established", OUT[table]))
            case "not begun" | "expired":
                return self._create_to_be(table, "later" if why == "not begun" else "soon over")
        return self._create_and_edit(table) if self.may_edit else None

    def _create_to_be(self, table: str, when: str) -> str:
        say = self._say(Standing(table, "established", LIVE[table][0]), when)
        created = self._do(Change("create", say=say, cites=cites_of("both", UNEDITED)), look=False)
        if when == "soon over":
            self._pass_time(MINUTE)
        return str(created["id"])

    def _create_and_edit(self, table: str) -> str:
        """A record whose evidence has just become stale."""
        edited: tuple[tuple[Speaker, int], ...] = (("words", 0), ("agent", 0))
        for message in edited:
            if message in self.model.changed:
                self._edit(message)
        say = self._say(Standing(table, "established", LIVE[table][0]), "always")
        created = self._do(Change("create", say=say, cites=cites_of("both", 0)), look=False)
        self._edit(edited[0])
        return str(created["id"])

    def _do(self, change: Change, look: bool = True) -> Json:
        verdict = self.model.judge(change)
        self.count += 1
        operation = f"operation {self.count} of run {self.number}"
        answer = self.system.apply(operation, change, self.model.now)
        self._compare(lambda: self.model.settle(operation, change, verdict, answer))
        if not look or change.action == "create":  # the end of the run looks at every record
            return answer
        touched = (change.record, change.target, answer.get("id", ""))
        for record_id in dict.fromkeys(touched[:1] if "error" in answer else touched):
            if record_id:
                self._look(record_id)
        return answer

    def _edit(self, message: tuple[Speaker, int]) -> None:
        self.model.changed ^= {message}
        self.system.edit(message, message in self.model.changed)
        for record_id in self.model.seen()[:4]:
            self._look(record_id)

    def _pass_time(self, step: int) -> None:
        self.model.pass_time(step)
        self.system.set_clock(self.model.now)

    def _compare(self, compare: Callable[[], None]) -> None:
        self.is_broken = True
        compare()
        self.is_broken = False

    def _look(self, record_id: str) -> None:
        """Reading must show what the model holds."""
        seen = self.system.read(record_id, self.model.now)
        self._compare(lambda: self._check_seen(record_id, seen))

    def _check_seen(self, record_id: str, seen: Seen | str) -> None:
        if record_id in self.model.seen():
            self.model.observe(record_id)
            assert seen == seen_by(self.model, record_id), (
                record_id,
                self.model.records[record_id],
            )
        else:
            known = record_id in self.model.gone or record_id in self.model.records
            assert seen == ("forgotten" if known else "not_found"), (record_id, seen)

    def _move(self, action: Action, record_id: str, move: int, cites: Cites, when: str) -> None:
        targets = _targets(self.model.records[record_id].say.standing, action)
        say = self._say(targets[move % len(targets)], when)
        self._do(self._at(action, record_id)._replace(say=say, cites=cites))

    def _say(self, aim: Standing, when: str) -> Say:
        self.count += 1
        say = Say(*aim, f"Statement {self.count} of run {self.number}.")
        if when == "later":
            return say._replace(effective_at=self.model.now + MINUTE)
        if when == "soon over" and aim.table == FACT:
            return say._replace(valid_until=self.model.now + MINUTE)
        return say

    def _pick(self, pick: int, wanted: Callable[[str], bool] = lambda _id: True) -> str:
        seen = self.model.seen()
        chosen = [i for i in seen if wanted(i)] or seen
        return chosen[pick % len(chosen)]

    def _is_current(self, record_id: str) -> bool:
        return self.model.why_not_current(self.model.records[record_id]) is None

    def _at(self, action: Action, record_id: str) -> Change:
        revision = len(self.model.records[record_id].revisions)
        return Change(action, record=record_id, revision=revision)

    def _between(self, action: Action, source: str, target: str, relation: str) -> Change:
        revision = len(self.model.records[target].revisions)
        return self._at(action, source)._replace(
            target=target, target_revision=revision, relation=relation
        )

    def _operation(self, pick: int) -> str:
        known = list(self.model.receipts)
        return known[pick % len(known)]


def seen_by(model: Model, record_id: str) -> Seen:
    """What every reader must be shown of a record."""
    record = model.records[record_id]
    say = record.say
    return Seen(
        len(record.revisions),
        say.review,
        say.state,
        say.statement,
        model.status(record),
        model.confirmations(record),
        model.is_conflicted(record_id),
    )


def _targets(head: Standing, action: Action) -> Sequence[Standing]:
    """Where a move may aim: everything of the kind, live states more often; once another kind."""
    tables = [table for table in LIVE if KIND[table] == KIND[head.table]]
    found = [head] if action == "revise" else []
    for table in tables:
        for review in ("candidate", "established"):
            states: tuple[Any, ...] = STATES[table]
            if action == "supersede" and review == "candidate":
                states = LIVE[table]
            found += [Standing(table, review, state) for state in states]
    found += [Standing(t, "established", LIVE[t][0]) for t in tables]
    other = "7.3" if head.table != "7.3" else "7.1"
    return [*found, Standing(other, "candidate", LIVE[other][0])]
