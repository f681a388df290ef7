"""What comes first when a session starts: what the branch is about, what was cited of late."""

from collections.abc import Callable, Iterator

from mash_plugin.memory.windows import Files, StartOrder, Window
from mash_plugin.records.files import mentions_path
from mash_plugin.records.model import Revision
from mash_plugin.records.ranking import Placed, StartBoosts, cited_until, raised
from mash_plugin.store.records import Head, last_confirmed
from mash_plugin.store.sqlite import Connection

RevisionOf = Callable[[Head], Revision | None]


def start_order(
    db: Connection, window: Window, files: Files, now: int, revision_of: RevisionOf
) -> StartOrder:
    """The window with its boosts for the start of a session, kept for the next one."""
    kept = window.start_orders.get(files)
    if kept is None or not kept.holds(now):
        kept = _boosted(db, window, files, now, revision_of)
        window.start_orders.clear()
        window.start_orders[files] = kept
    return kept


def naming(window: Window, file: str, revision_of: RevisionOf) -> Iterator[Placed]:
    """The records of a window that name the file, in order; its words are looked for first."""
    from mash_plugin.tokens import words  # its patterns: not before a hook's first answer

    parts = sorted(set(words(file)), key=len, reverse=True)  # the longest is the rarest
    for placed in window.holding(parts):
        revision = revision_of(window.heads[placed[1].id])
        if revision is not None and _names(revision, file):
            yield placed


def _boosted(
    db: Connection, window: Window, files: Files, now: int, revision_of: RevisionOf
) -> StartOrder:
    branch_files: dict[str, str] = {}
    for file in files:
        for _, record in naming(window, file, revision_of):
            branch_files.setdefault(record.id, file)
    asked = [record.id for _, record in window.ordered if record.confirmations]
    confirmed = last_confirmed(db, asked) if asked else {}
    ordered, boosts, ends = [], {}, []
    for placed in window.ordered:
        record = placed[1]
        end = cited_until(record, confirmed.get(record.id))
        if end > now:
            ends.append(end)
        boost = StartBoosts(branch_files.get(record.id), end > now)
        if boost.points:
            boosts[record.id] = boost
            placed = (raised(placed[0], boost.points), record)
        ordered.append(placed)
    return StartOrder(sorted(ordered), boosts, now, min(ends, default=None))


def _names(revision: Revision, file: str) -> bool:
    quotes = (e.quote for e in revision.evidence if e.added_by == "revision")
    return any(mentions_path(text, file) for text in (*revision.body.texts, *quotes))
