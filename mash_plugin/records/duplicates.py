"""What makes two records the same interpretation (R-069)."""

import hashlib
import unicodedata

import orjson

from mash_plugin.records.model import Body, Scope, decider_of


def interpretation(scope: Scope, body: Body) -> bytes:
    """Every field that must agree, in canonical JSON; who recorded it does not count."""
    return orjson.dumps(
        {
            "scope": [scope.kind, scope.value],
            "kind": body.kind,
            "statement": _folded(body.statement),
            "review": body.review,
            "state": body.state,
            "decided_by": decider_of(body.kind, body.decided_by),
            "effective_at": body.effective_at,
            "valid_until": body.valid_until,
            "reported_by": _folded(body.reported_by or ""),
            "alternatives": [_folded(t) for t in body.alternatives],
            "consequences": [_folded(t) for t in body.consequences],
            "conditions": [_folded(t) for t in body.conditions],
        },
        option=orjson.OPT_SORT_KEYS,
    )


def interpretation_hash(scope: Scope, body: Body) -> bytes:
    """The hash by which a live duplicate is found."""
    return hashlib.sha256(interpretation(scope, body)).digest()


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
