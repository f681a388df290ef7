"""What a record is called at the terminal: its kind, its standing and its place, in words."""

from typing import Any

from mash_plugin.render.context import record_labels
from mash_plugin.render.text import clean

STATUS_WORDS = {
    "candidate": "unconfirmed",
    "stale_evidence": "its source has changed",
    "inactive": "out of force",
}
Json = dict[str, Any]


def kind_words(one: Json) -> str:
    """The kind of a record with its labels: `decision (unconfirmed)`."""
    labels = record_labels(one)
    if one["status"] not in ("current", "candidate"):
        labels.append(STATUS_WORDS[one["status"]])
    if one.get("conflicted"):
        labels.append("contradicted")
    if "node_id" in one:
        labels.append(f"{one['owner']}'s, node {one['node_id']}")
    elif one.get("owner"):
        labels.append("another owner's")
    return clean(f"{one['kind']} ({', '.join(labels)})" if labels else one["kind"])


def state_words(body: Json) -> str:
    """The standing of one wording: `established, accepted, decided by the agent`."""
    words = [body["review"] if body["review"] == "established" else "unconfirmed", body["state"]]
    if body.get("decided_by"):
        words.append(f"decided by the {body['decided_by']}")
    if "node_id" in body:
        words[0] += f" by {body['owner']}" if "label" in body else ""
    elif body.get("owner"):
        words.append("imported from another owner")
    return ", ".join(words)


def standing(one: Json) -> str:
    """How a record stands: `decision, established, accepted, in force`."""
    now = STATUS_WORDS.get(one["status"], "in force")
    words = [one["kind"], state_words(one)]
    if one["status"] != "candidate":
        words.append(now)
    if one.get("conflicted"):
        words.append("contradicted by another record (see its links)")
    return ", ".join(words)


def place(scope: Json) -> str:
    """Where it holds."""
    name = scope.get("identity") or scope.get("path") or scope.get("id") or scope["kind"]
    return clean(str(name))
