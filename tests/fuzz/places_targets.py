"""What people and git wrote into files and variables: settings, remotes, where Postgres is."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.remotes import normalise_remote
from mash_plugin.chats.switches import MARKER_SWITCHES, is_denied, list_faults, marker_at
from mash_plugin.config import Settings, read_settings
from mash_plugin.postgres import dsn as postgres
from mash_plugin.throughline import dsn
from mash_plugin.throughline import settings as throughline
from tests.fuzz.shapes import damaged, encoded, some_text
from tests.fuzz.target import Check, Target, refusal_of
from tests.hooks_answers.conftest import make_repository

PASSWORD = "h7nterPass93"
WITH_PASSWORD = f"https://u:{PASSWORD}@h.example/a/b"


def settings_files() -> SearchStrategy[bytes]:
    """Configuration files, spoilt; a line in front gives variables of the environment."""
    keys = (
        *("[records]\n", "[recall]\n", "[privacy]\n", "[projects]\n", "[chats.roots]\n"),
        *("[throughline]\n", "[chats]\nkeep_days = 3\n", "[group]\n", "a.b = 1\n", "[[x]]\n"),
        *("capture = 'off'\n", "enabled = false\n", "files = 7\n", "extra_patterns = ['(']\n"),
        *("deny = ['/w', '~', 'github.com/acme/*', '~nobody/x']\n", "no_index = [1, '*']\n"),
        *("agent = 'a'\nworkspace = '/w'\n", "backend = 'postgres'\n", "claude = '/c'\n"),
        *("working_ttl_hours = 1e99\n", "working_promote = yes\n", "backfill_since = -1\n"),
        *("keep_days = 99999999999999999999\n", "x = 2026-11-30T00:00:00Z\n", "#", "'''", '"""'),
    )
    variables = ("MM_BACKEND=file", "MM_WORKSPACE=~x", "MM_WORKING_TTL_HOURS=٣", "MM_WORKSPACE=~")
    switches = ("MASH_RECORD_CAPTURE=off", "MASH_INTERNAL=0", "MM_POSTGRES_DSN=x", "=")
    head = st.lists(st.sampled_from((*variables, *switches)), max_size=3).map(" ".join)
    body = damaged(encoded(some_text(keys)))
    return st.builds(lambda line, rest: line.encode() + b"\n" + rest, head, body)


@contextmanager
def settings_reading(folder: Path) -> Iterator[Check]:
    """A place with a configuration file."""
    (folder / "place").mkdir()
    yield lambda data: _check_settings(folder / "place", data)


def _check_settings(folder: Path, data: bytes) -> None:
    head, _, body = data.partition(b"\n")
    pairs = [word.split("=", 1) for word in head.decode("utf-8", "replace").split()]
    environ = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
    file = folder / "config.toml"
    file.write_bytes(body)
    found = read_settings(str(file), environ)
    assert all(warning.isprintable() or "\n" in warning for warning in found.warnings)
    if found.problem:
        assert not found.capture
        assert found._replace(problem=None, warnings=()) == _defaults(str(file), environ)
    for fault in list_faults(found):
        assert fault
    is_denied(project_of(str(folder)), found.deny)
    refusal_of(lambda: throughline.configured_agent(str(file)))
    error = refusal_of(lambda: throughline.read_settings(str(folder), None, environ))
    if error is None:
        read = throughline.read_settings(str(folder), None, environ)
        assert Path(read.workspace).is_absolute()
        assert 1 <= read.ttl_hours <= throughline.LONGEST_TTL_HOURS


def _defaults(file: str, environ: dict[str, str]) -> Settings:
    return read_settings("/nowhere/config.toml", environ)._replace(file=file, capture=False)


def markers() -> SearchStrategy[bytes]:
    """The `.mash` files of projects."""
    lines = ("off", "capture = off", "recall=on", "index = maybe", "# words", "\n", "=", "OFF")
    return damaged(encoded(some_text((*lines, "'off'", "capture", "= off", "\u2028", "\r\n"))))


@contextmanager
def marker_reading(folder: Path) -> Iterator[Check]:
    """A project with such a file."""
    yield lambda data: _check_marker(folder, data)


def _check_marker(folder: Path, data: bytes) -> None:
    (folder / ".mash").write_bytes(data)
    off, faults = marker_at(str(folder))
    assert off <= set(MARKER_SWITCHES)
    assert all(fault.isprintable() for fault in faults)
    assert off or b"on" in data.lower() or b"1" in data or b"true" in data or b"yes" in data


