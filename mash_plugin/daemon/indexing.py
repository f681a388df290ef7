"""A full index run: what is new is read, citations are judged anew, old chats are dropped."""

from collections.abc import Callable
from dataclasses import dataclass

from mash_plugin.chats.report import IndexReport, Progress
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import Node
from mash_plugin.errors import MashError


@dataclass(slots=True)
class IndexRun:
    """The full index run that goes on, or the last one."""

    number: int = 0
    is_running: bool = False
    progress: Progress | None = None
    report: IndexReport | None = None
    error: dict[str, object] | None = None

    def note(self, progress: Progress) -> None:
        """Remember how far it has come."""
        self.progress = progress


def index_all(node: Node, log: Log, run: IndexRun, should_stop: Callable[[], bool]) -> None:
    """Do this run to its end. Raises what the index raises; the run tells of it as well."""
    from mash_plugin.memory.freshness import recheck_rebuilt

    try:
        run.report = node.chats.refresh_all(now_ms(), progress=run.note, should_stop=should_stop)
        recheck_rebuilt(node.own_call())
        if dropped := node.chats.drop_old(now_ms()):
            log.write("retention", chats=dropped)
    except MashError as error:
        run.error = error.as_json()
        raise
    finally:
        run.is_running = False
    log.write("index", **run.report._asdict() | {"rewritten": len(run.report.rewritten)})
