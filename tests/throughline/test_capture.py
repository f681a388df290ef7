"""A session becomes a summary and up to four lines that the agent wrote."""

import json
import os
import resource
import subprocess
import sys

import pytest

from mash_plugin.throughline.candidates import MOST_CANDIDATES
from tests.privacy.samples import SAMPLES
from tests.support.killed_captures import MEASURED
from tests.throughline.conftest import AGENT, CHAT, NOW, Result, lines_of

COMMITMENT = "I'll resend the two bounced invoices tomorrow once Dana confirms the new address."
DECISION = "Decided to hold Zephyr's November invoice until the address is fixed."


def artifacts(workspace):
    entry = json.loads(workspace.queued[-1].read_bytes())
    return {one["artifact_key"]: one for one in entry["artifacts"]}


def result_line(queued, known=0, malformed=0, session="chat-7f3a"):
    return (
        f"capture-session: {queued} artifact(s) queued for {AGENT} (session {session},"
        f" {known} already queued, {malformed} malformed lines skipped)\n"
    )


@pytest.mark.spec("R-186", "R-187", "R-188", "R-203")
def test_the_chat_of_the_specification_is_captured_to_the_byte(workspace):
    chat = workspace.write(CHAT)
    first = workspace.capture(chat)
    assert (first.code, first.out, first.err) == (0, result_line(3), "")
    again = workspace.capture(chat)
    assert (again.code, again.out, again.err) == (0, result_line(0, known=3), "")
    assert len(workspace.queued) == 1
    broken = workspace.write(CHAT + "not json\n", "broken.jsonl")
    assert workspace.capture(broken).out == result_line(0, known=3, malformed=1)


@pytest.mark.spec("R-189", "R-190", "R-192", "R-193", "R-210")
def test_the_artifacts_of_that_chat(workspace):
    workspace.capture(workspace.write(CHAT))
    found = artifacts(workspace)
    assert list(found) == ["summary", "keyline-m2-l0", "keyline-m3-l0"]
    assert found["summary"]["text"] == (
        "Session record [chat] on telegram:dm: 5 messages (3 agent-authored), session chat-7f3a."
        " Span 2026-10-03T16:02:00Z → 2026-10-03T16:04:00Z."
        " Transcript content is not represented in this memory row."
    )
    assert [one["significance"] for one in found.values()] == [0.30, 0.60, 0.65]
    assert found["keyline-m2-l0"]["text"] == COMMITMENT
    assert found["keyline-m3-l0"]["category"] == "decision"


@pytest.mark.spec("R-185")
def test_equal_transcripts_give_equal_bytes_elsewhere_and_later(workspace, tmp_path):
    chat = workspace.write(CHAT)
    kept = []
    for name, more in {
        "one": {"TZ": "Asia/Tokyo", "LC_ALL": "C", "MM_TEST_NOW_MS": str(NOW)},
        "two": {"TZ": "America/Lima", "LC_ALL": "C.UTF-8", "MM_TEST_NOW_MS": "1"},
    }.items():
        other = tmp_path / name
        other.mkdir()
        workspace.capture(chat, "--workspace", str(other), **more)
        (file,) = (other / "queue").glob("*.json")
        kept.append(json.loads(file.read_bytes())["artifacts"])
    assert kept[0] == kept[1]


@pytest.mark.spec("R-198")
@pytest.mark.row(63)
def test_a_plain_log_gives_its_summary_alone(workspace):
    log = workspace.write("Decided to sell the boat.\nI'll call tomorrow.\nlast", "cron.log")
    session = "nightly-invoices-2026-10-03"
    done = workspace.run(
        *("capture-session", "--agent", AGENT, "--session-id", session),
        *("--channel", "cron:nightly-invoices", "--source-kind", "cron", "--plain", log),
        *("--config-dir", workspace.path),
    )
    assert (done.code, done.out) == (0, result_line(1, session=session))
    (summary,) = artifacts(workspace).values()
    assert summary["text"] == (
        "Session record [cron] on cron:nightly-invoices: plain log of 3 lines, session"
        f" {session}. Span unknown. Transcript content is not represented in this memory row."
    )


