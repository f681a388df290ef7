"""What is shown with a file: once, for that file alone."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.hooks_answers.conftest import MINUTE


@pytest.fixture
def ledger(desk):
    (desk.project / "src").mkdir()
    for name in ("ledger.py", "ledger.py.bak", "other.py"):
        (desk.project / "src" / name).write_text("x\n")
    desk.keep("Keep rounding in src/ledger.py alone.")
    return desk.project / "src" / "ledger.py"


@pytest.mark.spec("R-131", "R-159")
def test_a_file_brings_the_record_that_names_it_and_earlier_chats_once(desk, ledger):
    desk.chat("Why does src/ledger.py round twice?", "old-1")
    text = desk.read(str(ledger))
    assert "Keep rounding in src/ledger.py alone." in text
    assert "Why does src/ledger.py round twice?" in text
    assert desk.read(str(ledger)) == ""
    assert "Keep rounding" in desk.read(str(ledger), "s-2")
    desk.reopen()
    assert desk.read(str(ledger)) == ""


def test_a_chat_about_two_files_is_named_with_the_first_that_is_read(desk, ledger):
    desk.chat("Do src/ledger.py and src/other.py round alike?", "old-1")
    assert "round alike" in desk.read(str(ledger))
    assert desk.read(str(ledger.parent / "other.py")) == ""
    assert "round alike" in desk.read(str(ledger.parent / "other.py"), "s-2")


def test_a_file_of_almost_the_same_name_brings_nothing(desk, ledger):
    assert desk.read(f"{ledger}.bak") == ""
    assert desk.read(str(ledger.parent / "other.py")) == ""


@pytest.mark.spec("R-131")
def test_only_a_display_uses_up_the_turn(desk, ledger):
    other = str(ledger.parent / "other.py")
    assert desk.read(other) == ""
    desk.keep("Leave src/other.py as it is.")
    assert "Leave src/other.py" in desk.read(other)
    desk.keep("Split src/other.py in May.")
    text = desk.read(other)
    assert "Split src/other.py" in text
    assert "Leave" not in text


@pytest.mark.spec("R-131")
def test_of_reads_at_once_exactly_one_brings_it(desk, ledger):
    for number in range(20):
        gate = Barrier(4)

        def read(session=f"s-{number}", gate=gate):
            gate.wait(10)
            return desk.read(str(ledger), session)

        with ThreadPoolExecutor(4) as pool:
            texts = [task.result() for task in [pool.submit(read) for _ in range(4)]]
        assert sum("Keep rounding" in text for text in texts) == 1
        assert texts.count("") == 3


def test_a_new_record_comes_alone_whatever_its_rank(desk, ledger):
    for number in range(5):
        desk.keep(f"Older {number} about src/ledger.py.", age=MINUTE)
    assert desk.read(str(ledger)).count('"decision"') == 3
    assert desk.read(str(ledger)) == ""
    desk.now += MINUTE
    desk.keep("Perhaps split src/ledger.py.", review="candidate")
    desk.reopen()
    text = desk.read(str(ledger))
    assert text.count('"decision"') == 1
    assert "Perhaps split src/ledger.py." in text
    assert desk.read(str(ledger)) == ""


def test_a_record_that_found_no_room_does_not_count_as_shown(desk, ledger):
    for number in range(2):
        desk.keep(f"src/ledger.py {number} " + "<" * 220)
    text = desk.read(str(ledger))
    shown = desk.node.hook_state.touch("s-1", "claude-code", "file-read", desk.now).shown
    assert text.count('"decision"') == len(shown) == 2
    assert all(shown_id in text for _, _, shown_id in shown)


def test_one_command_that_reads_many_files_stays_within_the_hosts_limit(desk):
    names = [f"part{number}.py" for number in range(4)]
    for name in names:
        (desk.project / name).write_text("x\n")
        for number in range(2):
            desk.keep(f"{number} is about {name}: " + "<" * 200)
    reads = [{"type": "read", "path": name} for name in names]
    folder = desk.root / "home" / ".codex" / "sessions"
    folder.mkdir(parents=True)
    rollout = folder / "rollout-2026-11-30T06-54-17-s-1.jsonl"
    item = {"type": "CommandExecution", "id": "c", "cwd": f"file://{desk.project}"}
    rollout.write_text(json.dumps({"payload": {"item": item | {"parsed_cmd": reads}}}) + "\n")
    more = {"transcript_path": str(rollout), "tool_use_id": "c"}
    seen, rounds = [], 0
    while text := desk.cat(f"cat {' '.join(names)}", **more):
        assert len(text.encode()) < 9_000
        seen += [json.loads(line)["id"] for line in text.splitlines() if line.startswith("{")]
        rounds += 1
    assert len(seen) == len(set(seen)) == 8
    assert rounds == 2


def test_the_files_context_comes_again_after_a_compaction(desk, ledger):
    desk.start()
    assert desk.read(str(ledger))
    desk.reopen()
    desk.start(source="compact")
    assert desk.read(str(ledger))
    desk.reopen()
    assert desk.read(str(ledger)) == ""


def test_a_subagent_reads_with_a_context_of_its_own(desk, ledger):
    assert desk.read(str(ledger), agent_id="sub-1")
    assert desk.read(str(ledger), agent_id="sub-1") == ""
    assert desk.read(str(ledger))


@pytest.mark.row(57)
def test_links_and_files_outside_the_project_bring_nothing(desk, ledger, tmp_path):
    desk.keep("Look at src/link.py and shop/src/ledger.py.")
    link = ledger.parent / "link.py"
    link.symlink_to(ledger)
    outside = tmp_path / "src"
    outside.mkdir()
    (outside / "ledger.py").write_text("x\n")
    sibling = tmp_path / "shoq" / "src"  # a folder beside the project with a name as long
    sibling.mkdir(parents=True)
    assert desk.read(str(sibling / "ledger.py")) == ""
    assert desk.read(str(link)) == ""
    assert desk.read(str(outside / "ledger.py")) == ""
    assert desk.read(f"{desk.project}/../src/ledger.py") == ""
    assert desk.read("/etc/passwd") == ""
    assert desk.read(str(desk.project)) == ""
    assert desk.read(f"{desk.project}/src/../src/ledger.py")


def test_a_project_reached_through_a_link_is_the_same_project(desk, ledger, tmp_path):
    (tmp_path / "short").symlink_to(desk.project)
    path = tmp_path / "short" / "src" / "ledger.py"
    assert "Keep rounding" in desk.read(str(path), cwd=str(tmp_path / "short"))


def test_the_path_counts_from_the_projects_root_wherever_the_agent_stands(desk, ledger):
    assert "Keep rounding" in desk.cat("sed -n '1,9p' ledger.py", cwd=str(ledger.parent))
    assert desk.cat("cat src/ledger.py") == ""


def test_codexs_parse_in_the_rollout_is_used(desk, ledger):
    folder = desk.root / "home" / ".codex" / "sessions"
    folder.mkdir(parents=True)
    rollout = folder / "rollout-2026-11-30T06-54-17-s-1.jsonl"
    item = {
        "type": "CommandExecution",
        "id": "call_1",
        "cwd": f"file://{desk.project}",
        "parsed_cmd": [{"type": "read", "path": "src/ledger.py"}],
    }
    rollout.write_text(json.dumps({"payload": {"item": item}}) + "\n")
    text = desk.cat(
        "cd src && cat ledger.py | head", transcript_path=str(rollout), tool_use_id="call_1"
    )
    assert "Keep rounding" in text


def test_personal_records_are_never_shown_with_a_file(desk, ledger):
    from mash_plugin.records.model import Scope

    other = str(ledger.parent / "other.py")
    desk.keep("Personally: src/other.py is a mess.", Scope("personal"))
    assert desk.read(other) == ""


def test_a_file_that_is_not_there_or_of_odd_name_does_no_harm(desk):
    for path in ("gone.py", "a\nb", "x" * 5000, "é\ud83d", "..", "\0"):
        assert desk.read(os.path.join(str(desk.project), path)) == ""
    assert desk.failures == []
