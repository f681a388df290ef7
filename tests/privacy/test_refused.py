"""Private text and credentials are refused in every field of every write, and leave no trace."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import CredentialText, MashError, PrivateText, ScopeMismatch
from mash_plugin.memory.call import Caller
from mash_plugin.memory.extraction import extract_records, get_extraction_checkpoint
from mash_plugin.paths import Paths
from mash_plugin.privacy.credentials import mask
from mash_plugin.protocol import validate
from mash_plugin.protocol.requests import REQUESTS
from tests.conftest import CHOICE, QUESTION, SHOP, Json, Memory, Shop
from tests.privacy.samples import SAMPLES

INNER = "qqflamingo on Friday"
FORMS = [
    f"<private>{INNER}</private>",
    f"a <PRIVATE why='x'>{INNER}",
    f"<private><private>a</private>{INNER}</private>",
    f"\uff1cprivate\uff1e{INNER}\uff1c/private\uff1e",
    f"&lt;private&gt;{INNER}&lt;/private&gt;",
    f"```\n<private>\n{INNER}\n</private>\n```",
]
CREDENTIALS = [samples[0] for samples in SAMPLES.values()]
DETAILS: dict[str, Json] = {
    "decision": {"kind": "decision", "state": "proposed", "alternatives": ["a", "b"]},
    "preference": {"kind": "preference", "state": "active", "conditions": ["a", "b"]},
    "fact": {"kind": "fact", "state": "current", "reported_by": "the person"},
}
KIND_OF = {"conditions": "preference", "reported_by": "fact"}

# Each field of a write that takes free text, as a path into the request.
IN_BODY = (
    "statement",
    "recorded_by",
    "details.alternatives",
    "details.consequences",
    "details.conditions",
    "details.reported_by",
)
IN_EVIDENCE = ("evidence.quote", "evidence.session_id")
IN_SCOPE = ("scope.identity", "scope.path")
CHANGE_FIELDS = (*(f"body.{field}" for field in IN_BODY), *IN_EVIDENCE, *IN_SCOPE)
DRAFT_FIELDS = (*(f"body.{field}" for field in IN_BODY), *IN_EVIDENCE)
NOT_KEPT = {
    "operation_id": "kept as a keyed hash alone",
    "source_fingerprint": "must equal one of ours",
}


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("record", {f"change.{field}" for field in CHANGE_FIELDS}),
        ("extract_records", {*(f"records.{field}" for field in DRAFT_FIELDS), *IN_SCOPE}),
    ],
)
def test_the_fields_tried_here_are_all_that_take_free_text(tool: str, fields: set[str]) -> None:
    schema = REQUESTS[tool].model_json_schema()
    assert set(free_texts(schema, schema["$defs"], "")) - NOT_KEPT.keys() == fields


def free_texts(schema: Json, named: Json, path: str) -> Iterator[str]:
    """The paths of all strings that are neither chosen from a list nor IDs."""
    if "$ref" in schema:
        yield from free_texts(named[schema["$ref"].rpartition("/")[2]], named, path)
    for choice in schema.get("anyOf", ()):
        yield from free_texts(choice, named, path)
    if schema.get("type") == "array":
        yield from free_texts(schema["items"], named, path)
    for name, inner in schema.get("properties", {}).items():
        yield from free_texts(inner, named, f"{path}.{name}" if path else name)
    if schema.get("type") == "string" and not {"enum", "const", "pattern"} & schema.keys():
        yield path


@pytest.mark.spec("R-176")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", CHANGE_FIELDS)
@pytest.mark.row(53)
def test_a_private_span_is_refused_in_every_field_of_a_record(
    memory: Memory, shop: Shop, home: Paths, field: str, form: str
) -> None:
    with pytest.raises(PrivateText) as caught:
        memory.record(request_with(field, form))
    refused_without_a_trace(memory, home, caught.value, INNER)


@pytest.mark.spec("R-177")
@pytest.mark.parametrize("field", CHANGE_FIELDS)
@pytest.mark.row(54)
def test_a_credential_is_refused_in_every_field_of_a_record(
    memory: Memory, shop: Shop, home: Paths, field: str
) -> None:
    for number, credential in enumerate(CREDENTIALS):
        if field == "scope.path" and "//" in credential:
            continue  # paths come in their shortest form
        if len(credential) > 200 and field in ("body.recorded_by", "evidence.session_id"):
            continue  # too long there
        with pytest.raises(CredentialText) as caught:
            memory.record(request_with(field, credential, f"o-{number}"))
        assert caught.value.details["field"].startswith(f"change.{field.partition('.')[0]}")
        refused_without_a_trace(memory, home, caught.value, credential)


@pytest.mark.spec("R-176", "R-177")
@pytest.mark.parametrize("field", [*DRAFT_FIELDS, *IN_SCOPE])
@pytest.mark.parametrize("text", [FORMS[0], FORMS[3], SAMPLES["GitHub token"][0]])
def test_nothing_private_is_taken_in_any_field_of_a_draft(
    memory: Memory, shop: Shop, home: Paths, field: str, text: str
) -> None:
    memory.index()
    scope = {"kind": "repository", "identity": SHOP}
    asked = validate("get_extraction_checkpoint", {"chat_id": shop.chat, "scope": scope})
    checkpoint = get_extraction_checkpoint(memory.call, asked)
    good = {"body": body_with("", ""), "evidence": [{"session_id": "s-1", "quote": QUESTION}]}
    bad = {**good, **filled(field, text)} if field not in IN_SCOPE else good
    request = {
        "operation_id": "o-1",
        "chat_id": shop.chat,
        "scope": filled(field, text)["scope"] if field in IN_SCOPE else scope,
        "source_fingerprint": checkpoint["source_fingerprint"],
        "records": [good, bad],
    }
    with pytest.raises(MashError) as caught:
        extract_records(memory.call, validate("extract_records", request))
    other_session = ScopeMismatch if field == "evidence.session_id" else PrivateText
    assert isinstance(caught.value, PrivateText | CredentialText | other_session)
    assert field in IN_SCOPE or caught.value.details["draft"] == 1
    refused_without_a_trace(memory, home, caught.value, INNER, text)


@pytest.mark.spec("R-176")
@pytest.mark.parametrize("action", ["revise", "supersede", "confirm", "forget"])
@pytest.mark.parametrize("text", [FORMS[0], SAMPLES["GitHub token"][0]])
def test_nothing_private_is_taken_by_any_other_change(
    memory: Memory, shop: Shop, home: Paths, action: str, text: str
) -> None:
    receipt = memory.candidate("Use Qdrant.")
    expected = {"id": receipt["id"], "revision": receipt["revision"]}
    said = [{"session_id": "s-1", "quote": QUESTION}]
    change: Json = {"action": action, "expected": expected, "evidence": said}
    wrong = [{"session_id": "s-1", "quote": text}]
    requests = [{**change, "evidence": wrong}]
    if action in ("revise", "supersede"):
        change["body"] = {"statement": "Use it.", "details": DETAILS["decision"]}
        requests = [{**change, "evidence": wrong}]
        requests += [{**change, "body": body_with(f, text)} for f in ("statement", "recorded_by")]
    for number, one in enumerate(requests):
        with pytest.raises((PrivateText, CredentialText)) as caught:
            memory.record({"operation_id": f"x-{number}", "change": one})
        assert INNER not in str(caught.value.as_json())
        assert text not in str(caught.value.as_json())
    assert memory.get(receipt["id"])["record"]["revision"] == 1
    assert_in_no_file(home, INNER, text)


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    ("inner", "repeated"),
    [
        ("we launch on the ninth of May", "Note: WE  LAUNCH on the ninth of May!"),
        ("we launch on the ninth of May", "It is said that on the ninth of May something is."),
        ("the code is hunter2Password99 now", "Use hunter2Password99"),
        ("the code is hunter2Password99 now", "see https://a.example/hunter2Password99"),
        ("我们将在五月九日正式发布新的账本产品请保密", "注意：将在五月九日正式发布新的账本产品"),
    ],
)
@pytest.mark.parametrize("field", ["statement", "recorded_by", "details.alternatives"])
@pytest.mark.row(53)
def test_what_a_span_says_is_refused_in_other_words_around_it(
    memory: Memory, shop: Shop, home: Paths, field: str, inner: str, repeated: str
) -> None:
    shop.transcript.person(f"Fine. <private>{inner}</private> Go on.")
    with pytest.raises(PrivateText) as caught:
        memory.record(request_with(f"body.{field}", repeated))
    refused_without_a_trace(memory, home, caught.value, repeated, inner)


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("we launch on the ninth of May", "We launch on Friday."),
        ("we launch on the ninth of May", "the ninth of"),
        ("see src/ledger.py and Postgres", "Keep the ledger in Postgres: src/ledger.py"),
        ("internationalization", "Internationalization comes later."),
    ],
)
def test_a_few_words_that_also_stand_in_a_span_are_no_repetition(
    memory: Memory, shop: Shop, inner: str, said: str
) -> None:
    shop.transcript.person(f"Fine. <private>{inner}</private> Go on.")
    memory.record(request_with("body.statement", said))
    assert memory.count_records() == 1


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    "quote",
    [
        "Use it. we launch",
        "we launch on the ninth",
        "Use it. [private] Go on.",
        "Use it. Go on.",
        "it. <private>we launch on the ninth of May</private> Go",
    ],
)
@pytest.mark.row(53)
def test_a_quote_that_overlaps_a_span_is_refused(memory: Memory, shop: Shop, quote: str) -> None:
    shop.transcript.person("Use it. <private>we launch on the ninth of May</private> Go on.")
    evidence = [{"session_id": "s-1", "quote": quote, "purpose": "endorsement"}]
    body = {"statement": "Use it.", "details": DETAILS["decision"], "review": "established"}
    with pytest.raises(MashError):
        memory.create(body, evidence)
    assert memory.count_records() == 0


@pytest.mark.spec("R-176")
@pytest.mark.row(53)
def test_a_span_split_over_blocks_of_a_message_is_private_too(
    memory: Memory, shop: Shop, home: Paths
) -> None:
    shop.transcript.person("Yes. <private>we launch on", "the ninth of May</private> Go.")
    for text in ("we launch on the ninth", "on the ninth of May it is"):
        with pytest.raises(PrivateText):
            memory.record(request_with("body.statement", text))
    assert_in_no_file(home, "ninth of May", "we launch on")


@pytest.mark.spec("R-177")
def test_what_the_persons_own_patterns_match_is_refused(memory: Memory, shop: Shop) -> None:
    memory.set(extra_patterns=(r"(?i)project umbrella", "("))
    with pytest.raises(CredentialText, match="extra_patterns") as caught:
        memory.record(request_with("body.statement", "We call it Project Umbrella."))
    assert "Umbrella" not in str(caught.value.as_json())
    memory.record(request_with("body.statement", "We call it by its name.", "o-2"))
    assert memory.count_records() == 1


@pytest.mark.spec("R-176", "R-177")
@pytest.mark.parametrize("name", [FORMS[0], SAMPLES["GitHub token"][0]])
def test_the_name_that_a_client_gives_itself_is_looked_at_too(
    memory: Memory, shop: Shop, home: Paths, name: str
) -> None:
    memory.call = memory.call._replace(caller=Caller(agent=name))
    with pytest.raises((PrivateText, CredentialText)):
        memory.candidate("Use Qdrant.")
    assert memory.count_records() == 0
    assert_in_no_file(home, INNER, name)


@pytest.mark.spec("R-177")
def test_what_is_kept_of_a_cited_message_is_masked(memory: Memory, shop: Shop, home: Paths) -> None:
    secret = SAMPLES["GitHub token"][0]
    memory.set(extra_patterns=("umbrella",))
    shop.transcript.person(f"Use Qdrant, umbrella says. The token is {secret}, keep it.")
    memory.create(
        {"statement": "Use it.", "details": DETAILS["decision"]},
        [{"session_id": "s-1", "quote": "Use Qdrant"}],
    )
    memory.call.store.close()
    assert_in_no_file(home, secret, "umbrella", only=Path(home.store).name)


def request_with(field: str, text: str, operation_id: str = "o-1") -> Json:
    change: Json = {
        "action": "create",
        "scope": {"kind": "repository", "identity": SHOP},
        "body": body_with("", ""),
        "evidence": [{"session_id": "s-1", "quote": CHOICE}],
        **filled(field, text),
    }
    return {"operation_id": operation_id, "change": change}


def filled(field: str, text: str) -> Json:
    """The part of a request with the text in that field, and all else in order."""
    part, _, name = field.partition(".")
    match part, name:
        case "body", _:
            return {"body": body_with(name, text)}
        case "evidence", "quote":
            return {"evidence": [{"session_id": "s-1", "quote": text}]}
        case "evidence", _:
            return {"evidence": [{"session_id": text, "quote": CHOICE}]}
        case _, "path":
            return {"scope": {"kind": "local_project", "path": f"/home/dev/{text}"}}
        case _:
            return {"scope": {"kind": "repository", "identity": text}}


def body_with(field: str, text: str) -> Json:
    name = field.removeprefix("details.")
    details = dict(DETAILS[KIND_OF.get(name, "decision")])
    body: dict[str, Any] = {"statement": "Use Qdrant."}
    if field.startswith("details."):
        details[name] = text if name == "reported_by" else ["harmless", text]
    elif field:
        body[field] = text
    return body | {"details": details}


def refused_without_a_trace(memory: Memory, home: Paths, error: MashError, *texts: str) -> None:
    reply = json.dumps(error.as_json(), ensure_ascii=False)
    assert not any(text in reply for text in texts)
    assert mask(reply) == reply
    assert memory.count_records() == 0
    with memory.call.store.reading() as db:
        assert db.all("SELECT * FROM receipts") == []
    assert_in_no_file(home, *texts)


def assert_in_no_file(home: Paths, *texts: str, only: str = "") -> None:
    """No byte of the texts in any file of the data directory."""
    for file in Path(home.data).rglob("*"):
        if file.is_file() and only in file.name:
            held = file.read_bytes().lower()
            assert not [text for text in texts if text.lower().encode() in held], file
