"""The lines of a session that may be kept: the best ones, found from its end backwards.

What an agent said is held unread up to a few megabytes. Then it is judged from its end, and no
further than the result can change: later lines outrank earlier ones, and decisions all others.
"""

from collections.abc import Callable, Iterator, Sequence

from mash_plugin.privacy.spans import private_lines
from mash_plugin.throughline import key_lines
from mash_plugin.throughline.artifacts import MOST_KEY_LINES, KeyLine
from mash_plugin.throughline.spoken_secrets import secret_kind
from mash_plugin.throughline.transcript import time_of

MOST_CANDIDATES = 16
"""Held while reading; four are kept, the others stand in for those that are dropped."""
FIRST_CHECKED = 8
"""Candidates that are looked for among the person's words at first: enough but for rare cases."""
MOST_CHARS = 3_000_000
"""Held unread; at most four bytes each."""
GROUP_CHARS, FEWEST = 4_000, 8
"""Messages that are asked at once whether any of them may hold a key line."""
DECISION = "decision"


Said = tuple[int, str, object]
"""A message of the agent: its number, its text, its time as written."""
Found = tuple[KeyLine, bool]
"""A key line, and whether it may be kept as it stands: not private, and not too long."""


class Candidates:
    """What the agent said, and the best of its lines so far."""

    def __init__(self) -> None:
        self._unread: list[Said] = []
        self._chars = 0
        self._decisions: list[KeyLine] = []
        self._others: list[KeyLine] = []
        self._dropped = 0

    def add(self, said: list[Said]) -> None:
        """Take in messages of the agent."""
        self._unread += said
        self._chars += sum([len(one[1]) for one in said])
        if self._chars >= MOST_CHARS:
            self._judge()

    def best(
        self, repeated_in: Callable[[Sequence[str]], set[int]]
    ) -> tuple[tuple[KeyLine, ...], int, int]:
        """The lines to keep, how many were dropped, and how many more there are at least.

        Credentials are dropped, what is private or too long, and a person's words.
        """
        self._judge()
        ranked = list(_distinct([*self._decisions, *self._others][:MOST_CANDIDATES]))
        kept: list[KeyLine] = []
        unseen = len(ranked)
        for checked in (ranked[:FIRST_CHECKED], ranked[FIRST_CHECKED:]):
            if checked and len(kept) < MOST_KEY_LINES:
                unseen -= len(checked)
                repeated = repeated_in([line.text for line in checked])
                kept += [line for index, line in enumerate(checked) if index not in repeated]
                self._dropped += len(repeated)
        others = unseen + max(0, len(kept) - MOST_KEY_LINES)
        return tuple(kept[:MOST_KEY_LINES]), self._dropped, others

    def _judge(self) -> None:
        said = self._unread
        self._unread, self._chars = [], 0
        later = self._take(self._decisions_in(said))
        self._decisions = [*later, *self._decisions][:MOST_CANDIDATES]
        if len(self._decisions) < MOST_CANDIDATES:
            later = self._take(self._others_in(said))
            self._others = [*later, *self._others][:MOST_CANDIDATES]

    def _take(self, found: Iterator[Found]) -> list[KeyLine]:
        """The first of these that hold nothing secret, as many as can matter."""
        taken: list[KeyLine] = []
        for line, is_fit in found:
            if not is_fit or secret_kind(line.text) is not None:
                self._dropped += 1
                continue
            taken.append(line)
            if len(taken) == MOST_CANDIDATES:
                break
        return taken

    def _decisions_in(self, said: list[Said]) -> Iterator[Found]:
        may_hold = key_lines.may_hold_decision
        for message in _those_that(may_hold, said):
            yield from _lines_of(message, may_hold, is_decision=True)

    def _others_in(self, said: list[Said]) -> Iterator[Found]:
        may_hold = key_lines.may_hold_key_line
        for message in _those_that(may_hold, said):
            yield from _lines_of(message, may_hold, is_decision=False)


def _those_that(may_hold: Callable[[str], bool], said: list[Said]) -> Iterator[Said]:
    """The messages that may hold such a line, the last one first; asked for many at once."""
    average = sum([len(text) for _, text, _ in said]) // max(1, len(said))
    size = max(FEWEST, GROUP_CHARS // max(1, average))
    for end in range(len(said), 0, -size):
        group = said[max(0, end - size) : end]
        if may_hold("\n".join([text for _, text, _ in group])):
            yield from (message for message in reversed(group) if may_hold(message[1]))


def _lines_of(
    message: Said, may_hold: Callable[[str], bool], *, is_decision: bool
) -> Iterator[Found]:
    """The key lines of a message that are, or are not, decisions; the last one first.

    A span that is private may begin and end on other lines than those that it hides.
    """
    number, text, stamp = message
    hidden = private_lines(text)
    for place, line in reversed(list(key_lines.eligible_lines(text, longest=None))):
        start = line[: key_lines.LONGEST]
        if line != text and not may_hold(start):
            continue
        category = key_lines.category_of(start)
        if category is not None and (category == DECISION) is is_decision:
            at = time_of(stamp)
            event_at = None if at is None else int(at.timestamp() * 1000)
            is_fit = place not in hidden and len(line) <= key_lines.LONGEST
            yield KeyLine(number, place, category, start, event_at), is_fit


def _distinct(lines: list[KeyLine]) -> Iterator[KeyLine]:
    """The first of those that say the same: a loop repeats itself in every cycle."""
    seen: set[str] = set()
    for line in lines:
        if line.text not in seen:
            seen.add(line.text)
            yield line
