"""Connection strings in odd forms, and what a refused login is called in any language."""

import socket
import threading
from contextlib import closing, contextmanager, suppress

import pytest
from psycopg.conninfo import make_conninfo

from mash_plugin.errors import InvalidArgument, SharedAuthFailed, SharedUnavailable
from mash_plugin.group.session import open_dsn
from mash_plugin.paths import passwd_home
from mash_plugin.postgres.dsn import connection_options, driver_command, parsed

LIMITS = {"connect_s": 2, "statement_ms": 2_000, "is_read_only": True}
USER = "mash_team_m_anna"


def options(dsn, environ=None):
    return connection_options(dsn, environ or {}, schema="s", application="a", **LIMITS)


def test_no_variable_says_who_vouches_for_a_server_elsewhere():
    planted = {"HOME": "/clone", "PGSSLROOTCERT": "/clone/root.crt", "PGSSLMODE": "verify-full"}
    found = options("postgresql://anna@db.example/x", planted)
    assert found["sslrootcert"] == f"{passwd_home()}/.postgresql/root.crt"
    named = options("host=db.example user=anna sslrootcert=system", planted)
    assert named["sslrootcert"] == "system"
    assert "sslrootcert" not in options("host=localhost user=anna", planted)


@pytest.mark.spec("R-172")
@pytest.mark.row(66)
@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://{USER}:p@h7nterPass93@localhost/db",
        f"postgresql://{USER}:p/h7nterPass93@localhost/db",
        f"postgresql://{USER}:p@h7nter/Pass93@localhost/db",
        f"postgresql://{USER}:p@localhost:h7nterPass93@localhost/db",
        f"postgresql://{USER}:p%zzh7nterPass93@localhost/db",
        f"host=localhost user={USER}:h7nterPass93",
        f"host=localhost user={USER} password=p h7nterPass93",
        f"host=localhost user={USER} port=h7nterPass93",
        f"host=localhost user={USER} dbname='@h7nterPass93'",
        f"{USER}:h7nterPass93@localhost/db",
    ],
)
def test_no_part_of_a_password_that_was_written_wrongly_is_repeated(person, dsn):
    done = person.mash("group", "join", "-", "--yes", stdin=dsn)
    assert done.code == 1
    assert "h7nter" not in done.out + done.err
    assert "Pass93" not in done.out + done.err
    assert "password" in done.err or "connection string" in done.err


def test_a_password_that_is_spelled_as_it_should_be_is_taken(group):
    group.run(f"ALTER ROLE {group.roles.login('anna')} PASSWORD 'p@s/s:w?o#r%d'")
    parts = parsed(group.dsns["anna"])
    host = str(group.server.folder).replace("/", "%2F")
    where = f"{host}:{parts['port']}/{parts['dbname']}"
    dsn = f"postgresql://{parts['user']}:p%40s%2Fs%3Aw%3Fo%23r%25d@{where}"
    with closing(open_dsn(dsn, {}, to_write=False)) as db:
        assert db.member == "anna"


def test_the_driver_comes_by_the_script_that_made_the_environment_else_by_pip(
    tmp_path, monkeypatch
):
    environment, checkout = tmp_path / "1.0.0-abc", tmp_path / "my checkout"
    environment.mkdir()
    monkeypatch.setattr("sys.prefix", str(environment))
    assert "-m pip install 'psycopg" in driver_command()
    (environment / ".source").write_text(f"{checkout}\n")
    assert "-m pip install 'psycopg" in driver_command()  # the checkout is gone
    script = checkout / "scripts/install"
    script.parent.mkdir(parents=True)
    script.touch(0o755)
    assert driver_command() == f"'{script}' --postgres"


def test_the_environment_leads_a_named_host_nowhere_else():
    elsewhere = {"PGHOST": "db.example", "PGHOSTADDR": "192.0.2.1"}
    found = options(f"host=localhost user={USER}", elsewhere)
    assert (found["host"], found["hostaddr"]) == ("localhost", "")
    found = options(f"user={USER}", elsewhere)
    assert (found["host"], found["hostaddr"]) == ("db.example", "192.0.2.1")


def test_a_printed_connection_string_leaves_nothing_to_the_environment(group, person, monkeypatch):
    parts = parsed(group.admin_dsn)
    monkeypatch.setenv("PGHOST", parts.pop("host"))
    monkeypatch.setenv("PGPORT", parts.pop("port"))
    parts.pop("dbname")
    monkeypatch.setenv("PGDATABASE", group.database)
    made = person.mash("group", "add", "carl", stdin=make_conninfo("", **parts))
    assert made.code == 0, made.err
    for name in ("PGHOST", "PGPORT", "PGDATABASE"):
        monkeypatch.setenv(name, "1")
    with closing(open_dsn(made.out.strip(), {"PGHOST": "1"}, to_write=False)) as db:
        assert db.member == "carl"


def test_a_login_for_other_machines_always_asks_for_proof(group, person):
    local = f"{group.admin_dsn} sslmode=disable"
    made = person.mash("group", "add", "carl", "--host", "db.example.com", stdin=local)
    assert parsed(made.out.strip())["sslmode"] == "verify-full"
    assert "works on this machine alone" not in " ".join(made.err.split())
    mixed = person.mash("group", "add", "dora", "--host", "p@db.example.com", stdin=local)
    options(made.out.strip())
    with pytest.raises(InvalidArgument, match="its host is none"):
        options(mixed.out.strip())


@contextmanager
def refusing(text):
    """A server that asks for a password and then refuses whoever comes, with this text."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with suppress(OSError), server.accept()[0] as connection:
                startup = connection.recv(10_000)
                if startup[4:8] == (80877103).to_bytes(4, "big"):  # it would like TLS
                    connection.sendall(b"N")
                    connection.recv(10_000)
                connection.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
                connection.recv(10_000)
                told = f"SFATAL\0C28P01\0M{text}\0\0".encode()
                connection.sendall(b"E" + (len(told) + 4).to_bytes(4, "big") + told)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"host=127.0.0.1 port={server.getsockname()[1]} user={USER} dbname=d password=p"
        thread.join(10)


@pytest.mark.spec("R-172")
@pytest.mark.row(66)
@pytest.mark.parametrize(
    "text",
    [
        'password authentication failed for user "anna"',
        "Passwort-Authentifizierung für Benutzer »anna« fehlgeschlagen",
        "authentification par mot de passe échouée pour l'utilisateur « anna »",
        "la autentificación password falló para el usuario «anna»",
        'пользователь "anna" не прошёл проверку подлинности (по паролю)',
        'ユーザー"anna"のパスワード認証に失敗しました',
        '用户 "anna" Password 认证失败',
        'role "anna" is not permitted to log in',
    ],
)
def test_a_refused_login_is_told_as_such_whatever_language_the_server_speaks(text):
    with refusing(text) as dsn, pytest.raises(SharedAuthFailed, match="new connection string"):
        open_dsn(dsn, {}, to_write=False)


@pytest.mark.row(66)
def test_a_server_without_room_is_no_refused_login(group):
    login = group.roles.login("anna")
    group.run(f"ALTER ROLE {login} CONNECTION LIMIT 0")
    with pytest.raises(SharedUnavailable, match="too many connections"):
        open_dsn(group.dsns["anna"], {}, to_write=False)


def test_a_login_that_may_not_enter_the_database_is_refused(group):
    group.run(f'REVOKE CONNECT ON DATABASE "{group.database}" FROM PUBLIC')
    with pytest.raises(SharedAuthFailed, match="permission denied for database"):
        open_dsn(group.dsns["anna"], {}, to_write=False)
