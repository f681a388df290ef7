"""What Throughline takes in: sessions, plain logs, entries of its queue, and requests."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline.artifacts import Artifact
from mash_plugin.throughline.entries import Entry, decoded, encoded
from mash_plugin.throughline.key_lines import LONGEST, eligible_lines, judge
from mash_plugin.throughline.rest import Api
from mash_plugin.throughline.session import read_session
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.transcript import count_lines, read_messages
from tests.fuzz import shapes
from tests.fuzz.shapes import damaged, json_bytes, spoilt, texts
from tests.fuzz.target import FIXTURES, Check, Target, refusal_of, split_head, with_head

CHAT = Path(__file__).parents[1] / "throughline" / "chat.jsonl"
TOKEN, AGENT = "t" * 43, "support-bot"
ENTRY = Entry(
    AGENT, 1_790_000_000_000, "s-1", "chat:dm", "chat", "working", "open", True,
    (Artifact("key-1", "decision", 0.5, "We decided to ship on Monday.", 1_790_000_000_000),),
)  # fmt: skip


def sessions() -> SearchStrategy[bytes]:
    """Transcripts with roles, spoilt; what agents say often reads like a decision."""
    rows = [json.loads(line) for line in CHAT.read_bytes().splitlines()]
    labelled = (FIXTURES / "agent-lines-labelled.jsonl").read_bytes().splitlines()
    said = [str(next(iter(json.loads(line).values()))) for line in labelled[::40]]
    rows += [
        {"role": role, "content": text, "ts": "2026-11-30T07:00:00Z"}
        for role in ("assistant", "user", "tool", "Human ", "")
        for text in said
    ]
    rows.append({"role": "user", "content": [{"type": "text", "text": said[0]}, "x", {}]})
    line = st.one_of(damaged(json_bytes(spoilt(rows))), shapes.encoded(texts()))
    return st.lists(line, max_size=8).map(b"\n".join)


@contextmanager
def session_reading(_folder: Path) -> Iterator[Check]:
    """One reading of a transcript."""
    yield _check_session


def _check_session(data: bytes) -> None:
    lines = len(data.removesuffix(b"\n").split(b"\n")) * bool(data)
    if refusal_of(lambda: count_lines(io.BytesIO(data))) is None:
        assert count_lines(io.BytesIO(data)) == lines
    else:
        assert b"\0" in data
    error = refusal_of(lambda: read_session(io.BytesIO(data)))
    if error is not None:
        assert isinstance(error, InvalidArgument)
        assert "UTF-16" in error.message
        return
    found = read_session(io.BytesIO(data))
    messages = [m for some in read_messages(io.BytesIO(data), lambda _: None) for m in some]
    assert found.messages == len(messages)
    assert found.by_agent == sum(author == "agent" for author, *_ in messages)
    said = "\n".join(text for author, text, _ in messages if author == "agent")
    typed = {text.strip() for author, text, _ in messages if author == "person"}
    for line in found.key_lines:
        assert line.text in said
        assert line.text not in typed
        assert len(line.text) <= LONGEST
    for _, line in eligible_lines(data.decode("utf-8", "replace")):
        assert judge(line).category in (None, "decision", "note", "commitment")


def entries() -> SearchStrategy[bytes]:
    """The files of a queue, spoilt."""
    return damaged(json_bytes(spoilt([json.loads(encoded(ENTRY))])))


@contextmanager
def entry_reading(_folder: Path) -> Iterator[Check]:
    """The reader of one entry."""
    yield _check_entry


def _check_entry(data: bytes) -> None:
    try:
        entry = decoded(data)
    except ValueError as error:
        str(error).encode()
        return
    assert decoded(encoded(entry)) == entry


def requests() -> SearchStrategy[bytes]:
    """Requests to the REST API: a line with method, path and query, and a body."""
    queries = (
        *("", "?query=invoice", "?min_sig=nan", "?min_sig=1e400", "?budget=٣", "?budget=1_0"),
        *("?memory_stage=working", "?memory_stage=any&query=%22*%22", "?budget=" + "9" * 5_000),
        *("?query=%00", "?query=%ed%a0%80", "?category=%ff&x=1", "?agent=other", "?query=NEAR("),
    )
    paths = ("/v1/memories", "/v1/sessions/s-1/memories", "/v1/sessions/%2e%2e%2f/memories")
    more = ("/openapi.json", "/v1/openapi.json", "//", "/v1/sessions//memories", "/%00")
    heads = st.builds(
        "{} {}{}".format,
        st.sampled_from(("GET", "POST", "PUT", "HEAD")),
        st.sampled_from((*paths, *paths, *more)),
        st.sampled_from(queries),
    )
    memory = {"text": "Invoices go out on Monday.", "category": "note", "significance": 0.5}
    working = {**memory, "memory_stage": "working", "session_id": "s-1", "channel": "c"}
    return with_head(heads, damaged(json_bytes(spoilt([memory, memory, working]))))


@contextmanager
def serving(folder: Path) -> Iterator[Check]:
    """The API over a workspace of its own, asked without a socket."""
    app = Api({TOKEN: AGENT}, Settings(str(folder))).application()
    yield lambda data: _check_request(app, data)


def _check_request(app: Any, data: bytes) -> None:
    words, body = split_head(data)
    method, address = (*words, "GET", "/")[:2]
    status, answer = ask(app, method, address, body, f"Bearer {TOKEN}")
    assert status < 500, answer
    if method == "GET" and status < 300:
        json.loads(answer)
    assert ask(app, method, address, body, "Bearer x")[0] in (200, 307, 401, 404, 405)


def ask(app: Any, method: str, address: str, body: bytes, key: str = "") -> tuple[int, bytes]:
    """The status and the body that an ASGI application answers."""
    from urllib.parse import unquote_to_bytes

    path, _, query = address.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", key.encode())],
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(app, scope, receive, send)
    answer = b"".join(one.get("body", b"") for one in sent if one["type"] == "http.response.body")
    return sent[0]["status"], answer


TARGETS = {
    "sessions": Target(sessions(), session_reading),
    "queue-entries": Target(entries(), entry_reading),
    "requests": Target(requests(), serving),
}
