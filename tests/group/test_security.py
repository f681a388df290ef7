"""What each login of a database can and cannot do to a group by any SQL, with the error it gets.

Each attempt has a connection of its own, made with the connection string alone, as anybody can.
"""

import re
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from mash_plugin.errors import InvalidArgument, SharedAuthFailed
from mash_plugin.group import admin
from mash_plugin.group.session import open_dsn
from tests.support.groups import Group, published, running_group

DENIED, DUPLICATE, TOO_LONG, NO_SUCH = "42501", "23505", "23514", "23503"
RECORD = (
    "INSERT INTO {s}.pub_records VALUES ('host/a/b', '{node}', '{id}', 'repository', 'fact', 1, 1,"
    " 'established', 'current', 0, NULL, NULL, NULL, 1, 0, 0, {text}, '', 'd')"
)
REVISION = (
    "INSERT INTO {s}.pub_revisions VALUES ('host/a/b', '{node}', 'r1', 2, {text}, 'x',"
    " 'established', 'current', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'tool')"
)
EVIDENCE = (
    "INSERT INTO {s}.pub_evidence VALUES ('host/a/b', '{node}', 'r1', 1, 1, 'revision', 'c', 'm',"
    " {text}, 'endorsement', 'user', 'person', 'matching', 1)"
)
CONFIRMATION = "INSERT INTO {s}.pub_confirmations VALUES ('host/a/b', '{node}', 'r1', 1, 'm', 1)"
LINK = "INSERT INTO {s}.pub_links VALUES ('host/a/b', '{node}', 'r1', 'r2', 'supports', 1, 1, 1)"
MUCH = "repeat('x', 20000000)"


def of(form: str, node: str, id: str = "r9", text: str = "'x'") -> str:
    return form.format(s="{s}", node=node, id=id, text=text)


def filled(sql: str, group: Group) -> str:
    """The statement with this group's names in it."""
    names = {"s": f'"{group.roles.schema}"'}
    for name in ("owner", "member", "writer"):
        names[name] = f'"{getattr(group.roles, name)}"'
    for member in ("anna", "bob", "rita", "early"):
        names[member] = f'"{group.roles.login(member)}"'
        names[f"q_{member}"] = f"'{group.roles.login(member)}'"
    names["q_writer"] = f"'{group.roles.writer}'"
    return sql.format(**names)


def outcome(connection: "psycopg.Connection", *statements: str) -> str | int:
    """The SQLSTATE of the last statement, or how many rows it touched."""
    touched = 0
    try:
        with connection.transaction(force_rollback=True):
            for statement in statements:
                touched = connection.execute(statement).rowcount
    except psycopg.Error as error:
        return error.sqlstate or f"none: {error}"
    return touched


