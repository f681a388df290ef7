"""What the fields of records and messages are called on the pages."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.agents import AGENTS
from mash_plugin.render.rewording import rewording

Json = Mapping[str, Any]
KINDS = {"decision": "Decision", "preference": "Preference", "fact": "Fact"}
PLURALS = {"decision": "Decisions", "preference": "Preferences", "fact": "Facts"}
STATES = {
    "proposed": "Proposed",
    "accepted": "Accepted",
    "active": "Active",
    "current": "Current",
    "superseded": "Superseded",
    "withdrawn": "Withdrawn",
    "retracted": "Retracted",
}
REVIEWS = {"established": "Established", "candidate": "Unconfirmed"}
DECIDERS = {"person": "Decided by a person", "agent": "Decided by an agent"}
PURPOSES = {
    "endorsement": "Endorsement",
    "context": "Context",
    "report": "Report",
    "unknown": "Purpose unknown",
}
AUTHORS = {
    "person": "typed by the person",
    "inferred": "probably typed by the person",
    "agent": "said by the agent",
    "automated": "written by a program",
    "unknown": "author unknown",
}
FRESHNESS = {
    "matching": "still stands there",
    "kept": "kept as it was read; its transcript is gone",
    "unindexed": "not read yet",
    "changed": "the message has changed",
    "missing": "the message is gone",
    "role_changed": "the message has another role now",
    "role_unknown": "the role is unknown",
}
RELATIONS = {
    "supersedes": "replaces",
    "supports": "supports",
    "contradicts": "contradicts",
}
SPEAKERS = {
    "person": "Person",
    "inferred": "Person (inferred)",
    "agent": "Agent",
    "automated": "Automated",
    "unknown": "Unknown",
}
RETIRED = frozenset({"superseded", "withdrawn", "retracted"})
SOURCES = {name: agent.TITLE for name, agent in AGENTS.items()}


def freshness(evidence: Json) -> str:
    """Whether the quote is still where it was said."""
    is_kept = evidence["status"] == "matching" and evidence.get("transcript_gone")
    return FRESHNESS["kept" if is_kept else evidence["status"]]


def scope_key(scope: Json) -> str:
    """A scope in one word of an address."""
    kind = scope["kind"]
    return kind if kind == "personal" else f"{kind}:{scope_value(scope)}"


def scope_of_key(key: str) -> dict[str, str]:
    """The scope of such a word, as requests write it; an unknown kind is refused later."""
    kind, _, value = key.partition(":")
    field = {"repository": "identity", "local_project": "path", "chat": "id"}.get(kind)
    return {"kind": kind, field: value} if field else {"kind": kind}


def scope_value(scope: Json) -> str:
    """The identity, path or ID of a scope."""
    return str(scope.get("identity") or scope.get("path") or scope.get("id") or "")


def scope_name(scope: Json) -> str:
    """A scope as it is read: the end of a long one tells most."""
    if scope["kind"] == "personal":
        return "Personal"
    value = scope_value(scope)
    return f"Chat {value}" if scope["kind"] == "chat" else value.removeprefix("github.com/")


def short_name(name: str) -> str:
    """The last parts of a path or an identity."""
    return "/".join(name.rstrip("/").split("/")[-2:]) or name


def decider(record: Json) -> str:
    """Whose a decision is; an unconfirmed one is no person's yet, whoever it names."""
    by = record.get("decided_by")
    is_claim = by == "person" and record["review"] == "candidate"
    return DECIDERS[by] if by and not is_claim else ""


def reworded(revision: Json, record: Json) -> str:
    """Why the quotes do not hold the words of a revision, where its person gave it others."""
    told = rewording(revision, "its owner" if record.get("owner") else "you")
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def standing(record: Json) -> list[tuple[str, str]]:
    """(tone, words) of everything about a record that a reader must not miss."""
    told: list[tuple[str, str]] = []
    if record.get("conflicted"):
        told.append(("bad", "Contradicted"))
    if record["evidence"] == "stale":
        told.append(("warn", "Evidence changed"))
    if record["state"] in RETIRED:
        told.append(("quiet", STATES[record["state"]]))
    elif record["status"] == "inactive":
        told.append(("quiet", "Not in force"))
    if record["review"] == "candidate":
        told.append(("quiet", REVIEWS["candidate"]))
    if record.get("owner") and "node_id" not in record:  # else it is published, under that name
        told.append(("quiet", "Imported from another owner"))
    return told