@pytest.mark.spec("R-198")
def test_an_empty_log_tells_that_the_job_ran_and_an_empty_transcript_or_binary_file_nothing(
    workspace,
):
    empty = workspace.write("", "empty")
    assert workspace.capture(empty).out == result_line(0)
    options = ("--agent", AGENT, "--session-id", "s", "--channel", "c", "--source-kind", "cron")
    command = ("capture-session", *options, "--config-dir", workspace.path, "--plain")
    binary = workspace.run(*command, workspace.write(b"\x7fELF\0\n\n", "binary"), "--quiet")
    assert (binary.code, binary.out) == (1, "")
    assert "The log is no text" in binary.err
    assert workspace.queued == []
    assert workspace.run(*command, empty, "--quiet") == Result(0, "", "")  # cron mails what is said
    assert "plain log of 0 lines" in artifacts(workspace)["summary"]["text"]
    again = workspace.run(*command, empty)
    assert (again.code, again.err) == (0, "The log is empty; what is kept is that the job ran.\n")


@pytest.mark.spec("R-189")
def test_of_many_lines_the_decisions_and_the_later_ones_are_kept(workspace):
    said = [("assistant", f"I'll call port {n} tomorrow.") for n in range(10)]
    said[2:2] = [("assistant", f"Decided to use berth {n}.") for n in range(3)]
    assert workspace.capture(workspace.write(lines_of(*said))).out == result_line(5)
    assert list(artifacts(workspace)) == [
        *("summary", "keyline-m2-l0", "keyline-m3-l0", "keyline-m4-l0", "keyline-m12-l0")
    ]


def test_what_a_loop_says_in_every_cycle_takes_one_place(workspace):
    said = [("assistant", "Next step: measure the cellar again")] * 9
    workspace.capture(workspace.write(lines_of(*said)))
    assert list(artifacts(workspace)) == ["summary", "keyline-m8-l0"]


@pytest.mark.spec("R-192")
def test_lines_are_counted_with_blank_ones_and_messages_of_every_role(workspace):
    rows = [("tool", "ok"), ("assistant", "Fine.\n\n  * Decided to sell.  "), ("oracle", "hm")]
    workspace.capture(workspace.write(lines_of(*rows)))
    found = artifacts(workspace)
    assert found["keyline-m1-l2"]["text"] == "* Decided to sell."
    assert "3 messages (1 agent-authored)" in found["summary"]["text"]


@pytest.mark.spec("R-187")
def test_lines_that_are_no_messages_are_counted_and_passed_over(workspace):
    lines = [
        b"\xef\xbb\xbf" + b'{"role": "assistant", "content": "Decided to sell."}\r',
        b"",
        b"not json",
        b"[1]",
        b'{"role": "assistant"}',
        b'{"content": "Decided"}',
        b'{"role": 3, "content": "Decided"}',
        b'{"role": "user", "content": 3}',
        b'{"role": "user", "content": "\xff\xfe"}',
        b'{"role": "Agent", "content": [{"type": "text", "text": "Hm."}, {"type": "image"},'
        b' {"type": "text", "text": "Decided to buy."}], "ts": "yesterday"}',
        b'{"role": "assistant", "content": "Decided to wait \\ud83d here."}',
        b'{"role": "assistant", "content": ""}',
    ]
    done = workspace.capture(workspace.write(b"\n".join(lines)))
    assert done.out == result_line(4, malformed=7)
    texts = {key: one["text"] for key, one in artifacts(workspace).items()}
    assert texts["keyline-m1-l1"] == "Decided to buy."
    assert texts["keyline-m2-l0"] == "Decided to wait \ufffd here."
    assert "4 messages (4 agent-authored)" in texts["summary"]
    assert "Span unknown." in texts["summary"]


@pytest.mark.spec("R-187")
@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b'{"time": 1, "actor": "bot", "message": "Decided"}', "has no `role`"),
        (b'{"role": "assistant", "message": "Decided"}', "has no `content`"),
        (b'{"role": "assistant", "content": 3}', "has a `content` that is no text"),
        (b'{"role": 3, "content": "Decided"}', "has a `role` that is no name"),
        (b"[", "is no JSON object"),
        ("决定".encode("gbk"), "is not UTF-8 (`iconv -f GBK -t UTF-8`, for example, converts it)"),
    ],
)
def test_a_transcript_of_which_no_line_can_be_used_is_told_with_its_first_fault(
    workspace, line, fault
):
    done = workspace.capture(workspace.write(b"\n" + line + b"\nnot json\n"))
    assert (done.code, done.out) == (1, result_line(0, malformed=2))
    assert f"the first one {fault}. Each line is one JSON object" in done.err
    assert "Decided" not in done.err
    assert workspace.queued == []


