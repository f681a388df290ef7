"""Fill the tables of a group by COPY, past its rules: the rows are as members would write them."""

import random
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import psycopg

from tests.support.groups import Group

MEMBERS = 50
SINCE, UNTIL = 1_733_000_000_000, 1_796_000_000_000
KINDS = {
    "decision": ("accepted", "superseded", "withdrawn"),
    "preference": ("active", "superseded", "withdrawn"),
    "fact": ("current", "superseded", "retracted"),
}
WORDS = (
    "use keep invoices queue parser cache migration index retry deploy tokens schema release"
    " fixture linter reviewer backlog printer font region bucket client"
).split()
HEADS = "scope_value node_id record_id scope_kind kind created_at head_revision review state"
HEADS += " retired decided_by recorded_at evidence_stale confirmations strong_tokens weak_tokens"
HEADS += " digest"
WORDINGS = "scope_value node_id record_id revision statement recorded_by review state decided_by"
WORDINGS += " recorded_at origin"
CITED = "scope_value node_id record_id revision position added_by chat_id message_id quote purpose"
CITED += " role author status recorded_at"
LINKS = "scope_value node_id from_record to_record relation from_revision to_revision recorded_at"
COLUMNS = {
    "pub_records": HEADS,
    "pub_revisions": WORDINGS,
    "pub_evidence": CITED,
    "pub_links": LINKS,
}


class Size(NamedTuple):
    """How much there is."""

    nodes: int
    records: int

    @property
    def of_node(self) -> int:
        """The records of one node."""
        return max(1, self.records // self.nodes)


def node_id(number: int) -> str:
    """The ID of a node: in no order that has a meaning."""
    return f"{random.Random(number).getrandbits(96):024x}"  # noqa: S311 - no secret


def repository(number: int) -> str:
    """The identity of a repository."""
    return f"github.com/acme/project-{number}"


def chat(node: int, number: int) -> str:
    """The ID of one of the chats of a node."""
    return f"claude-code-{node:04}-{number:04}"


def fill(group: Group, size: Size) -> str:
    """Write everything; tells how much it was and how long it took."""
    began = time.monotonic()
    options = f"-c search_path={group.roles.schema} -c session_replication_role=replica"
    with psycopg.connect(group.admin_dsn, options=options, autocommit=True) as connection:
        cursor = connection.cursor()
        names = [f"m{number}" for number in range(MEMBERS)]
        cursor.executemany(
            "INSERT INTO members (role_name, member, is_read_only, added_at) VALUES (%s, %s, 0, 0)",
            [(group.roles.login(name), name) for name in names],
        )
        for node in range(size.nodes):
            cursor.execute(
                "INSERT INTO nodes (node_id, role_name, records) VALUES (%s, %s, %s)",
                (node_id(node), group.roles.login(names[node % MEMBERS]), size.of_node),
            )
            _copy_node(connection, node, size.of_node)
        for table in COLUMNS:
            cursor.execute(f"VACUUM (ANALYZE) {table}")
        (size_of_all,) = cursor.execute("SELECT pg_database_size(current_database())").fetchone()
    seconds = time.monotonic() - began
    return (
        f"{size.nodes} nodes, {size.nodes * size.of_node:,} records,"
        f" {size_of_all / 1e6:,.0f} MB, filled in {seconds:.0f} s"
    )


def _copy_node(connection: psycopg.Connection, node: int, records: int) -> None:
    rows: dict[str, list[Iterable[object]]] = {table: [] for table in COLUMNS}
    for table, row in _rows_of_node(node, records):
        rows[table].append(row)
    for table, columns in COLUMNS.items():
        listed = ", ".join(columns.split())
        with connection.cursor().copy(f"COPY {table} ({listed}) FROM STDIN") as copy:
            copy.write("\n".join("\t".join(map(str, row)) for row in rows[table]) + "\n")


def _rows_of_node(node: int, records: int) -> Iterator[tuple[str, Iterable[object]]]:
    """Nine in ten are in force, one in twenty is a candidate; texts are a sentence long."""
    drawn = random.Random(node)  # noqa: S311 - no secret
    node_name, before = node_id(node), ""
    for number in range(records):
        kind = drawn.choices(tuple(KINDS), (60, 25, 15))[0]
        state = drawn.choices(KINDS[kind], (90, 6, 4))[0]
        review = "candidate" if drawn.random() < 0.05 else "established"
        at = drawn.randrange(SINCE, UNTIL)
        is_personal = kind == "preference" and drawn.random() < 0.05
        place = drawn.randrange(6) * 10 + node % 10  # a member works on a few of them
        scope = ("", "personal") if is_personal else (repository(place), "repository")
        record, key = f"{drawn.getrandbits(96):024x}", (scope[0], node_name)
        decider = "person" if kind == "decision" else r"\N"
        retired = int(state != KINDS[kind][0])
        said = " ".join(drawn.choices(WORDS, k=18)).capitalize() + "."
        head = (scope[1], kind, at, 1, review, state, retired, decider, at, 0, 0, "", "", "d")
        yield "pub_records", (*key, record, *head)
        yield "pub_revisions", (*key, record, 1, said, "codex", review, state, decider, at, "tool")
        source = ("revision", chat(node, number // 25), f"m{number}", said[:60], "endorsement")
        yield "pub_evidence", (*key, record, 1, 1, *source, "user", "person", "matching", at)
        if number % 20 == 1:
            relation = "contradicts" if number % 3 else "supersedes"
            yield "pub_links", (*key, record, before, relation, 1, 1, at)
        before = record
