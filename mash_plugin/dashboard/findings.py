"""What the doctor finds: looked at beside the pages, since a full look takes a second or more."""

import threading
import time
from collections.abc import Callable
from typing import Any

from mash_plugin.errors import MashError

KEEP_S = 30.0
Json = dict[str, Any]


class Findings:
    """Owns the thread that looks; what it found holds for a while."""

    def __init__(self, examine: Callable[[], list[Json]]) -> None:
        self.looks = 0
        """Grows with every look that has ended."""
        self.looked_at: int | None = None
        """When the last of them ended."""
        self._examine = examine
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._found: list[Json] = []
        self._found_at = -KEEP_S

    def get(self, wait_s: float) -> list[Json] | None:
        """The findings, not older than a minute; None when they take longer than this."""
        with self._lock:
            is_old = time.monotonic() - self._found_at >= KEEP_S
            if is_old and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()
            thread = self._thread
        if is_old and thread is not None:
            thread.join(wait_s)
        with self._lock:
            return self._found if self.looks else None

    def _look(self) -> None:
        try:
            found = self._examine()
        except MashError as error:
            found = [{"severity": "error", "what": error.message, "why": "", "next": "mash doctor"}]
        with self._lock:
            self._found, self._found_at = found, time.monotonic()
            self.looked_at = int(time.time() * 1000)
            self.looks += 1
