"""What is told of a wording that the quotes under it do not hold, for it came from the person."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.records.terminal import THE_PERSON


def rewording(revision: Mapping[str, Any], person: str = "you") -> str:
    """`reworded by you: …` of a revision as get_record gives it; empty where nobody reworded it.

    An edit keeps the citations, and so do the person's later changes of the standing alone.
    """
    is_edited = "origin" in revision and revision["body"]["recorded_by"] == THE_PERSON
    if not (is_edited and any(one["added_by"] == "revision" for one in revision["evidence"])):
        return ""
    return f"reworded by {person}: the quotes are what an earlier wording rests on"
