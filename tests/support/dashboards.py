"""A home with a memory worth looking at, and the dashboard over it as a process."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript, write_repository

DAY_MS = 86_400_000
SHOP = "github.com/acme/shop"
Json = dict[str, Any]


@dataclass
class Demo:
    """Some months of two projects, saved through the tools as agents save."""

    place: Place
    now: int = field(default_factory=lambda: int(time.time() * 1000))
    ids: dict[str, str] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    count: int = 0

    @property
    def root(self) -> Path:
        return self.place.home / ".claude"

    def chat(self, session: str, project: str, title: str, days_ago: int) -> ClaudeTranscript:
        """A session in a project of this home."""
        folder = self.place.root / project
        if not folder.exists():
            write_repository(folder, f"https://github.com/acme/{project}")
        transcript = ClaudeTranscript(self.root, str(folder), session)
        transcript.start = self.now - days_ago * DAY_MS
        transcript.title(title)
        return transcript

    def save(self, name: str, days_ago: float, **change: Any) -> Json:
        """One change through the tool, at its time."""
        self.count += 1
        caller = {"now_ms": str(int(self.now - days_ago * DAY_MS))}
        request = {"operation_id": f"demo-{self.count}", "change": change}
        receipt: Json = self.place.call("record", request, caller=caller)
        if "id" in receipt:
            self.ids[name] = receipt["id"]
            self.revisions[name] = receipt["revision"]
        return receipt

    def at(self, name: str) -> Json:
        return {"id": self.ids[name], "revision": self.revisions[name]}


def said(session: str, quote: str, purpose: str = "endorsement") -> list[Json]:
    return [{"session_id": session, "quote": quote, "purpose": purpose}]


def decision(statement: str, **details: Any) -> Json:
    """An accepted decision that the person endorsed."""
    return {
        "statement": statement,
        "review": "established",
        "recorded_by": "Claude Code",
        "details": {"kind": "decision", "state": "accepted", **details},
    }


def build(demo: Demo) -> Demo:
    """Fill the home."""
    place = demo.place
    search = demo.chat("s-search", "shop", "Choose a vector store for local search", 96)
    search.person("Which vector store should we use locally?")
    search.agent(
        "Three would do: Chroma, FAISS and Qdrant.\n\nChroma is the quickest to set up; Qdrant"
        " filters by payload before it searches, which the catalogue needs."
    )
    search.person("Let's begin with Chroma, we can change that later.")
    search.tool_call("Bash", {"command": "pip install chromadb"}, "toolu_1")
    search.tool_result("Successfully installed chromadb-1.3.0", "toolu_1")
    later = demo.chat("s-filters", "shop", "Filters make search slow", 40)
    later.person("Search with filters takes two seconds. Replace Chroma by Qdrant.")
    later.agent("I moved the collection to Qdrant: filtered queries take 31 ms now.")
    later.person("Keep Qdrant in its own container, so that a test can start an empty one.")
    later.notification("<task-notification>build finished</task-notification>")
    later.person("Prices are always stored in cents, never as floats.")
    later.person("My key is <private>not for you</private>, do not print it.")
    style = demo.chat("s-style", "site", "Tone of the documentation", 12)
    style.person(
        "From now on write the docs in plain English, short sentences, no exclamation marks."
    )
    style.agent("I split the guide into two pages, because setup and use are read apart.")
    style.person("Deploys happen on Tuesdays. And keep the guide on one page after all!")
    place.call("index")
    shop: Json = {"kind": "repository", "identity": SHOP}
    site: Json = {"kind": "repository", "identity": "github.com/acme/site"}
    demo.save(
        "chroma",
        95,
        action="create",
        scope=shop,
        body=decision("Use Chroma as the vector store for local search."),
        evidence=said("s-search", "Let's begin with Chroma"),
    )
    demo.save(
        "qdrant",
        39.5,
        action="supersede",
        expected=demo.at("chroma"),
        body=decision(
            "Use Qdrant for local search.",
            alternatives=["Chroma: filters took two seconds", "FAISS: no filters at all"],
            consequences=["Each developer machine runs one more container."],
        ),
        evidence=said("s-filters", "Replace Chroma by Qdrant."),
    )
    demo.save(
        "qdrant",
        39,
        action="revise",
        expected=demo.at("qdrant"),
        body=decision(
            "Use Qdrant for local search, in a container of its own.",
            alternatives=["Chroma: filters took two seconds", "FAISS: no filters at all"],
            consequences=["Each developer machine runs one more container."],
        ),
        evidence=said("s-filters", "Keep Qdrant in its own container"),
    )
    demo.save(
        "container",
        38,
        action="create",
        scope=shop,
        body=decision("Tests start an empty Qdrant instead of cleaning a shared one."),
        evidence=said("s-filters", "so that a test can start an empty one"),
    )
    demo.save(
        "cents",
        36,
        action="create",
        scope=shop,
        body={
            "statement": "Store prices in cents, never as floats.",
            "review": "established",
            "recorded_by": "Claude Code",
            "details": {"kind": "preference", "state": "active", "conditions": ["money"]},
        },
        evidence=said("s-filters", "Prices are always stored in cents, never as floats."),
    )
    demo.save(
        "speed",
        35,
        action="create",
        scope=shop,
        body={
            "statement": "Filtered queries take 31 ms with Qdrant.",
            "recorded_by": "Claude Code",
            "details": {"kind": "fact", "state": "current", "reported_by": "Claude Code"},
        },
        evidence=said("s-filters", "filtered queries take 31 ms now", "report"),
    )
    demo.save(
        "english",
        11,
        action="create",
        scope={"kind": "personal"},
        body={
            "statement": "Write documentation in plain English with short sentences.",
            "review": "established",
            "recorded_by": "Codex",
            "details": {"kind": "preference", "state": "active"},
        },
        evidence=said("s-style", "write the docs in plain English, short sentences"),
    )
    demo.save(
        "pages",
        10,
        action="create",
        scope=site,
        body={
            "statement": "The guide has two pages, one for setup and one for use.",
            "recorded_by": "Claude Code",
            "review": "established",
            "details": {"kind": "decision", "state": "accepted", "decided_by": "agent"},
        },
        evidence=said("s-style", "I split the guide into two pages", "context"),
    )
    for name, text, quote in (
        ("tuesday", "Deploy on Tuesdays.", "Deploys happen on Tuesdays."),
        ("one", "Keep the guide on one page.", "keep the guide on one page after all"),
    ):
        demo.save(
            name,
            9,
            action="create",
            scope=site,
            body=decision(text),
            evidence=said("s-style", quote),
        )
    demo.save(
        "",
        8,
        action="link",
        expected=demo.at("container"),
        target=demo.at("qdrant"),
        relation="supports",
    )
    demo.save(
        "",
        7,
        action="link",
        expected=demo.at("tuesday"),
        target=demo.at("one"),
        relation="contradicts",
    )
    confirming = demo.chat("s-again", "shop", "Check search before the release", 3)
    demo.messages["confirmed"] = confirming.person("Qdrant works well, keep it for local search.")
    demo.save(
        "qdrant",
        2,
        action="confirm",
        expected=demo.at("qdrant"),
        evidence=said("s-again", "Qdrant works well, keep it"),
    )
    return demo


def fill_buffer(place: Place) -> None:
    """A working buffer with one session stored and one capture still in the queue."""
    workspace = place.root / "buffer"
    workspace.mkdir()
    with Path(place.paths.config_file).open("a") as config:
        config.write(
            f'[throughline]\nagent = "assistant"\nworkspace = "{workspace}"\n'
            "working_promote = true\nworking_copy_promote = false\n"
        )
    drain = ("consolidate", "--agent-id", "assistant", "--drain-only")
    where = ("--workspace", str(workspace), "--config-dir", str(workspace))
    for session, lines in (
        ("standup", ["We decided to ship the guide on Tuesday.", "I will call Ana by Friday."]),
        ("late", ["We decided to keep one page."]),
    ):
        transcript = workspace / f"{session}.jsonl"
        rows = [{"role": "assistant", "content": line} for line in lines]
        transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
        capture = ("capture-session", "--agent", "assistant", "--session-id", session)
        kind = (
            "--channel",
            "telegram:dm",
            "--source-kind",
            "chat",
            "--transcript",
            str(transcript),
        )
        for command in ((*capture, *kind), drain)[: 2 if session == "standup" else 1]:
            subprocess.run(
                [sys.executable, "-m", "mash_plugin.cli.meaning_memory", *command, *where],
                env=place.environment,
                stdout=subprocess.DEVNULL,
                check=True,
            )


@contextmanager
def home() -> Iterator[Demo]:
    """A home with a daemon and nothing in it yet."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.environment["CLAUDE_CONFIG_DIR"] = str(place.home / ".claude")
        (place.home / ".claude" / "projects").mkdir(parents=True)
        try:
            place.start(CLAUDE_CONFIG_DIR=str(place.home / ".claude"))
            yield Demo(place)
        finally:
            place.close()


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
