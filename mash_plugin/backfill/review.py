"""Review one chat: ask, wait, and let the daemon say whether it was saved.

Nothing that an agent prints makes a review complete: records and checkpoint are one transaction
of the daemon, and its receipt is asked for afterwards. So a review that is killed at any moment
was saved whole or is still to be done.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mash_plugin import client
from mash_plugin.agents.reviewing import Task
from mash_plugin.backfill.offer import Chosen
from mash_plugin.backfill.outcome import Outcome, unsaved
from mash_plugin.backfill.plan import Planned
from mash_plugin.backfill.process import run_group
from mash_plugin.backfill.prompt import INSTRUCTIONS, ask_for
from mash_plugin.errors import ChatNotFound, RecordsDisabled
from mash_plugin.paths import Paths
from mash_plugin.protocol.review import Review, review_text
from mash_plugin.store.failpoint import failpoint

LIMIT_S = 600.0
REVIEW_FILE = "review.json"


class Workplace(NamedTuple):
    """The folder of one review, and the empty one that its agent works in."""

    folder: Path
    empty: Path
    review_file: Path


def review_chat(
    paths: Paths, chosen: Chosen, chat: Planned, environ: Mapping[str, str], limit_s: float
) -> Outcome:
    """Have one chat reviewed. Raises what the daemon raises, and KeyboardInterrupt."""
    try:
        found = client.call("review_chat", {"chat_id": chat.chat_id}, paths=paths)
    except (ChatNotFound, RecordsDisabled) as error:
        return Outcome(False, kind="changed", reason=error.message)
    failpoint("review_read")
    asked = ask_for(found)
    with _workplace(paths, asked.review) as place:
        task = Task(
            place.folder, place.empty, INSTRUCTIONS, asked.prompt, server_command(place.review_file)
        )
        start = chosen.reviewer.prepare(chosen.place, task, environ)
        failpoint("review_prepared")
        try:
            ended = run_group(start, place.folder, place.empty, limit_s)
        except OSError as error:
            return Outcome(False, kind="not_saved", reason=f"{chosen.title} did not start: {error}")
    failpoint("review_ended")
    result = client.call("review_result", {"operation_id": asked.review.operation_id}, paths=paths)
    failpoint("review_told")
    if result["is_saved"]:
        return Outcome(True, result["records_saved"])
    ending = chosen.reviewer.read_ending(ended.code, ended.out, ended.err)
    if has_changed(paths, asked.review):
        return Outcome(False, kind="changed", reason="the chat went on during its review")
    return unsaved(chosen, ending, limit_s, is_late=ended.is_late)


def has_changed(paths: Paths, review: Review) -> bool:
    """Whether the chat is not as it was when it was given to the agent."""
    asked = {"chat_id": review.chat_id, "scope": review.scope}
    now = client.call("get_extraction_checkpoint", asked, paths=paths)
    return bool(now["source_fingerprint"] != review.source_fingerprint)


def server_command(review_file: Path) -> tuple[str, ...]:
    """How the agent starts the one server of the review: with this very environment."""
    interpreter = os.path.abspath(sys.executable)
    return (interpreter, "-I", "-m", "mash_plugin", "mcp", "--review", str(review_file))


@contextmanager
def _workplace(paths: Paths, review: Review) -> Iterator[Workplace]:
    """A folder of this review alone, whose lock tells the server that the run still lives."""
    folder = Path(tempfile.mkdtemp(prefix="chat-", dir=paths.reviews))
    try:
        (empty := folder / "empty").mkdir(0o700)
        review_file = folder / REVIEW_FILE
        review_file.touch(0o600)
        review_file.write_text(review_text(review))
        with review_file.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield Workplace(folder, empty, review_file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
