"""`mash forget`, `mash index --restore-chat` and `mash backup rewrite` at the terminal."""

import json
from pathlib import Path

import pytest

from tests.cli.test_chats_commands import SESSION
from tests.setup.terminals import on_a_terminal
from tests.support.homes import Home
from tests.support.polling import eventually
from tests.support.saved import WORDS, statements

pytestmark = pytest.mark.slow

CHAT = f"claude-code-{SESSION}"
STATEMENT = "Invoices are rendered with Typst."


def chats(home: Home) -> list[str]:
    return [chat["id"] for chat in json.loads(home.mash("chats", "--json").out)["chats"]]


@pytest.mark.spec("R-178", "R-180")
def test_a_person_sees_what_goes_and_is_asked(told: Home) -> None:
    done = told.mash("forget", CHAT)
    assert done.code == 2
    assert "--yes" in done.err
    assert STATEMENT in done.out
    code, shown = on_a_terminal(told, "n\n", "mash", "forget", CHAT)
    assert code == 1
    for part in (CHAT, "1 to be removed", "Records  1", STATEMENT, "Nothing was changed."):
        assert part in shown, shown
    assert statements(told) == [STATEMENT]
    assert chats(told) == [CHAT]
    code, shown = on_a_terminal(told, "y\n", "mash", "forget", CHAT)
    assert code == 0, shown
    assert f"Forgot {CHAT}: 1 message, 1 record." in shown
    assert f"{SESSION}.jsonl" in shown
    assert (statements(told), chats(told)) == ([], [])
    code, shown = on_a_terminal(told, "", "mash", "forget", CHAT)
    assert (code, "Nothing of it is left" in shown) == (1, True)


@pytest.mark.spec("R-180")
def test_it_stays_out_of_the_index_until_it_is_restored(told: Home) -> None:
    assert told.mash("forget", CHAT, "--yes").code == 0
    assert "nothing new" in told.mash("index").out
    assert told.mash("search", "Typst").code == 1
    told.mash("daemon", "restart")
    told.mash("index")
    assert chats(told) == []
    done = told.mash("index", "--restore-chat", CHAT)
    assert (done.code, done.err) == (0, "")
    assert "in the index again" in done.out
    assert chats(told) == [CHAT]
    assert statements(told) == []
    done = told.mash("index", "--restore-chat", CHAT)
    assert done.code == 1
    assert "is not forgotten" in done.err


def test_scripts_get_json_and_must_say_yes(told: Home) -> None:
    done = told.mash("forget", CHAT, "--json")
    assert (done.code, done.out) == (2, "")
    found = json.loads(told.mash("forget", CHAT, "--dry-run", "--json").out)
    assert [r["statement"] for r in found["records"]] == [STATEMENT]
    assert chats(told) == [CHAT]
    done = told.mash("forget", CHAT, "--json", "--yes")
    answer = json.loads(done.out)
    assert (answer["forgotten"], answer["is_scrubbed"], answer["messages"]) == (True, True, 1)
    told_again = told.mash("forget", CHAT, "--yes")
    assert told_again.code == 0
    assert "was forgotten before" in told_again.out


def test_a_chat_that_is_not_known_is_an_error_with_advice(told: Home) -> None:
    done = told.mash("forget", "claude-code-nobody", "--yes")
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert "mash chats" in line
    done = told.mash("forget", "../etc", "--yes")
    assert done.code == 1
    assert "no ID of a chat" in done.err


def test_no_call_forgets_a_chat(told: Home) -> None:
    for method in ("forget_chat", "restore_chat"):
        answer = told.call(method, {"id": CHAT})
        assert answer["error"]["code"] == "invalid_argument"
    assert chats(told) == [CHAT]


@pytest.mark.spec("R-178")
def test_older_backups_are_named_and_rewritten(told: Home) -> None:
    folder = told.mash_home / "data" / "backups"
    told.mash("daemon", "stop")  # the day's backup is made at the latest now
    (backup,) = eventually(lambda: list(folder.glob("*.db")), "no backup")
    before = backup.read_bytes()
    assert STATEMENT.encode() in before
    done = told.mash("forget", CHAT, "--yes")
    assert "mash backup rewrite" in done.out
    assert str(backup) in done.out
    done = told.mash("backup", "rewrite")
    assert (done.code, done.err) == (0, "")
    assert f"{backup}: rewritten, taken out: 1 record, traces of 1 chat" in done.out
    for file in Path(told.mash_home).rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert STATEMENT.encode() not in content, file
            assert WORDS.encode() not in content, file
    (one,) = json.loads(told.mash("backup", "rewrite", "--json").out)["files"]
    assert one == {
        "path": str(backup),
        "outcome": "unchanged",
        "records": 0,
        "chats": 0,
        "problem": None,
    }
    backup.write_bytes(before[:5000])
    done = told.mash("backup", "rewrite")
    assert done.code == 1
    assert f"{backup}: left alone, damaged" in done.out
    assert len(backup.read_bytes()) == 5000


def test_without_backups_the_command_says_so(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    done = fresh.mash("backup", "rewrite")
    assert (done.code, done.out) == (0, "There are no backups.\n")