def git_settings() -> SearchStrategy[bytes]:
    """The settings of repositories, their remotes in every form."""
    urls = (
        *("https://github.com/acme/shop.git", "git@github.com:acme/shop", "ssh://h:22/a/b.git"),
        *(WITH_PASSWORD, "file:///w/x.git", "../up", "C:/x", "[::1]:a/b"),
        *("https://%41/%2e%2e/x", "git@h:/a", "h:a%41", "//x", "https://h/a?b#c", "~/x", "~x/y"),
    )
    pieces = (
        *('[remote "origin"]\n', "\turl = ", "[core]\n\tworktree = ../x\n", '[url "https://h/"]\n'),
        *("\tinsteadOf = gh:\n", "url = gh:acme/shop\n", "\\\n", '"', "\\", "# c\n", "; c\n"),
        *(f"\turl = {url}\n" for url in urls),
        *(f"\n{url}\n" for url in urls),
    )
    origin = st.builds('[remote "origin"]\n\turl = {}\n'.format, st.sampled_from(urls))
    whole = encoded(st.one_of(origin, some_text((*pieces, *urls))))
    return damaged(whole)


@contextmanager
def repository_reading(folder: Path) -> Iterator[Check]:
    """A repository with such settings, and one that has the text as its `.git` file."""
    make_repository(folder / "shop")
    (folder / "linked").mkdir()
    yield lambda data: _check_repository(folder, data)


def _check_repository(folder: Path, data: bytes) -> None:
    (folder / "shop" / ".git" / "config").write_bytes(data)
    (folder / "linked" / ".git").write_bytes(b"gitdir: " + data)
    for name in ("shop", "linked"):
        project = project_of(str(folder / name))
        assert project is not None
        project.place.encode("utf-8", "surrogateescape")
        if project.identity is not None:
            _check_identity(project.identity)
    for line in data.decode("utf-8", "replace").splitlines():
        identity = normalise_remote(line, "/w")
        if identity is not None:
            _check_identity(identity)
            if line.strip() == WITH_PASSWORD:
                assert identity == "h.example/a/b"


def _check_identity(identity: str) -> None:
    assert identity.isprintable()
    assert all(part not in ("", ".", "..") for part in identity.split("/"))
    assert is_denied(Project("/w/shop", identity), (identity,))


def connection_strings() -> SearchStrategy[bytes]:
    """Where Postgres may be, in both forms that libpq takes."""
    pieces = (
        *("postgresql://", "postgres://", "u", f":{PASSWORD}@", "db.example", "[::1]", ":5432"),
        *("/shop", "?sslmode=require", "&hostaddr=10.0.0.1", "host=db.example ", "dbname=x "),
        *(f"password='{PASSWORD}' ", "user=u ", "hostaddr=127.0.0.1 ", "options=-csearch_path=x "),
        *("service=x ", "sslmode=disable ", "host=/run/x,db.example ", "host=@abstract ", "%00"),
        *("host=localhost,db.example ", "hostaddr=127.0.0.1, ", "hostaddr=,10.0.0.1 "),
        *("sslmode=verify-full ", "host=localhost ", "host=127.0.0.1,127.0.0.2 ", "\\", "'"),
    )
    return encoded(some_text(pieces))


@contextmanager
def connecting(_folder: Path) -> Iterator[Check]:
    """What a connection would be opened with."""
    yield _check_dsn


def _check_dsn(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    error = refusal_of(lambda: dsn.connection_options(text, {}, is_read_only=True))
    if error is not None:
        assert PASSWORD not in error.message
        return
    options = dsn.connection_options(text, {}, is_read_only=True)
    if options.get("password") == PASSWORD and text.count(PASSWORD) == 1:
        assert PASSWORD not in postgres.place_of(options)
    assert not _may_leave(options) or options["sslmode"] == "verify-full"
    assert "default_transaction_read_only=on" in options["options"]


def _may_leave(options: dict[str, str]) -> bool:
    """Whether libpq may reach a host elsewhere: by its address, or by its name without one."""
    hosts, addresses = options["host"].split(","), options["hostaddr"].split(",")
    pairs = zip_longest(hosts, addresses, fillvalue="")
    return any((address or host) in ("db.example", "10.0.0.1") for host, address in pairs)


TARGETS = {
    "settings": Target(settings_files(), settings_reading),
    "markers": Target(markers(), marker_reading),
    "git-settings": Target(git_settings(), repository_reading),
    "connection-strings": Target(connection_strings(), connecting),
}