@pytest.mark.spec("R-187")
def test_unknown_roles_and_times_that_nobody_can_read_are_told(workspace):
    rows = [{"role": "ai", "content": DECISION, "ts": stamp} for stamp in (1791046800, "02:00")]
    done = workspace.capture(workspace.write("\n".join(map(json.dumps, rows))))
    assert (done.code, done.out) == (0, result_line(1))
    assert "its role is `assistant` or `agent`, and 2 message(s) have an unknown one" in done.err
    assert "No message has a time that can be read: its key is `ts`" in done.err


@pytest.mark.spec("R-187")
@pytest.mark.parametrize("key", ["timestamp", "created_at"])
@pytest.mark.parametrize("more", [(), ("--verbose",)])
def test_a_time_under_another_key_is_told_once(workspace, key, more):
    row = {"role": "assistant", "content": [{"type": "text", "text": DECISION}]}
    rows = [row | {key: "2026-10-03T16:02:00Z"}, {**row, "content": "x", key: 1791046800}]
    done = workspace.capture(workspace.write("\n".join(map(json.dumps, rows))), *more)
    assert done.err.count("its key is `ts`") == 1
    assert done.err.count("The day of the capture") == 1
    assert done.err.count("the day of the capture") == 0


def test_verbose_tells_what_else_was_left_out(workspace):
    rows = [("assistant", f"Decided to use berth {n}.") for n in range(9)] + [("ai", "x")]
    rows = lines_of(*rows) + "not json\n"
    assert workspace.capture(workspace.write(rows)).err == ""
    said = workspace.capture(workspace.write(rows), "--verbose").err.splitlines()
    assert said == [
        "0 key line(s) dropped",
        "5 or more other key line(s) left out: of each session the best 4 are kept",
        "the first malformed line is no JSON object",
        "1 message(s) of an unknown role, which are nobody's",
        "no message has a `ts`; the day of the capture stands for it",
    ]


@pytest.mark.spec("R-191", "R-199")
def test_a_job_tells_in_one_line_how_it_ended(workspace):
    line = "Remember: the stock check ended with exit code 3."
    workspace.capture(workspace.write(lines_of(("assistant", line))))
    assert artifacts(workspace)["keyline-m0-l0"]["text"] == line


@pytest.mark.spec("R-190")
def test_the_span_is_told_in_utc_by_value_whatever_the_order(workspace):
    stamps = ["2026-10-03T01:30:00+05:30", "2026-10-02T23:59:59.9Z", "never", 7]
    rows = [{"role": "user", "content": "x", "ts": stamp} for stamp in stamps]
    workspace.capture(workspace.write("\n".join(map(json.dumps, rows))))
    assert (
        "Span 2026-10-02T20:00:00Z → 2026-10-02T23:59:59Z."
        in artifacts(workspace)["summary"]["text"]
    )


@pytest.mark.spec("R-193")
def test_a_key_line_is_kept_as_written_with_names_and_numbers(workspace):
    line = "I'll  wire 40 € to Dana Ruiz, dana@example.com, account DE02 1203 0000, on Friday."
    workspace.capture(workspace.write(lines_of(("assistant", f"  {line}\t"))))
    assert artifacts(workspace)["keyline-m0-l0"]["text"] == line


@pytest.mark.spec("R-194")
@pytest.mark.row(63)
def test_no_words_of_a_person_reach_the_queue(workspace):
    persons = [
        "Decided to sell the boat to Ilse in April.",
        "I'll call the roaster tomorrow morning.",
        "Note: Wren owes us forty crates. Remember that the gate is shut on Sundays.",
        "note to self: buy rope",
    ]
    repeats = [
        persons[0],
        f"Decided: {persons[1]}",
        f'We agreed to this: "{persons[1]}"',
        "**Decided** to sell the boat to Ilse in April",
        "Remember that the gate is shut on Sundays.",
        "Note to self: buy  rope!",
        f"> {persons[0]}",
        "decided to sell the boat to Ilse in April... I'll call Wren tomorrow.",
    ]
    rows = [("assistant", repeats[0]), *(("user", one) for one in persons)]
    rows += [("assistant", one) for one in repeats] + [("assistant", "I'll ask Wren on Monday.")]
    workspace.capture(workspace.write(lines_of(*rows)))
    kept = [one["text"] for key, one in artifacts(workspace).items() if key != "summary"]
    assert kept == ["I'll ask Wren on Monday."]
    for file in workspace.folder.rglob("*"):
        if file.is_file():
            content = file.read_bytes().lower()
            assert [one for one in persons if one.lower().encode() in content] == []