@pytest.fixture(scope="module")
def party(postgres, tmp_path_factory) -> Iterator[Group]:
    """Anna and bob publish, rita reads, and three logins are in no group (any more)."""
    folder = tmp_path_factory.mktemp("party")
    with running_group(postgres, folder, "anna", "bob", "gone") as group:
        group.add("rita", read_only=True)
        for member in ("anna", "bob"):
            with closing(group.open(member)) as db:
                published(db, f"n-{member}", "r1", "r2", scope="host/a/b")
        early = group.roles.login("early")
        for role in (early, f"{group.name}_stranger"):
            group.run(f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'made-up'")
            dsn = re.sub(r"user=\S+ password=\S+", f"user={role} password=made-up", group.admin_dsn)
            group.dsns["early" if role == early else "stranger"] = dsn
        yield group
        group.run(f'DROP ROLE "{group.name}_stranger"')


BY_A_MEMBER = [
    # Under another's name
    ("INSERT INTO {s}.nodes (node_id, role_name) VALUES ('n9', {q_bob})", DENIED),
    ("UPDATE {s}.nodes SET role_name = {q_bob}", DENIED),
    ("INSERT INTO {s}.members VALUES ({q_anna}, 'bob', 0, 1)", DENIED),
    ("UPDATE {s}.members SET member = 'bob'", DENIED),
    ("DELETE FROM {s}.members", DENIED),
    ("UPDATE {s}.group_info SET group_id = 'x'", DENIED),
    ("INSERT INTO {s}.group_schema VALUES (99)", DENIED),
    # Another's rows
    (of(RECORD, "n-bob"), DENIED),
    (of(REVISION, "n-bob"), DENIED),
    (of(EVIDENCE, "n-bob"), DENIED),
    (of(CONFIRMATION, "n-bob"), DENIED),
    (of(LINK, "n-bob"), DENIED),
    ("DELETE FROM {s}.pub_records WHERE node_id = 'n-bob'", 0),
    ("DELETE FROM {s}.pub_revisions WHERE node_id = 'n-bob'", 0),
    ("DELETE FROM {s}.nodes WHERE node_id = 'n-bob'", 0),
    ("UPDATE {s}.nodes SET label = 'mine' WHERE node_id = 'n-bob'", 0),
    ("UPDATE {s}.pub_records SET digest = 'x' WHERE node_id = 'n-bob'", DENIED),
    ("UPDATE {s}.pub_revisions SET statement = 'x'", DENIED),
    ("SELECT FROM {s}.nodes WHERE node_id = 'n-bob' FOR UPDATE", 0),
    ("SELECT FROM {s}.pub_records FOR UPDATE", DENIED),
    *[(f"TRUNCATE {{s}}.{table} CASCADE", DENIED) for table in ("nodes", "pub_records")],
    (
        "MERGE INTO {s}.nodes AS n USING (SELECT 1) AS x ON n.node_id = 'n-bob'"
        " WHEN MATCHED THEN DELETE",
        DENIED,
    ),
    ("WITH gone AS (DELETE FROM {s}.pub_records RETURNING 1) SELECT FROM gone", 2),
    # Whether another's row is there is told by reading alone
    (of(RECORD, "n-bob", "r1") + " ON CONFLICT DO NOTHING", DENIED),
    (of(RECORD, "n-bob", "r9") + " ON CONFLICT DO NOTHING", DENIED),
    (
        "INSERT INTO {s}.pub_records SELECT 'host/a/b', 'n-bob', 'r' || i, 'repository', 'fact',"
        " 1, 1, 'established', 'current', 0, NULL, NULL, NULL, 1, 0, 0, '', '', 'd'"
        " FROM generate_series(1, 10000) AS i ON CONFLICT DO NOTHING",
        DENIED,
    ),
    (
        "INSERT INTO {s}.nodes (node_id, role_name) VALUES ('n-bob', {q_anna})"
        " ON CONFLICT (node_id) DO UPDATE SET label = 'mine'",
        DENIED,
    ),
    ("INSERT INTO {s}.nodes (node_id, role_name) VALUES ('n-bob', {q_anna})", DUPLICATE),
    # More than one may store
    ("UPDATE {s}.nodes SET quota = 1000000000", DENIED),
    ("UPDATE {s}.nodes SET records = 0", DENIED),
    ("UPDATE {s}.members SET node_limit = 1000, nodes = 0", DENIED),
    ("INSERT INTO {s}.nodes (node_id, role_name, quota) VALUES ('n9', {q_anna}, 9)", DENIED),
    (of(REVISION, "n-anna", text=MUCH), TOO_LONG),
    (of(EVIDENCE, "n-anna", text=MUCH), TOO_LONG),
    (of(RECORD, "n-anna", "r" * 65), TOO_LONG),
    (of(RECORD, "n-anna", text="repeat('x', 262145)"), TOO_LONG),
    (of(RECORD, "n-anna", "r 9"), TOO_LONG),
    ("UPDATE {s}.nodes SET label = repeat('x', 257) WHERE node_id = 'n-anna'", TOO_LONG),
    # Another's role, and one that is nobody's
    ("SET ROLE {bob}", DENIED),
    ("SET ROLE {owner}", DENIED),
    ("SET SESSION AUTHORIZATION {bob}", DENIED),
    ("SET ROLE admin", DENIED),
    ("GRANT {writer} TO {rita}", DENIED),
    ("GRANT {bob} TO {anna}", DENIED),
    ("ALTER ROLE {bob} PASSWORD 'x'", DENIED),
    ("ALTER ROLE {anna} BYPASSRLS", DENIED),
    ("DROP ROLE {bob}", DENIED),
    ("CREATE ROLE other LOGIN", DENIED),
    ("SELECT rolpassword FROM pg_authid", DENIED),
    # The rules themselves
    ("ALTER TABLE {s}.pub_records DISABLE ROW LEVEL SECURITY", DENIED),
    ("ALTER TABLE {s}.pub_records NO FORCE ROW LEVEL SECURITY", DENIED),
    ("ALTER TABLE {s}.pub_records DISABLE TRIGGER ALL", DENIED),
    ("ALTER TABLE {s}.pub_records OWNER TO {anna}", DENIED),
    ("DROP POLICY own ON {s}.pub_records", DENIED),
    ("CREATE POLICY mine ON {s}.pub_records USING (true)", DENIED),
    ("DROP TABLE {s}.pub_records", DENIED),
    ("DROP SCHEMA {s} CASCADE", DENIED),
    ("DROP TRIGGER records_added ON {s}.pub_records", DENIED),
    ("CREATE RULE r AS ON INSERT TO {s}.pub_records DO ALSO NOTHING", DENIED),
    ("CREATE INDEX ON {s}.pub_records (digest)", DENIED),
    ("COMMENT ON TABLE {s}.pub_records IS 'x'", DENIED),
    ("SET session_replication_role = replica", DENIED),
    ("REASSIGN OWNED BY {bob} TO {anna}", DENIED),
    # Functions and views
    ("SELECT {s}.count_records()", DENIED),
    ("DROP FUNCTION {s}.count_records CASCADE", DENIED),
    (
        "CREATE OR REPLACE FUNCTION {s}.count_records() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN RETURN NULL; END'",
        DENIED,
    ),
    ("CREATE FUNCTION {s}.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", DENIED),
    ("CREATE VIEW {s}.v AS SELECT * FROM {s}.pub_records", DENIED),
    ("CREATE VIEW public.v AS SELECT * FROM {s}.pub_records", DENIED),
    ("CREATE TABLE {s}.t ()", DENIED),
    ("CREATE SCHEMA mine", DENIED),
    ("CREATE TEMP TABLE t (n text REFERENCES {s}.nodes)", "42P16"),
    # Files, programs, and whole tables
    ("COPY {s}.pub_records FROM PROGRAM 'cat'", DENIED),
    ("COPY {s}.pub_records TO PROGRAM 'cat'", DENIED),
    ("COPY {s}.pub_records TO '/tmp/out'", DENIED),
    ("SELECT pg_read_file('/etc/passwd')", DENIED),
    ("CREATE EXTENSION dblink", DENIED),
]
IN_STEPS = [
    (("SET ROLE {writer}", "UPDATE {s}.nodes SET label = 'x'"), 0),
    (("SET ROLE {writer}", "DELETE FROM {s}.pub_records"), 0),
    # A role that is nobody's login owns nothing, so that nobody publishes without a name.
    (
        (
            "SET ROLE {writer}",
            "INSERT INTO {s}.nodes (node_id, role_name) VALUES ('n9', {q_writer})",
        ),
        NO_SUCH,
    ),
    (("SET row_security = off", "SELECT FROM {s}.pub_records"), DENIED),
    (("SET row_security = off", of(RECORD, "n-bob")), DENIED),
    (
        ("CREATE TEMP VIEW v AS SELECT * FROM {s}.nodes", "UPDATE v SET label = 'x'"),
        1,  # its own
    ),
    (
        (
            "CREATE TEMP TABLE nodes AS SELECT 'n-bob' AS node_id, current_user AS role_name",
            "SET search_path = pg_temp, {s}",
            of(RECORD, "n-bob"),
        ),
        DENIED,
    ),
    (
        (
            "CREATE FUNCTION pg_temp.current_user() RETURNS name LANGUAGE sql"
            " AS $$SELECT {q_bob}::name$$",
            "SET search_path = pg_temp, {s}",
            of(RECORD, "n-bob"),
        ),
        DENIED,
    ),
    (
        (
            "PREPARE p AS DELETE FROM {s}.pub_records WHERE node_id = 'n-bob'",
            "EXECUTE p",
        ),
        0,
    ),
    (("SET app.member = 'bob'", of(RECORD, "n-bob")), DENIED),
    (("SET application_name = 'bob'", of(RECORD, "n-bob")), DENIED),
]


@pytest.mark.spec("R-174")
@pytest.mark.parametrize(("sql", "expected"), BY_A_MEMBER)
@pytest.mark.row(67)
def test_a_member_writes_its_own_and_nothing_else(party, sql, expected):
    with party.connect("anna") as connection:
        assert outcome(connection, filled(sql, party)) == expected


@pytest.mark.parametrize(("statements", "expected"), IN_STEPS)
@pytest.mark.row(67)
def test_nothing_that_a_session_sets_or_makes_lets_a_member_do_more(party, statements, expected):
    with party.connect("anna") as connection:
        assert outcome(connection, *(filled(sql, party) for sql in statements)) == expected


def test_a_member_copies_nothing_in_past_the_rules(party):
    copy = filled("COPY {s}.pub_records FROM STDIN", party)
    with (
        party.connect("anna") as connection,
        connection.cursor() as cursor,
        pytest.raises(psycopg.errors.FeatureNotSupported),
        cursor.copy(copy),
    ):
        pass


def test_a_member_gives_no_right_away(party):
    with party.connect("anna") as connection:
        connection.execute(filled("GRANT ALL ON {s}.pub_records TO PUBLIC", party))
    granted = "SELECT 1 FROM information_schema.role_table_grants WHERE grantee = 'PUBLIC'"
    assert party.run(f"{granted} AND table_schema = %s", party.roles.schema) == []


WRITES = [
    "INSERT INTO {s}.nodes (node_id, role_name) VALUES ('n9', current_user)",
    of(RECORD, "n-bob"),
    of(RECORD, "n-bob", "r1") + " ON CONFLICT DO NOTHING",
    "UPDATE {s}.nodes SET label = 'x'",
    "DELETE FROM {s}.nodes",
    "DELETE FROM {s}.pub_records",
    "TRUNCATE {s}.pub_records",
    "SET ROLE {writer}",
    "SET ROLE {owner}",
    "SET ROLE {anna}",
    "GRANT {writer} TO current_user",
    "ALTER TABLE {s}.pub_records DISABLE ROW LEVEL SECURITY",
    "UPDATE {s}.members SET is_read_only = 0",
]
READS = [
    "SELECT FROM {s}.pub_records",
    "SELECT FROM {s}.pub_revisions",
    "SELECT FROM {s}.members",
    "SELECT FROM {s}.nodes",
    "SELECT FROM {s}.group_info",
    "TABLE {s}.group_schema",
    "COPY {s}.pub_records TO STDOUT",
    "CREATE TEMP VIEW v AS SELECT * FROM {s}.pub_records",
    "SELECT '{s}.pub_records'::regclass::oid, count(*) FROM {s}.pub_records",
    "SET ROLE {member}",
]


@pytest.mark.parametrize("sql", WRITES)
@pytest.mark.row(67)
def test_a_reader_writes_nothing(party, sql):
    with party.connect("rita") as connection:
        assert outcome(connection, filled(sql, party)) == DENIED


def test_a_reader_reads_everything_that_is_published(party):
    with party.connect("rita") as connection:
        assert outcome(connection, filled("SELECT FROM {s}.pub_records", party)) == 4


@pytest.mark.parametrize("who", ["stranger", "early"])
@pytest.mark.parametrize("sql", READS + WRITES)
def test_who_is_no_member_reads_and_writes_nothing(party, who, sql):
    with psycopg.connect(party.dsns[who], autocommit=True) as connection:
        assert outcome(connection, filled(sql, party)) == DENIED


@pytest.mark.parametrize("who", ["stranger", "early"])
def test_who_is_no_member_is_told_so_by_mash(party, who):
    error, word = (
        (InvalidArgument, "is no member's")
        if who == "stranger"
        else (SharedAuthFailed, "no member")
    )
    with pytest.raises(error, match=word):
        open_dsn(party.dsns[who], {}, to_write=False)


def test_a_session_that_outlives_its_members_removal_reads_and_writes_nothing(group, monkeypatch):
    monkeypatch.setattr(admin.Admin, "end_sessions", lambda *_: None)
    with group.connect("anna") as connection:
        assert outcome(connection, filled("SELECT FROM {s}.pub_records", group)) == 0
        group.remove("anna")
        for sql in READS + WRITES:
            # A role that is gone cannot even be named any more.
            expected = (DENIED, "22023") if "{anna}" in sql else (DENIED, "42704")
            assert outcome(connection, filled(sql, group)) in expected, sql


def test_a_removed_member_does_not_even_come_in(party):
    dsn = party.dsns["gone"]
    party.remove("gone")
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(dsn).close()
    assert refused.value.sqlstate in ("28P01", None)
    with pytest.raises(SharedAuthFailed, match="password authentication failed"):
        open_dsn(dsn, {}, to_write=False)
