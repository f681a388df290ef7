"""A real pgbouncer in front of a test's Postgres server."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.groups import Group
from tests.support.polling import eventually
from tests.support.postgres import as_other_user

PORT = 54_331


@contextmanager
def pooled(group: Group, mode: str, *members: str, **settings: object) -> Iterator[dict[str, str]]:
    """The connection strings of these members through pools, of one connection unless said."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise RuntimeError("pgbouncer is missing; scripts/test installs it.")
    folder = Path(tempfile.mkdtemp(prefix="mash-pgbouncer-"))
    parts = {member: conninfo_to_dict(group.dsns[member]) for member in members}
    users = [f'"{one["user"]}" "{one["password"]}"' for one in parts.values()]
    (folder / "users").write_text("\n".join(users) + "\n")
    told = {
        "unix_socket_dir": folder,
        "listen_port": PORT,
        "auth_type": "scram-sha-256",
        "auth_file": folder / "users",
        "pool_mode": mode,
        "default_pool_size": 1,
        **settings,
    }
    lines = ["[databases]", f"* = host={group.server.folder} port={group.server.port}"]
    lines += ["[pgbouncer]", *(f"{name} = {value}" for name, value in told.items())]
    (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, pwd.getpwnam("postgres").pw_uid, -1)
    folder.chmod(0o755)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            as_other_user([program, str(folder / "pgbouncer.ini")]), stdout=log, stderr=log
        )
    try:
        eventually(lambda: _answers(process, folder), "pgbouncer does not answer")
        yield {
            member: make_conninfo(**{**one, "host": str(folder), "port": PORT})
            for member, one in parts.items()
        }
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


def _answers(process: "subprocess.Popen[bytes]", folder: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError((folder / "log").read_text())
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(folder / f".s.PGSQL.{PORT}")) == 0
