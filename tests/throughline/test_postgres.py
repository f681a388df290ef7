"""Postgres: agents that cannot see each other, and a server that is away or of another age."""

import json
import os
import re
from contextlib import suppress

import psycopg
import pytest

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline import queue
from mash_plugin.throughline.dsn import connection_options
from mash_plugin.throughline.setup_postgres import role_of, set_up
from tests.throughline.conftest import AGENT, CHAT, NOW, SESSION, Workspace, lines_of

HOUR = 3_600_000
OTHER = "other-bot"
pytestmark = pytest.mark.parametrize("backend", ["postgres"], indirect=True)
PINNED = {"MM_WORKING_PROMOTE": "1"}


@pytest.fixture
def drained(workspace):
    workspace.capture(workspace.write(CHAT))
    assert workspace.drain().code == 0
    return workspace


@pytest.fixture
def other_login(workspace):
    """A way in for the other agent of the same database."""
    folder = workspace.folder.parent / "other"
    set_up(workspace.server.dsn(), OTHER, str(folder), new_password=True)
    return (folder / "postgres.dsn").read_text()


def setup_postgres(workspace, dsn, *more, agent=AGENT, folder=None):
    where = ("--agent", agent, "--config-dir", str(folder or workspace.path))
    options = ("setup-postgres", "--admin-dsn", "-", *where, *more)
    return workspace.run(*options, stdin=dsn.encode())


def promote(workspace, at=NOW, **environment):
    where = ("--agent-id", AGENT, "--promote-only", "--config-dir", workspace.path)
    return workspace.run("consolidate", *where, MM_TEST_NOW_MS=str(at), **environment)


def doctor(workspace, at=NOW, **environment):
    where = ("doctor", "--category", "throughline", "--config-dir", workspace.path)
    return workspace.run(*where, MM_TEST_NOW_MS=str(at), **environment)


TABLES = ("mm_memories", "mm_words", "mm_state", "mm_agents", "mm_schema")
OUTWIT = (
    "SELECT 1",
    "SET ROLE mm_agent",
    "SET ROLE mm_owner",
    f"SET ROLE {role_of(AGENT)}",
    f"SET SESSION AUTHORIZATION {role_of(AGENT)}",
    "SET row_security = off",
    "SET search_path = meaning_memory, public",
    "SET session_replication_role = replica",
    f"SET meaning_memory.agent = '{AGENT}'",
    f"SET app.current_agent = '{AGENT}'",
    f"SET application_name = '{AGENT}'",
    "ALTER TABLE meaning_memory.mm_memories DISABLE ROW LEVEL SECURITY",
    "ALTER ROLE current_user BYPASSRLS",
    "CREATE POLICY mine ON meaning_memory.mm_memories USING (true)",
    "UPDATE meaning_memory.mm_agents SET role_name = current_user",
    "INSERT INTO meaning_memory.mm_agents VALUES (current_user, 'support-bot')",
    "CREATE TEMP TABLE mm_agents AS SELECT current_user AS role_name, 'support-bot' AS agent_id",
)


@pytest.mark.spec("R-197", "R-213")
def test_another_agents_login_sees_nothing_by_plain_sql_whatever_it_sets(drained, other_login):
    assert len(drained.rows()) == 3
    tables = ("mm_memories", "mm_words", "mm_state")
    asked = ("SELECT count(*) FROM ONLY {0}", "TABLE {0}", "COPY {0} TO STDOUT")
    for before in OUTWIT:
        with psycopg.connect(other_login, autocommit=True) as connection:
            with suppress(psycopg.errors.InsufficientPrivilege):
                connection.execute(before)
            for sql in (sql.format(f"meaning_memory.{table}") for sql in asked for table in tables):
                assert seen(connection, sql) in ([], [(0,)]), (before, sql)


def seen(connection, sql):
    """What a statement shows; nothing where it is refused."""
    try:
        with connection.cursor() as cursor:
            if not sql.startswith("COPY"):
                return cursor.execute(sql).fetchall()
            with cursor.copy(sql) as copied:
                return [bytes(part) for part in copied]
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedColumn):
        return []


