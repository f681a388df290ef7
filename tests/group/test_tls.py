"""Over the network a server has to prove who it is; without that, no password leaves here."""

import shutil
import socket
from contextlib import closing

import pytest

from mash_plugin.errors import InvalidArgument, SharedUnavailable
from mash_plugin.group.session import open_dsn
from mash_plugin.postgres.dsn import parsed
from tests.support.certificates import Authority
from tests.support.groups import running_group, running_server

NAME = "db.team.example"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def own_address():
    """An address of this machine that is not the loopback; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address beside the loopback")
        return probe.getsockname()[0]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority") / "own")


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """A group on a server that listens at every address; TLS is off until `show` is called."""
    settings = {"listen_addresses": "*", "port": str(free_port())}
    with running_server(**settings) as server:
        everybody = server.folder / "data" / "pg_hba.conf"
        with everybody.open("a") as file:
            file.write("host all all 0.0.0.0/0 scram-sha-256\n")
        server.run("SELECT pg_reload_conf()", "postgres")
        with running_group(server, tmp_path_factory.mktemp("group"), "anna") as group:
            yield group


def show(server, certificate, key):
    """Let the server prove itself with this certificate from now on."""
    for made, kept in ((certificate, "server.crt"), (key, "server.key")):
        place = server.folder / "data" / kept
        shutil.copy(made, place)
        place.chmod(0o600)
        shutil.chown(place, *(str(server.folder.owner()), str(server.folder.group())))
    server.run("ALTER SYSTEM SET ssl = on", "postgres")
    server.stop()
    server.start()


def dsn_at(group, host, address, **more):
    """Anna's connection string by network instead of the socket."""
    parts = parsed(group.dsns["anna"]) | {"host": host, "hostaddr": address} | more
    return " ".join(f"{key}={value}" for key, value in parts.items())


def opened(dsn, environ=None):
    with closing(open_dsn(dsn, environ or {}, to_write=False)) as db:
        return db.one(
            "SELECT ssl, inet_server_addr()::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()", {}
        )


def test_without_tls_nobody_connects_beyond_this_machine(remote):
    address = own_address()
    with pytest.raises(SharedUnavailable, match="does not support SSL"):
        opened(dsn_at(remote, address, address))
    for mode in ("disable", "allow", "prefer", "require", "verify-ca"):
        with pytest.raises(InvalidArgument, match=f"sslmode={mode} does not prove"):
            opened(dsn_at(remote, address, address, sslmode=mode))
        with pytest.raises(InvalidArgument, match=f"sslmode={mode} does not prove"):
            opened(dsn_at(remote, address, address), {"PGSSLMODE": mode})


def test_on_this_machine_no_certificate_is_needed(remote):
    assert opened(remote.dsns["anna"])[1] is None
    assert opened(dsn_at(remote, "localhost", "127.0.0.1"))[1] == "127.0.0.1/32"


def test_a_server_that_proves_its_name_is_used_with_tls(remote, authority):
    show(remote.server, *authority.sign(NAME))
    address = own_address()
    assert opened(dsn_at(remote, NAME, address, sslrootcert=authority.file)) == (
        True,
        f"{address}/32",
    )
    full = {"sslmode": "verify-full", "sslrootcert": authority.file}
    assert opened(dsn_at(remote, NAME, "127.0.0.1", **full))[0] is True


@pytest.mark.parametrize(
    ("certificate", "trusted", "why"),
    [
        ({"name": "other.team.example"}, "own", "does not match host name"),
        ({"name": NAME, "days": 0}, "own", "certificate verify failed"),
        ({"name": NAME}, "another", "certificate verify failed"),
    ],
)
def test_a_server_that_proves_another_name_or_nothing_is_refused(
    remote, authority, tmp_path, certificate, trusted, why
):
    show(remote.server, *authority.sign(**certificate))
    roots = authority.file if trusted == "own" else Authority(tmp_path / "another").file
    for address in (own_address(), "127.0.0.1"):
        dsn = dsn_at(remote, NAME, address, sslmode="verify-full", sslrootcert=roots)
        with pytest.raises(SharedUnavailable, match=why) as refused:
            opened(dsn)
        assert parsed(dsn)["password"] not in refused.value.message


def test_joining_over_the_network_keeps_how_the_server_proves_itself(remote, authority, person):
    show(remote.server, *authority.sign(NAME))
    dsn = dsn_at(remote, NAME, own_address(), sslrootcert=authority.file)
    joined = person.mash("group", "join", "-", "--yes", stdin=dsn)
    assert joined.code == 0, joined.err
    assert f"at Postgres at {NAME}" in " ".join(joined.out.split())
    assert person.mash("group", "status").code == 0


def test_a_login_made_over_the_network_is_reached_the_same_way(remote, authority, person):
    show(remote.server, *authority.sign(NAME))
    admin = f"{remote.admin_dsn} sslrootcert={authority.file}".replace(
        f"host={remote.server.folder}", f"host={NAME} hostaddr={own_address()}"
    )
    (dsn,) = person.mash("group", "add", "carl", stdin=admin).out.splitlines()
    parts = parsed(dsn)
    assert (parts["host"], parts["sslmode"]) == (NAME, "verify-full")
    assert opened(dsn)[0] is True
    local = person.mash("group", "add", "dora", stdin=remote.admin_dsn)
    assert "--host NAME makes one for others" in " ".join(local.err.split())
    named = person.mash("group", "add", "emil", "--host", NAME, stdin=remote.admin_dsn)
    assert parsed(named.out.strip())["host"] == NAME
