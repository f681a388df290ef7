"""The session by which an installation sees that a hook answers."""

from mash_plugin.agents.payload import CHECK_SESSION, CHECK_TEXT


def test_the_check_is_answered_and_leaves_no_trace(desk):
    assert desk.say("session-start", "SessionStart", session_id=CHECK_SESSION) == CHECK_TEXT
    assert desk.say("session-start", "SessionStart", "codex", session_id=CHECK_SESSION) == (
        CHECK_TEXT
    )
    assert desk.node.hook_state.heartbeats.all() == []
    desk.say("session-start", "SessionStart", session_id="s-1")
    assert [beat["agent"] for beat in desk.node.hook_state.heartbeats.all()] == ["claude-code"]
    assert desk.queued == []
    assert desk.failures == []
