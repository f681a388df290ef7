"""Addresses of the dashboard: every page answers, whatever stands in them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from starlette.applications import Starlette

from mash_plugin import wire
from mash_plugin.daemon import methods
from mash_plugin.daemon.frames import ToolFrame
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.requests import Requests
from mash_plugin.dashboard import server
from mash_plugin.dashboard.filters import NAMES
from mash_plugin.dashboard.findings import Findings
from mash_plugin.dashboard.pages import PAGES
from mash_plugin.dashboard.place import Place
from tests.fuzz.sessions_targets import ask
from tests.fuzz.shapes import encoded, texts
from tests.fuzz.target import Check, Target
from tests.hooks_answers.conftest import IDENTITY, Desk, make_repository, open_node

VALUES = (
    *(
        "decision",
        "accepted",
        "person",
        "1",
        "0",
        "-1",
        "9" * 18,
        "9" * 19,
        "9" * 5_000,
        "٣",
        "1.r1",
        "1",
    ),
    *(f"repository:{IDENTITY}", "personal", "local_project:/w", "chat:c-1", "nothing:x", ":"),
    *("@record", "claude-code-s-1", "Qdrant", "1.@record", ".", "month", "2026-11-30"),
)
PLACES = ("n", "before", "after")
NUMBERS = ("0", "-1", "9" * 18, "9" * 19, "9" * 5_000, "%D9%A3", "1_0", "%201", "1.@record", "1e3")
OTHERS = ("after", "before", "n", "m", "all", "node", "cursor", "after", "before", "n")
PATHS = ("/memory/@record/json", "/static/dash.css", "/static/%2e%2e%2fserver.py", "//", "/x")


def addresses() -> SearchStrategy[bytes]:
    """A path and a query, escaped as a browser does, and as nobody does."""
    value = st.one_of(st.sampled_from(VALUES), texts(), st.text(max_size=20))
    escaped = encoded(value).map(quote_from_bytes) | st.sampled_from(("%", "%ff", "%zz", "&", "+"))
    pages = st.sampled_from((*PAGES, *PAGES, *PATHS))
    path = st.builds(_filled, pages, escaped | st.sampled_from(("@record", "claude-code-s-1")))
    pair = st.builds("{}={}".format, st.sampled_from((*NAMES, *OTHERS)), escaped)
    numbered = st.builds("{}={}".format, st.sampled_from(PLACES), st.sampled_from(NUMBERS))
    query = st.lists(pair | numbered, max_size=4).map("&".join)
    return st.builds(lambda path, query: f"{path}?{query}".encode(), path, query)


def _filled(path: str, value: str) -> str:
    return path.replace("{record_id}", value).replace("{chat_id}", value)


@contextmanager
def browsing(folder: Path) -> Iterator[Check]:
    """The pages over a memory with a record and a chat, asked without a socket."""
    desk = Desk(folder, open_node(folder), make_repository(folder / "shop"))
    record = desk.keep("Use Qdrant for <b>local</b> search.")
    desk.chat("Which vector store should we use?", "s-1")
    requests = Requests(desk.node.paths, Log(str(folder / "log")))
    requests.node = desk.node

    def answer(method: str, params: Mapping[str, Any], **_options: Any) -> dict[str, Any]:
        line = wire.request_line(method, params)
        frame = ToolFrame(method, json.loads(line)["params"], {})
        return wire.read_reply(methods.answer(requests, frame))

    place = Place(answer, Findings(list), desk.node.paths)
    app = Starlette(routes=[r for r in server._routes(place, _Never()) if r.path != "/live"])
    try:
        yield lambda data: _check_page(app, data.replace(b"@record", record.encode()))
    finally:
        desk.node.close()


class _Never:
    """The server does not stop."""

    def __bool__(self) -> bool:
        return False


def _check_page(app: Starlette, data: bytes) -> None:
    address = data.decode("utf-8", "replace").partition("#")[0]
    status, page = ask(app, "GET", address if address.startswith("/") else f"/{address}", b"")
    assert status < 500 or (status == 503 and address.startswith("/group")), page
    assert b"Something failed inside mash" not in page
    assert b"<script>alert" not in page
    page.decode()


TARGETS = {"pages": Target(addresses(), browsing)}