@pytest.mark.spec("R-194")
@pytest.mark.parametrize("role", ["user", "human", "customer", "User "])
@pytest.mark.row(63)
def test_every_role_that_may_be_a_persons_counts_as_one(workspace, role):
    rows = [("assistant", DECISION), (role, DECISION)]
    assert workspace.capture(workspace.write(lines_of(*rows))).out == result_line(1)


@pytest.mark.spec("R-194")
@pytest.mark.parametrize("block", [DECISION, {"type": "input_text", "text": DECISION}])
def test_a_persons_blocks_count_whatever_their_kind(workspace, block):
    person = json.dumps({"role": "user", "content": [block]}) + "\n"
    rows = lines_of(("assistant", DECISION)) + person
    assert workspace.capture(workspace.write(rows)).out == result_line(1)


def test_what_a_tool_or_a_broken_line_says_is_told_apart(workspace):
    rows = lines_of(("assistant", DECISION), ("tool", DECISION), ("assistant", COMMITMENT))
    assert workspace.capture(workspace.write(rows + COMMITMENT)).out == result_line(2, malformed=1)
    assert list(artifacts(workspace)) == ["summary", "keyline-m0-l0"]


@pytest.mark.spec("R-195")
@pytest.mark.row(54)
def test_lines_with_a_credential_are_dropped_whole_and_the_next_best_is_kept(workspace):
    secrets = [value for values in SAMPLES.values() for value in values if "\n" not in value]
    assert len(secrets) > 50
    assert len(secrets) > MOST_CANDIDATES
    rows = [("assistant", "Decided to use berth 4.")]
    rows += [("assistant", f"Decided to use the key {secret} from now on.") for secret in secrets]
    done = workspace.capture(workspace.write(lines_of(*rows)), "--verbose")
    assert done.out == result_line(2)
    assert done.err.startswith(f"{len(secrets)} key line(s) dropped\n")
    text = workspace.queued[0].read_text()
    assert [secret for secret in secrets if secret in text] == []


@pytest.mark.spec("R-195")
@pytest.mark.parametrize(
    "secret",
    [
        "The password is hunter2",
        "the password for Wren is now hunter2",
        "Das Passwort lautet Sommer2024!",
        "the door has the PIN 4711",
        "Ilse <private>is in Turin</private>",
        "PIN: 4711",
        f"the key gh**p_{'a1B2' * 9}**",
        f"the key <b>gh</b>p_{'a1B2' * 9}",
    ],
)
def test_a_password_in_plain_words_or_within_markup_is_dropped(workspace, secret):
    rows = [("assistant", f"Decided: {secret}."), ("assistant", DECISION)]
    done = workspace.capture(workspace.write(lines_of(*rows)), "--verbose")
    assert done.out == result_line(2)
    assert done.err.startswith("1 key line(s) dropped\n")


@pytest.mark.spec("R-195")
@pytest.mark.parametrize(
    "harmless",
    [
        "a password of Ilse in the vault, and the pin of berth 4",
        "numpy, and pin numpy==2.1.0",
        "commit 3f2c9a7be1d04c5f8a9b7c6d5e4f3a2b1c0d9e8f",
        "order 7d3f2b1c-9a8e-4d6f-b5c4-3a2e1f0d9c8b",
        "https://example.com/a/very/long/path?with=parameters",
        "the Donaudampfschifffahrtsgesellschaftskapitän",
    ],
)
def test_ordinary_long_words_are_no_credentials(workspace, harmless):
    rows = [("assistant", f"Decided to keep {harmless} for the record.")]
    assert workspace.capture(workspace.write(lines_of(*rows))).out == result_line(2)


@pytest.mark.spec("R-204")
@pytest.mark.row(63)
def test_a_grown_session_brings_what_is_new(workspace):
    workspace.capture(workspace.write(CHAT))
    more = lines_of(("assistant", "Decided to bill Zephyr by post."))
    assert workspace.capture(workspace.write(CHAT + more)).out == result_line(2, known=2)
    assert workspace.capture(workspace.write(CHAT + more)).out == result_line(0, known=4)
    assert workspace.capture(workspace.write(CHAT), session="other").out == result_line(
        3, session="other"
    )


