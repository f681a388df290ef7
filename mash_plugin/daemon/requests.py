"""What requests are answered with: the node, or why there is none; and the hooks' answers."""

import gc
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.delivery import Delivery
from mash_plugin.daemon.frames import HookFrame
from mash_plugin.daemon.log import Log, place_of
from mash_plugin.errors import Internal, MashError
from mash_plugin.paths import Paths

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node
    from mash_plugin.daemon.workers import Workers
    from mash_plugin.group.kept import KeptGroup
    from mash_plugin.transfer.meter import Meter

REOPEN_AFTER_S = 5.0


class Load:
    """What the server tells of itself, for `status`."""

    def __init__(self) -> None:
        self.connections = 0
        self.leases = 0
        self.hooks_answered = 0
        self.calls_answered = 0


class Requests:
    """Owns the node, if it can be opened; else every call is told why it cannot."""

    def __init__(self, paths: Paths, log: Log) -> None:
        self.paths = paths
        self.log = log
        self.load = Load()
        self.started_at = now_ms()
        self.stop: Callable[[str], None] = lambda _: None
        self.node: Node | None = None
        self.workers: Workers | None = None
        self.problem: MashError | None = None
        self.has_answered = False
        self.transfers: dict[str, Meter] = {}
        """Exports and imports under way, by the number that their command gave them."""
        self._kept_group: KeptGroup | None = None
        self._opening = threading.Lock()
        self._tried_at = -REOPEN_AFTER_S
        self._unlogged: deque[tuple[HookFrame, int, float, str]] = deque()

    def open(self) -> None:
        """Open the stores; what fails is kept for the callers. Raises nothing of ours."""
        from mash_plugin.daemon.node import Node

        with self._opening:
            if self.node or time.monotonic() - self._tried_at < REOPEN_AFTER_S:
                return
            self._tried_at = time.monotonic()
            try:
                node = Node(self.paths, now_ms(), os.environ)
            except MashError as error:
                self.problem = error
                self.log.write("store-closed", code=error.code)
                return
            node.on_hook_failure = lambda hook, failure: self.log.write(
                "hook-part", name=hook, failure=failure
            )
            node.on_damaged_record = lambda record_id: self.log.write(
                "damaged-record", id=record_id
            )
            self.problem = None
            self.node = node

    def open_node(self) -> "Node":
        """The node. Raises what keeps it closed; tries again after a while."""
        if self.node is None:
            self.open()
        if self.node is None:
            raise self.problem or Internal()
        return self.node

    def answer_hook(self, frame: HookFrame, delivery: Delivery) -> bytes:
        """The line that the hook prints, or nothing: a hook never hears of a failure.

        The server tells `delivery` whether the line arrived.
        """
        began = time.monotonic()
        try:
            from mash_plugin.daemon.hooks import answer

            node = self.open_node()
            text = answer(node, frame.name, frame.agent, frame.switches, frame.body, delivery)
            failure = "-"
        except Exception as error:  # the hook's boundary: silence
            text, failure = b"", place_of(error)
        self.load.hooks_answered += 1
        took_ms = (time.monotonic() - began) * 1000
        self._unlogged.append((frame, len(text), took_ms, failure))
        return text if not text or text.endswith(b"\n") else text + b"\n"

    def log_hooks(self) -> None:
        """Log the hooks answered since: afterwards, for no client waits for a line of the log."""
        with suppress(IndexError):  # another thread may take the last one
            while self._unlogged:
                frame, answer, took_ms, failure = self._unlogged.popleft()
                if self.node:
                    self.node.hook_state.latency.add(frame.name, took_ms, now_ms())
                self.log.write(
                    "hook",
                    name=frame.name,
                    agent=frame.agent,
                    bytes=len(frame.body),
                    answer=answer,
                    ms=took_ms,
                    failure=failure,
                )

    def note_late(self, frame: HookFrame) -> None:
        """Count and log an answer for which its hook no longer waited."""
        if self.node:
            self.node.hook_state.latency.add_late(frame.name, now_ms())
        self.log.write("late", name=frame.name, agent=frame.agent)

    def start_workers(self) -> "Workers":
        """The background work, begun when the first answer is out: no hook waits for it."""
        node = self.open_node()
        with self._opening:
            if self.workers is None:
                from mash_plugin.daemon.workers import Workers

                self.workers = Workers(node, self.log)
            return self.workers

    def kept_group(self) -> "KeptGroup":
        """The connection to the group's server that shared reads are lent."""
        with self._opening:
            if self._kept_group is None:
                from mash_plugin.group.kept import KeptGroup  # most have no group

                self._kept_group = KeptGroup(os.environ)
            return self._kept_group

    def note_answer(self) -> None:
        """Called by the server after each answer."""
        if self.node and self.node.must_exit:
            self.stop("store-failed")
        if self.node and not self.has_answered:
            self.has_answered = True
            gc.freeze()  # what was imported stays; `__main__` let it come unwatched
            gc.enable()
            threading.Thread(target=self.start_workers, daemon=True).start()

    def is_busy(self) -> bool:
        """Whether work is queued that must not be cut off."""
        return self.workers is not None and self.workers.is_busy()

    def close(self) -> None:
        """Finish what is queued and close the stores; no long transfer is waited for."""
        for meter in list(self.transfers.values()):
            meter.break_off()
        if self._kept_group:
            self._kept_group.close()
        if self.node:
            self.start_workers().close()
            self.node.close()
