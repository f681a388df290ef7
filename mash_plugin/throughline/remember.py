"""What an agent remembers itself, in the middle of a session: queued like a capture."""

import os
from typing import NamedTuple

from mash_plugin.errors import CredentialText, PrivateText
from mash_plugin.privacy.credentials import credential_kind
from mash_plugin.privacy.spans import split_private
from mash_plugin.throughline import queue
from mash_plugin.throughline.artifacts import Artifact
from mash_plugin.throughline.entries import Entry
from mash_plugin.throughline.spoken_secrets import secret_kind

KEY = "remember"
"""Its number within the session is given when it is stored."""


class Memo(NamedTuple):
    """One memory as the agent wrote it."""

    text: str
    category: str = "note"
    significance: float = 0.5
    stage: str = "long_term"
    session: str | None = None
    channel: str | None = None
    status: str | None = None


def remember(workspace: str, agent: str, memo: Memo, now: int) -> bool:
    """Queue a memory unless it waits already; whether it was new to the queue.

    Raises CredentialText or PrivateText: such a memory is refused whole, never masked.
    """
    _refuse_secrets(memo)
    artifact = Artifact(KEY, memo.category, memo.significance, memo.text, None)
    entry = Entry(
        agent=agent,
        queued_at=now,
        session=memo.session,
        channel=memo.channel,
        source_kind=None,
        stage=memo.stage,
        status=memo.status,
        replaces_session=False,
        artifacts=(artifact,),
    )
    with queue.told(os.path.join(workspace, queue.FOLDER)):
        if queue.is_pending(workspace, entry):
            return False
    queue.put(workspace, entry)
    return True


def _refuse_secrets(memo: Memo) -> None:
    for name in ("text", "category", "session", "channel", "status"):
        value = getattr(memo, name) or ""
        # A session may be named after a pin; a text that tells one is refused.
        kind = secret_kind(value) if name == "text" else credential_kind(value)
        if kind is not None:
            raise CredentialText(f"The {name} holds a credential ({kind}); say it without.")
        if split_private(value)[0] != value:
            raise PrivateText(f"The {name} holds a private span; say it without.")
