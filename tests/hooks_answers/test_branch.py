"""At the start of a session, records about what the branch changes and what was cited lead."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from mash_plugin.chats.project import git_folders
from mash_plugin.daemon import branch
from mash_plugin.daemon.branch import Branches, Unfinished, changed_files
from tests.hooks_answers.conftest import IDENTITY, MINUTE
from tests.hooks_answers.test_session_start import _records
from tests.support.polling import eventually

DAY = 86_400_000
WHO = ("-c", "user.name=A", "-c", "user.email=a@example")


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *WHO, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, env=environment, text=True)
    return done.stdout.strip()


def make_clone(folder: Path, upstream: bool = True) -> Path:
    """A clone with ten committed files on the branch `main`."""
    folder.mkdir(exist_ok=True, parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "remote", "add", "origin", f"https://{IDENTITY}.git")
    for number in range(10):
        (folder / f"part{number}.py").write_text("pass\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    if upstream:
        git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(folder, "branch", "--quiet", "--set-upstream-to=origin/main")
    return folder


def ask_git(folder: Path, *places: str) -> tuple[str, ...]:
    folders = git_folders(str(folder))
    assert folders
    return changed_files(str(folder), folders, places or branch.GIT_FOLDERS)


def told(desk, clone, session="s-1"):
    return [r["statement"] for r in _records(desk.start(session, cwd=str(clone)))]


@pytest.fixture(autouse=True)
def branches(monkeypatch):
    monkeypatch.setattr(branch, "LIMIT_S", 10.0)  # a busy machine is not what is tested
    found = Branches()
    monkeypatch.setattr(branch, "BRANCHES", found)
    return found


@pytest.fixture
def clone(tmp_path):
    return make_clone(tmp_path / "clone")


@pytest.fixture
def fake_git(tmp_path):
    """A git that writes a line for each call and then does as it is told."""

    def make(then: str) -> str:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / "git"
        script.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/calls\n{then}\n")
        script.chmod(0o755)
        return str(folder)

    return make


def test_the_first_start_in_a_project_leads_with_what_its_branch_changes(desk, clone):
    for number in range(10):
        desk.keep(f"Decision {number} about part{number}.py.", age=number * DAY)
    (clone / "part7.py").write_text("changed\n")  # uncommitted
    (clone / "part8.py").write_text("changed\n")
    git(clone, "commit", "--quiet", "--message", "More", "part8.py")
    # 92 + 60, 91 + 60 and 100 + 40 points.
    assert told(desk, clone) == [f"Decision {n} about part{n}.py." for n in (7, 8, 0)]
    assert desk.failures == []


def test_boosts_never_lift_a_record_out_of_its_tier(desk, clone):
    desk.keep("Perhaps split part1.py.", review="candidate")
    desk.keep("Mine: split part1.py.", decided_by="agent")
    desk.keep("Ours.", age=200 * DAY)
    (clone / "part1.py").write_text("changed\n")
    expected = ["Ours.", "Mine: split part1.py.", "Perhaps split part1.py."]
    assert told(desk, clone) == expected


def test_a_record_that_was_confirmed_of_late_comes_forward_for_a_week(desk):
    desk.keep("Not confirmed.", age=20 * DAY)
    confirmed = desk.keep("Confirmed.", age=60 * DAY)
    statement = (
        "INSERT INTO confirmations (record_id, revision, message_id, confirmed_at)"
        " VALUES (:id, 1, 'm', :at)"
    )
    with desk.node.store.writing() as db:
        db.run("UPDATE records SET confirmations = 1 WHERE record_id = :id", {"id": confirmed})
        db.run(statement, {"id": confirmed, "at": desk.now - DAY})
    first = [r["statement"] for r in _records(desk.start())]
    assert first == ["Confirmed.", "Not confirmed."]
    desk.now += 6 * DAY
    later = [r["statement"] for r in _records(desk.start("s-2"))]
    assert later == ["Not confirmed.", "Confirmed."]


def test_only_hooks_know_the_branch(desk, clone):
    from mash_plugin.memory.call import Caller
    from mash_plugin.memory.recall import recall_records

    desk.keep("New.", age=DAY)
    desk.keep("About part1.py.", age=2 * DAY)
    (clone / "part1.py").write_text("changed\n")
    assert told(desk, clone) == ["About part1.py.", "New."]
    request = {"scope": {"kind": "repository", "identity": IDENTITY}, "limit": 8}
    more = {"byte_budget": 6000, "include_review": False, "include_personal": False}
    packet = recall_records(desk.node.call(Caller(), desk.now, {}), request | more)
    assert [r["statement"] for r in packet["records"]] == ["New.", "About part1.py."]


def test_a_new_record_about_the_branch_leads_the_next_start(desk, clone):
    (clone / "part1.py").write_text("changed\n")
    desk.keep("New.")
    assert told(desk, clone) == ["New."]
    desk.keep("About part1.py.", age=DAY)
    assert told(desk, clone, "s-2") == ["About part1.py.", "New."]


@pytest.mark.parametrize("kind", ["no upstream", "no commit", "no repository", "no git"])
def test_where_git_tells_nothing_the_order_stays_and_nothing_fails(
    desk, tmp_path, monkeypatch, kind
):
    desk.keep("New.", age=DAY)
    desk.keep("About part1.py.", age=2 * DAY)
    place = desk.project  # a `.git` folder that git does not know as a repository
    if kind == "no upstream":
        place = make_clone(tmp_path / "alone", upstream=False)
        (place / "part1.py").write_text("changed\n")
    elif kind == "no commit":
        place = tmp_path / "fresh"
        place.mkdir()
        git(place, "init", "--quiet")
        git(place, "remote", "add", "origin", f"https://{IDENTITY}.git")
    elif kind == "no git":
        monkeypatch.setattr(branch, "BRANCHES", Branches(["/nowhere"]))
    assert told(desk, place) == ["New.", "About part1.py."]
    assert desk.failures == []


def test_a_repository_without_an_upstream_never_asks_for_its_branch(desk, tmp_path, monkeypatch):
    desk.keep("Here.")
    monkeypatch.delattr(Branches, "ask")
    assert told(desk, make_clone(tmp_path / "alone", upstream=False)) == ["Here."]
    assert desk.failures == []


def test_a_folder_without_git_never_asks_for_a_branch(desk, tmp_path, monkeypatch):
    from mash_plugin.records.model import Scope

    plain = tmp_path / "plain"
    plain.mkdir()
    desk.keep("Here.", Scope("local_project", str(plain)))
    monkeypatch.delattr(Branches, "ask")
    assert told(desk, plain) == ["Here."]
    assert desk.failures == []


def test_a_repository_without_records_never_asks_for_its_branch(desk, clone, monkeypatch):
    monkeypatch.delattr(Branches, "ask")
    assert "Saving memory" in desk.start(cwd=str(clone))
    assert desk.failures == []


def test_a_linked_work_tree_has_a_branch_of_its_own(desk, clone, tmp_path):
    desk.keep("New.", age=DAY)
    desk.keep("About part1.py.", age=2 * DAY)
    git(clone, "worktree", "add", "--quiet", "--track", "-b", "topic", "../linked", "origin/main")
    (tmp_path / "linked" / "part1.py").write_text("changed\n")
    assert told(desk, clone)[0] == "New."
    assert told(desk, tmp_path / "linked", "s-2")[0] == "About part1.py."


def test_what_is_known_is_answered_at_once_and_asked_anew_behind_it(clone, branches):
    def ask():
        return branches.ask(str(clone), pytest.fail)

    (clone / "part1.py").write_text("changed\n")
    first = ask()
    assert first.wait(time.monotonic() + 10)
    assert ask().value(0) == ("part1.py",)
    git(clone, "commit", "--quiet", "--message", "More", "part1.py")
    git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert ask().value(0) == ("part1.py",)  # the index has changed: git is asked for the next one
    eventually(lambda: ask().value(0) == (), "git is asked behind the answer")


def test_what_is_old_is_asked_anew_before_the_answer(clone, branches, monkeypatch):
    (clone / "part1.py").write_text("changed\n")
    assert branches.ask(str(clone), pytest.fail).value(time.monotonic() + 10) == ("part1.py",)
    (clone / "part2.py").write_text("changed\n")
    assert branches.ask(str(clone), pytest.fail).value(0) == ("part1.py",)
    monkeypatch.setattr(branch, "OLD_S", 0.0)
    both = ("part1.py", "part2.py")
    assert branches.ask(str(clone), pytest.fail).value(time.monotonic() + 10) == both


def test_another_branch_is_never_answered_with_the_files_of_the_last(clone, branches):
    (clone / "part1.py").write_text("changed\n")
    assert branches.ask(str(clone), pytest.fail).value(time.monotonic() + 10) == ("part1.py",)
    git(clone, "stash", "--quiet")
    git(clone, "checkout", "--quiet", "-b", "other")
    assert branches.ask(str(clone), pytest.fail).value(time.monotonic() + 10) == ()


def test_starts_at_once_ask_git_once(clone, tmp_path, fake_git):
    found = Branches([fake_git(f"cat {tmp_path}/gate; printf 'a.py\\0'")])
    os.mkfifo(tmp_path / "gate")
    asked = [found.ask(str(clone), pytest.fail) for _ in range(4)]
    with (tmp_path / "gate").open("w"):
        pass
    assert [part.value(time.monotonic() + 10) for part in asked] == [("a.py",)] * 4
    assert len((tmp_path / "calls").read_text().split()) == 1


def test_a_git_that_hangs_is_killed_and_told_without_content(
    desk, clone, tmp_path, monkeypatch, fake_git
):
    monkeypatch.setattr(branch, "LIMIT_S", 0.05)
    desk.keep("About part1.py.")
    path = fake_git("printf 'part1.py\\0'; exec sleep 600")
    monkeypatch.setattr(branch, "BRANCHES", Branches([path]))
    assert told(desk, clone) == ["About part1.py."]
    eventually(lambda: desk.failures, "the failure is told")
    assert desk.failures == [("SessionStart", "branch:Unfinished")]
    calls = tmp_path / "calls"  # a slow machine may have killed it before its first line
    for pid in calls.read_text().split() if calls.exists() else []:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_after_a_git_that_was_late_the_next_start_waits_for_nothing_and_has_it_asked_again(
    clone, tmp_path, monkeypatch, fake_git
):
    found, failures = Branches([fake_git("exec sleep 600")]), []
    monkeypatch.setattr(branch, "LIMIT_S", 0.02)
    assert found.ask(str(clone), failures.append).value(time.monotonic() + 10) == ()
    assert failures == ["Unfinished"]
    monkeypatch.setattr(branch, "LIMIT_S", 10.0)
    fake_git("printf 'part1.py\\0'")
    assert found.ask(str(clone), pytest.fail).value(0) == ()
    eventually(lambda: found.ask(str(clone), pytest.fail).value(0) == ("part1.py",), "git is asked")


@pytest.mark.parametrize("then", ["yes a.py", "printf 'a.py\\0'; exit 3", "printf a.py"])
def test_a_git_that_floods_fails_or_breaks_off_tells_nothing(clone, fake_git, then):
    path = fake_git(then)
    if then.startswith("yes"):
        with pytest.raises(Unfinished):
            ask_git(clone, path)
    else:
        assert ask_git(clone, path) == ()


def test_a_branch_that_changes_very_much_tells_nothing(clone):
    for number in range(branch.MOST_FILES + 1):
        (clone / f"new{number}.py").write_text("\n")
    git(clone, "add", ".")
    assert ask_git(clone) == ()
    git(clone, "rm", "--quiet", "--cached", "new0.py")
    assert len(ask_git(clone)) == branch.MOST_FILES


@pytest.mark.parametrize("name", ["Grüße.py", "a b.py", 'q"uote.py', "tab\t.py", "新.py"])
def test_names_of_files_come_as_they_are(clone, name):
    (clone / name).write_text("\n")
    git(clone, "add", ".")
    assert ask_git(clone) == (name,)


def test_git_is_not_taken_from_the_repository(clone, fake_git):
    bad = clone / "bin"
    bad.mkdir()
    os.rename(Path(fake_git("printf 'evil\\0'")) / "git", bad / "git")
    assert ask_git(clone, str(bad)) == ()


def test_no_git_on_path_is_asked(clone, fake_git, monkeypatch):
    monkeypatch.setenv("PATH", fake_git("printf 'evil\\0'"))
    assert Branches().ask(str(clone), pytest.fail).value(time.monotonic() + 10) == ()


def test_git_of_another_user_is_not_asked(clone, fake_git, monkeypatch):
    place = fake_git("printf 'evil\\0'")
    assert ask_git(clone, place) == ("evil",)
    monkeypatch.setattr(branch, "_trusted", lambda: {os.getuid() + 1})
    assert ask_git(clone, place) == ()


HOSTILE = {
    "core.fsmonitor": "{evil}",
    "core.hooksPath": "{hooks}",
    "core.pager": "{evil}",
    "core.sshCommand": "{evil}",
    "core.askPass": "{evil}",
    "core.gitProxy": "{evil}",
    "core.editor": "{evil}",
    "credential.helper": "!{evil}",
    "diff.external": "{evil}",
    "diff.evil.command": "{evil}",
    "diff.evil.textconv": "{evil}",
    "filter.evil.clean": "{evil}",
    "filter.evil.smudge": "{evil}",
    "filter.evil.process": "{evil}",
    "filter.evil.required": "true",
    "alias.diff-index": "!{evil}",
    "pager.diff-index": "{evil}",
    "interactive.diffFilter": "{evil}",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": "{evil}",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
}


@pytest.mark.parametrize("where", ["config", "included", "config.worktree"])
def test_a_hostile_repository_runs_nothing(clone, tmp_path, monkeypatch, where):
    evil, mark = tmp_path / "evil", tmp_path / "ran"
    evil.write_text(f"#!/bin/sh\necho $0 $* >> {mark}\ncat\n")
    evil.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / hook).symlink_to(evil)
    config = clone / ".git" / where.replace("included", "more")
    if where == "included":
        git(clone, "config", "include.path", "more")
    if where == "config.worktree":
        git(clone, "config", "extensions.worktreeConfig", "true")
    for name, value in HOSTILE.items():
        filled = value.format(evil=evil, hooks=hooks)
        git(clone, "config", "--file", str(config), name, filled)
    (clone / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (clone / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    for variable in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(variable, str(evil))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(evil))
    (clone / "part1.py").write_text("pass!\n")
    # An index that is older than its files: git must look into them.
    os.utime(clone / ".git" / "index", (1, 1))
    assert ask_git(clone) == ()  # a filter may be named: the files are left alone
    assert not mark.exists()
    monkeypatch.setattr(branch, "_may_name_filters", lambda *_: False)
    ask_git(clone)
    assert mark.exists()  # what would have run


def test_a_promised_object_is_never_fetched(clone, tmp_path, monkeypatch):
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    (clone / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    mark, evil = tmp_path / "ran", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\n")
    evil.chmod(0o755)
    git(clone, "config", "core.repositoryFormatVersion", "1")
    git(clone, "config", "extensions.partialClone", "origin")
    git(clone, "config", "remote.origin.promisor", "true")
    git(clone, "config", "remote.origin.url", f"ext::{evil}")
    git(clone, "config", "protocol.ext.allow", "always")
    assert ask_git(clone) == ()
    assert not mark.exists()
    monkeypatch.setitem(branch._ENVIRONMENT, "GIT_ALLOW_PROTOCOL", "ext")
    monkeypatch.delitem(branch._ENVIRONMENT, "GIT_NO_LAZY_FETCH")
    ask_git(clone)
    assert mark.exists()  # what would have run


def test_a_repository_above_the_project_is_never_asked(tmp_path):
    outer = make_clone(tmp_path / "outer")
    inner = outer / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (outer / "part1.py").write_text("changed\n")
    assert ask_git(outer) == ("part1.py",)
    assert ask_git(inner) == ()


def test_a_start_waits_no_longer_for_git_than_its_limit(
    desk, clone, tmp_path, monkeypatch, fake_git
):
    monkeypatch.setattr(branch, "LIMIT_S", 0.05)
    desk.keep("Kept.")
    release, lanes = threading.Event(), Branches([fake_git("true")])
    lanes._lane.start(release.wait)  # another repository keeps the thread that asks git
    monkeypatch.setattr(branch, "BRANCHES", lanes)
    try:
        assert told(desk, clone) == ["Kept."]
    finally:
        release.set()


def test_a_resume_puts_what_the_branch_changes_first(desk, clone):
    desk.start(cwd=str(clone))
    (clone / "part1.py").write_text("changed\n")
    desk.now += MINUTE
    desk.keep("About part1.py.")
    desk.now += MINUTE
    for number in range(4):
        desk.keep(f"Newer {number}.")
    first, *_ = _records(desk.start(source="resume", cwd=str(clone)))
    assert first["statement"] == "About part1.py."
