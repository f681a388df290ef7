"""The index follows transcripts through everything that happens to files."""

import json
import os
import threading
from pathlib import Path

import pytest

from mash_plugin.agents import agent_named
from mash_plugin.agents.events import Agent
from mash_plugin.chats import full_index as index_module
from mash_plugin.chats import index as citing_module
from mash_plugin.chats.blocks import BLOCK
from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.reading import chats_of_message, message_by_id
from mash_plugin.chats.report import Progress
from mash_plugin.chats.search import search_chats
from tests.chats.conftest import NOW, Chats
from tests.support.transcripts import ClaudeTranscript, CodexTranscript, write_repository


def found(chats: Chats, query: str) -> list[str]:
    with chats.database.reading() as db:
        return [hit.message_id for hit in search_chats(db, query)[0]]


@pytest.mark.spec("R-156")
def test_a_session_is_indexed_with_ids_roles_authors_and_times(chats: Chats) -> None:
    t = chats.transcript()
    asked, said = t.person("Which store should we use?"), t.agent("I propose Qdrant.")
    shown = t.tool_result("x" * 5_000)
    assert chats.refresh() == "claude-code-s-1"
    rows = [(m.id, m.role, m.author, m.person_text) for m in chats.messages()]
    assert rows == [
        (asked, "user", "person", "Which store should we use?"),
        (said, "assistant", "agent", None),
        (shown, "tool", "automated", None),
    ]
    chat = chats.chat()
    assert (chat.source, chat.project_path) == ("claude-code", str(chats.project))
    assert chat.started_at is not None
    assert chat.last_active_at == chat.started_at + 2_000
    assert chat.title == "Which store should we use?"


@pytest.mark.parametrize("greeting", ["hi", "Hello there!", "Hey Claude,", "你好", "Guten Morgen."])
def test_a_chat_is_called_after_what_says_more_than_hello(chats: Chats, greeting: str) -> None:
    t = chats.transcript()
    t.person(greeting)
    chats.refresh()
    assert chats.chat().title == greeting
    t.person(f"{greeting}\n\nWhich store should we use?\nThe old one is slow.")
    t.person("Use Postgres.")
    chats.refresh()
    assert chats.chat().title == "Which store should we use?"


class Growing(ClaudeTranscript):
    """A session whose agent writes on whenever someone begins to read."""

    reads = 0

    def agent_named(self, _name: str) -> Agent:
        host = agent_named("claude-code")
        assert host is not None
        self.reads += 1
        assert self.reads < 20, "the reader chases the writer"
        with self.path.open("a") as file:
            file.write('{"type":"progress"}\n' * 12_000)
        self.agent(f"Part {self.reads}")
        return host


