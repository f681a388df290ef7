"""Let working memories expire, after what matters in them was copied to long-term memory."""

from typing import NamedTuple

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline.settings import Settings

HOUR_MS = 3_600_000


class Promoted(NamedTuple):
    """What one run did."""

    copied: int = 0
    expired: int = 0
    note: str = ""
    """What is worth saying of the compiled file, which shows the copies from now on."""

    def __str__(self) -> str:
        return f"consolidate: {self.copied} promoted, {self.expired} expired"


def refuse_impossible(settings: Settings) -> None:
    """Raise InvalidArgument where expiry would lose what can never be copied (R-221)."""
    if settings.promote and settings.copy_promote and settings.backend == "file":
        raise InvalidArgument(
            "MM_WORKING_PROMOTE copies into long-term memory, which the file backend cannot."
            " Nothing was expired. Set MM_WORKING_COPY_PROMOTE=0 for expiry without copying."
        )


def promote(settings: Settings, agent: str, now: int) -> Promoted:
    """Copy what matters, then expire what was captured too long ago.

    Does nothing unless MM_WORKING_PROMOTE is on.
    """
    from mash_plugin.throughline.compile import rebuild
    from mash_plugin.throughline.one_drain import only_one
    from mash_plugin.throughline.store import copy_important, expire, open_database

    refuse_impossible(settings)
    if not settings.promote:
        return Promoted()
    with only_one(settings.workspace, "nothing was promoted"):
        db = open_database(settings, to_write=True)
        try:
            copied = copy_important(db, agent) if settings.copy_promote else 0
            expired = expire(db, agent, now - settings.ttl_hours * HOUR_MS)
            if not copied:
                return Promoted(copied, expired)
            return Promoted(copied, expired, rebuild(db, settings, agent, now).note)
        finally:
            db.close()
