"""What a mark of a stored session holds, and which store it speaks of.

A store that was deleted, replaced or copied holds what its marks say no more, or somewhere else:
a mark counts for the very file alone that the session was stored in.
"""

import os
from collections.abc import Mapping

STORE_FILE = "memories.db"
_HEAD = "store"


def store_of(workspace: str) -> str:
    """What tells the store of a workspace from any other file that was there; "" without one."""
    try:
        return str(os.stat(os.path.join(workspace, STORE_FILE)).st_ino)
    except OSError:
        return ""


def encoded(digests: Mapping[str, str], store: str) -> bytes:
    """A mark as the content of its file."""
    lines = [f"{key} {digest}" for key, digest in digests.items()]
    return "\n".join([f"{_HEAD} {store}", *lines]).encode()


def decoded(text: str, store: str | None) -> dict[str, str]:
    """Artifact keys with digests; none where the mark is not of this store (None: of any)."""
    pairs = dict(pair for line in text.splitlines() if len(pair := line.split()) == 2)
    of = pairs.pop(_HEAD, "")
    return pairs if store is None or (store and of == store) else {}
