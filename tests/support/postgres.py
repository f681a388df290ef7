"""A real Postgres server for tests: on a Unix socket in a folder of its own, with passwords."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from mash_plugin.throughline.setup_postgres import set_up
from tests.support.in_memory import place_beside
from tests.support.polling import eventually

ADMIN, PORT = "admin", 54_321


@dataclass
class Server:
    """A running server, and an administrator's way in."""

    folder: Path
    password: str
    process: "subprocess.Popen[bytes] | None" = None
    settings: dict[str, str] = field(default_factory=dict)
    """Beyond those that all tests share."""

    @property
    def port(self) -> int:
        return int(self.settings.get("port", PORT))

    def dsn(self, database: str = "memory") -> str:
        """An administrator's connection string."""
        where = f"host={self.folder} port={self.port} dbname={database}"
        return f"{where} user={ADMIN} password={self.password}"

    def run(self, sql: str, database: str = "memory", *parameters: Any) -> list[tuple[Any, ...]]:
        """Execute as the administrator, whom no policy binds."""
        options = "-c search_path=meaning_memory,public"
        with psycopg.connect(self.dsn(database), options=options, autocommit=True) as connection:
            found = connection.execute(sql, parameters or None)
            return found.fetchall() if found.description else []

    def use(self, folder: Path, agent: str, database: str = "memory") -> None:
        """Make the database anew, with a login of the agent in this folder alone."""
        self.run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", "postgres")
        self.run(f"CREATE DATABASE {database}", "postgres")
        set_up(self.dsn(database), agent, str(folder), new_password=True)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = {
            "listen_addresses": "",
            "port": str(PORT),
            "unix_socket_directories": str(self.folder),
            "fsync": "off",  # nothing here outlives the test
            "max_connections": "30",
            "shared_buffers": "16MB",
            **self.settings,
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                as_other_user([program("postgres"), "-D", str(self.folder / "data"), *options]),
                stdout=log,
                stderr=log,
            )
        ready = [program("pg_isready"), "-q", "-h", str(self.folder), "-p", str(self.port)]
        eventually(lambda: self._answers([*ready, "-t", "1"]), "Postgres does not answer")

    def _answers(self, ready: list[str]) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError((self.folder / "log").read_text())
        return subprocess.run(ready).returncode == 0

    def stop(self) -> None:
        """Stop it at once; its files stay for the next start."""
        if self.process is not None:
            self.process.send_signal(3)  # SIGQUIT: an immediate shutdown, with its children
            self.process.wait(30)
            self.process = None


@contextmanager
def running_server(**settings: str) -> Iterator[Server]:
    """A new server without a database of its own; it is gone afterwards."""
    # Not pytest's folder: that one may be closed to the server's user, or too long for a socket.
    beside = place_beside(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix="mash-postgres-", dir=beside))
    server = Server(folder, secrets.token_hex(8), settings=settings)
    try:
        _initialise(server)
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _initialise(server: Server) -> None:
    password = server.folder / "password"
    password.write_text(server.password)
    if os.geteuid() == 0:
        other = pwd.getpwnam("postgres")
        for path in (server.folder, password):
            os.chown(path, other.pw_uid, other.pw_gid)
    server.folder.chmod(0o755)  # the tests come in through the socket
    command = [program("initdb"), "-D", str(server.folder / "data"), "-U", ADMIN, "-N"]
    more = ["--pwfile", str(password), "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"]
    subprocess.run(as_other_user(command + more), check=True, capture_output=True)


def as_other_user(command: list[str]) -> list[str]:
    """The command, run by somebody else than root, for whom servers refuse to run."""
    if os.geteuid() != 0:
        return command
    other = pwd.getpwnam("postgres")
    groups = ["--regid", str(other.pw_gid), "--clear-groups"]
    return ["setpriv", "--reuid", str(other.pw_uid), *groups, "--pdeathsig", "QUIT", *command]


def program(name: str) -> str:
    """The newest server's program, or that of the folder in MASH_TEST_POSTGRES."""
    if folder := os.environ.get("MASH_TEST_POSTGRES"):
        return str(Path(folder) / name)
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: p.parts[4])
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is missing; scripts/test installs postgresql.")
    return found
