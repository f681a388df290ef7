"""The server of a reviewer: one tool, bound to one version of one chat, and to the run's life."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.protocol.review import GROUP_FILE, Review, review_text
from tests.support.backfill_place import BackfillPlace, Json
from tests.support.mcp_servers import Server
from tests.support.polling import eventually

pytestmark = pytest.mark.slow

CHOICE = "We keep amounts in cents."
Open = Callable[[Review], Server]


@pytest.fixture
def review(bench: BackfillPlace) -> Review:
    """What a run would bind a reviewer to."""
    bench.chat(CHOICE, "one")
    bench.chat("We keep times in UTC.", "two")
    bench.place.index()
    found = bench.place.call("review_chat", {"chat_id": "claude-code-one"})
    return Review(
        "claude-code-one", found["scope"], found["source_fingerprint"], "op-1", "begin-1", "end-1"
    )


@pytest.fixture
def open_server(bench: BackfillPlace, tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as opened:

        def open_one(review: Review) -> Server:
            file = tmp_path / "review.json"
            file.write_text(review_text(review))
            held = opened.enter_context(file.open("rb"))
            fcntl.flock(held, fcntl.LOCK_EX)
            server = Server(bench.place.environment, tmp_path, "--review", str(file))
            opened.callback(server.end)
            server.shake_hands("2025-06-18", "claude-code")
            return server

        yield open_one


def draft(bench: BackfillPlace, chat: str = "claude-code-one", **body: Any) -> Json:
    message = bench.place.call("get_chat", {"id": chat})["messages"][0]
    details = {"kind": "decision", "state": "accepted"}
    evidence = {"message_id": message["id"], "quote": message["text"], "purpose": "endorsement"}
    return {
        "body": {"statement": "Amounts are kept in cents.", "details": details, **body},
        "evidence": [evidence],
    }


def marked(*records: Json, **others: Any) -> Json:
    return {"first_mark": "begin-1", "last_mark": "end-1", "records": list(records), **others}


def error_of(result: Json) -> str:
    assert result["isError"]
    error = result["structuredContent"]["error"]
    return f"{error['code']}: {error['message']}"


@pytest.mark.spec("R-115", "R-150", "R-151")
def test_a_reviewer_has_one_tool_which_saves_candidates(
    bench: BackfillPlace, review: Review, open_server: Open
) -> None:
    server = open_server(review)
    (tool,) = server.ask("list", "tools/list", {})["result"]["tools"]
    assert tool["name"] == "extract_records"
    assert set(tool["inputSchema"]["properties"]) == {"first_mark", "last_mark", "records"}
    answer = server.ask("other", "tools/call", {"name": "record", "arguments": {}})
    assert "Unknown tool: record. This server has extract_records" in answer["error"]["message"]
    result = server.call("extract_records", marked(draft(bench)))
    assert not result["isError"], result
    (record,) = bench.records()
    assert record["status"] == "candidate"
    assert bench.plan().of("done")[0].chat_id == "claude-code-one"


@pytest.mark.spec("R-116", "R-150", "R-151")
def test_no_argument_reaches_another_chat_scope_or_review_state(
    bench: BackfillPlace, review: Review, open_server: Open
) -> None:
    server = open_server(review)
    for name, value in (
        ("chat_id", "claude-code-two"),
        ("scope", {"kind": "personal"}),
        ("operation_id", "op-2"),
        ("source_fingerprint", "0" * 64),
    ):
        refused = server.call("extract_records", marked(draft(bench), **{name: value}))
        assert error_of(refused).startswith("invalid_argument"), name
    other = server.call("extract_records", marked(draft(bench, "claude-code-two")))
    assert error_of(other).startswith("scope_mismatch")
    settled = server.call("extract_records", marked(draft(bench, review="established")))
    assert error_of(settled).startswith("invalid_argument")
    invented = draft(bench)
    invented["evidence"][0]["quote"] = "We keep amounts in euros."
    assert error_of(server.call("extract_records", marked(invented))).startswith("quote_not_found")
    assert bench.records() == []
    assert len(bench.plan().of("due")) == 2


@pytest.mark.spec("R-147")
@pytest.mark.parametrize("missing", ["first_mark", "last_mark"])
def test_who_did_not_see_both_ends_of_the_chat_saves_nothing(
    bench: BackfillPlace, review: Review, open_server: Open, missing: str
) -> None:
    server = open_server(review)
    partly = server.call("extract_records", marked(draft(bench), **{missing: "none"}))
    assert "it was not read whole" in error_of(partly)
    assert bench.records() == []
    assert len(bench.plan().of("due")) == 2


def test_a_second_and_different_result_is_refused(
    bench: BackfillPlace, review: Review, open_server: Open
) -> None:
    server = open_server(review)
    assert not server.call("extract_records", marked())["isError"]
    again = server.call("extract_records", marked(draft(bench)))
    assert error_of(again).startswith("operation_conflict")
    assert bench.records() == []


@pytest.mark.spec("R-119")
def test_another_version_of_the_chat_is_refused(
    bench: BackfillPlace, review: Review, open_server: Open
) -> None:
    server = open_server(review._replace(source_fingerprint="0" * 64))
    assert error_of(server.call("extract_records", marked())).startswith("source_changed")


CLIENT = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, process_group=0)
print("started", flush=True)
server.wait()
import time
time.sleep(600)
"""


def test_the_end_of_the_run_ends_the_client_and_its_server(
    bench: BackfillPlace, review: Review, tmp_path: Path
) -> None:
    file = tmp_path / "review.json"
    file.write_text(review_text(review))
    command = [sys.executable, "-m", "mash_plugin", "mcp", "--review", str(file)]
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, *command],
            env=bench.place.environment,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as client:
            (tmp_path / GROUP_FILE).write_text(str(client.pid))
            assert client.stdout
            assert client.stdout.readline() == b"started\n"
            assert client.poll() is None
            held.close()  # as when the run is killed
            assert client.wait(30) == -9


def test_a_server_that_no_run_started_leaves_the_groups_of_others_alone(
    bench: BackfillPlace, review: Review, tmp_path: Path
) -> None:
    file = tmp_path / "review.json"
    file.write_text(review_text(review))
    server = Server(bench.place.environment, tmp_path, "--review", str(file))
    try:
        eventually(lambda: server.process.poll() is not None, "the server goes on")
        assert server.process.returncode == 1
        assert os.getpgrp() != server.process.pid
    finally:
        server.end()


def test_a_file_that_names_no_review_is_refused(bench: BackfillPlace, tmp_path: Path) -> None:
    (tmp_path / "review.json").write_text('{"chat_id": 1}')
    command = [sys.executable, "-m", "mash_plugin", "mcp", "--review"]
    done = subprocess.run(
        [*command, str(tmp_path / "review.json")],
        env=bench.place.environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"names no review" in done.stderr
