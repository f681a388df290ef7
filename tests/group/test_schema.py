"""What holds the rules in place: limits, versions, rows kept apart, dumps, and two groups."""

import os
import re
import subprocess
import threading
from contextlib import closing

import psycopg
import pytest

from mash_plugin.errors import InvalidArgument, MashError, SharedAuthFailed, TooLarge, UpgradeNeeded
from mash_plugin.group.schema import scripts
from mash_plugin.group.session import open_dsn
from tests.support.groups import Group, published
from tests.support.postgres import program

TABLES = (
    *("group_info", "group_schema", "members", "nodes", "pub_records", "pub_revisions"),
    *("pub_evidence", "pub_confirmations", "pub_links"),
)
RULES = """
SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text,
  (SELECT array_agg((polname, polcmd, polroles::regrole[]::text, pg_get_expr(polqual, polrelid),
    pg_get_expr(polwithcheck, polrelid))::text ORDER BY polname) FROM pg_policy
    WHERE polrelid = c.oid),
  (SELECT array_agg(pg_get_triggerdef(t.oid) ORDER BY tgname) FROM pg_trigger AS t
    WHERE tgrelid = c.oid AND NOT tgisinternal),
  (SELECT array_agg(attacl::text ORDER BY attname) FROM pg_attribute
    WHERE attrelid = c.oid AND attacl IS NOT NULL)
FROM pg_class AS c WHERE relnamespace = %s::regnamespace AND relkind = 'r' ORDER BY relname
"""


def test_row_level_security_is_forced_on_every_table(group):
    forced = "SELECT relname FROM pg_class WHERE relforcerowsecurity AND relrowsecurity"
    found = group.run(f"{forced} AND relnamespace = %s::regnamespace", group.roles.schema)
    assert {name for (name,) in found} == set(TABLES)


