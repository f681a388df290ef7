"""A review of an earlier chat as an agent makes it, over the protocol and through the daemon."""

from pathlib import Path

import pytest

from tests.support.mcp_servers import Json, Server
from tests.support.transcripts import ClaudeTranscript, write_repository

CHOICE = "We render invoices with Typst from now on."
STATEMENT = "Invoices are rendered with Typst."
SCOPE = {"kind": "repository", "identity": "github.com/acme/invoices"}
DETAILS = {"kind": "decision", "state": "accepted"}


@pytest.mark.spec("R-035", "R-112", "R-115", "R-120", "R-121")
def test_a_chat_is_reviewed_and_its_candidate_established(
    environment: dict[str, str], server: Server, tmp_path: Path
) -> None:
    def ask(tool: str, **arguments: object) -> Json:
        answer = server.call(tool, arguments)
        assert answer["isError"] is False, answer
        content = answer["structuredContent"]
        assert isinstance(content, dict)
        return content

    project = write_repository(tmp_path / "invoices", "https://github.com/acme/invoices")
    chat = ClaudeTranscript(Path(environment["HOME"]) / ".claude", str(project), "old-session")
    said = chat.person(CHOICE)
    body = {"statement": STATEMENT, "details": DETAILS}
    draft = {"body": body, "evidence": [{"message_id": said, "quote": CHOICE}]}
    review = {"chat_id": "claude-code-old-session", "scope": SCOPE}

    # A first citation takes the chat into the index, as an index run would.
    noted = {"action": "create", "scope": {"kind": "personal"}, "body": {**body, "statement": "X."}}
    cited = [{"session_id": "old-session", "quote": CHOICE}]
    ask("record", operation_id="first", change={**noted, "evidence": cited})

    checkpoint = ask("get_extraction_checkpoint", **review)
    assert checkpoint["up_to_date"] is False
    assert ask("find_record_matches", scope=SCOPE, body=body)["matches"] == []
    request = {
        **review,
        "operation_id": "review",
        "source_fingerprint": checkpoint["source_fingerprint"],
        "records": [draft],
    }
    receipt = ask("extract_records", **request)
    assert ask("extract_records", **request) == {**receipt, "replayed": True}
    assert ask("get_extraction_checkpoint", **review)["up_to_date"] is True

    (match,) = ask("find_record_matches", scope=SCOPE, body=body)["matches"]
    assert (match["match"], match["identical"]) == ("exact", True)
    assert match["record"]["status"] == "candidate"
    (saved,) = receipt["records"]
    change = {
        "action": "revise",
        "expected": {"id": saved["id"], "revision": saved["revision"]},
        "body": {**body, "review": "established"},
        "evidence": [{"message_id": said, "quote": CHOICE, "purpose": "endorsement"}],
    }
    ask("record", operation_id="establish", change=change)
    assert ask("get_record", id=saved["id"])["record"]["status"] == "current"
