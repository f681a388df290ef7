"""What each hook put into a session's context, counted in bytes."""

import uuid
from collections import Counter

import pytest

from mash_plugin.errors import DiskFull
from mash_plugin.store.log import list_events, list_shown_to
from tests.hooks_answers.conftest import MINUTE

WISH = "From now on always run the linter before committing."


def size(*texts):
    return len(texts), sum(len(text.encode()) for text in texts)


def test_every_hook_is_counted_with_the_bytes_that_it_gave(desk):
    desk.keep("Überall Tabulatoren, siehe a.py.")
    start, wish, plain = desk.start(), desk.prompt(WISH), desk.prompt()
    file, again = desk.read(str(desk.project / "a.py")), desk.read(str(desk.project / "a.py"))
    other = desk.start("s-2")
    assert plain == again == ""
    for _ in range(2):  # before and after it was written
        ledger = desk.node.hook_state.ledger
        assert ledger.of("s-1") == {
            "file-read": size(file),
            "prompt-submit": size(wish),
            "session-start": size(start),
        }
        assert ledger.of("s-2") == {"session-start": size(other)}
        desk.reopen()
    more = desk.prompt(WISH)
    assert desk.node.hook_state.ledger.of("s-1")["prompt-submit"] == size(wish, more)


def test_each_saving_note_is_kept_with_its_time_and_stands_in_no_log(desk):
    desk.keep("Use tabs.")
    started = desk.now
    desk.start()
    desk.prompt()
    desk.now += MINUTE
    desk.prompt(WISH)
    desk.reopen()
    with desk.node.store.reading() as db:
        seen = [(one.id, one.at) for one in list_shown_to(db, "s-1", 0, 50)]
        assert seen[1:] == [("note:start", started), ("note:prompt", started + MINUTE)]
        assert [one.id for one in list_events(db, 0, 0, 50)] == [seen[0][0]] * 2  # saved, shown


def test_what_subagents_are_told_is_counted_apart(desk):
    desk.keep("Use tabs.", kind="preference", state="active")
    (desk.root / "mash" / "config.toml").write_text("[recall]\nsubagents = true\n")
    text = desk.say("session-start", "SubagentStart", agent_id="a-1")
    assert desk.node.hook_state.ledger.of("s-1") == {"subagent-start": size(text)}


def test_a_write_that_fails_loses_no_count_and_a_forgotten_session_leaves_none(desk, monkeypatch):
    text, state = desk.start(), desk.node.hook_state

    def full():
        raise DiskFull

    with monkeypatch.context() as patch:
        patch.setattr(desk.node.store, "writing", full)
        with pytest.raises(DiskFull):
            state.flush(desk.now)
    state.flush(desk.now)
    assert state.ledger.of("s-1") == {"session-start": size(text)}
    desk.prompt(WISH)
    state.forget(["s-1"], [])
    with desk.node.store.writing() as db:
        db.run("DELETE FROM hook_sessions")
    desk.start("s-2")
    state.flush(desk.now)
    assert state.ledger.of("s-1") == {}


def test_a_project_without_memory_costs_its_saving_note_and_nothing_more(desk):
    text = desk.start()
    for number in range(40):
        desk.now += MINUTE // 4
        desk.prompt("Fix the failing test")
        desk.read(str(desk.project / f"{number}.py"))
    assert desk.node.hook_state.ledger.of("s-1") == {"session-start": size(text)}


class Long:
    """One session of a hundred prompts, a minute apart, as its hooks see it."""

    def __init__(self, desk, agent):
        self.desk, self.agent, self.session = desk, agent, str(uuid.uuid4())
        self.sessions = [self.session]

    def starts(self, source):
        if source == "clear":  # the host gives it a new ID
            self.session = str(uuid.uuid4())
            self.sessions.append(self.session)
        fields = {"session_id": self.session, "source": source}
        return self.desk.say("session-start", "SessionStart", self.agent, **fields)

    def prompts(self, count, wishes=()):
        for number in range(count):
            self.desk.now += MINUTE
            text = WISH if number in wishes else f"Fix the failing test number {number}, please"
            fields = {"session_id": self.session, "prompt": text}
            self.desk.say("prompt-submit", "UserPromptSubmit", self.agent, **fields)
            self.desk.say("reminder-timer", "Stop", self.agent, session_id=self.session)

    def reads(self, name):
        path = self.desk.project / "src" / name
        if self.agent == "codex":
            return self.desk.cat(f"cat {path}", self.session)
        return self.desk.read(str(path), self.session)

    @property
    def told(self):
        """Bytes by hook, of all its IDs."""
        found = Counter()
        for session in self.sessions:
            for hook, one in self.desk.node.hook_state.ledger.of(session).items():
                found[hook] += one.bytes
        return found


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_hundred_prompts_with_two_hundred_records_take_under_six_kilobytes(desk, agent):
    for number in range(200):
        place = f"src/part{number}.py" if number % 5 == 0 else "the import"
        desk.keep(
            f"Decision {number}: retries belong to {place}, never to its callers.", age=number
        )
    for number in range(5):
        desk.chat(f"How shall we build part {number} of the import?", str(uuid.uuid4()))
    session = Long(desk, agent)
    assert session.starts("startup")
    session.prompts(30, wishes=[10])
    assert "Decision 5:" in session.reads("part5.py")
    assert [session.reads(name) for name in ("part6.py", "part7.py", "part5.py")] == [""] * 3
    assert session.starts("resume") == ""
    session.prompts(30)
    assert session.starts("compact")
    assert "Decision 5:" in session.reads("part5.py")
    assert [session.reads(name) for name in ("part8.py", "part5.py")] == [""] * 2
    desk.now += MINUTE
    desk.keep("Decision 200: the import runs at night.")
    assert "Decision 200:" in session.starts("resume")
    session.prompts(20)
    assert session.starts("clear")
    session.prompts(20)
    assert "Decision 10:" in session.reads("part10.py")
    assert [session.reads(name) for name in ("part11.py", "part10.py")] == [""] * 2
    assert session.told.total() < 6_000
