"""A store that was deleted, replaced or damaged: what is said of it, and the way out."""

import os
import shutil

from mash_plugin.throughline.database import FILE
from tests.throughline.conftest import AGENT, CHAT, SESSION


def keep(workspace):
    chat = workspace.write(CHAT)
    workspace.capture(chat)
    workspace.drain()
    return chat


def doctor(workspace, *more):
    return workspace.run("doctor", "--config-dir", workspace.path, *more)


def damage(workspace):
    (workspace.folder / FILE).write_bytes(b"no database, but long enough to be read as one" * 99)


def test_after_the_store_was_deleted_a_transcript_is_stored_again(workspace):
    chat = keep(workspace)
    os.unlink(workspace.folder / FILE)
    assert " 3 artifact(s) queued " in workspace.capture(chat).out
    assert workspace.drain().out.startswith("consolidate: 3 drained")
    assert "3 row(s)" in workspace.call("mm_session_recall", session_id=SESSION)
    assert " 0 artifact(s) queued " in workspace.capture(chat).out


def test_a_store_made_anew_holds_nothing_of_what_was_noted_before(workspace):
    chat = keep(workspace)
    os.unlink(workspace.folder / FILE)
    workspace.capture(chat, session="another")
    workspace.drain()
    assert " 3 artifact(s) queued " in workspace.capture(chat).out


def test_a_store_put_back_from_a_copy_is_not_taken_for_the_one_that_was_there(workspace):
    chat = keep(workspace)
    shutil.copy(workspace.folder / FILE, workspace.folder / "copy")
    os.replace(workspace.folder / "copy", workspace.folder / FILE)
    assert " 3 artifact(s) queued " in workspace.capture(chat).out
    assert workspace.drain().out == "consolidate: 0 drained, 3 already stored, 0 failed\n"


def test_an_idle_drain_and_the_doctor_tell_that_the_store_is_gone(workspace):
    keep(workspace)
    os.unlink(workspace.folder / FILE)
    told = f"The store {workspace.folder / FILE} is gone; 1 session(s) were stored in it."
    assert told in workspace.drain().err
    found = doctor(workspace)
    assert found.code == 1
    assert told in found.out


def test_a_damaged_store_is_told_with_the_command_that_helps(workspace):
    keep(workspace)
    damage(workspace)
    way_out = f"meaning-memory doctor --fix --config-dir {workspace.path}."
    workspace.capture(workspace.write(CHAT), session="another")
    asked = ("call", "--agent", AGENT, "--config-dir", workspace.path, "mm_search")
    for done in (workspace.drain(), doctor(workspace), workspace.run(*asked)):
        assert done.code == 1
        assert way_out in done.out + done.err
        assert "mash doctor" not in done.out + done.err


def test_a_damaged_store_is_set_aside_and_a_new_one_takes_what_is_captured_again(workspace):
    chat = keep(workspace)
    damage(workspace)
    done = doctor(workspace, "--fix")
    assert done.code == 0
    assert "capture again what you still have" in done.out
    [aside] = workspace.folder.glob(f"{FILE}.damaged-*")
    assert aside.read_bytes().startswith(b"no database")
    assert " 3 artifact(s) queued " in workspace.capture(chat).out
    assert workspace.drain().out.startswith("consolidate: 3 drained")


def test_a_store_with_a_damaged_page_is_found_by_the_doctor_alone(workspace):
    keep(workspace)
    with (workspace.folder / FILE).open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096 * 6)
    assert "is damaged" in doctor(workspace).out
    assert "is damaged" not in doctor(workspace, "--fix").out.splitlines()[1:]


def test_a_sound_store_is_left_where_it_is(workspace):
    keep(workspace)
    assert "Nothing was changed: the store is not damaged." in doctor(workspace, "--fix").out
    assert "3 row(s)" in workspace.call("mm_session_recall", session_id=SESSION)
