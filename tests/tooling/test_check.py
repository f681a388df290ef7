"""What a release is held back by."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def _scripts_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("click", "BSD-3-Clause"),
        ("orjson", "MPL-2.0 AND (Apache-2.0 OR MIT)"),
        ("jinja2", "License :: OSI Approved :: BSD License"),
        ("apsw", "any-OSI"),
        ("psycopg", "LGPL-3.0-only"),
    ],
)
def test_libraries_under_these_licences_may_be_used(name: str, licence: str) -> None:
    from check_packages import may_use

    assert may_use(name, licence)


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("other", "LGPL-3.0-only"),
        ("other", "MIT AND GPL-3.0-or-later"),
        ("other", "GNU Affero General Public License v3"),
        ("other", "Proprietary"),
        ("other", ""),
        ("psycopg", "GPL-3.0-only"),
    ],
)
def test_libraries_under_other_licences_or_none_are_found(name: str, licence: str) -> None:
    from check_packages import may_use

    assert not may_use(name, licence)


def test_a_hook_that_says_nothing_of_the_saved_words_is_a_fault(tmp_path: Path) -> None:
    from check_packages import use

    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    hooks = tmp_path / "environment/lib/python3/site-packages/mash_plugin/plugin/hooks"
    hooks.mkdir(parents=True)
    (hooks / "session-start").touch()
    for name in ("python", "mash"):
        (python.parent / name).write_text("#!/bin/sh\necho nothing\n")
        (python.parent / name).chmod(0o755)
    fault = use(python, tmp_path)
    assert fault is not None
    assert "said 'nothing" in fault
