"""What an agent's first tool call needs, imported before it comes: that takes 90 ms.

Imports hold the interpreter, and a hook would wait for them. So they come when no hook has
been answered for a while, as when the agent's model thinks.
"""

import importlib
import threading
import time
from collections.abc import Callable

QUIET_S = 1.0


def begin(hooks_answered: Callable[[], int]) -> None:
    """Import in a thread of its own, as soon as hooks leave the time for it."""
    threading.Thread(
        target=import_when_quiet, args=(hooks_answered,), name="tool-imports", daemon=True
    ).start()


def import_when_quiet(hooks_answered: Callable[[], int]) -> None:
    """Import once no hook has been answered for QUIET_S."""
    answered, before = hooks_answered(), -1
    while answered != before:
        time.sleep(QUIET_S)
        answered, before = hooks_answered(), answered
    import_tools()


def import_tools() -> None:
    """Import every tool's module and what checks its request."""
    from mash_plugin.daemon.methods import TOOLS

    for module in ("mash_plugin.protocol", *(module for module, _ in TOOLS.values())):
        importlib.import_module(module)
