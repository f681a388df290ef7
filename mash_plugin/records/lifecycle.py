"""The status that follows from a head and the time."""

from mash_plugin.records.model import RecordStatus

ReviewTier = int
"""0 current, 1 candidate, 2-5 review only."""


def is_in_force(retired: bool, effective_at: int | None, valid_until: int | None, now: int) -> bool:
    """Whether the head is live, has begun and has not ended (R-006)."""
    return (
        not retired
        and (effective_at is None or effective_at <= now)
        and (valid_until is None or now < valid_until)
    )


def status_of_record(in_force: bool, evidence_stale: bool, review: str) -> RecordStatus:
    """The derived status: the first that holds."""
    if not in_force:
        return "inactive"
    if evidence_stale:
        return "stale_evidence"
    return "candidate" if review == "candidate" else "current"


def tier_of(status: RecordStatus, conflicted: bool) -> ReviewTier:
    """The place of a status in the order of recall; what needs review comes last."""
    match status:
        case "current":
            return 2 if conflicted else 0
        case "candidate":
            return 3 if conflicted else 1
        case "stale_evidence":
            return 4
    return 5
