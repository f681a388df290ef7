"""One server for all tests of groups, and a group of its own for each."""

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from mash_plugin.agents.reviewing import OF_A_SESSION
from mash_plugin.cli.main import run
from mash_plugin.errors import DaemonUnavailable
from mash_plugin.paths import Paths
from tests.support.groups import Group, Server, running_group, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that answers on a socket."""
    with running_server() as server:
        yield server


@pytest.fixture
def group(postgres: Server, tmp_path: Path) -> Iterator[Group]:
    """A group of anna and bob, who may write."""
    with running_group(postgres, tmp_path / "group", "anna", "bob") as group:
        yield group


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@dataclass
class Person:
    """Somebody's mash without a daemon, and the commands as they type them."""

    home: Path

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def dsn_file(self) -> Path:
        return self.home / "group.dsn"

    def mash(self, *arguments: str, stdin: str = "", **environment: str) -> Result:
        """One command, in this process."""
        given = {"MASH_HOME": str(self.home), "MASH_TESTING": "1", **environment}
        streams = [
            io.TextIOWrapper(io.BytesIO(text), "utf-8") for text in (stdin.encode(), b"", b"")
        ]
        with pytest.MonkeyPatch.context() as patch:
            for name, value in given.items():
                patch.setenv(name, value)
            for name in OF_A_SESSION:
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            patch.setattr("mash_plugin.client.start_daemon", _start_none)
            code = run(list(arguments))
        texts = []
        for stream in streams[1:]:
            stream.flush()
            stream.seek(0)
            texts.append(stream.read())
        return Result(code, *texts)


def _start_none(_paths: Paths, _until: float) -> NoReturn:
    raise DaemonUnavailable


@pytest.fixture
def person(tmp_path: Path) -> Person:
    home = tmp_path / "mash"
    home.mkdir()
    return Person(home)