def test_a_citing_call_does_not_chase_a_fast_writer(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(citing_module, "STRETCH_BYTES", 200_000)
    t = Growing(chats.claude, str(chats.project), "s-1")
    for number in range(5):
        t.tool_result("x" * 100_000)
        t.person(f"Ask {number}")
    index = ChatIndex(
        chats.database, lambda: [("claude-code", str(chats.claude))], agent_named=t.agent_named
    )
    assert index.refresh_session("s-1", NOW) == "claude-code-s-1"
    assert [m.text for m in chats.messages() if m.author == "person"][-1] == "Ask 4"
    told = len(chats.texts())
    chats.refresh()
    assert len(chats.texts()) > told


@pytest.mark.spec("R-156")
def test_indexing_twice_changes_nothing(chats: Chats) -> None:
    chats.transcript().person("Hello there")
    first = chats.index.refresh_all(NOW)
    before, seen = chats.chat(), chats.messages()
    second = chats.index.refresh_all(NOW + 1)
    assert (first.files, first.new_messages) == (1, 1)
    assert (second.files, second.new_messages, second.bytes_read) == (0, 0, 0)
    assert (chats.chat(), chats.messages()) == (before, seen)


@pytest.mark.spec("R-157")
def test_an_appended_line_is_all_that_is_read(chats: Chats) -> None:
    t = chats.transcript()
    t.person("A" * 50_000)
    chats.refresh()
    size, mark = t.path.stat().st_size, chats.chat().fingerprint
    t.agent("Appended.")
    report = chats.index.refresh_all(NOW)
    assert report.bytes_read == t.path.stat().st_size - size
    assert (report.new_messages, report.rewritten) == (1, ())
    assert chats.texts()[-1] == "Appended."
    assert chats.chat().fingerprint != mark


def test_the_fingerprint_is_the_same_whether_read_at_once_or_line_by_line(chats: Chats) -> None:
    one, other = chats.transcript("s-1"), chats.transcript("s-2")
    for number in range(5):
        one.person(f"Step {number}")
        chats.refresh("s-1")
    grown = chats.chat("s-1").fingerprint
    other.path.write_bytes(one.path.read_bytes())
    chats.refresh("s-2")
    assert chats.chat("s-2").fingerprint == grown


def test_a_cut_off_last_line_waits_for_its_end(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Whole.")
    with t.path.open("a", encoding="utf-8") as file:
        file.write('{"type":"user","uuid":"x')
    chats.refresh()
    assert chats.texts() == ["Whole."]
    text = t.path.read_text("utf-8")
    t.path.write_text(text[: text.rindex("{")], "utf-8")
    t.person("Ended.")
    chats.refresh()
    assert chats.texts() == ["Whole.", "Ended."]


@pytest.mark.row(48)
def test_a_truncated_transcript_loses_what_it_no_longer_holds(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Keep this sentence.")
    size = t.path.stat().st_size
    gone = t.person("Remove the zebra.")
    chats.refresh()
    os.truncate(t.path, size)
    report = chats.index.refresh_all(NOW)
    assert chats.texts() == ["Keep this sentence."]
    assert report.rewritten == ("claude-code-s-1",)
    assert found(chats, "zebra") == []
    with chats.database.reading() as db:
        assert message_by_id(db, gone) is None


@pytest.mark.spec("R-025")
def test_an_edited_middle_line_is_noticed_and_keeps_its_id(chats: Chats) -> None:
    t = chats.transcript()
    t.person("First.")
    edited = t.person("We use Qdrant here.")
    t.agent("Fine.")
    chats.refresh()
    t.rewrite("Qdrant", "Milvus")
    report = chats.index.refresh_all(NOW)
    assert report.rewritten == ("claude-code-s-1",)
    assert chats.texts() == ["First.", "We use Milvus here.", "Fine."]
    assert chats.messages()[1].id == edited
    assert found(chats, "qdrant") == []
    assert found(chats, "milvus") == [edited]


def test_an_edit_of_equal_length_is_noticed_even_when_lines_follow(chats: Chats) -> None:
    t = chats.transcript()
    t.person("We use Qdrant here.")
    chats.refresh()
    t.rewrite("Qdrant", "Milvus")
    t.agent("And something new.")
    chats.refresh()
    assert chats.texts() == ["We use Milvus here.", "And something new."]


def test_an_edit_deep_in_a_long_transcript_is_found_after_a_few_appends(chats: Chats) -> None:
    t = chats.transcript()
    for number in range(20):
        t.person(f"Part {number} " + "x" * BLOCK)
    chats.refresh()
    data = t.path.read_bytes().replace(b"Part 9 ", b"Part X ")
    t.path.write_bytes(data)
    for number in range(5):
        t.agent(f"More {number}")
        chats.refresh()
    assert chats.texts()[9].startswith("Part X ")


def test_a_file_replaced_by_the_same_bytes_is_not_read_again(chats: Chats) -> None:
    t = chats.transcript()
    t.person("The same.")
    chats.refresh()
    copy = t.path.with_suffix(".new")
    copy.write_bytes(t.path.read_bytes())
    copy.replace(t.path)
    report = chats.index.refresh_all(NOW)
    assert (report.bytes_read, report.rewritten) == (0, ())


@pytest.mark.spec("R-027")
@pytest.mark.row(48)
def test_a_vanished_transcript_keeps_its_messages(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Remember the heron.")
    chats.refresh()
    before = chats.chat()
    t.path.unlink()
    report = chats.index.refresh_all(NOW)
    assert (report.files, report.rewritten) == (0, ())
    assert chats.chat() == before
    assert len(found(chats, "heron")) == 1


def test_a_fork_holds_the_same_messages_and_counts_them_once(chats: Chats) -> None:
    t = chats.transcript("s-1")
    shared = t.person("The shared pelican.")
    fork = t.path.with_name("s-2.jsonl")
    fork.write_bytes(t.path.read_bytes())
    own = chats.transcript("s-2")
    own.count = 50
    added = own.person("Only in the fork.")
    chats.index.refresh_all(NOW)
    assert found(chats, "pelican") == [shared]
    assert [m.id for m in chats.messages("s-2")] == [shared, added]
    assert chats.stored() == 2
    with chats.database.reading() as db:
        assert {c.session_id for c in chats_of_message(db, shared)} == {"s-1", "s-2"}


def test_an_edit_in_a_fork_leaves_the_first_chat_alone(chats: Chats) -> None:
    t = chats.transcript("s-1")
    shared = t.person("We chose Postgres.")
    fork = t.path.with_name("s-2.jsonl")
    fork.write_bytes(t.path.read_bytes())
    chats.index.refresh_all(NOW)
    fork.write_bytes(t.path.read_bytes().replace(b"Postgres", b"MariaDB!"))
    chats.index.refresh_all(NOW)
    assert chats.texts("s-1") == ["We chose Postgres."]
    assert chats.texts("s-2") == ["We chose MariaDB!."]
    assert chats.messages("s-1")[0].id == shared
    assert chats.messages("s-2")[0].id != shared


def test_a_removed_fork_line_stays_in_the_other_chat(chats: Chats) -> None:
    t = chats.transcript("s-1")
    t.person("Shared ibis.")
    fork = t.path.with_name("s-2.jsonl")
    fork.write_bytes(t.path.read_bytes())
    chats.index.refresh_all(NOW)
    fork.write_bytes(b"")
    chats.index.refresh_all(NOW)
    assert (chats.texts("s-1"), chats.texts("s-2")) == (["Shared ibis."], [])
    assert len(found(chats, "ibis")) == 1


def test_a_message_written_twice_into_one_file_counts_once(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Once only.")
    line = t.path.read_bytes().splitlines(keepends=True)[-1]
    with t.path.open("ab") as file:
        file.write(line * 2)
    chats.refresh()
    with t.path.open("ab") as file:
        file.write(line)
    chats.refresh()
    assert chats.texts() == ["Once only."]


def test_an_archived_rollout_is_the_same_chat_in_a_new_place(chats: Chats) -> None:
    session = "01a22b3b-9fc5-7000-8000-000000000001"
    t = CodexTranscript(chats.codex, str(chats.project), session)
    t.person("Which one?")
    t.agent("This one.")
    chats.index.refresh_all(NOW)
    before = [m.id for m in chats.messages(session)]
    archive = chats.codex / "archived_sessions"
    archive.mkdir()
    t.path.rename(archive / t.path.name)
    chats.index.refresh_all(NOW)
    assert [m.id for m in chats.messages(session)] == before
    assert chats.stored() == len(before)


@pytest.mark.row(48)
def test_bad_lines_are_passed_over_and_counted(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Before.")
    with t.path.open("ab") as file:
        file.write(b"not json\n\x00\x00\n[1,2]\n{}\n" + b"\xff\xfe\n")
    t.person("After \ud83d the storm\0.".encode("utf-8", "replace").decode())
    report = chats.index.refresh_all(NOW)
    assert len(chats.texts()) == 2
    assert report.lines_skipped >= 2


@pytest.mark.row(48)
def test_a_line_over_the_cap_is_skipped_with_its_bytes(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mash_plugin.agents.lines.MAX_LINE", 10_000)
    t = chats.transcript()
    t.person("y" * 20_000)
    t.person("Short.")
    report = chats.index.refresh_all(NOW)
    assert chats.texts() == ["Short."]
    assert report.lines_skipped == 1
    assert report.bytes_skipped > 20_000


def test_cut_tool_output_is_counted(chats: Chats) -> None:
    chats.transcript().tool_result("z" * 9_000)
    report = chats.index.refresh_all(NOW)
    assert report.bytes_skipped == 9_000 - len(chats.texts()[0])


@pytest.mark.parametrize("name", ["../../etc/passwd", "s-1\0", "", "x" * 200, "a/b/c", "s 1"])
@pytest.mark.row(49)
def test_a_session_id_never_becomes_a_path(chats: Chats, name: str) -> None:
    assert chats.refresh(name) is None


@pytest.mark.row(49)
def test_only_ordinary_files_under_the_roots_are_read(chats: Chats, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("{}\n")
    folder = chats.claude / "projects" / "p"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(outside)
    os.mkfifo(folder / "pipe.jsonl")
    for path in (
        "/etc/shadow",
        "/dev/zero",
        "/proc/self/environ",
        str(outside),
        str(folder / "link.jsonl"),
        str(folder / "pipe.jsonl"),
        str(folder / ".." / ".." / ".." / "outside.jsonl"),
        "nul\0byte",
        "",
    ):
        assert chats.index.refresh_path("claude-code", path, NOW) is None
    assert chats.refresh("link") is None
    assert chats.refresh("pipe") is None
    assert chats.index.refresh_all(NOW).new_messages == 0


def test_a_path_from_a_hook_is_read_when_it_lies_under_the_roots(chats: Chats) -> None:
    t = chats.transcript()
    t.person("From the hook.")
    assert chats.index.refresh_path("claude-code", str(t.path), NOW) == "claude-code-s-1"
    assert chats.index.refresh_path("nobody", str(t.path), NOW) is None
    assert chats.texts() == ["From the hook."]


@pytest.mark.spec("R-180")
def test_a_forgotten_chat_stays_out(chats: Chats) -> None:
    chats.transcript().person("Secret plan.")
    chats.forgotten.add("s-1")
    chats.index.refresh_all(NOW)
    assert chats.refresh() is None
    assert chats.stored() == 0


def test_a_denied_project_is_not_indexed_until_it_is_allowed_again(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Not for the index.")
    chats.deny.append(str(chats.project))
    assert chats.refresh() is None
    assert chats.stored() == 0
    chats.deny.clear()
    assert chats.refresh() == "claude-code-s-1"


def test_a_marker_file_in_the_repository_switches_its_index_off(chats: Chats) -> None:
    (chats.project / ".mash").write_text("index = off\n")
    chats.transcript().person("Quiet.")
    chats.index.refresh_all(NOW)
    assert chats.stored() == 0


def test_a_chat_carries_the_identity_of_its_repository(chats: Chats, tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "clone", "git@github.com:Acme/Shop.git")
    (clone / "src").mkdir()
    chats.transcript("s-7", clone / "src").person("In a subfolder.")
    chats.index.refresh_all(NOW)
    chat = chats.chat("s-7")
    assert (chat.repository_identity, chat.project_path) == ("github.com/acme/shop", str(clone))


def test_a_citing_call_gets_through_in_the_middle_of_a_full_index(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "STRETCH_BYTES", 2_000)
    for number in range(12):
        t = chats.transcript(f"s-{number}")
        for part in range(10):
            t.person(f"Part {part} of {number} " + "x" * 300)
    cited: list[str | None] = []

    def cite(_progress: Progress) -> None:
        if not cited:
            worker = threading.Thread(target=lambda: cited.append(chats.refresh("s-0")))
            worker.start()
            worker.join(10)

    report = chats.index.refresh_all(NOW, progress=cite)
    assert cited == ["claude-code-s-0"]
    assert all(len(chats.texts(f"s-{n}")) == 10 for n in range(12))
    assert chats.stored() == 120
    assert report.rewritten == ()


def test_progress_ends_with_all_files_and_all_bytes(chats: Chats) -> None:
    for number in range(3):
        chats.transcript(f"s-{number}").person("Hello")
    seen: list[Progress] = []
    chats.index.refresh_all(NOW, progress=seen.append)
    last = seen[-1]
    assert (last.files, last.bytes) == (last.files_total, last.bytes_total) == (3, last.bytes)


def test_a_stopped_index_goes_on_later(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "STRETCH_BYTES", 500)
    t = chats.transcript()
    for part in range(10):
        t.person(f"Part {part}")
    answers = iter([False, False])
    chats.index.refresh_all(NOW, should_stop=lambda: next(answers, True))
    assert 0 < len(chats.texts()) < 10
    chats.index.refresh_all(NOW)
    assert chats.texts() == [f"Part {part}" for part in range(10)]


def test_a_rewrite_that_is_cut_short_shows_the_old_chat_until_it_is_done(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = chats.transcript()
    for part in range(10):
        t.person(f"Part {part}")
    chats.refresh()
    monkeypatch.setattr(index_module, "STRETCH_BYTES", 500)
    t.rewrite("Part", "Teil")
    answers = iter([False, False])
    chats.index.refresh_all(NOW, should_stop=lambda: next(answers, True))
    assert len(chats.texts()) == 10
    t.rewrite("Teil", "Deel")
    report = chats.index.refresh_all(NOW)
    assert chats.texts() == [f"Deel {part}" for part in range(10)]
    assert report.rewritten == ("claude-code-s-1",)


@pytest.mark.row(53)
def test_private_text_is_in_no_byte_of_the_index(chats: Chats, tmp_path: Path) -> None:
    chats.transcript().person("Use this. <private>the blue flamingo sings</private> Thanks.")
    chats.refresh()
    assert chats.messages()[0].has_private
    chats.database.checkpoint("TRUNCATE")
    assert b"flamingo" not in (tmp_path / "chats.db").read_bytes()


def test_a_chat_that_two_files_hold_is_the_sum_of_both(chats: Chats) -> None:
    first = chats.transcript("s-1", Path("/w/one"))
    second = chats.transcript("s-1", Path("/w/two"))
    first.person("From the first.")
    second.count = 50
    second.person("From the second.")
    chats.index.refresh_all(NOW)
    assert sorted(chats.texts()) == ["From the first.", "From the second."]
    first.rewrite("the first", "an edited")
    chats.index.refresh_all(NOW)
    assert sorted(chats.texts()) == ["From an edited.", "From the second."]


def test_a_newer_reader_reads_every_transcript_again(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = chats.transcript()
    t.person("Hello.")
    chats.refresh()
    monkeypatch.setattr("mash_plugin.chats.beginning.READER_VERSION", 99)
    report = chats.index.refresh_all(NOW)
    assert report.rewritten == ("claude-code-s-1",)
    assert chats.texts() == ["Hello."]


def test_messages_of_a_subagent_are_a_chat_of_their_own(chats: Chats) -> None:
    t = chats.transcript()
    t.person("Do it.")
    folder = t.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    row = json.loads(t.path.read_text("utf-8").splitlines()[-1])
    row |= {"isSidechain": True, "agentId": "a1", "uuid": "00000000-0000-4000-8000-000000000009"}
    (folder / "agent-a1.jsonl").write_text(json.dumps(row) + "\n")
    chats.index.refresh_all(NOW)
    chat = chats.chat("s-1/agent-a1")
    assert chat.is_subagent
    assert [m.author for m in chats.messages("s-1/agent-a1")] == ["automated"]
    assert chats.chat()._replace(title=None).is_subagent is False
