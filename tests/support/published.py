"""Published copies written by plain SQL, as a member could write them: also wrong ones."""

import json
from collections.abc import Sequence
from typing import Any

import psycopg

NOW = 1_796_100_000_000
SHOP = "github.com/acme/shop"
Connection = psycopg.Connection[tuple[Any, ...]]
RETIRED = ("superseded", "withdrawn", "retracted")


class Node:
    """One node of a member, written through that member's own connection."""

    def __init__(self, connection: Connection, node_id: str) -> None:
        self.connection = connection
        self.node_id = node_id
        connection.execute(
            "INSERT INTO nodes (node_id, role_name, label) VALUES (%s, current_user, 'laptop')"
            " ON CONFLICT DO NOTHING",
            (node_id,),
        )

    def put(
        self,
        record_id: str,
        statement: str = "Ports are even.",
        *,
        kind: str = "decision",
        state: str = "accepted",
        review: str = "established",
        scope: tuple[str, str] = ("repository", SHOP),
        recorded_at: int = NOW,
        revisions: int = 1,
        **more: Any,
    ) -> None:
        """A copy whose revisions all say the same but for the number; the last is the head."""
        key = {"scope_value": scope[1], "node_id": self.node_id, "record_id": record_id}
        body = {"review": review, "state": state, "decided_by": None, "effective_at": None}
        body |= {"valid_until": None} | {k: v for k, v in more.items() if k in BODY}
        head = {"scope_kind": scope[0], "kind": kind, "created_at": NOW, "head_revision": revisions}
        head |= {"retired": int(state in RETIRED), "recorded_at": recorded_at, "digest": "d"}
        head |= {"evidence_stale": 0, "confirmations": 0, "strong_tokens": "", "weak_tokens": ""}
        head |= {k: v for k, v in more.items() if k in head}
        self.insert("pub_records", key | body | head)
        for number in range(1, revisions + 1):
            said = statement if number == revisions else f"{statement} ({number})"
            wording = {"revision": number, "statement": said, "recorded_by": "codex"}
            wording |= {"recorded_at": recorded_at, "origin": "tool"}
            wording |= {k: v for k, v in more.items() if k in WORDING}
            for name in LISTS:
                if isinstance(wording.get(name), list):
                    wording[name] = json.dumps(wording[name])
            self.insert("pub_revisions", key | body | wording)

    def cite(
        self, record_id: str, quote: str, revision: int = 1, position: int = 1, **more: Any
    ) -> None:
        """A citation of the head, or of an earlier revision."""
        row = {"node_id": self.node_id, "record_id": record_id, "revision": revision}
        row |= {"scope_value": SHOP, "position": position, "added_by": "revision"}
        row |= {"chat_id": "claude-code-s-1", "message_id": f"m{position}", "quote": quote}
        row |= {"purpose": "endorsement", "role": "user", "author": "person"}
        self.insert("pub_evidence", row | {"status": "matching", "recorded_at": NOW} | more)

    def confirm(self, record_id: str, message_id: str, at: int, revision: int = 1) -> None:
        row = {"scope_value": SHOP, "node_id": self.node_id, "record_id": record_id}
        row |= {"revision": revision, "message_id": message_id, "confirmed_at": at}
        self.insert("pub_confirmations", row)

    def link(self, from_record: str, relation: str, to_record: str, at: int = NOW) -> None:
        row = {"scope_value": SHOP, "node_id": self.node_id, "from_record": from_record}
        row |= {"to_record": to_record, "relation": relation, "from_revision": 1}
        self.insert("pub_links", row | {"to_revision": 1, "recorded_at": at})

    def remove(self, record_id: str) -> None:
        self.connection.execute(
            "DELETE FROM pub_records WHERE node_id = %s AND record_id = %s",
            (self.node_id, record_id),
        )

    def insert(self, table: str, row: dict[str, Any]) -> None:
        names = ", ".join(row)
        values = ", ".join(["%s"] * len(row))
        parameters: Sequence[Any] = list(row.values())
        sql = f"INSERT INTO {table} ({names}) VALUES ({values})"  # noqa: S608 - names of ours
        self.connection.execute(sql, parameters)  # type: ignore[arg-type]  # the same


LISTS = ("alternatives", "consequences", "conditions")
WORDING = (*LISTS, "reported_by", "recorded_by")
BODY = ("decided_by", "effective_at", "valid_until")
