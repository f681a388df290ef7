"""Captures and drains of a workspace, in which everything queued is stored once."""

from collections.abc import Iterator
from pathlib import Path

from mash_plugin.throughline import queue
from mash_plugin.throughline.artifacts import Source
from mash_plugin.throughline.capture import capture_session
from mash_plugin.throughline.database import open_file
from mash_plugin.throughline.drain import drain
from mash_plugin.throughline.settings import read_settings
from tests.crash.workloads import State, Workload
from tests.support.killed_captures import AGENT, ROW
from tests.support.killed_captures import NOW as CAPTURED_AT

SESSIONS = 3
ROWS = "SELECT session_id, artifact_key, text FROM mm_memories ORDER BY 1, 2, 3"


class Captures(Workload):
    """Sessions are captured, drained, captured again as they grew, and drained again."""

    def prepare(self) -> None:
        super().prepare()
        for number in range(SESSIONS):
            said = f"Decided to use berth {number}.\\nI'll call port {number} tomorrow."
            for grown in range(2):
                text = ROW % said.encode() * (grown + 1)
                Path(self.folder, f"{number}-{grown}.jsonl").write_bytes(text)

    def run(self) -> Iterator[None]:
        for grown in range(2):
            for number in range(SESSIONS):
                with open(self.folder / f"{number}-{grown}.jsonl", "rb") as file:
                    source = Source(AGENT, f"s{number}", "c", "chat")
                    capture_session(source, file, str(self.root), CAPTURED_AT)
                yield
            self._drain()
            yield

    def look(self, done: int) -> State:  # noqa: ARG002 - the same whatever was done
        """What of each session is queued or stored: of the newest capture, each text once."""
        workspace = str(self.root)
        database = open_file(workspace, to_write=False)
        try:
            assert database.all("PRAGMA integrity_check", {}) == [("ok",)]
            rows = database.all(ROWS, {})
        finally:
            database.close()
        assert len(rows) == len(set(rows)), "stored twice"
        texts = {f"s{n}": [text for s, _, text in rows if s == f"s{n}"] for n in range(SESSIONS)}
        for name in queue.pending(workspace, AGENT):
            entry = queue.read(workspace, name)
            texts[str(entry.session)] = [artifact.text for artifact in entry.artifacts]
        return {session: sorted(found) for session, found in texts.items()}

    def _drain(self) -> None:
        done = drain(read_settings(str(self.root), None, {}), AGENT, CAPTURED_AT)
        assert not done.failed, done.faults
