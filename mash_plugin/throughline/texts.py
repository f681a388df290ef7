"""The texts that the tools answer with. Pure; nothing unseen is in them, credentials are masked."""

from collections.abc import Sequence
from typing import Any

from mash_plugin.privacy.credentials import mask
from mash_plugin.render.text import seen
from mash_plugin.throughline.clock import date_of, utc
from mash_plugin.throughline.recall import Answer, Question
from mash_plugin.throughline.store import Memory

HEAD = """\
| # | mem_id | Sig | Eligible | Category | Date | Text |
|---|--------|-----|----------|----------|------|------|"""
WORKING_ONLY = (
    "⚠️ **This search covered the WORKING buffer only** (recent session captures)."
    " Long-term memory was NOT searched by it. Checked for you:"
)
NO_OTHER = "no long-term match either for this query."
_TITLES = {"long_term": "long-term memory", "working": "working buffer", "any": "all memory"}


def search_text(agent: str, question: Question, answer: Answer) -> str:
    """A table of what was found, or the line that says that nothing was."""
    if answer.rows:
        parts = [_header(agent, question, answer), _table(question, answer.rows)]
        parts.append(_sources(answer.rows))
    else:
        parts = [_nothing(agent, question)]
    if answer.long_term_matches is not None:
        parts.append(f"---\n{WORKING_ONLY} {_others(answer.long_term_matches)}")
    return mask("\n\n".join(parts))


def session_text(session: str, rows: Sequence[Memory]) -> str:
    """One bullet for each row of a session."""
    title = f"# Session recall `{session}` — {len(rows)} row(s)"
    if not rows:
        return title
    lines = [f"{title}, newest first"]
    for row in rows:
        artifact = row.artifact_key or row.stage
        lines.append(f"- `{row.mem_id}` [{artifact}] {row_date(row)} · {_one_line(row.text)}")
    return mask("\n".join(lines))


def row_data(row: Memory) -> dict[str, Any]:
    """A row as structured data."""
    return {
        "mem_id": row.mem_id,
        "significance": row.significance,
        "category": row.category,
        "date": row_date(row),
        "text": mask(seen(row.text)),
        "stage": row.stage,
        "at": utc(_time_of(row)),
        "session_id": row.session and mask(row.session),
        "channel": row.channel and mask(row.channel),
    }


def row_date(row: Memory) -> str:
    """The date of the event, else of the capture."""
    return date_of(_time_of(row))


def shown_category(row: Memory, stage: str) -> str:
    """The category; a search of all stages marks what is working memory."""
    return (
        f"{row.category} (working)" if stage == "any" and row.stage == "working" else row.category
    )


def _header(agent: str, question: Question, answer: Answer) -> str:
    title = f"**Meaning Memory** — {agent} | {len(answer.rows)} entries"
    more = f"; there are more (budget: {question.budget})" if answer.has_more else ""
    return f"{title} | {_TITLES[question.stage]}, newest first{more}"


def _table(question: Question, rows: Sequence[Memory]) -> str:
    lines = [HEAD]
    for number, row in enumerate(rows, 1):
        cells = (
            str(number),
            f"`{row.mem_id}`",
            f"{row.significance:.2f}",
            "-",
            _cell(shown_category(row, question.stage)),
            row_date(row),
            _cell(row.text),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _sources(rows: Sequence[Memory]) -> str:
    """When and where each row is from: the cells of the table are fixed, what follows it is not."""
    lines = ["Where from (UTC):"]
    for number, row in enumerate(rows, 1):
        known = [utc(_time_of(row))[11:16]]
        known += [f"channel {_one_line(row.channel)}"] if row.channel else []
        known += [f"session {_one_line(row.session)}"] if row.session else []
        lines.append(f"{number}: {', '.join(known)}")
    return "\n".join(lines)


def _time_of(row: Memory) -> int:
    return row.stored_at if row.event_at is None else row.event_at


def _nothing(agent: str, question: Question) -> str:
    """The line has a fixed form (R-206): what may help is told beside it."""
    filters = f"query={question.query}, category={question.category}, min_sig={question.min_sig}"
    if question.stage != "long_term":
        filters += f", memory_stage={question.stage}"
    return f"No memories found (agent: {agent}, budget: {question.budget}, filters: {filters})"


def _others(count: int) -> str:
    if not count:
        return NO_OTHER
    return (
        f"{count} long-term match(es) for this query;"
        ' search again with "memory_stage": "any" to see them.'
    )


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|")


def _one_line(text: str) -> str:
    return seen(" ".join(text.splitlines()))
