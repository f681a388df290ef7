"""What a shared page costs the server: by index, and no more at the end of a list or for rare
records than at its beginning."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mash_plugin.group.database import GroupDatabase
from mash_plugin.group.reads import FACETS, NEWEST, key_of, query_of
from mash_plugin.group.whole import COPY
from mash_plugin.protocol import validate
from tests.support.groups import Group, Server, running_group

Json = dict[str, Any]
NODES, OF_NODE, LIMIT = 6, 4_000, 20
NOW = 1_796_100_000_000
LISTS: dict[str, Json] = {
    "everything": {},
    "retired too": {"include_inactive": True},
    "a repository": {"scope": {"kind": "repository", "identity": "repository-1"}},
    "facts of a repository": {
        "scope": {"kind": "repository", "identity": "repository-1"},
        "kind": "fact",
    },
    "personal": {"scope": {"kind": "personal"}},
    "a rare kind of head": {"state": "retracted", "review": "candidate"},
    "candidates": {"review": "candidate", "include_inactive": True},
    "a node": {"node_id": "node-3"},
    "a chat": {"chat": "chat-3-7"},
    "a repository of nobody": {"scope": {"kind": "repository", "identity": "repository-x"}},
}
MOST_ROWS = len(FACETS) * (LIMIT + 1) + 4 * (LIMIT + 1)
"""Of each kind of head as many as a page, and what is shown once more, whole."""
FILL = """
INSERT INTO members (role_name, member, is_read_only, added_at)
  VALUES ('mash_filled', 'filled', 0, 0);
INSERT INTO nodes (node_id, role_name)
  SELECT 'node-' || n, 'mash_filled' FROM generate_series(1, {nodes}) AS n;
INSERT INTO pub_records (scope_value, node_id, record_id, scope_kind, kind, created_at,
    head_revision, review, state, retired, recorded_at, evidence_stale, confirmations,
    strong_tokens, weak_tokens, digest)
  SELECT CASE WHEN i % 50 = 1 THEN '' ELSE 'repository-' || i % 4 END, 'node-' || n, 'record-' || i,
    CASE WHEN i % 50 = 1 THEN 'personal' ELSE 'repository' END,
    CASE WHEN i % 10 < 6 THEN 'decision' WHEN i % 10 < 9 THEN 'preference' ELSE 'fact' END, 0, 1,
    CASE WHEN i % 30 = 0 THEN 'candidate' ELSE 'established' END,
    CASE WHEN i % 10 < 6 THEN CASE WHEN i % 9 = 0 THEN 'withdrawn' ELSE 'accepted' END
      WHEN i % 10 < 9 THEN 'active' ELSE 'current' END,
    CASE WHEN i % 10 < 6 AND i % 9 = 0 THEN 1 ELSE 0 END, 1000 * i, 0, 0, '', '', ''
  FROM generate_series(1, {nodes}) AS n, generate_series(1, {of_node}) AS i;
INSERT INTO pub_revisions (scope_value, node_id, record_id, revision, statement, recorded_by,
    review, state, recorded_at, origin)
  SELECT scope_value, node_id, record_id, 1, 'Said.', 'codex', review, state, recorded_at, 'tool'
  FROM pub_records;
INSERT INTO pub_evidence (scope_value, node_id, record_id, revision, position, added_by, chat_id,
    message_id, quote, purpose, role, author, status, recorded_at)
  SELECT scope_value, node_id, record_id, 1, 1, 'revision',
    'chat-' || right(node_id, 1) || '-' || recorded_at / 30000, 'm', 'Said.', 'context', 'user',
    'person', 'matching', 0
  FROM pub_records;
INSERT INTO pub_links (scope_value, node_id, from_record, to_record, relation, from_revision,
    to_revision, recorded_at)
  SELECT scope_value, node_id, record_id, 'record-' || recorded_at / 1000 - 1,
    CASE WHEN recorded_at % 20000 = 0 THEN 'contradicts' ELSE 'supports' END, 1, 1, 0
  FROM pub_records;
