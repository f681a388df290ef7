"""What the agent is told about saving: at session start, with a telling prompt, now and then."""

from collections.abc import Mapping

from mash_plugin.render.text import json_line


def saving(session_id: str, scope: Mapping[str, str]) -> str:
    """When and how to save memory in this session (R-124)."""
    evidence = {"session_id": session_id, "quote": "the person's exact words"}
    example = json_line({**evidence, "purpose": "endorsement"})
    return (
        "Saving memory (mash): use the tool `record` as it happens, when the person"
        " (1) states a lasting preference, (2) makes or confirms a decision, (3) corrects how you"
        " work, or (4) settles a fact that is not obvious. Without the person's own words save a"
        " candidate.\n"
        f"session_id: {json_line(session_id)}\n"
        f"scope: {json_line(dict(scope))}\n"
        f"evidence: [{example}]\n"
        "More: `recall_records` with that scope and a query; personal records need the scope"
        ' {"kind":"personal"} or include_personal.'
    )


def reads_lasting(session_id: str, scope: Mapping[str, str]) -> str:
    """The note beside a prompt that reads like a preference or a decision (R-125)."""
    return (
        "mash: this message reads like a lasting preference or a decision. If it is one, save it"
        f" with the tool `record`, quoting the person's exact words ({_place(session_id, scope)})."
        " If not, go on and do not mention this."
    )


def sweep(session_id: str, scope: Mapping[str, str]) -> str:
    """The safety net: save what may have been missed (R-126)."""
    return (
        "mash: if something was preferred, decided, corrected or settled earlier in this session"
        " and is not saved yet, save it with the tool `record`, quoting the person's exact words"
        f" ({_place(session_id, scope)}). If not, go on and do not mention this."
    )


def both(session_id: str, scope: Mapping[str, str]) -> str:
    """One text when the prompt reads lasting and the safety net is due."""
    return (
        "mash: this message reads like a lasting preference or a decision. If it is one, save it"
        " with the tool `record`, and also what was preferred, decided, corrected or settled"
        " earlier in this session and is not saved yet, quoting the person's exact words"
        f" ({_place(session_id, scope)}). If not, go on and do not mention this."
    )


def _place(session_id: str, scope: Mapping[str, str]) -> str:
    return f"session_id {json_line(session_id)}, scope {json_line(dict(scope))}"
