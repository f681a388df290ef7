"""The report for the tracker holds how mash is, and nothing of what was said."""

import gzip
import io
import json
import os
import stat
import tarfile
from pathlib import Path

import pytest

from mash_plugin.doctor.redaction import redact_log, redact_settings, redactor
from mash_plugin.paths import find_paths
from tests.cli.test_chats_commands import SESSION, write_chat
from tests.privacy.samples import SAMPLES
from tests.support.homes import Home
from tests.support.processes import end_processes_of
from tests.support.saved import record

PERSON = "mallory-qz"
TOKEN = SAMPLES["GitHub token"][0]
WORDS = "We keep the zanzibar ledger in the cellar from now on, that's decided."
PARTS = ("zanzibar", "cellar", "qqproject", PERSON, TOKEN, "hunter2", "flamingo", SESSION)
"""Of records, quotes, project folders, the user, secrets, prompts and sessions."""


@pytest.fixture
def person(tmp_path: Path) -> Home:
    """Someone whose name, project, record, prompt and secrets must not leave."""
    made = Home(tmp_path / PERSON / "person", "http://127.0.0.1:9", "http://127.0.0.1:9")
    made.environment |= {"USER": PERSON, "LOGNAME": PERSON}
    project = made.root / "work/qqproject"
    (project / ".git").mkdir(parents=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    write_chat(made, project, WORDS)
    made.mash("init", "--yes", "--no-agents")
    details = {"kind": "decision", "state": "accepted"}
    change = {
        "action": "create",
        "scope": {"kind": "local_project", "path": str(project)},
        "body": {"statement": WORDS, "review": "established", "details": details},
        "evidence": [{"session_id": SESSION, "purpose": "endorsement", "quote": WORDS}],
    }
    record(made, change)
    return made


def plant(home: Home) -> None:
    """Secrets and names wherever the report looks."""
    project = home.root / "work/qqproject"
    project.rename(project.with_name("qqproject-moved"))
    with (home.mash_home / "config.toml").open("a") as file:
        file.write(f'[group]\ndsn = "postgresql://{PERSON}:hunter2@host.example/x"\n')
        file.write(f'[records]\ncapture = false\n"{TOKEN}" = "flamingo"\n')
        file.write(f'[projects]\ndeny = ["{project}"]\n')
    with (home.mash_home / "run/daemon.log").open("a") as log:
        log.write(f"Traceback: prompt 'a flamingo in the cellar' of {PERSON}\n")
        log.write(f"2026-11-30T09:00:00Z 77 call method={TOKEN} ms=1.0\n")
        log.write(f"2026-11-30T09:00:00Z 77 call path={project} failure=-\n")
    bad = home.mash_home / "data/backups/records-000099-20260101T000000Z.db"
    bad.parent.mkdir(exist_ok=True)
    bad.write_bytes(b"no database")


def contents(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as files:
        found = {}
        for entry in files.getmembers():
            assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", "")
            handle = files.extractfile(entry)
            assert handle is not None
            found[Path(entry.name).name] = handle.read()
    return found


@pytest.mark.spec("R-177")
def test_no_byte_of_the_report_holds_what_was_planted(person: Home) -> None:
    plant(person)
    out = person.root / "report.tar.gz"
    try:
        done = person.mash("bug-report", "--out", str(out))
        assert done.code == 0, done
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        raw = out.read_bytes()
        everything = gzip.decompress(raw)
        files = contents(out)
        for part in PARTS:
            for form in (part, part.upper()):
                assert form.encode() not in raw
                assert form.encode() not in everything, form
                assert form.encode("utf-16-le") not in everything
        names = {one["name"] for one in json.loads(files["findings.json"])}
        assert {"backup-unreadable", "scope-orphaned", "switched-off"} <= names
        versions = json.loads(files["versions.json"])
        assert versions["agents"] == {"claude-code": "2.1.332", "codex": "0.171.0"}
        settings = json.loads(files["settings.json"])
        assert settings["records"]["capture"] is False
        assert settings["group"]["dsn"].startswith("[text of ")
        counts = json.loads(files["counts.json"])
        assert counts["records.db"]["records"] == 1
        by_kind = counts["records.db"]["records by kind"]
        assert by_kind == {"decision established accepted local_project": 1}
        assert b"CREATE TABLE records" in files["schema.sql"]
        assert b"call method=" in files["log.txt"]
    finally:
        end_processes_of(person.root)


def test_nothing_of_a_groups_server_is_told_but_the_kind_of_fault(home: Home) -> None:
    dsn = home.mash_home / "group.dsn"
    dsn.write_text("host=127.0.0.1 port=1 dbname=quetzal user=mash_quetzal_m_quetzal")
    dsn.chmod(0o600)
    with (home.mash_home / "config.toml").open("a") as config:
        config.write('\n[group]\ndsn_file = "group.dsn"\n')
    out = home.root / "report.tar.gz"
    assert home.mash("bug-report", "--out", str(out)).code == 0
    files = contents(out)
    names = {one["name"] for one in json.loads(files["findings.json"])}
    assert "group-unreachable" in names
    assert b"quetzal" not in gzip.decompress(out.read_bytes())


def test_an_existing_file_is_never_replaced(home: Home) -> None:
    out = home.root / "mine"
    out.write_text("kept")
    done = home.mash("bug-report", "--out", str(out))
    assert done.code == 1
    assert "--out FILE" in done.err
    assert out.read_text() == "kept"


def test_without_a_name_it_is_written_into_this_folder(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    done = home.mash("bug-report", cwd=folder)
    assert done.code == 0, done
    (made,) = folder.iterdir()
    assert made.name.startswith("mash-bug-report-")
    assert made.suffixes[-2:] == [".tar", ".gz"]


def test_of_a_home_where_nothing_can_be_read_there_is_a_report_too(home: Home) -> None:
    home.mash("daemon", "stop")
    (home.mash_home / "data/records.db").write_bytes(b"no database" * 1000)
    (home.mash_home / "config.toml").write_bytes(b"\xff")
    out = home.root / "report.tar.gz"
    done = home.mash("bug-report", "--out", str(out))
    assert done.code == 0, done
    files = contents(out)
    assert b"store-damaged" in files["findings.json"]
    assert files["settings.json"].startswith(b'"cannot be read')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ann/.local/share/mash/data/records.db", "~/.local/share/mash/data/records.db"),
        ("/home/ann/work/secret-project/x.py", "~/[...]/[...]/[...]"),
        ("moved from /srv/work/acme to /mnt/x", "moved from /[...] to /[...]"),
        ("/usr/bin/python3, Python 3.11", "/usr/bin/python3, Python 3.11"),
        ("user ann on anna's host", "user USER on anna's host"),
        (f"token {TOKEN}", "token [masked GitHub token]"),
    ],
)
def test_paths_keep_what_is_ours_and_the_systems(text: str, shown: str) -> None:
    environ = {"HOME": "/home/ann", "USER": "ann"}
    assert redactor(find_paths({"MASH_HOME": "/tmp/none"}), environ)(text) == shown


def test_of_the_log_only_lines_in_the_daemons_own_shape_are_kept() -> None:
    good = "2026-11-30T09:00:00Z 77 call method=ping ms=1.0 failure=-"
    bad = ["Traceback of ann", "2026-11-30T09:00:00Z 77 call said=hello there", "x" * 10_000]
    shown = redact_log("\n".join([good, *bad]), 100).splitlines()
    assert shown == [good, *["[a line that the daemon did not write so]"] * 3]
    assert redact_log("\n".join([good] * 10), 3).count("ping") == 3


def test_of_settings_no_text_is_kept_and_no_key_that_is_none() -> None:
    settings = {"a": {"b": True, "c": ["x", 3]}, "Ann's key": "v", TOKEN: 1}
    shown = redact_settings(settings)
    assert shown["a"] == {"b": True, "c": ["[text of 1 characters]", 3]}
    assert set(shown) == {"a", "[...]"}
    assert io.StringIO(str(shown)).read().count("Ann") == 0
    assert os.sep not in str(shown)
