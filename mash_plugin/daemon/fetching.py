"""The thread that fetches copies of the group's records.

It is one of its own, since a server that hangs must hold up neither a hook nor the index.
"""

import os
import threading

from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import Node
from mash_plugin.errors import MashError


class Fetching:
    """Owns the thread that fetches, for as long as there is something to fetch."""

    def __init__(self, node: Node, log: Log) -> None:
        self._node = node
        self._log = log
        self._thread: threading.Thread | None = None

    def look_after(self) -> None:
        """Fetch what is wanted; remove everything where nothing is to be recalled of a group."""
        settings = self._node.settings({})
        if not settings.group_recall or settings.group_dsn_file is None:
            if os.path.isdir(self._node.paths.group):
                self._node.group_copies().clear()
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._fetch, name="group-copies", daemon=True)
            self._thread.start()

    def _fetch(self) -> None:
        from mash_plugin.memory.denied import Denied

        try:
            call = self._node.own_call()
            denied = Denied(call, "recall")
            self._node.group_copies().refresh(
                call.settings,
                os.environ,
                call.now,
                lambda identity: denied.has_scope("repository", identity),
            )
        except MashError as error:
            self._log.write("background", work="group-copies", failure=error.code)
        except Exception as error:  # the thread's boundary: the next attempt must go on
            self._log.write("background", work="group-copies", failure=type(error).__name__)
