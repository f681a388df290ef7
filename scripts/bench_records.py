"""Records by the thousand, written through the real store."""

import hashlib
from pathlib import Path

from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.store.changes import insert_record
from mash_plugin.store.sqlite import Connection, Database
from mash_plugin.tokens import words

BATCH = 1_000
TOPICS = (
    *("invoice", "ledger", "payment", "refund", "currency", "rounding", "tax", "report", "export"),
    *("import", "parser", "cache", "queue", "worker", "retry", "timeout", "schema", "migration"),
    *("index", "backup", "restore", "login", "session", "token", "role", "audit", "search"),
    *("ranking", "stemming", "snippet", "layout", "theme", "button", "form", "table", "chart"),
)
DECIDED = words("Decided:")
VERBS = ("keep", "use", "avoid", "prefer", "test", "review", "document", "rename", "split", "merge")


def build_records(
    database: Database, owner: str, scopes: list[Scope], count: int, now: int, first: int = 0
) -> None:
    """Spread established decisions over the scopes; in each, one in fifty names one file.

    A scope that is named more often gets more.
    """
    end = first + count
    for start in range(first, end, BATCH):
        with database.writing() as db:
            for number in range(start, min(start + BATCH, end)):
                row, column = divmod(number, len(scopes))
                statement = statement_of(number, names_file=(row + column) % 50 == 0)
                scope = scopes[column]
                _insert(db, owner, scope, statement, number, now - (end - number))


def _insert(
    db: Connection, owner: str, scope: Scope, statement: str, number: int, recorded_at: int
) -> None:
    quote = f"Decided: {statement}"
    evidence = Evidence(
        chat_id=f"chat{number % 977}",
        message_id=f"message{number}",
        quote=quote,
        purpose="endorsement",
        role="user",
        author="person",
        message_text=quote,
        recorded_at=recorded_at,
    )
    body = Body("decision", "accepted", statement, "bench", "established", decided_by="person")
    first = Revision(1, body, recorded_at, (evidence,), "bench-session")
    digest = hashlib.sha256(f"{scope}{statement}".encode()).digest()
    said = words(statement)
    tokens = (" ".join(said), " ".join([*DECIDED, *said]))
    insert_record(db, f"rec_{number:08d}", owner, scope, first, digest, tokens)


def statement_of(number: int, *, names_file: bool) -> str:
    """A statement that repeats only after many thousand others."""
    verb = VERBS[number % len(VERBS)]
    nouns = [TOPICS[(number * step) % len(TOPICS)] for step in (1, 7, 13)]
    place = "src/ledger.py" if names_file else f"src/{nouns[0]}_{number % 300}.py"
    return f"We {verb} {nouns[0]} {nouns[1]} before {nouns[2]} in {place} (case {number})."


def write_payload_files(folder: Path) -> None:
    """The project's files that the timed hooks name."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "ledger.py").write_text("RATE = 1\n")
