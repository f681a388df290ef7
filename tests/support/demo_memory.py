"""A home with a memory worth looking at: some months of two projects."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.daemons import Place, event
from tests.support.transcripts import ClaudeTranscript, write_repository

DAY_MS = 86_400_000
Json = dict[str, Any]
SHOP: Json = {"kind": "repository", "identity": "github.com/acme/shop"}
SITE: Json = {"kind": "repository", "identity": "github.com/acme/site"}
CHROMA = "Use Chroma as the vector store for local search."


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

    def create(
        self, name: str, days_ago: float, scope: Json, body: Json, evidence: list[Json]
    ) -> Json:
        """A new record."""
        return self.save(name, days_ago, action="create", scope=scope, body=body, evidence=evidence)

    def link(self, days_ago: float, source: Json, target: Json, relation: str) -> Json:
        """What one record says of another."""
        return self.save(
            "", days_ago, action="link", expected=source, target=target, relation=relation
        )

    def at(self, name: str) -> Json:
        """The record as it stands, to be changed."""
        return {"id": self.ids[name], "revision": self.revisions[name]}


def said(session: str, quote: str, purpose: str = "endorsement") -> list[Json]:
    return [{"session_id": session, "quote": quote, "purpose": purpose}]


def established(statement: str, recorded_by: str, details: Json) -> Json:
    """The body of a record that counts."""
    return {
        "statement": statement,
        "review": "established",
        "recorded_by": recorded_by,
        "details": details,
    }


def decision(statement: str, **details: Any) -> Json:
    """An accepted decision that the person endorsed."""
    accepted = {"kind": "decision", "state": "accepted", **details}
    return established(statement, "Claude Code", accepted)


def build(demo: Demo) -> Demo:
    """Fill the home."""
    _talk_about_the_shop(demo)
    _talk_about_the_site(demo)
    demo.place.call("index")
    _decide_on_search(demo)
    _learn_about_the_shop(demo)
    _decide_on_the_site(demo)
    container, tuesday = demo.at("container"), demo.at("tuesday")
    demo.link(8, container, demo.at("qdrant"), "supports")
    demo.link(7, tuesday, demo.at("one"), "contradicts")
    confirming = demo.chat("s-again", "shop", "Check search before the release", 3)
    demo.messages["confirmed"] = confirming.person("Qdrant works well, keep it for local search.")
    works = said("s-again", "Qdrant works well, keep it")
    demo.save("qdrant", 2, action="confirm", expected=demo.at("qdrant"), evidence=works)
    return demo


def _talk_about_the_shop(demo: Demo) -> None:
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


def _talk_about_the_site(demo: Demo) -> None:
    style = demo.chat("s-style", "site", "Tone of the documentation", 12)
    style.person(
        "From now on write the docs in plain English, short sentences, no exclamation marks."
    )
    style.agent("I split the guide into two pages, because setup and use are read apart.")
    style.person("Deploys happen on Tuesdays. And keep the guide on one page after all!")


def _decide_on_search(demo: Demo) -> None:
    begun = said("s-search", "Let's begin with Chroma")
    demo.create("chroma", 95, SHOP, decision(CHROMA), begun)
    why: Json = {
        "alternatives": ["Chroma: filters took two seconds", "FAISS: no filters at all"],
        "consequences": ["Each developer machine runs one more container."],
    }
    demo.save(
        "qdrant",
        39.5,
        action="supersede",
        expected=demo.at("chroma"),
        body=decision("Use Qdrant for local search.", **why),
        evidence=said("s-filters", "Replace Chroma by Qdrant."),
    )
    demo.save(
        "qdrant",
        39,
        action="revise",
        expected=demo.at("qdrant"),
        body=decision("Use Qdrant for local search, in a container of its own.", **why),
        evidence=said("s-filters", "Keep Qdrant in its own container"),
    )


def _learn_about_the_shop(demo: Demo) -> None:
    empty = decision("Tests start an empty Qdrant instead of cleaning a shared one.")
    demo.create(
        "container", 38, SHOP, empty, said("s-filters", "so that a test can start an empty one")
    )
    details: Json = {
        "kind": "preference",
        "state": "active",
        "conditions": ["money, as in src/prices.py"],
    }
    cents = established("Store prices in cents, never as floats.", "Claude Code", details)
    always = said("s-filters", "Prices are always stored in cents, never as floats.")
    demo.create("cents", 36, SHOP, cents, always)
    speed: Json = {
        "statement": "Filtered queries take 31 ms with Qdrant.",
        "recorded_by": "Claude Code",
        "details": {"kind": "fact", "state": "current", "reported_by": "Claude Code"},
    }
    report = said("s-filters", "filtered queries take 31 ms now", "report")
    demo.create("speed", 35, SHOP, speed, report)


def _decide_on_the_site(demo: Demo) -> None:
    plain = "Write documentation in plain English with short sentences."
    english = established(plain, "Codex", {"kind": "preference", "state": "active"})
    asked = said("s-style", "write the docs in plain English, short sentences")
    demo.create("english", 11, {"kind": "personal"}, english, asked)
    two = "The guide has two pages, one for setup and one for use."
    pages = decision(two, decided_by="agent")
    split = said("s-style", "I split the guide into two pages", "context")
    demo.create("pages", 10, SITE, pages, split)
    tuesdays = said("s-style", "Deploys happen on Tuesdays.")
    demo.create("tuesday", 9, SITE, decision("Deploy on Tuesdays."), tuesdays)
    one = said("s-style", "keep the guide on one page after all")
    demo.create("one", 9, SITE, decision("Keep the guide on one page."), one)


def run_hooks(demo: Demo) -> None:
    """Let the hooks of one session speak, as its agent calls them."""
    place, session = demo.place, "s-again"
    cwd, at = str(place.root / "shop"), demo.now - 3 * DAY_MS
    source = place.root / "shop" / "src"
    source.mkdir()
    (source / "prices.py").write_text("HALF_UP = True\n")
    read = {"tool_name": "Read", "tool_input": {"file_path": str(source / "prices.py")}}
    again = "Qdrant works well, keep it for local search."
    for seconds, hook, name, fields in (
        (0, "session-start", "SessionStart", {"source": "startup"}),
        (1, "prompt-submit", "UserPromptSubmit", {"prompt": again}),
        (40, "file-read", "PreToolUse", read),
    ):
        now = str(at + seconds * 1000)
        body = event(name, session_id=session, cwd=cwd, **fields)
        place.hook(hook, body, environment={"MASH_TEST_NOW_MS": now})


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