"""


@pytest.fixture(scope="module")
def filled(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    """A group of some thousands of records, with the statistics of its tables."""
    with running_group(postgres, tmp_path_factory.mktemp("plans"), "anna") as group:
        options = f"-c search_path={group.roles.schema} -c session_replication_role=replica"
        with psycopg.connect(group.admin_dsn, options=options, autocommit=True) as connection:
            fill = FILL.format(nodes=NODES, of_node=OF_NODE)
            connection.execute(fill)  # type: ignore[arg-type]  # made of constants
            for table in ("pub_records", "pub_revisions", "pub_evidence", "pub_links"):
                connection.execute(f"VACUUM (ANALYZE) {table}")
        yield group


@pytest.fixture(params=["force_custom_plan", "force_generic_plan"])
def db(filled: Group, request: pytest.FixtureRequest) -> Iterator[GroupDatabase]:
    """A member's connection, once for each way in which the server may plan."""
    opened = filled.open("anna", to_write=False)
    opened.run(f"SET plan_cache_mode = {request.param}", {})
    yield opened
    opened.close()


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("is_deep", [False, True])
def test_a_page_is_found_by_index_however_deep(db: GroupDatabase, name: str, is_deep: bool) -> None:
    request = validate("list_records", {"shared": True, "limit": LIMIT, **LISTS[name]})
    query, key = query_of(request), {**key_of(request), "now": NOW}
    node = request.get("node_id") or ("node-5" if is_deep else "node-3")
    behind = {"recorded_at": OF_NODE * 500 if is_deep else NEWEST, "record_id": ""}
    page = {**key, **behind, "node_id": node, "count": LIMIT + 1}
    assert_bounded(explained(db, query.node, {**key, "after": "node-4" if is_deep else ""}))
    assert_bounded(explained(db, query.page, page))


@pytest.mark.parametrize("name", ["everything", "a repository", "a rare kind of head"])
def test_each_kind_of_head_is_one_range_of_the_index_of_lists(db: GroupDatabase, name: str) -> None:
    request = validate("list_records", {"shared": True, "limit": LIMIT, **LISTS[name]})
    page = {**key_of(request), "now": NOW, "node_id": "node-3", "count": LIMIT + 1}
    page |= {"recorded_at": NEWEST, "record_id": ""}
    plan = explained(db, query_of(request).page, page)
    wanted = "pub_records_scope_facet" if "scope" in request else "pub_records_facet"
    [scan] = [node for node in nodes_of(plan) if node.get("Index Name") == wanted]
    for column in ("kind", "state", "review", "node_id"):
        assert f"{column} = " in scan["Index Cond"]
    assert "recorded_at <= " in scan["Index Cond"]


def test_one_copy_is_found_by_index(db: GroupDatabase) -> None:
    key = {"node_id": "node-2", "record_id": "record-77", "now": NOW}
    assert_bounded(explained(db, COPY, key))


def explained(db: GroupDatabase, sql: str, params: Json) -> Json:
    """The plan with what it did."""
    row = db.one(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)
    assert row is not None
    plan: Json = row[0][0]["Plan"]
    return plan


def nodes_of(plan: Json) -> Iterator[Json]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes_of(part)


def assert_bounded(plan: Json) -> None:
    """No table of copies is gone through, and no more rows are read than pages are long."""
    read = 0.0
    for node in nodes_of(plan):
        if node.get("Relation Name", "").startswith("pub_"):
            assert node["Node Type"] in ("Index Scan", "Index Only Scan"), node
            removed = node.get("Rows Removed by Filter", 0)
            read += (node["Actual Rows"] + removed) * node["Actual Loops"]
        if node["Node Type"] in ("Sort", "Incremental Sort"):
            [below] = [p for p in node["Plans"] if p["Parent Relationship"] == "Outer"]
            assert below["Actual Rows"] * below["Actual Loops"] <= MOST_ROWS, node
    assert read <= MOST_ROWS + 4 * (LIMIT + 1), read