@pytest.mark.spec("R-186")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"--source-kind": "web"}, "'web' is not one of"),
        ({"--channel": "a\nb"}, "line break"),
        ({"--session-id": "a\u2028b"}, "line break"),
        ({"--agent": "x" * 201}, "201 characters"),
        ({"--session-id": " "}, "must not be empty"),
        ({"--session-id": f"ghp_{'a1B2' * 9}"}, "looks like a credential (GitHub token)"),
        ({"--channel": f"dm:ghp_{'a1B2' * 9}"}, "looks like a credential (GitHub token)"),
        ({"--transcript": None}, "either --transcript"),
        ({"--plain": "log"}, "either --transcript"),
    ],
)
def test_wrong_options_are_an_error_of_usage(workspace, arguments, said):
    chat = workspace.write(CHAT)
    options = {"--agent": AGENT, "--session-id": "s", "--channel": "c", "--source-kind": "chat"}
    options |= {"--transcript": chat, "--config-dir": workspace.path} | arguments
    given = [part for pair in options.items() if pair[1] is not None for part in pair]
    done = workspace.run("capture-session", *given)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "a1B2" not in done.err
    assert workspace.queued == []


@pytest.mark.spec("R-186")
def test_a_missing_file_and_one_in_utf_16_are_told_and_nothing_is_queued(workspace):
    missing = workspace.capture(str(workspace.folder / "none.jsonl"))
    assert missing.code == 1
    assert "none.jsonl" in missing.err
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        wide = workspace.capture(workspace.write(CHAT.encode(encoding)))
        assert wide.code == 1
        assert "UTF-16" in wide.err
    assert workspace.queued == []


@pytest.mark.spec("R-186")
def test_the_workspace_is_named_by_option_variable_file_or_folder(workspace, tmp_path):
    chat = workspace.write(CHAT)
    (workspace.folder / "config.toml").write_text(f'[throughline]\nworkspace = "{tmp_path}/f"\n')
    workspace.capture(chat)
    assert (tmp_path / "f" / "queue").is_dir()
    workspace.capture(chat, MM_WORKSPACE=str(tmp_path / "v"))
    assert (tmp_path / "v" / "queue").is_dir()
    workspace.capture(chat, "--workspace", str(tmp_path / "o"), MM_WORKSPACE=str(tmp_path / "no"))
    assert (tmp_path / "o" / "queue").is_dir()
    assert not (tmp_path / "no").exists()


def test_a_workspace_in_the_home_of_another_is_refused(workspace):
    done = workspace.capture(workspace.write(CHAT), MM_WORKSPACE="~nobody/x")
    assert done.code == 2
    assert "'~nobody/x' lies in the home of another user or of nobody" in done.err


def test_standard_input_is_read_for_a_dash(workspace):
    options = ("--agent", AGENT, "--session-id", "s", "--channel", "c", "--source-kind", "chat")
    where = ("--transcript", "-", "--config-dir", workspace.path)
    done = workspace.run("capture-session", *options, *where, stdin=CHAT.encode())
    assert done.out == result_line(3, session="s")


@pytest.mark.spec("R-196")
def test_the_help_says_that_the_filter_is_no_security_boundary(workspace):
    told = " ".join(workspace.run("capture-session", "--help").out.split())
    assert "not a security boundary" in told
    assert "split across lines or encoded can pass" in told


@pytest.mark.row(63)
def test_binary_and_endless_lines_take_bounded_memory(workspace):
    rows = lines_of(("assistant", DECISION), ("user", "hello there, how are the crates?"))
    path = workspace.write(rows)
    with open(path, "ab") as file:
        file.write(os.urandom(1 << 20) + b"\n")
        for _ in range(40):
            file.write(b'{"role": "user", "content": "' + b"x" * (1 << 20))
        file.write(b'"}\n')
        file.write(rows.encode() * 20_000)
    program = "from mash_plugin.cli.meaning_memory import main; main()"
    options = ["--agent", "a", "--session-id", "s", "--channel", "c", "--source-kind", "chat"]
    where = ["--transcript", path, "--config-dir", workspace.path]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    child = subprocess.run(
        [sys.executable, "-c", f"{MEASURED}{program}", "capture-session", *options, *where],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == 0, (child.stderr, before)
    assert "2 artifact(s) queued" in child.stdout
    peak = int(child.stderr.split()[-1])
    assert peak < 64 * 1024, f"{peak} KiB"
