"""What the agent is told about saving: at session start, with a telling prompt, now and then.

Every note names the tool as that agent shows it (`tools` is its prefix) and holds a citation
that needs only the quote. A prompt note takes under 120 tokens, most of them names.
"""

from collections.abc import Mapping

from mash_plugin.render.text import json_line
from mash_plugin.wording import OCCASIONS, RECALL, RECORD


def saving(tools: str, session_id: str, scope: Mapping[str, str]) -> str:
    """When and how to save memory in this session (R-124)."""
    numbered = ", ".join(f"({n}) {what}" for n, what in enumerate(OCCASIONS, 1))
    return (
        f"Saving memory: use `{tools}{RECORD}` at once when the person {numbered}."
        " Without their own words: a candidate.\n"
        f"scope: {json_line(dict(scope))}\n"
        f"evidence: {_evidence(session_id)}\n"
        f"{more(tools)}"
    )


def more(tools: str) -> str:
    """Where the records are that a start has no room for."""
    return f"More: `{tools}{RECALL}`, personal ones with include_personal."


def reads_lasting(tools: str, session_id: str, scope: Mapping[str, str]) -> str:
    """The note beside a prompt that reads like a preference or a decision (R-125)."""
    return (
        "mash: this reads like a lasting preference or decision. If it is, save it:"
        f" {_how(tools, session_id, scope)}. If not, just answer and do not mention this."
    )


def sweep(tools: str, session_id: str, scope: Mapping[str, str]) -> str:
    """The safety net: save what may have been missed (R-126)."""
    return (
        "mash: save any lasting preference, decision or correction of this session not saved yet:"
        f" {_how(tools, session_id, scope)}. If none, do not mention this."
    )


def both(tools: str, session_id: str, scope: Mapping[str, str]) -> str:
    """One text when the prompt reads lasting and the safety net is due."""
    return (
        "mash: save this if it is a lasting preference or decision, and any of this session not"
        f" saved yet: {_how(tools, session_id, scope)}. If none, do not mention this."
    )


def reads_lasting_again(tools: str, session_id: str) -> str:
    """The same note where the form of a citation stands in the context already."""
    return (
        "mash: this reads like a lasting preference or decision. If it is, save it"
        f" ({_as_before(tools)}, session_id {json_line(session_id)}). If not, do not mention this."
    )


def sweep_again(tools: str) -> str:
    """The safety net where the form of a citation stands in the context already."""
    return (
        f"mash: anything lasting of this session not saved yet? {_as_before(tools)}; else do not"
        " mention this."
    )


def both_again(tools: str, session_id: str) -> str:
    """Both where the form of a citation stands in the context already."""
    return (
        "mash: save this if it is a lasting preference or decision, and any of this session not"
        f" saved yet ({_as_before(tools)}, session_id {json_line(session_id)}). If none, do not"
        " mention this."
    )


def _how(tools: str, session_id: str, scope: Mapping[str, str]) -> str:
    """The tool, the scope and a citation, in the words that the tool takes."""
    return f"`{tools}{RECORD}`, scope {json_line(dict(scope))}, evidence {_evidence(session_id)}"


def _as_before(tools: str) -> str:
    return f"`{tools}{RECORD}`, cited as before"


def _evidence(session_id: str) -> str:
    citation: dict[str, object] = {
        "session_id": session_id,
        "quote": "their exact words",
        "purpose": "endorsement",
    }
    return f"[{json_line(citation)}]"
