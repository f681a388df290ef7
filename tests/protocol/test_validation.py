"""Requests are checked, and what is wrong with one is said in our own words."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.errors import (
    EvidenceRequired,
    InvalidArgument,
    InvalidState,
    MashError,
    RuleBroken,
    TooLarge,
)
from mash_plugin.protocol import validate

CREATE: dict[str, Any] = {
    "operation_id": "choose-1",
    "change": {
        "action": "create",
        "scope": {"kind": "repository", "identity": "github.com/acme/shop"},
        "body": {
            "statement": "Use Qdrant.",
            "review": "established",
            "details": {"kind": "decision", "state": "accepted"},
        },
        "evidence": [{"session_id": "s-1", "quote": "Yes.", "purpose": "endorsement"}],
    },
}


def changed(path: str, value: object) -> dict[str, Any]:
    """CREATE with one field set, or removed where the value is ..."""
    request = deepcopy(CREATE)
    at: Any = request
    *parts, last = (int(p) if p.isdigit() else p for p in path.split("."))
    for part in parts:
        at = at[part]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return request


def refusal(method: str, request: Any) -> MashError:
    with pytest.raises(RuleBroken) as caught:
        validate(method, request)
    return caught.value


@pytest.mark.spec("R-019", "R-028", "R-007")
def test_defaults_are_filled_in_and_omissions_left_out() -> None:
    request = changed("change.body.review", ...)
    del request["change"]["evidence"][0]["purpose"]
    request["change"]["body"]["effective_at"] = None
    request["change"]["body"]["review"] = None
    assert validate("record", request)["change"] == {
        **request["change"],
        "body": {**CREATE["change"]["body"], "review": "candidate"},
        "evidence": [{"session_id": "s-1", "quote": "Yes.", "purpose": "context"}],
        "on_duplicate": "report",
    }


BODY, DETAILS, CITE = "change.body", "change.body.details", "change.evidence.0"
INVALID = [
    (DETAILS + ".kind", "note", "'decision', 'preference' or 'fact'"),
    (DETAILS + ".state", "active", "proposed, accepted"),
    (DETAILS + ".state", "finished", "proposed"),
    (DETAILS + ".state", ..., "details.state"),
    (DETAILS + ".decided_by", "me", "'person' or 'agent'"),
    (DETAILS + ".conditions", ["x"], "conditions"),
    (DETAILS + ".reported_by", "x", "reported_by"),
    (DETAILS + ".alternatives", [1], "alternatives"),
    (DETAILS + ".alternatives", [], "alternatives"),
    (DETAILS, {"kind": "fact", "state": "current"}, "reported_by"),
    (DETAILS, {"kind": "preference", "state": "active", "decided_by": "agent"}, "decided_by"),
    (BODY + ".statment", "x", "statment"),
    (BODY + ".statement", " \u200b\n", "visible"),
    (BODY + ".statement", "\u3164\u2800\u115f", "visible"),
    (BODY + ".statement", "\ufe0f\u034f\u0301", "visible"),
    (BODY + ".statement", "", "statement"),
    (BODY + ".statement", "a\0b", "NUL"),
    (BODY + ".statement", 3, "statement: must be text"),
    (BODY, "x", "body: must be an object"),
    ("change.evidence", {}, "evidence: must be a list"),
    (BODY + ".effective_at", "2026-01-01", "whole number"),
    (BODY + ".effective_at", 1.5, "whole number"),
    (BODY + ".effective_at", True, "whole number"),
    (BODY + ".effective_at", -1, "milliseconds"),
    (BODY + ".effective_at", 0, "milliseconds"),
    (BODY + ".effective_at", 1_767_225_600, "milliseconds"),
    (BODY + ".effective_at", 2**63, "9999"),
    (BODY + ".review", "done", "'candidate' or 'established'"),
    (CITE + ".purpose", "approval", "'context', 'endorsement' or 'report'"),
    (CITE + ".purpose", "unknown", "purpose"),
    (CITE + ".message_id", "m", "either message_id or session_id"),
    (CITE + ".session_id", ..., "either message_id or session_id"),
    ("change.action", "dance", "'create'"),
    ("change.expected", {"id": "a", "revision": 1}, "expected"),
    ("change.on_duplicate", "merge", "'report' or 'reuse'"),
    ("change.scope", ..., "scope"),
    ("change.scope.path", "/x", "path"),
    ("change.scope.kind", "team", "'personal'"),
    ("change.scope.identity", "", "identity"),
    ("change.scope", {"kind": "local_project", "path": "a/b"}, "absolute"),
    ("change.scope", {"kind": "chat", "id": "a/b"}, "letters, digits"),
    ("change.scope", {"kind": "chat", "id": "a\n"}, "letters, digits"),
    ("operation_id", "", "operation_id"),
    ("operation_id", "a\0", "printable"),
    ("operation_id", "a\nb", "printable"),
    ("operation_id", 7, "operation_id"),
    ("extra", 1, "extra"),
]


@pytest.mark.spec("R-003", "R-004", "R-005", "R-044", "R-013")
@pytest.mark.parametrize(("path", "value", "names"), INVALID)
@pytest.mark.row(39, 52)
def test_what_is_wrong_is_named_with_what_is_allowed(path: str, value: object, names: str) -> None:
    error = refusal("record", changed(path, value))
    assert type(error) is InvalidArgument
    assert names in error.message


@pytest.mark.spec("R-007")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (BODY + ".statement", "x" * 2001),
        (BODY + ".recorded_by", "x" * 201),
        (DETAILS + ".alternatives", ["x" * 501]),
        (DETAILS + ".alternatives", "x" * 501),
        (DETAILS + ".alternatives", ["x"] * 17),
        (DETAILS, {"kind": "fact", "state": "current", "reported_by": "x" * 301}),
        (CITE + ".quote", "x" * 4001),
        ("change.evidence", [CREATE["change"]["evidence"][0]] * 33),
        ("operation_id", "x" * 10_000),
    ],
)
@pytest.mark.row(52)
def test_over_a_limit_is_too_large(path: str, value: object) -> None:
    error = refusal("record", changed(path, value))
    assert type(error) is TooLarge
    assert "at most" in error.message


@pytest.mark.spec("R-007")
@pytest.mark.parametrize(
    "place", ["", "change.", "change.scope.", BODY + ".", DETAILS + ".", CITE + "."]
)
def test_an_unknown_property_is_named_at_every_level(place: str) -> None:
    error = refusal("record", changed(place + "statment", "x"))
    assert type(error) is InvalidArgument
    assert "statment" in error.message


@pytest.mark.spec("R-007")
@pytest.mark.row(52)
def test_limits_are_counted_after_trimming() -> None:
    request = changed(BODY + ".statement", "  " + "x" * 2000 + "\n")
    assert validate("record", request)["change"]["body"]["statement"] == "x" * 2000


@pytest.mark.spec("R-001")
@pytest.mark.parametrize("value", [[], ...])
def test_no_citation_is_no_record(value: object) -> None:
    assert type(refusal("record", changed("change.evidence", value))) is EvidenceRequired


@pytest.mark.spec("R-003")
@pytest.mark.parametrize(
    "details",
    [
        {"kind": "decision", "state": "withdrawn"},
        {"kind": "decision", "state": "superseded"},
        {"kind": "preference", "state": "withdrawn"},
        {"kind": "fact", "state": "retracted", "reported_by": "x"},
    ],
)
def test_nothing_is_created_retired(details: dict[str, str]) -> None:
    assert type(refusal("record", changed(DETAILS, details))) is InvalidState


@pytest.mark.spec("R-005")
def test_validity_ends_after_it_begins() -> None:
    details = {"kind": "fact", "state": "current", "reported_by": "x", "valid_until": 10**12}
    request = changed(DETAILS, details)
    request["change"]["body"]["effective_at"] = 10**12
    assert "valid_until" in refusal("record", request).message


@pytest.mark.spec("R-039")
def test_paths_lose_their_dots_and_slashes() -> None:
    scope = {"kind": "local_project", "path": "/a/./b/../c/"}
    request = changed("change.scope", scope)
    assert validate("record", request)["change"]["scope"]["path"] == "/a/c"


@pytest.mark.spec("R-078", "R-079", "R-088", "R-072")
@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": 21},
        {"limit": "8"},
        {"byte_budget": 1023},
        {"byte_budget": 32_769},
        {"file": "/etc/passwd"},
        {"file": "../x"},
        {"file": ""},
        {"scope": {"kind": "personal"}, "file": "a.py"},
        {"scope": {"kind": "chat", "id": "c"}, "file": "a.py"},
        {"scope": None},
        {"include_review": "yes"},
        {"quary": "x"},
    ],
)
@pytest.mark.row(58)
def test_a_recall_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    request = {"scope": {"kind": "repository", "identity": "x"}, **wrong}
    assert type(refusal("recall_records", request)) is InvalidArgument


@pytest.mark.spec("R-104")
def test_pages_of_revisions_need_history() -> None:
    assert "history" in refusal("get_record", {"id": "a", "limit": 3}).message
    assert validate("get_record", {"id": "a"}) == {"id": "a", "history": False, "link_offset": 0}


@pytest.mark.parametrize("offset", [-1, 10**12, "0", 1.0])
@pytest.mark.row(58)
def test_an_offset_out_of_range_is_refused(offset: object) -> None:
    assert "offset" in refusal("list_records", {"offset": offset}).message


def test_unknown_methods_and_shapes_are_refused() -> None:
    assert "known: record" in refusal("forget_everything", {}).message
    for params in ([], None, "x", 3):
        assert type(refusal("record", params)) is InvalidArgument
    deep: Any = {}
    for _ in range(10_000):
        deep = {"change": deep}
    assert "deep" in refusal("record", deep).message


def test_lone_surrogates_are_replaced() -> None:
    request = changed(BODY + ".statement", "a\ud800b")
    assert validate("record", request)["change"]["body"]["statement"] == "a\ufffdb"


def test_a_refused_text_is_not_repeated() -> None:
    secret = "the launch is on the ninth of May " * 3
    assert "ninth" not in refusal("record", changed(DETAILS + ".kind", secret)).message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "kind", "scope", "change", "body", "x"]), inner)
    ),
    max_leaves=12,
)


@given(st.sampled_from(["record", "recall_records", "get_record", "list_records"]), JSON)
def test_any_json_is_answered_with_a_rule(method: str, params: Any) -> None:
    with suppress(RuleBroken):
        validate(method, params)


@pytest.mark.spec("R-043")
@pytest.mark.parametrize("action", ["revise", "supersede"])
def test_a_later_revision_carries_no_scope(action: str) -> None:
    request = changed("change.action", action)
    request["change"]["expected"] = {"id": "r1", "revision": 1}
    assert "takes no scope" in refusal("record", request).message
    del request["change"]["scope"]
    assert validate("record", request)["change"]["action"] == action


@pytest.mark.spec("R-169", "R-170", "R-175")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"node_id": "n1"}, "node_id and cursor need shared: true"),
        ({"cursor": "abc"}, "node_id and cursor need shared: true"),
        ({"shared": True, "offset": 20}, "leave it out and follow next_cursor"),
        ({"shared": True, "offset": 0}, "leave it out and follow next_cursor"),
        (
            {"shared": True, "scope": {"kind": "local_project", "path": "/w"}},
            "never shared; leave shared out",
        ),
    ],
)
def test_local_and_shared_lists_have_pages_of_their_own(wrong: dict[str, Any], told: str) -> None:
    error = refusal("list_records", wrong)
    assert isinstance(error, InvalidArgument)
    assert told in error.message


@pytest.mark.spec("R-099")
def test_a_shared_list_takes_the_filters_of_a_local_one() -> None:
    filters = {
        "scope": {"kind": "repository", "identity": "github.com/acme/shop"},
        "kind": "decision",
        "state": "accepted",
        "review": "established",
        "chat": "claude-code-s-1",
        "include_inactive": True,
        "limit": 50,
    }
    request = validate("list_records", {"shared": True, "cursor": "x" * 2000, **filters})
    assert {key: request[key] for key in filters} == filters


def test_all_that_is_missing_beside_each_other_is_named_at_once() -> None:
    with pytest.raises(InvalidArgument, match=r"^operation_id: is required, and so is change\.$"):
        validate("record", {})
