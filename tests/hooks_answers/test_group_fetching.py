"""The daemon's thread that keeps copies of the group's records, beside all hooks."""

import threading
from pathlib import Path

import pytest

from mash_plugin.daemon.fetching import Fetching
from mash_plugin.daemon.log import Log
from mash_plugin.errors import SharedUnavailable
from mash_plugin.group import fetch as fetching
from mash_plugin.group.fetch import Fetched
from mash_plugin.records.model import Scope
from tests.hooks_answers.conftest import IDENTITY
from tests.hooks_answers.test_group import ON, of_group, record
from tests.support.polling import eventually


class Server:
    """Answers what a group's server would, and counts."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.records = [record("The queue is Kafka.")]
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.failure: Exception | None = None

    def fetch(self, _settings, _environ, known, _now):
        self.asked.append(list(known))
        assert self.may_answer.wait(30)
        if self.failure:
            raise self.failure
        return [Fetched(identity, "state", self.records) for identity in known]


@pytest.fixture
def server(monkeypatch):
    found = Server()
    monkeypatch.setattr(fetching, "fetch", found.fetch)
    yield found
    found.may_answer.set()


@pytest.fixture
def fetcher(desk, monkeypatch):
    home = desk.root / "mash"
    (home / "group.dsn").write_text("host=/nowhere user=mash_team_m_bob")
    (home / "config.toml").write_text(ON)
    monkeypatch.setattr("mash_plugin.daemon.node.now_ms", lambda: desk.now)
    log = Log(str(desk.root / "daemon.log"))
    found = Fetching(desk.node, log)
    yield found
    eventually(lambda: not is_fetching(found), "the thread ends")


def is_fetching(fetcher):
    thread = fetcher._thread
    return thread is not None and thread.is_alive()


def look_after(fetcher):
    fetcher.look_after()
    eventually(lambda: not is_fetching(fetcher), "the fetch ends")


def copies(desk):
    return sorted(Path(desk.node.paths.group).glob("*.group"))


def test_what_a_first_session_looked_for_is_told_to_the_second(desk, server, fetcher):
    look_after(fetcher)
    assert server.asked == []
    assert of_group(desk.start()) == []
    look_after(fetcher)
    assert server.asked == [[IDENTITY]]
    assert of_group(desk.start("s-2"))


def test_a_server_that_hangs_holds_up_no_hook_and_no_second_thread_waits(desk, server, fetcher):
    server.may_answer.clear()
    desk.keep("Ours holds.")
    desk.start()
    fetcher.look_after()
    eventually(lambda: server.asked, "the server is asked")
    for number in range(3):
        fetcher.look_after()
        assert "Ours holds." in desk.start(f"s-{number + 2}")
    assert len(server.asked) == 1
    server.may_answer.set()
    eventually(lambda: copies(desk), "the copy is kept")


def test_a_failure_is_logged_without_content_and_the_next_attempt_comes(desk, server, fetcher):
    server.failure = SharedUnavailable("secret-host cannot be used")
    desk.start()
    look_after(fetcher)
    text = (desk.root / "daemon.log").read_text()
    assert "shared_unavailable" in text
    assert "secret-host" not in text
    server.failure = RuntimeError("secret-host")
    desk.now += 3_600_000
    desk.start("s-2")
    look_after(fetcher)
    assert "RuntimeError" in (desk.root / "daemon.log").read_text()
    server.failure = None
    desk.now += 3_600_000
    desk.start("s-3")
    look_after(fetcher)
    assert copies(desk)


@pytest.mark.parametrize("settings", ["", '[group]\ndsn_file = "group.dsn"\n'])
def test_where_nothing_is_recalled_of_a_group_the_copies_go(desk, server, fetcher, settings):
    desk.start()
    look_after(fetcher)
    assert copies(desk)
    (desk.root / "mash" / "config.toml").write_text(settings)
    look_after(fetcher)
    assert not Path(desk.node.paths.group).exists()
    (desk.root / "mash" / "config.toml").write_text(ON)
    assert of_group(desk.start("s-2")) == []


@pytest.mark.parametrize("name", ["deny", "no_recall"])
def test_the_copy_of_a_project_that_is_left_out_goes(desk, server, fetcher, name):
    desk.start()
    look_after(fetcher)
    assert copies(desk)
    (desk.root / "mash" / "config.toml").write_text(f'{ON}[projects]\n{name} = ["{IDENTITY}"]\n')
    look_after(fetcher)
    assert copies(desk) == []


def test_a_project_without_a_remote_asks_for_nothing(desk, server, fetcher, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    desk.keep("Here.", Scope("local_project", str(plain)))
    assert "Here." in desk.start(cwd=str(plain))
    look_after(fetcher)
    assert server.asked == []
