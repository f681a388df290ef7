"""The settings file: what switches off, what is wrong in it, and what holds while it is broken."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin.config import Settings, read_settings
from mash_plugin.daemon.node import Node
from mash_plugin.paths import find_paths
from tests.support.daemons import Place

NOW = 1_796_021_684_000


def read(folder: Path, text: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(text)
    return read_settings(str(file), {})


@pytest.mark.parametrize("value", ["0", "false", '"off"', '"No"', '"0"', "0.0", '"disabled"', "[]"])
def test_what_does_not_say_on_switches_saving_and_recall_off(tmp_path: Path, value: str) -> None:
    text = f"[records]\ncapture = {value}\nrecall = {value}\n[recall]\nfiles = {value}\n"
    settings = read(tmp_path, text)
    assert (settings.capture, settings.recall, settings.file_recall) == (False, False, False)
    assert read(tmp_path, f"[records]\nenabled = {value}\n").records_enabled is False


@pytest.mark.parametrize("value", ["1", "true", '"on"', '"Yes"'])
def test_what_says_on_leaves_them_on_without_a_warning(tmp_path: Path, value: str) -> None:
    settings = read(tmp_path, f"[records]\ncapture = {value}\ntrust_headless_prompts = {value}\n")
    assert settings.capture
    assert settings.trust_headless_prompts
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("capture = false\n", "'capture' is not known"),
        ("[record]\ncapture = false\n", "'record' is not known"),
        ("[records]\nCapture = false\n", "'records.Capture' is not known"),
        ("records = false\n", "'records' must be a table"),
        ("[chats]\nroots = []\n", "'chats.roots' must be a table"),
        ("[records]\ncapture = []\n", "records.capture = [] is neither true nor false"),
        ("[privacy]\nmask_credentials = 3\n", "counts as on"),
        ("[projects]\ndeny = true\n", "projects.deny = True must be a list"),
        ('[projects]\ndeny = [1, "/w"]\n', "projects.deny: 1 is no text"),
        ('[projects]\ndeny = ["work/shop"]\n', "'work/shop' is not an absolute path"),
        ('[projects]\nno_index = ["./shop"]\n', "'./shop' is not an absolute path"),
        ('[projects]\nno_recall = ["~bob/shop"]\n', "'~bob/shop' is not an absolute path"),
        ('[projects]\nno_capture = ["/w/*"]\n', "'/w/*' is taken as it stands"),
        ('[projects]\ndeny = ["a.b/*/c"]\n', "'a.b/*/c' holds a * elsewhere"),
        ("[chats]\nkeep_days = 0\n", "chats.keep_days = 0 is no whole number"),
        ("[chats]\nkeep_days = true\n", "chats.keep_days = True is no whole number"),
        ('[chats]\nkeep_days = "90"\n', "all chats are kept"),
        ('[chats.roots]\nclaude = ["a.b/c"]\n', "'a.b/c' is not an absolute path"),
    ],
)
def test_what_has_no_effect_is_told(tmp_path: Path, text: str, word: str) -> None:
    settings = read(tmp_path, text)
    assert [word in warning for warning in settings.warnings] == [True]
    assert settings.problem is None


def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    settings = read_settings(str(tmp_path / "config.toml"), {})
    assert "is a pipe, not a regular file" in (settings.problem or "")
    assert not settings.capture


def test_a_file_without_faults_has_no_warnings(tmp_path: Path) -> None:
    entries = (
        '"/w", "~", "~/w", "github.com/a/b", "git@github.com:a/b.git", "localhost/srv/x", "a.b/c/*"'
    )
    text = f"""
        [records]
        enabled = true
        [recall]
        personal_at_start = true
        [privacy]
        extra_patterns = ["x+"]
        [projects]
        deny = [{entries}]
        no_index = "/one"
        [chats]
        keep_days = 90
        [chats.roots]
        claude = ["/c"]
    """
    settings = read(tmp_path, text)
    assert settings.warnings == ()
    assert settings.keep_days == 90
    assert (len(settings.deny), settings.no_index) == (7, ("/one",))


def test_the_status_tells_what_is_off_in_the_askers_project(place: Place) -> None:
    place.start()
    folder = Path(place.paths.config_file).parent.parent / "shop"
    folder.mkdir()
    (folder / ".mash").write_text("recall = off\nwhat = off\n")
    Path(place.paths.config_file).write_text(f'[projects]\nno_index = ["{folder}"]\n')
    status = place.call("status", {"cwd": str(folder)})
    assert status["projects"]["no_index"] == [str(folder)]
    assert [off["what"] for off in status["here"]["off"]] == ["index", "capture", "recall", "index"]
    assert str(folder / ".mash") in status["here"]["off"][1]["why"]
    assert "'what = off'" in status["here"]["warnings"][0]
    assert "here" not in place.call("status", {"cwd": "/"})


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    environ = {"MASH_TESTING": "1", "HOME": str(tmp_path / "home")}
    made = Node(find_paths({"MASH_HOME": str(tmp_path / "mash")}), NOW, environ)
    yield made
    made.close()


@pytest.mark.row(28)
def test_a_file_that_breaks_leaves_the_settings_of_before(node: Node) -> None:
    file = Path(node.paths.config_file)
    file.write_text('[projects]\ndeny = ["/w/secret"]\n[records]\nrecall = false\n')
    assert node.settings({}).deny == ("/w/secret",)
    file.write_text('[projects\ndeny = ["/w/secret"]\n')
    broken = node.settings({"MASH_RECORD_CAPTURE": "off"})
    assert (broken.deny, broken.recall, broken.capture) == (("/w/secret",), False, False)
    assert node.settings({}).capture
    assert "settings of before" in str(broken.problem)
    assert str(file) in str(broken.problem)
    file.unlink()
    assert node.settings({}) == Settings(file=str(file))


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may read every file")
def test_a_file_that_may_not_be_read_leaves_the_settings_of_before(node: Node) -> None:
    file = Path(node.paths.config_file)
    file.write_text('[projects]\ndeny = ["/w/secret"]\n')
    assert node.settings({}).deny
    file.chmod(0)
    os.utime(file, ns=(1, 1))
    assert node.settings({}).deny == ("/w/secret",)


@pytest.mark.row(28)
def test_a_file_that_was_never_good_leaves_recall_on_and_saving_notes_off(node: Node) -> None:
    Path(node.paths.config_file).write_text("[projects\n")
    settings = node.settings({})
    assert (settings.recall, settings.capture) == (True, False)
    assert "saving notes are off" in str(settings.problem)