@pytest.mark.spec("R-197")
def test_another_agents_login_writes_and_removes_nothing_of_an_agent(drained, other_login):
    row = drained.rows("SELECT mem_id FROM mm_memories LIMIT 1")[0][0]
    with psycopg.connect(other_login, autocommit=True) as connection:
        gone = connection.execute("DELETE FROM meaning_memory.mm_memories")
        assert gone.rowcount == 0
        for sql in (
            "INSERT INTO meaning_memory.mm_state VALUES ('support-bot', 1, 1)",
            "TRUNCATE meaning_memory.mm_memories",
            "UPDATE meaning_memory.mm_memories SET text = 'x'",
            "COPY meaning_memory.mm_memories TO PROGRAM 'cat'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql)
        # The same ID under its own name is no conflict: nobody learns what another has.
        connection.execute(
            "INSERT INTO meaning_memory.mm_memories (mem_id, agent_id, stage, category,"
            " significance, text, stored_at, sort_at, words)"
            " VALUES (%s, %s, 'working', 'note', 0.5, 'mine', 1, 1, 'mine')",
            (row, OTHER),
        )
        mine = connection.execute("SELECT agent_id, text FROM meaning_memory.mm_memories")
        assert mine.fetchall() == [(OTHER, "mine")]
    assert len(drained.rows("SELECT 1 FROM mm_memories WHERE agent_id = 'support-bot'")) == 3


def test_a_drain_under_another_agents_login_stores_nothing_and_says_whose_it_is(
    workspace, other_login
):
    (workspace.folder / "postgres.dsn").write_text(other_login)
    workspace.capture(workspace.write(CHAT))
    done = workspace.drain()
    assert done.code == 1
    assert "the login is not that agent's" in done.err
    assert "stays queued" in done.err
    assert len(workspace.queued) == 1
    assert workspace.rows() == []


@pytest.mark.spec("R-200")
def test_with_the_server_down_captures_work_and_a_drain_says_what_is_wrong(workspace):
    password = (workspace.folder / "postgres.dsn").read_text()
    workspace.server.stop()
    try:
        captured = workspace.capture(workspace.write(CHAT))
        assert (captured.code, captured.err) == (0, "")
        assert "3 artifact(s) queued" in captured.out
        done = workspace.drain()
        assert done.code == 1
        assert "cannot be used" in done.err
        assert "stays queued" in done.err
        assert re.search(r"password=(\S+)", password)[1] not in done.err
        assert len(queue.pending(workspace.path, AGENT)) == 1
        assert doctor(workspace).code == 1
    finally:
        workspace.server.start()
    assert workspace.drain().out == "consolidate: 3 drained, 0 already stored, 0 failed\n"


def test_a_wrong_password_is_told_and_everything_stays_queued(workspace):
    file = workspace.folder / "postgres.dsn"
    file.write_text(re.sub(r"password=\S+", "password=wrong-one", file.read_text()))
    workspace.capture(workspace.write(CHAT))
    done = workspace.drain()
    assert done.code == 1
    assert "password authentication failed" in done.err
    assert "--new-password" in done.err
    assert "wrong-one" not in done.err
    assert len(workspace.queued) == 1
    assert setup_postgres(workspace, workspace.server.dsn(), "--new-password").code == 0
    assert workspace.drain().code == 0


@pytest.mark.parametrize(("version", "why"), [(99, "upgrade mash"), (0, "setup-postgres")])
def test_another_schema_than_the_programs_is_refused(workspace, version, why):
    workspace.rows(f"UPDATE mm_schema SET version = {version}")  # noqa: S608
    workspace.capture(workspace.write(CHAT))
    done = workspace.drain()
    assert done.code == 1
    assert f"has schema {version}" in done.err
    assert why in done.err
    assert len(workspace.queued) == 1


def test_setup_leaves_a_newer_schema_alone(workspace):
    workspace.rows("UPDATE mm_schema SET version = 99")
    done = setup_postgres(workspace, workspace.server.dsn())
    assert done.code == 1
    assert "upgrade mash" in done.err


def test_a_login_that_sees_everything_is_refused(workspace):
    file = workspace.folder / "postgres.dsn"
    file.write_text(workspace.server.dsn())
    done = workspace.run(
        *("call", "--agent", AGENT, "--config-dir", workspace.path, "mm_search", "{}")
    )
    assert done.code == 1
    assert "sees the memories of every agent" in done.out


def test_setup_can_be_run_again_and_keeps_the_password(workspace):
    file = workspace.folder / "postgres.dsn"
    before = file.read_text()
    done = setup_postgres(workspace, workspace.server.dsn())
    assert done.code == 0, done.err
    assert "0 migration(s) run" in done.out
    assert "set MM_BACKEND=postgres for every command" in done.out
    assert "kept" in done.out
    assert file.read_text() == before
    assert os.stat(file).st_mode & 0o777 == 0o600
    file.unlink()
    lost = setup_postgres(workspace, workspace.server.dsn())
    assert lost.code == 1
    assert "--new-password" in lost.err
    assert not file.exists()


@pytest.mark.parametrize("more", [(), ("--new-password",)])
def test_the_login_of_another_agent_is_never_replaced(workspace, more):
    file = workspace.folder / "postgres.dsn"
    before = file.read_text()
    done = setup_postgres(workspace, workspace.server.dsn(), *more, agent="third-bot")
    assert done.code == 1
    assert "Give each agent a --config-dir of its own" in done.err
    assert file.read_text() == before
    assert not workspace.server.run("SELECT 1 FROM pg_roles WHERE rolname ~ '^mm_third'")


def test_the_doctor_compares_the_login_with_the_agent(workspace):
    where = ("doctor", "--config-dir", workspace.path)
    assert f", as {AGENT}" in workspace.run(*where, "--agent", AGENT).out
    told = workspace.run(*where, "--agent", OTHER)
    assert told.code == 1
    assert f"the login is that of {AGENT}, not of {OTHER}" in told.out


def test_an_administrator_without_all_rights_is_enough(workspace):
    server = workspace.server
    server.run("DROP ROLE IF EXISTS keeper", "postgres")
    server.run("CREATE ROLE keeper LOGIN CREATEROLE PASSWORD 'made-up'", "postgres")
    server.run("GRANT CREATE ON DATABASE memory TO keeper", "postgres")
    ours = [row[0] for row in server.run("SELECT rolname FROM pg_roles WHERE rolname ~ '^mm_'")]
    try:
        for role in ours:  # it makes them itself: since 16 it has no say over those of others
            server.run(f"DROP OWNED BY {role} CASCADE")
            server.run(f"DROP ROLE {role}")
        dsn = server.dsn().replace("user=admin", "user=keeper")
        dsn = dsn.replace(server.password, "made-up")
        folder = workspace.folder.parent / "third"
        done = setup_postgres(workspace, dsn, "--new-password", folder=folder)
        assert done.code == 0, done.err
        again = setup_postgres(workspace, dsn, folder=folder)
        assert again.code == 0, again.err
    finally:
        server.run("DROP DATABASE memory WITH (FORCE)", "postgres")
        for (role,) in server.run(
            "SELECT rolname FROM pg_roles WHERE rolname ~ '^mm_'", "postgres"
        ):
            server.run(f"DROP ROLE {role}", "postgres")
        server.run("DROP ROLE keeper", "postgres")


def test_no_password_is_taken_from_an_argument_or_a_place_that_others_see(workspace):
    secret = "postgresql://admin:hunter-22@localhost/memory"
    where = ("--agent", AGENT, "--config-dir", workspace.path)
    asked = workspace.run("setup-postgres", "--admin-dsn", secret, *where)
    assert asked.code == 2
    assert "takes - alone" in asked.err
    workspace.capture(workspace.write(CHAT))
    drained = workspace.drain(MM_POSTGRES_DSN=secret)
    assert drained.code == 1
    assert "holds a password" in drained.err
    (workspace.folder / "postgres.dsn").chmod(0o644)
    readable = workspace.drain()
    assert readable.code == 1
    assert "chmod 600" in readable.err
    for told in (asked, drained, readable):
        assert "hunter-22" not in told.err


def test_a_password_file_of_postgres_serves_beside_a_bare_connection_string(workspace):
    found = dict(
        part.split("=", 1) for part in (workspace.folder / "postgres.dsn").read_text().split()
    )
    passwords = workspace.folder.parent / "pgpass"
    passwords.write_text(f"*:*:*:{found['user']}:{found['password']}\n")
    passwords.chmod(0o600)
    dsn = f"host={found['host']} port={found['port']} dbname=memory user={found['user']}"
    workspace.capture(workspace.write(CHAT))
    done = workspace.drain(MM_POSTGRES_DSN=dsn, PGPASSFILE=str(passwords))
    assert done.code == 0, done.err


@pytest.mark.spec("R-219", "R-205", "R-226")
def test_what_matters_is_copied_once_with_a_link_to_its_original(drained):
    assert promote(drained).out == "consolidate: 0 promoted, 0 expired\n"
    assert promote(drained, **PINNED).out == "consolidate: 2 promoted, 0 expired\n"
    assert promote(drained, **PINNED).out == "consolidate: 0 promoted, 0 expired\n"
    copies = drained.rows(
        "SELECT c.category, o.category, c.text = o.text FROM mm_memories AS c"
        " JOIN mm_memories AS o ON o.mem_id = c.source_mem_id ORDER BY 1"
    )
    assert copies == [("commitment", "commitment", True), ("decision", "decision", True)]
    both_stages = drained.call("mm_search", query="Zephyr", memory_stage="any")
    assert "| 1 entries |" in both_stages
    assert "| decision |" in both_stages
    assert "3 row(s)" in drained.call("mm_session_recall", session_id=SESSION)


@pytest.mark.spec("R-219")
def test_a_slight_commitment_or_deadline_is_copied_too(workspace):
    for category in ("commitment", "deadline", "note"):
        workspace.call(
            "mm_remember",
            text=f"A {category} of little weight.",
            category=category,
            significance=0.1,
            memory_stage="working",
        )
    workspace.drain()
    assert promote(workspace, **PINNED).out.startswith("consolidate: 2 promoted")


@pytest.mark.spec("R-220", "R-221")
def test_copies_outlive_their_originals_and_without_copying_all_expires(drained):
    late = NOW + 72 * HOUR + 60_000
    assert promote(drained, late, **PINNED).out == "consolidate: 2 promoted, 3 expired\n"
    assert "Decided to hold" in drained.call("mm_search", query="Zephyr")
    assert "2 row(s)" in drained.call("mm_session_recall", session_id=SESSION)
    assert doctor(drained, late, **PINNED).code == 0
    text = lines_of(("assistant", "Decided to sell the boat."))
    drained.capture(drained.write(text), session="b")
    drained.drain()
    alone = promote(drained, late, MM_WORKING_COPY_PROMOTE="0", **PINNED)
    assert alone.out == "consolidate: 0 promoted, 2 expired\n"
    assert drained.call("mm_search", query="boat").startswith("No memories")


@pytest.mark.spec("R-224")
def test_the_doctor_finds_each_of_the_three_faults(drained):
    promote(drained, **PINNED)
    healthy = doctor(drained, **PINNED)
    assert healthy.code == 0, healthy
    for name in ("promotion", "lineage", "capture_index"):
        assert f"{name}: ok" in healthy.out
    overdue = doctor(drained, NOW + 97 * HOUR, **PINNED)
    assert overdue.code == 1
    assert "warning  promotion: 3 working memories" in overdue.out
    drained.rows("DELETE FROM mm_memories WHERE stage = 'working' AND category = 'decision'")
    assert "error    lineage: 1 promoted memories" in doctor(drained).out
    drained.rows("DROP INDEX mm_capture_index")
    broken = doctor(drained)
    assert broken.code == 1
    assert "error    capture_index: the unique index" in broken.out


@pytest.mark.spec("R-224")
def test_the_doctor_sees_a_link_that_was_bent(drained):
    promote(drained, **PINNED)
    drained.rows(
        "UPDATE mm_memories SET source_mem_id = 'ffffffffffffffff' WHERE category ="
        " 'decision' AND stage = 'long_term'"
    )
    assert "error    lineage" in doctor(drained).out


def test_a_session_that_went_on_breaks_no_lineage(drained):
    promote(drained, **PINNED)
    more = [("assistant", f"Decided to use berth {n}.") for n in range(5)]
    later = {"MM_TEST_NOW_MS": str(NOW + HOUR)}
    drained.capture(drained.write(CHAT + lines_of(*more)), **later)
    drained.drain(**later)
    assert "lineage: ok" in doctor(drained, NOW + 2 * HOUR).out


@pytest.mark.spec("R-223")
def test_a_rebuild_on_demand_is_not_held_to_once_a_minute(drained):
    for _ in range(2):
        assert drained.call("mm_compile_memory").startswith("Rebuilt ")
    (drained.folder / "MEMORY.md").unlink()
    drained.call("mm_compile_memory")
    assert "# Memory of support-bot" in (drained.folder / "MEMORY.md").read_text()


def test_two_machines_that_capture_one_session_store_it_once(drained):
    second = Workspace(drained.folder.parent / "second", drained.environment, drained.server)
    second.folder.mkdir()
    (second.folder / "postgres.dsn").symlink_to(drained.folder / "postgres.dsn")
    assert "3 artifact(s) queued" in second.capture(second.write(CHAT)).out
    assert second.drain().out == "consolidate: 0 drained, 3 already stored, 0 failed\n"
    assert len(drained.rows()) == 3


@pytest.mark.spec("R-194")
def test_no_line_of_a_person_is_in_any_table_or_file(drained):
    promote(drained, **PINNED)
    drained.call("mm_compile_memory")
    drained.rows("CHECKPOINT")
    everything = [str(drained.rows(f"TABLE {name}")).encode() for name in TABLES]
    for folder in (drained.folder, drained.server.folder):
        everything += [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    said = {"user": [], "assistant": []}
    for line in CHAT.splitlines():
        message = json.loads(line)
        said[message["role"]].append(message["content"].encode())
    assert any(said["assistant"][-1] in held for held in everything)
    for line in said["user"]:
        assert not any(line in held for held in everything)


@pytest.mark.parametrize(
    ("dsn", "environ"),
    [
        ("host=db.example sslmode=require", {}),
        ("host=db.example sslmode=disable", {}),
        ("host=db.example", {"PGSSLMODE": "prefer"}),
        ("host=localhost hostaddr=192.0.2.1 sslmode=prefer", {}),
        ("host=/tmp,db.example sslmode=allow", {}),
        ("sslmode=require", {"PGHOST": "db.example"}),
        ("host=127.0.0.1.example sslmode=require", {}),
        ("service=memory", {}),
        ("host=/tmp", {"PGSERVICE": "memory"}),
        ("host=/tmp options='-c row_security=off'", {}),
    ],
)
@pytest.mark.row(66)
def test_a_server_elsewhere_has_to_prove_who_it_is(backend, dsn, environ):
    with pytest.raises(InvalidArgument):
        connection_options(dsn, environ, is_read_only=False)


@pytest.mark.parametrize(
    ("dsn", "mode"),
    [
        ("host=db.example", "verify-full"),
        ("postgresql://bot@db.example/memory?sslmode=verify-full", "verify-full"),
        ("host=/tmp", None),
        ("host=localhost", None),
        ("host=127.0.0.5", None),
        ("postgresql://bot@[::1]/memory", None),
    ],
)
def test_a_server_here_is_taken_as_it_is(backend, dsn, mode):
    options = connection_options(dsn, {}, is_read_only=True)
    assert options.get("sslmode") == mode
    assert "default_transaction_read_only=on" in options["options"]
    assert "search_path=pg_catalog,meaning_memory,pg_temp" in options["options"]