@pytest.mark.parametrize("what", ["DISABLE", "NO FORCE"])
def test_a_table_without_row_level_security_is_refused_and_named(group, what):
    group.run(f"ALTER TABLE pub_links {what} ROW LEVEL SECURITY")
    for to_write in (False, True):
        with pytest.raises(InvalidArgument, match="row-level security is off on pub_links"):
            group.open("anna", to_write=to_write)
    group.run("ALTER TABLE pub_links ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    group.open("anna").close()


@pytest.mark.parametrize(
    ("version", "member", "administrator"),
    [
        (99, "this version knows 1: `mash upgrade`", "nothing was changed. `mash upgrade`"),
        (0, "this version needs 1. Whoever runs the group", None),
    ],
)
def test_another_schema_is_refused_with_the_command_that_helps(
    group, person, version, member, administrator
):
    group.run(f"UPDATE group_schema SET version = {version}")  # noqa: S608
    with pytest.raises(UpgradeNeeded, match=re.escape(member)):
        group.open("anna")
    added = person.mash("group", "add", "carl", stdin=group.admin_dsn)
    assert added.code == 1
    assert f"has schema {version}" in " ".join(added.err.split())
    if administrator is not None:
        init = person.mash("group", "init", group.name, stdin=group.admin_dsn)
        assert init.code == 1
        assert administrator in " ".join(init.err.split())
        assert group.run("SELECT version FROM group_schema") == [(version,)]


def test_the_newest_migration_is_the_one_of_this_version(group):
    assert group.run("SELECT version FROM group_schema") == [(len(scripts()),)]


def test_a_node_publishes_up_to_its_quota_and_again_after_it_withdrew(group):
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r1", "r2")
        group.run("UPDATE nodes SET quota = 2")
        with pytest.raises(TooLarge, match="may publish 2 records at most; whoever runs"):
            published(anna, "n1", "r3")
        anna.run("DELETE FROM pub_records WHERE record_id = 'r1'", {})
        published(anna, "n1", "r3")
    assert group.run("SELECT records FROM nodes") == [(2,)]


def test_two_sessions_beside_each_other_do_not_pass_the_quota_together(group):
    with closing(group.open("anna")) as anna:
        published(anna, "n1")
    group.run("UPDATE nodes SET quota = 1")
    outcomes = []

    def publish(db, record, level):
        with closing(db):
            try:
                db.run(f"SET default_transaction_isolation = '{level}'", {})
                published(db, "n1", record)
                outcomes.append("published")
            except (MashError, psycopg.Error) as error:  # one that waited may be told to try again
                outcomes.append(type(error).__name__)

    levels = ("read committed", "repeatable read")
    threads = [
        threading.Thread(
            target=publish, args=(group.open("anna"), f"r{number}", levels[number % 2])
        )
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert outcomes.count("published") == 1, outcomes
    assert group.run("SELECT count(*) FROM pub_records") == [(1,)]


def test_a_member_has_so_many_nodes_and_a_record_so_many_rows(group):
    group.run("UPDATE members SET node_limit = 1")
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r1")
        with pytest.raises(TooLarge, match="may have 1 nodes at most"):
            published(anna, "n2")
        confirm = (
            "INSERT INTO pub_confirmations SELECT 'github.com/acme/shop', 'n1', 'r1', 1,"
            " 'm' || i, 1 FROM generate_series(1, :many) AS i"
        )
        with pytest.raises(TooLarge, match="2000 rows of pub_confirmations at most"):
            anna.run(confirm, {"many": 2001})
        anna.run(confirm, {"many": 2000})


def test_the_rules_survive_a_dump_and_a_restore_into_another_database(group, postgres):
    for member in ("anna", "bob"):
        with closing(group.open(member)) as db:
            published(db, f"n-{member}", "r1")
    dump = group.folder / "group.dump"
    environment = {**os.environ, "PGPASSWORD": postgres.password}
    where = ["-h", str(postgres.folder), "-p", str(postgres.port), "-U", "admin"]
    make = [program("pg_dump"), *where, "-Fc", "-f", str(dump), group.database]
    subprocess.run(make, env=environment, check=True)
    second = f"{group.database}_copy"
    postgres.run(f'CREATE DATABASE "{second}"', "postgres")
    try:
        restore = [program("pg_restore"), *where, "-d", second, "--exit-on-error", str(dump)]
        subprocess.run(restore, env=environment, check=True)
        there = postgres.run(RULES, second, group.roles.schema)
        assert there == postgres.run(RULES, group.database, group.roles.schema)
        dsn = group.dsns["anna"].replace(f"dbname={group.database}", f"dbname={second}")
        with closing(open_dsn(dsn, {}, to_write=True)) as anna:
            assert anna.one("SELECT count(*) FROM pub_revisions", {}) == (2,)
            published(anna, "n-anna", "r2")
            with pytest.raises(SharedAuthFailed, match="row-level security"):
                published(anna, "n-bob", "r2")
            assert anna.one("SELECT records FROM nodes WHERE node_id = 'n-anna'", {}) == (2,)
    finally:
        postgres.run(f'DROP DATABASE "{second}" WITH (FORCE)', "postgres")


def test_two_groups_of_one_database_do_not_see_each_other(group, tmp_path):
    other = Group(group.server, tmp_path / "other", database=group.database)
    try:
        other.add("anna")
        with closing(other.open("anna")) as theirs:
            published(theirs, "n1", "r1")
            published(theirs, "n1", "r2")
        with closing(group.open("anna")) as ours:
            assert ours.one("SELECT count(*) FROM pub_records", {}) == (0,)
            published(ours, "n1", "r1")
            for table in TABLES:
                with pytest.raises(SharedAuthFailed, match="permission denied for schema"):
                    ours.all(f'TABLE "{other.roles.schema}".{table}', {})
        assert other.run("SELECT count(*) FROM pub_records") == [(2,)]
    finally:
        other.drop_roles()
