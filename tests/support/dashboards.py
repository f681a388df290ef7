"""The dashboard as a process, and what it answers."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

from tests.support.daemons import Place


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> str | None:
        return self.headers.get(name)


@dataclass(frozen=True)
class Dashboard:
    """A running `mash dash`."""

    address: str
    process: "subprocess.Popen[str]"

    @property
    def port(self) -> int:
        return int(urlsplit(self.address).port or 0)

    @property
    def root(self) -> str:
        """What the path of every page begins with."""
        return urlsplit(self.address).path.rstrip("/")

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.root}"

    @property
    def token(self) -> str:
        return urlsplit(self.address).query.removeprefix("token=")

    def get(self, path: str, method: str = "GET", **headers: str | None) -> Answer:
        """One request by hand below the root; a header of None is not sent."""
        with self.open(path, method, **headers) as answer:
            return Answer(answer.status, answer.headers, answer.read())

    @contextmanager
    def open(self, path: str, method: str = "GET", **headers: str | None) -> Iterator[HTTPResponse]:
        """The same, the body not yet read."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {"host": f"127.0.0.1:{self.port}", **headers}
        connection.putrequest(method, self.root + path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        try:
            yield answer
        finally:
            answer.close()
            connection.close()

    def enter(self) -> str:
        """Use the token; the cookie that it gives."""
        answer = self.get(f"/?token={self.token}")
        assert answer.status == 303, answer.text
        return (answer.header("set-cookie") or "").partition(";")[0]


@contextmanager
def dashboard(place: Place, *options: str, **environment: str) -> Iterator[Dashboard]:
    """`mash dash` over this home, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mash_plugin", "dash", "--no-open", *options],
        env=place.environment | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        yield Dashboard(process.stdout.readline().strip(), process)
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout:
            process.stdout.close()
