"""A group and its members on the server, as an administrator makes them at the terminal."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing

import psycopg
import pytest

from mash_plugin.errors import SharedAuthFailed
from mash_plugin.group.admin import administering
from mash_plugin.group.members import add_member
from mash_plugin.group.session import open_dsn
from mash_plugin.postgres.dsn import parsed
from tests.support.groups import NOW, Group, published
from tests.support.polling import eventually


def admin(person, group, *arguments, **environment):
    return person.mash("group", *arguments, stdin=group.admin_dsn, **environment)


def test_a_member_learns_who_it_is_and_which_group_it_reads(group):
    with closing(group.open("anna")) as anna:
        assert (anna.member, anna.group) == ("anna", group.name)
        assert len(anna.group_id) == 32
        assert anna.one("SELECT count(*) FROM pub_records", {}) == (0,)


def test_what_a_member_publishes_is_counted_and_read_by_others_under_its_name(group):
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r1")
    assert group.run("SELECT node_id, records FROM nodes") == [("n1", 1)]
    with closing(group.open("bob", to_write=False)) as bob:
        assert bob.one(
            "SELECT m.member FROM pub_records JOIN nodes USING (node_id)"
            " JOIN members AS m USING (role_name)",
            {},
        ) == ("anna",)


def test_a_group_is_made_once_and_made_again_without_harm(group, person):
    before = group.run("SELECT group_id, name FROM group_info")
    again = admin(person, group, "init", "--admin-dsn", "-", group.name)
    assert (again.code, again.err) == (0, "")
    assert "0 migrations run" in again.out
    assert group.run("SELECT group_id, name FROM group_info") == before


def test_a_connection_string_is_printed_once_alone_and_works(group, person):
    made = admin(person, group, "add", "--admin-dsn", "-", "carl")
    assert made.code == 0
    (dsn,) = made.out.splitlines()
    assert "carl may read and publish" in " ".join(made.err.split())
    assert "not shown again" in " ".join(made.err.split())
    assert parsed(dsn)["password"] not in made.err
    with closing(open_dsn(dsn, {}, to_write=True)) as carl:
        assert carl.member == "carl"
    again = admin(person, group, "add", "carl")
    assert (again.code, again.out) == (0, "")
    assert "--new-password" in again.err
    with closing(open_dsn(dsn, {}, to_write=True)):
        pass
    (other,) = admin(person, group, "add", "carl", "--new-password").out.splitlines()
    with pytest.raises(SharedAuthFailed):
        open_dsn(dsn, {}, to_write=True)
    with closing(open_dsn(other, {}, to_write=True)):
        pass


def test_only_a_hash_of_the_password_goes_to_the_server(group, person):
    group.run("ALTER SYSTEM SET log_statement = 'all'")
    group.run("SELECT pg_reload_conf()")
    try:
        (dsn,) = admin(person, group, "add", "dora").out.splitlines()
        log = (group.server.folder / "log").read_text()
        assert "mash_" in log
        assert "m_dora" in log
        assert parsed(dsn)["password"] not in log
    finally:
        group.run("ALTER SYSTEM RESET log_statement")
        group.run("SELECT pg_reload_conf()")


def test_a_member_becomes_a_reader_and_a_writer_again(group, person):
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r1")
    assert "may read in" in admin(person, group, "add", "anna", "--read-only").err
    with closing(group.open("anna")) as anna:
        assert anna.is_read_only
        with pytest.raises(SharedAuthFailed, match="permission denied"):
            published(anna, "n1", "r2")
    assert group.run("SELECT record_id FROM pub_records") == [("r1",)]
    admin(person, group, "add", "anna")
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r2")


@pytest.mark.parametrize("change", [("add", "carl", "--read-only"), ("remove", "carl")])
def test_what_another_administrator_gave_is_taken_away_too(group, person, change):
    roles = group.roles
    group.run("CREATE ROLE keeper LOGIN CREATEROLE PASSWORD 'made-up'")
    try:
        group.run(
            f"GRANT {roles.owner}, {roles.member}, {roles.writer} TO keeper WITH ADMIN OPTION"
        )
        keeper = group.admin_dsn.replace("user=admin", "user=keeper")
        keeper = keeper.replace(group.server.password, "made-up")
        made = person.mash("group", "add", "carl", stdin=keeper)
        assert made.code == 0, made.err
        carl = roles.login("carl")
        group.run(f"GRANT CREATE ON DATABASE {group.database} TO {carl}")  # so that it stays
        assert admin(person, group, *change).code == 0
        may_write = "SELECT pg_has_role(%s, %s, 'MEMBER')"
        assert group.run(may_write, carl, roles.writer) == [(False,)]
        assert group.run(may_write, carl, roles.member) == [("--read-only" in change,)]
    finally:
        group.run("DROP OWNED BY keeper")
        group.run(f"REVOKE CREATE ON DATABASE {group.database} FROM {roles.login('carl')}")
        group.run(f"DROP ROLE {roles.login('carl')}")
        group.run("DROP ROLE keeper")


def test_a_login_loses_what_it_may_beyond_its_roles(group, person):
    login = group.roles.login("carl")
    group.run(f"CREATE ROLE {login} LOGIN CREATEDB CREATEROLE REPLICATION")
    assert admin(person, group, "add", "carl").code == 0
    may = "SELECT rolcreatedb, rolcreaterole, rolreplication, rolcanlogin FROM pg_roles"
    assert group.run(f"{may} WHERE rolname = %s", login) == [(False, False, False, True)]


def test_one_who_is_made_a_reader_is_told_of_what_stays_published(group, person):
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r1")
    told = " ".join(admin(person, group, "add", "anna", "--read-only").err.split())
    assert "1 record that they published stay there" in told


def test_a_removed_member_is_out_at_once_and_what_it_published_stays_under_its_name(group, person):
    with group.connect("anna") as open_before, closing(group.open("anna")) as anna:
        published(anna, "n1", "r1", "r2")
        gone = admin(person, group, "remove", "anna")
        assert gone.code == 0
        assert "2 published records kept" in gone.out
        with pytest.raises(psycopg.Error):
            open_before.execute("SELECT * FROM pub_records")
    with pytest.raises(SharedAuthFailed, match="mash group join"):
        group.open("anna")
    assert group.run("SELECT 1 FROM pg_roles WHERE rolname = %s", group.roles.login("anna")) == []
    assert group.run("SELECT count(*) FROM pub_records") == [(2,)]
    assert admin(person, group, "remove", "anna").code == 0, "it may be run again"
    back = admin(person, group, "add", "anna")
    assert "2 records published under this name before are theirs again" in " ".join(
        back.err.split()
    )


def test_a_purge_takes_what_a_member_published_and_nobody_elses(group, person):
    for member in ("anna", "bob"):
        with closing(group.open(member)) as db:
            published(db, f"n-{member}", "r1")
    gone = admin(person, group, "remove", "anna", "--purge")
    assert "1 published record deleted" in gone.out
    assert group.run("SELECT node_id FROM pub_records") == [("n-bob",)]
    assert group.run("SELECT node_id FROM pub_revisions") == [("n-bob",)]
    again = admin(person, group, "remove", "anna")
    assert again.code == 1
    assert "has no member anna" in again.err


def test_a_login_that_owns_something_is_shut_out_and_told(group, person):
    group.run("CREATE SCHEMA theirs")
    group.run(f'CREATE TABLE theirs.t (); ALTER TABLE theirs.t OWNER TO "{login(group)}"')
    done = admin(person, group, "remove", "anna")
    assert done.code == 0
    assert "DROP OWNED" in done.err
    assert group.run("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", login(group)) == [
        (False,)
    ]
    with pytest.raises(SharedAuthFailed):
        group.open("anna")
    group.run("DROP TABLE theirs.t")


def login(group, member="anna"):
    return group.roles.login(member)


@pytest.mark.parametrize(
    "may",
    [
        'ALTER ROLE "{login}" SUPERUSER',
        'ALTER ROLE "{login}" BYPASSRLS',
        'GRANT admin TO "{login}"',
        'GRANT "{owner}" TO "{login}"',
    ],
)
@pytest.mark.row(66)
def test_a_member_that_could_pass_the_rules_is_refused_on_both_sides(group, person, may):
    group.run(may.format(login=login(group), owner=group.roles.owner))
    added = admin(person, group, "add", "anna", "--new-password")
    assert (added.code, added.out) == (1, "")
    assert "who passes the rules between members" in " ".join(added.err.split())
    person.dsn_file.write_text(group.dsns["anna"])
    joined = person.mash("group", "join", "-", "--yes", stdin=group.dsns["anna"])
    assert joined.code == 1
    assert "whom no rule between members binds" in " ".join(joined.err.split())
    group.run(f'ALTER ROLE "{login(group)}" NOSUPERUSER NOBYPASSRLS')
    group.run(f'REVOKE admin, "{group.roles.owner}" FROM "{login(group)}"')
    group.open("anna").close()


def test_a_login_that_nobody_listed_gets_a_password_of_its_own(group, person):
    name = login(group, "eve")
    group.run(f"CREATE ROLE \"{name}\" LOGIN PASSWORD 'known to somebody'")
    (dsn,) = admin(person, group, "add", "eve").out.splitlines()
    assert parsed(dsn)["password"] != "known to somebody"
    with closing(open_dsn(dsn, {}, to_write=True)) as eve:
        assert eve.member == "eve"


@pytest.mark.parametrize("name", ["", "Team", "1st", "a-b", "a_m_b", "m", "x" * 32, 'a"; --'])
def test_a_name_that_no_schema_can_have_is_refused(group, person, name):
    done = admin(person, group, "init", name)
    assert done.code == 1
    assert "cannot be a group's name" in done.err
    added = admin(person, group, "add", name.upper() or "A")
    assert added.code == 1
    assert "cannot be a member's name" in added.err


def test_roles_of_a_group_in_another_database_are_not_taken_over(group, person, postgres):
    postgres.run("DROP DATABASE IF EXISTS second", "postgres")
    postgres.run("CREATE DATABASE second", "postgres")
    done = person.mash("group", "init", group.name, stdin=postgres.dsn("second"))
    assert done.code == 1
    assert f"of the group {group.name} in database {group.database}" in " ".join(done.err.split())
    found = postgres.run("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'mash%'", "second")
    assert found == []


def test_with_several_groups_in_a_database_one_has_to_be_named(group, person, tmp_path):
    other = Group(group.server, tmp_path / "other", database=group.database)
    try:
        unnamed = admin(person, group, "add", "zoe")
        assert unnamed.code == 1
        assert "name one with --group" in unnamed.err
        named = admin(person, group, "add", "zoe", "--group", other.name)
        assert parsed(named.out.strip())["user"] == other.roles.login("zoe")
        wrong = admin(person, group, "add", "zoe", "--group", "nobody")
        assert "has no group nobody" in wrong.err
    finally:
        other.drop_roles()


def test_an_administrator_without_all_rights_is_enough(postgres, person):
    postgres.run("DROP DATABASE IF EXISTS kept WITH (FORCE)", "postgres")
    postgres.run("DROP ROLE IF EXISTS keeper", "postgres")
    postgres.run("CREATE DATABASE kept", "postgres")
    postgres.run("CREATE ROLE keeper LOGIN CREATEROLE PASSWORD 'made-up'", "postgres")
    postgres.run("GRANT CREATE ON DATABASE kept TO keeper", "postgres")
    dsn = postgres.dsn("kept").replace("user=admin", "user=keeper")
    dsn = dsn.replace(postgres.password, "made-up")
    try:
        for arguments in (("init", "crew"), ("add", "anna"), ("remove", "anna")):
            done = person.mash("group", *arguments, stdin=dsn)
            assert done.code == 0, done.err
    finally:
        postgres.run("DROP DATABASE kept WITH (FORCE)", "postgres")
        for role in ("mash_crew_owner", "mash_crew_writer", "mash_crew_member", "keeper"):
            postgres.run(f"DROP ROLE IF EXISTS {role}", "postgres")


def test_a_login_that_may_not_administer_changes_nothing_and_is_told_what_it_lacks(group, person):
    done = person.mash("group", "init", "second", stdin=group.dsns["anna"])
    assert done.code == 1
    assert "CREATEROLE" in done.err
    done = person.mash("group", "add", "zoe", stdin=group.dsns["anna"])
    assert done.code == 1
    assert group.run("SELECT count(*) FROM members") == [(2,)]


def test_racing_administrators_make_one_group_and_one_login(group):
    made = []

    def add():
        made.append(add_member(group.admin_dsn, "carl", NOW, group=group.name))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(made) == 4
    (dsn,) = [one.dsn for one in made if one.dsn is not None]
    with closing(open_dsn(dsn, {}, to_write=True)) as carl:
        assert carl.member == "carl"


class Interrupted(BaseException):
    pass


def begin_and_break_off(group):
    with administering(group.admin_dsn) as admin:
        admin.command("CREATE ROLE {login} LOGIN", login=login(group, "half"))
        with admin.as_owner(group.roles):
            admin.one(
                "INSERT INTO members (role_name, member, is_read_only, added_at)"
                " VALUES (:login, 'half', 0, 1)",
                login=login(group, "half"),
            )
        raise Interrupted


def test_a_command_that_is_broken_off_leaves_the_server_as_it_was(group):
    with pytest.raises(Interrupted):
        begin_and_break_off(group)
    assert group.run("SELECT count(*) FROM members") == [(2,)]
    assert group.run("SELECT 1 FROM pg_roles WHERE rolname = %s", login(group, "half")) == []


def test_one_who_breaks_off_an_addition_has_added_nobody(group, person):
    waits = (
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'mash group'"
        " AND wait_event_type = 'Lock' AND datname = current_database()"
    )
    with administering(group.admin_dsn):
        process = subprocess.Popen(
            [sys.executable, "-m", "mash_plugin", "group", "add", "half"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "MASH_HOME": str(person.home), "MASH_TESTING": "1"},
        )
        process.stdin.write(group.admin_dsn.encode())
        process.stdin.close()
        eventually(lambda: group.run(waits), "the command does not wait for the other one")
        process.send_signal(signal.SIGINT)
        with process.stdout, process.stderr:
            assert process.wait(30) == 130
            assert process.stdout.read() == b""
    assert group.run("SELECT count(*) FROM members") == [(2,)]
    assert group.run("SELECT 1 FROM pg_roles WHERE rolname = %s", login(group, "half")) == []


def test_no_password_is_taken_from_an_argument_or_repeated(group, person):
    secret = "postgresql://admin:hunter-22@localhost/memory"
    for arguments in (
        ("init", "--admin-dsn", secret, "team"),
        ("add", "--admin-dsn", secret, "anna"),
        ("remove", "--admin-dsn", secret, "anna"),
        ("join", secret),
    ):
        done = person.mash("group", *arguments)
        assert done.code == 2
        assert "takes - alone" in done.err
        assert "hunter" not in done.err
    wrong = group.admin_dsn.replace(group.server.password, "hunter-22")
    refused = person.mash("group", "add", "anna", stdin=wrong)
    assert refused.code == 1
    assert "password authentication failed" in " ".join(refused.err.split())
    assert "hunter" not in refused.err


def test_a_password_file_of_postgres_serves_beside_a_bare_connection_string(group, person):
    bare = group.admin_dsn.replace(f" password={group.server.password}", "")
    passwords = group.folder / "pgpass"
    passwords.write_text(f"*:*:*:admin:{group.server.password}\n")
    passwords.chmod(0o600)
    done = person.mash("group", "add", "carl", stdin=bare, PGPASSFILE=str(passwords))
    assert done.code == 0, done.err


@pytest.mark.parametrize("given", ["", "\n", "nonsense", "host=x y", "\0"])
def test_what_is_no_connection_string_changes_nothing(group, person, given):
    for arguments in (("init", "team"), ("add", "anna"), ("join", "-")):
        done = person.mash("group", *arguments, stdin=given)
        assert done.code in (1, 2)
        assert done.out == ""
        assert "onnection string" in done.err or "login" in done.err
    assert os.listdir(person.home) == []


def test_without_the_driver_one_line_says_what_to_install(person, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for arguments in (("init", "team"), ("add", "anna"), ("remove", "anna"), ("join", "-")):
        done = person.mash("group", *arguments, stdin="host=/tmp user=mash_a_m_b")
        assert done.code == 1
        assert done.err.count("\n") <= 2
        assert f"{sys.executable} -m pip install 'psycopg" in " ".join(done.err.split())
