"""What fuzzing has found, each with what is right instead."""

import base64
import json

import pytest

from mash_plugin.agents import AGENTS
from mash_plugin.agents.codex.hooks import LONGEST_READ, simple_read
from mash_plugin.agents.events import ReaderState, TranscriptFile
from mash_plugin.agents.lines import MOST_ON_A_LINE, parse_objects
from mash_plugin.chats.project import Project
from mash_plugin.chats.switches import is_denied
from mash_plugin.errors import InvalidArgument, InvalidCursor
from mash_plugin.group import cursor
from mash_plugin.postgres.dsn import place_of
from mash_plugin.privacy.credentials import credential_kind
from mash_plugin.privacy.spans import PRIVATE_MARK, split_private
from mash_plugin.protocol import validate
from mash_plugin.protocol.commands import COMMANDS
from mash_plugin.throughline.dsn import connection_options
from tests.privacy.samples import SAMPLES


@pytest.mark.parametrize("version", [[], {}, 7, "9" * 5_000 + ".1.1", "1." + "9" * 5_000 + ".1"])
def test_a_line_of_claude_code_with_a_version_that_is_none_is_read_as_a_new_one(version):
    file = TranscriptFile("claude-code", "/nowhere.jsonl", "s-1")
    reader = AGENTS["claude-code"].open_reader(file, ReaderState())
    row = {"type": "user", "version": version, "message": {"role": "user", "content": "Hi."}}
    [message] = reader.read_line(json.dumps(row).encode(), 0)
    assert (message.text, message.author) == ("Hi.", "unknown")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("review_plan", {"since": 1 << 63}),
        ("view_days", {"since": 1 << 63}),
        ("log_events", {"since": 1 << 63}),
        ("log_events", {"ago_ms": 10**400}),
        ("view_records", {"after": {"at": 1 << 63, "id": "r"}}),
    ],
)
def test_a_moment_that_no_store_can_hold_is_refused_by_name(method, params):
    with pytest.raises(InvalidArgument, match=r"^(since|ago_ms|after\.at): "):
        validate(method, params, COMMANDS)


@pytest.mark.parametrize("gap", ["&lt;", "\\u003c", "%3C", "\ufe64"])
def test_a_tag_that_is_never_closed_does_not_swallow_the_one_behind_it(gap):
    text = f"Yes. </private {gap}private>the ledger moves"
    assert split_private(text)[1] == ("the ledger moves",)
    assert PRIVATE_MARK in split_private(text)[0]
    assert "ledger" not in split_private(text)[0]


def test_the_number_of_a_footnote_behind_a_credential_does_not_hide_it():
    for kind in ("Mailchimp key", "AWS key ID"):
        sample = SAMPLES[kind][0]
        assert credential_kind(f"See {sample}\u00b9.") == credential_kind(f"See {sample}.")


@pytest.mark.parametrize(
    "identity",
    ["dev.azure.com/acme/My Shop/web", "[::1]/acme/shop", "host/acme/a:b", "host/acme/a%41"],
)
def test_an_identity_as_it_is_shown_names_its_project_in_a_list(identity):
    project = Project("/w/shop", identity)
    assert is_denied(project, [identity])
    assert is_denied(project, [identity.rpartition("/")[0] + "/*"])
    assert not is_denied(project, [identity + "x", identity[:-1]])


def test_a_session_in_which_nothing_was_said_yet_is_no_failure_of_its_hook(desk):
    for prompt in ("Yes, do that.", "<script>alert(1)</script>"):
        desk.prompt(prompt)
    assert desk.failures == []


def test_no_command_is_cut_into_words_that_is_longer_than_any_reading_of_a_file():
    assert simple_read(f"cat {'a' * 4_000}") == "a" * 4_000
    assert simple_read(f"cat {'a' * LONGEST_READ}") is None


@pytest.mark.parametrize(
    "hosts", ["host=localhost,db.example hostaddr=127.0.0.1,", "hostaddr=,::2"]
)
def test_a_host_whose_address_is_left_empty_is_no_reason_to_go_without_tls(hosts):
    options = connection_options(hosts, {}, is_read_only=True)
    assert options["sslmode"] == "verify-full"
    with pytest.raises(InvalidArgument, match="sslmode=disable"):
        connection_options(f"{hosts} sslmode=disable", {}, is_read_only=True)


@pytest.mark.parametrize(
    "fields", [b"", b"[1", b"\x80", b'[1,"n\\u0000",null,null]', b'[1,"n",true,"r"]', b"[" * 600]
)
def test_a_cursor_that_somebody_made_is_refused_whatever_it_holds(fields):
    whole = cursor._digest(fields, "g", {}) + fields
    given = base64.urlsafe_b64encode(whole).rstrip(b"=").decode()
    with pytest.raises(InvalidCursor):
        cursor.read_cursor(given, "g", {})


def test_no_more_objects_are_read_from_a_line_than_crashes_leave_there():
    assert parse_objects(b'{"a":1}{"a":2}') == [{"a": 1}, {"a": 2}]
    assert len(parse_objects(b"{}" * 10_000)) == MOST_ON_A_LINE


def test_a_connection_string_of_two_forms_is_refused_without_its_password():
    mixed = "postgresql://password='h7nterPass93' ?sslmode=require"
    with pytest.raises(InvalidArgument, match=r"cannot be read") as caught:
        connection_options(mixed, {}, is_read_only=True)
    assert "h7nterPass93" not in caught.value.message


def test_a_place_is_told_by_plain_names_alone():
    assert place_of({"host": "::1,db.example"}).startswith("Postgres at ::1,db.example, ")
    assert place_of({"host": "@abstract", "dbname": "/:h7nterPass93"}).endswith("(unreadable)")
