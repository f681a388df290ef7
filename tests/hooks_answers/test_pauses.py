"""A person pauses hooks for a session or a project: at once, and over restarts."""

from concurrent.futures import ThreadPoolExecutor

from mash_plugin.store.pauses import FOR_EVER
from tests.hooks_answers.conftest import IDENTITY, MINUTE, make_repository

WISH = "From now on always run the linter before committing."


def test_a_paused_session_is_left_alone_until_the_time_is_over(desk):
    desk.keep("Kept in a.py.")
    desk.start()
    desk.node.hook_state.flush(desk.now)
    desk.node.hook_state.pauses.put("session:s-1", "s-1", desk.now + 30 * MINUTE, desk.now)
    path = str(desk.root / "t.jsonl")
    for _ in range(2):
        assert desk.prompt(WISH, transcript_path=path) == ""
        assert desk.read(str(desk.project / "a.py")) == ""
        assert desk.start(source="compact") == ""
        assert desk.prompt(WISH, "s-2")
        desk.reopen()
    assert desk.queued  # what is said goes on to be read
    desk.now += 30 * MINUTE
    assert desk.prompt(WISH)
    assert desk.node.hook_state.pauses.all(desk.now) == {}


def test_a_paused_project_is_left_alone_in_all_its_clones_until_it_is_ended(desk, tmp_path):
    clone, other = make_repository(tmp_path / "clone"), tmp_path / "plain"
    other.mkdir()
    pauses = desk.node.hook_state.pauses
    pauses.put(f"project:{IDENTITY}", None, FOR_EVER, desk.now)
    desk.now += 10_000_000 * MINUTE
    assert [desk.prompt(WISH, cwd=str(cwd)) for cwd in (desk.project, clone)] == ["", ""]
    assert desk.prompt(WISH, cwd=str(other))
    pauses.put(f"project:{other}", None, FOR_EVER, desk.now)
    assert desk.prompt(WISH, cwd=str(other)) == ""
    for target in list(pauses.all(desk.now)):
        pauses.end(target)
    assert all(desk.prompt(WISH, cwd=str(cwd)) for cwd in (desk.project, clone, other))


def test_a_pause_holds_for_hooks_that_run_beside_it(desk):
    desk.prompt()
    desk.node.hook_state.flush(desk.now)
    with ThreadPoolExecutor(4) as hooks:
        list(hooks.map(lambda _: desk.prompt(WISH), range(8)))
        desk.node.hook_state.pauses.put("session:s-1", "s-1", FOR_EVER, desk.now)
        assert set(hooks.map(lambda _: desk.prompt(WISH), range(8))) == {""}


def test_a_forgotten_session_takes_its_pause_along(desk):
    desk.prompt()
    state = desk.node.hook_state
    state.flush(desk.now)
    state.pauses.put("session:s-1", "s-1", FOR_EVER, desk.now)
    with desk.node.store.writing() as db:
        db.run("DELETE FROM hook_sessions")
    state.forget(["s-1"], [])
    assert state.pauses.all(desk.now) == {}
