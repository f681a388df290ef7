"""Which IDs what is imported gets here."""

import hmac
from typing import Literal, NamedTuple

from mash_plugin.store.operations import Identity

Mode = Literal["export", "mine", "identity"]
"""As another owner's (R-162), as the person's own, or the store itself (R-163)."""


class Names(NamedTuple):
    """The new IDs of records and owners of one source.

    They follow from the source's IDs and the secret of this store, so that the same record gets
    the same one whenever it comes: what was forgotten here is known when it comes again.
    """

    mode: Mode
    identity: Identity
    node: str
    """The store that the file was made of."""
    source_owner: str

    def owner(self, owner: str) -> str:
        """The owner here of what was that owner's there."""
        if self.mode == "identity":
            return owner
        if self.mode == "mine" and owner == self.source_owner:
            return self.identity.owner
        return self._derived(b"owner", owner)

    def record(self, record_id: str) -> str:
        """The ID here of the record that had this one there."""
        if self.mode == "identity":
            return record_id
        return self._derived(self.mode.encode(), record_id)

    def _derived(self, purpose: bytes, name: str) -> str:
        message = b"\0".join((b"import", purpose, self.node.encode(), name.encode()))
        return hmac.new(self.identity.secret, message, "sha256").hexdigest()[:32]
