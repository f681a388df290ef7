"""A read replica of the group's server serves those who only read."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin.config import Settings
from mash_plugin.errors import ReadOnly
from mash_plugin.group.kept import KeptGroup
from mash_plugin.group.reads import find_page
from mash_plugin.group.session import open_group
from mash_plugin.protocol import validate
from tests.support.groups import NOW, Group, Server
from tests.support.postgres import as_other_user, program
from tests.support.published import Node

PORT = "54332"


@pytest.fixture
def replica(group: Group) -> Iterator[Server]:
    """Another server that follows the first one."""
    with group.connect("anna") as connection:
        Node(connection, "node-a").put("r1")
    folder = Path(tempfile.mkdtemp(prefix="mash-replica-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    folder.chmod(0o755)
    place = ["-h", str(group.server.folder), "-p", str(group.server.port), "-U", "admin"]
    command = [program("pg_basebackup"), *place, "-D", str(folder / "data"), "-R", "-c", "fast"]
    environment = {**os.environ, "PGPASSWORD": group.server.password}
    subprocess.run(as_other_user(command), env=environment, check=True, capture_output=True)
    server = Server(folder, group.server.password, settings={"port": PORT})
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def test_a_replica_answers_readers_and_takes_nothing(group: Group, replica: Server) -> None:
    file = group.dsn_file("bob")
    dsn = group.dsns["bob"].replace(str(group.server.folder), str(replica.folder))
    file.write_text(dsn.replace(f"port={group.server.port}", f"port={PORT}"))
    settings, kept = Settings(group_dsn_file=str(file)), KeptGroup(os.environ)
    request = validate("list_records", {"shared": True})
    found = kept.ask(settings, lambda db: find_page(db, request, NOW))
    kept.close()
    assert [row[0] for row in found.rows] == ["r1"]
    db = open_group(settings, os.environ, to_write=True)
    with pytest.raises(ReadOnly):
        db.run("INSERT INTO nodes (node_id, role_name) VALUES ('node-b', current_user)", {})
    db.close()
