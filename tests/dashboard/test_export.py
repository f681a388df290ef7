"""One page to hand on: complete, inert, masked, for its owner alone until it is handed on."""

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from mash_plugin.dashboard.export import selection_of
from tests.privacy.samples import SAMPLES
from tests.support.demo_memory import Demo, home

SECRET = SAMPLES["GitHub token"][0]


def export(demo: Demo, file: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mash_plugin", "dash", "--export", str(file), *options]
    return subprocess.run(command, env=demo.place.environment, capture_output=True, text=True)


@pytest.mark.spec("R-165")
def test_a_selection_becomes_one_page_that_asks_for_nothing(
    demo: Demo, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    done = export(demo, file, "--select", "kind=decision&q=qdrant")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Wrote {file}: 2 records, credentials masked.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert not re.search(r"<script|<link|<form|<a |<img|\ssrc=|\shref=|@import|url\(", text)
    context = browser.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    shown = page.locator("main").inner_text()
    assert "2 records" in shown
    assert page.locator("ins").first.inner_text() == ", in a container of its own"
    assert "Keep Qdrant in its own container" in shown
    assert "Deploy on Tuesdays." not in shown
    assert asked == [file.as_uri()]
    context.close()


def test_a_hyphen_is_standard_output_and_no_files_name(demo: Demo, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mash_plugin", "dash", "--export", "-"]
    done = subprocess.run(
        command, env=demo.place.environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<!doctype html>")
    assert "Deploy on Tuesdays." in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_left_alone_unless_it_may_go(demo: Demo, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")
    done = export(demo, file)
    assert done.returncode == 1
    assert "is there already; --force replaces it" in done.stderr
    assert file.read_text() == "mine"
    assert export(demo, file, "--force").returncode == 0
    assert "Deploy on Tuesdays." in file.read_text()


def test_no_name_is_a_usage_error(demo: Demo, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mash_plugin", "dash", "--export", ""]
    done = subprocess.run(
        command, env=demo.place.environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "--export" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_not_made(demo: Demo, tmp_path: Path) -> None:
    done = export(demo, tmp_path / "folder" / "page.html", "--force")
    assert done.returncode == 1
    assert f"{tmp_path / 'folder'} is no folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("select", ["knd=decision", "decision", "kind=", "kind=fact&kind=fact"])
def test_what_is_no_filter_is_refused_since_everything_would_be_written(
    demo: Demo, tmp_path: Path, select: str
) -> None:
    done = export(demo, tmp_path / "page.html", "--select", select)
    assert done.returncode == 1
    assert "--select cannot use" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["http://127.0.0.1:1/memory?q=why%3F&after=1.x&n=50", "/memory?q=why%3F", "q=why?"]
)
def test_a_selection_is_an_address_or_the_part_of_one(text: str) -> None:
    assert selection_of(text) == {"q": "why?"}


@pytest.mark.spec("R-177")
def test_credentials_are_masked_whatever_the_settings_say(tmp_path: Path) -> None:
    with home() as demo:
        chat = demo.chat("s-key", "shop", "A key", 1)
        chat.person(f"The deploy key is {SECRET}, keep it.")
        Path(demo.place.paths.config_file).write_text("[privacy]\nmask_credentials = false\n")
        body = {"statement": "A deploy key exists.", "details": {"kind": "decision"}}
        body["details"] = {"kind": "decision", "state": "proposed"}
        demo.save(
            "key",
            0,
            action="create",
            scope={"kind": "personal"},
            body=body,
            evidence=[{"session_id": "s-key", "quote": "The deploy key is"}],
        )
        file = tmp_path / "page.html"
        assert export(demo, file, "--select", f"q=deploy+{SECRET}").returncode == 0
        assert SECRET not in file.read_text()
        assert export(demo, file, "--force").returncode == 0
        assert "A deploy key exists." in file.read_text()
