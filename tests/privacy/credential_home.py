"""A home whose stores hold a credential in every text, as an older version may have saved it."""

import os
import pty
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.project import project_of
from mash_plugin.memory.drafts import tokens_of
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.store.backup import make
from mash_plugin.store.changes import add_confirmations, add_link, add_revision, hide, insert_record
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import get_head
from tests.privacy.samples import SAMPLES
from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript, write_repository
from tests.support.warm_starts import run_mash

SECRET = SAMPLES["GitHub token"][0]
FILE = "src/ledger.py"
SESSION, CHAT = "s-1", "claude-code-s-1"
QUOTE = f"The token is {SECRET}"
Json = dict[str, Any]


@dataclass(frozen=True)
class Planted:
    """A home whose stores hold the credential in every text, and the daemon that serves them."""

    place: Place
    project: Path
    identity: str
    message: str

    @property
    def scope(self) -> Json:
        return {"kind": "repository", "identity": self.identity}

    def mash(self, *arguments: str, answer: str = "") -> str:
        """What a command prints on both streams; with an answer it believes a person is there."""
        if not answer:
            done = run_mash(arguments, self.project, self.place.environment)
            return done.stdout + done.stderr
        command = [sys.executable, "-m", "mash_plugin", *arguments]
        options: Json = {"env": self.place.environment, "cwd": self.project, "timeout": 60}
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        terminal, stdin = pty.openpty()
        os.write(terminal, answer.encode())
        try:
            return subprocess.run(command, stdin=stdin, **options).stdout.decode()
        finally:
            os.close(terminal)
            os.close(stdin)


def plant(place: Place) -> Planted:
    project = place.root / f"work-{SECRET}" / "shop"
    (project / "src").mkdir(parents=True)
    (project / FILE).write_text("pass\n")
    write_repository(project, f"https://host.example/{SECRET}/shop")
    found = project_of(str(project))
    assert found
    assert found.identity
    identity = found.identity
    transcript = ClaudeTranscript(place.home / ".claude", str(project), SESSION)
    message = transcript.person(f"{QUOTE}, it opens {FILE}.")
    transcript.agent(f"I keep {SECRET} in mind.")
    now = int(time.time() * 1000) - 60_000
    store, chats = open_store(place.paths, now), open_chats(place.paths)
    ChatIndex(chats, lambda: [("claude-code", str(place.home / ".claude"))]).refresh_all(now)
    evidence = Evidence(
        CHAT, message, QUOTE, "endorsement", "user", "person", f"{QUOTE}.", recorded_at=now
    )
    with store.writing() as db:
        owner = identity_of(db).owner
        for record_id, body in bodies().items():
            scope = Scope("repository", identity)
            revision = Revision(1, body, now, (evidence,), SESSION)
            same = interpretation_hash(scope, body)
            insert_record(db, record_id, owner, scope, revision, same, tokens_of(revision))
        head = get_head(db, "planted-decision")
        other = get_head(db, "planted-preference")
        assert head
        assert other
        add_link(db, other, head, "supports", now, SESSION)
        added = evidence._replace(added_by="confirmation")
        add_confirmations(db, head, (added,), (message,), now, SESSION)
        second = Revision(2, bodies()["planted-decision"], now, (evidence,), SESSION)
        assert add_revision(db, head, second, b"x" * 32, tokens_of(second))
        hide(db, "planted-fact", now, SESSION)
    backup = make(store, str(place.root / "raw"), now)
    assert SECRET.encode() in Path(backup.path).read_bytes()
    store.close()
    chats.close()
    return Planted(place, project, identity, message)


def bodies() -> dict[str, Body]:
    """A record of each kind with the credential in every text that it can have."""
    said = f"Open {FILE} with {SECRET}"
    more: Json = {"recorded_by": f"agent {SECRET}", "review": "established"}
    return {
        "planted-decision": Body(
            "decision",
            "accepted",
            f"{said}.",
            decided_by="person",
            alternatives=("none", f"not {SECRET}"),
            consequences=(f"so {SECRET}",),
            **more,
        ),
        "planted-preference": Body(
            "preference",
            "active",
            f"{said}, please.",
            conditions=(f"if {SECRET}",),
            **{**more, "review": "candidate"},
        ),
        "planted-fact": Body(
            "fact", "current", f"{said}, it works.", reported_by=f"who has {SECRET}", **more
        ),
    }
