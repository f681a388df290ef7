"""Small pools of worker threads, started as they are needed.

Not concurrent.futures: it imports logging, and a hook waits for this at a cold start.
"""

import threading
from collections import deque
from collections.abc import Callable

from mash_plugin.daemon.frames import ToolFrame
from mash_plugin.wording import WRITING

Job = Callable[[], None]


class Pool:
    """At most `size` threads, which keep their store connections for as long as they live."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def submit(self, job: Job) -> None:
        """Run the job soon; it must not raise."""
        with self._changed:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._changed.notify()
            elif len(self._threads) < self.size:
                thread = threading.Thread(target=self._work, name=self.name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self, timeout_s: float) -> None:
        """Let the threads end after what they do now."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout_s)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                while not self._jobs and not self._is_closed:
                    self._changed.wait()
                self._idle -= 1
                if not self._jobs:
                    return
                job = self._jobs.popleft()
            job()


class Pools:
    """One pool for each kind of request: none waits for those of another kind."""

    def __init__(self) -> None:
        self.hook = Pool("hook", 4)
        self.read = Pool("read", 8)
        self.write = Pool("write", 16)
        """Most of them sleep: a citation waits up to two seconds for words that the host writes
        late."""
        self.group = Pool("group", 16)
        """They wait for a network, so that nobody who reads what is here waits for them."""

    def for_tool(self, frame: ToolFrame) -> Pool:
        """Who is to answer a request."""
        if frame.asks_group:
            return self.group
        return self.write if frame.method in WRITING else self.read

    def close(self, timeout_s: float) -> None:
        """Let every thread end after what it does now."""
        for pool in (self.hook, self.read, self.write, self.group):
            pool.close(timeout_s)
