"""A person whose memory something happens to."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import Home, clients_folder, person
from tests.support.kept_home import KeptHome
from tests.support.processes import end_processes_of
from tests.support.saved import begin, save
from tests.support.trust_hooks import trust_hooks


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home that was set up once, to be copied: setting up takes longer than most tests."""
    made = Home(tmp_path_factory.mktemp("prepared") / "person")
    made.mash("init", "--yes", "--no-agents", "--no-index")
    made.mash("daemon", "stop")
    return made


@pytest.fixture
def home(tmp_path: Path, prepared: Home) -> Iterator[Home]:
    """Set up, with no agent on PATH: most faults have nothing to do with them."""
    made = Home(tmp_path / "person")
    with_clients = made.environment["PATH"]
    made.environment["PATH"] = f"{with_clients.split(':')[0]}:/usr/bin:/bin"
    shutil.copytree(prepared.mash_home, made.mash_home)
    config = made.mash_home / "config.toml"
    config.write_text(config.read_text().replace(str(prepared.root), str(made.root)))
    yield made
    end_processes_of(made.root)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Home]:
    """With both real clients, and nothing of mash yet."""
    with person(tmp_path / "person") as made:
        yield made


@pytest.fixture(scope="session")
def kept_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptHome]:
    def prepare(home: Home) -> None:
        begin(home)
        save(home, "established", "We render invoices with Typst.")

    made = KeptHome(tmp_path_factory.mktemp("kept"), prepare)
    yield made
    made.end()


@pytest.fixture
def kept(kept_once: KeptHome) -> Home:
    """With one chat and one record of it."""
    return kept_once.bring_back()


@pytest.fixture(scope="session")
def equipped_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptHome]:
    def prepare(home: Home) -> None:
        home.mash("init", "--yes", "--no-index")
        trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)

    made = KeptHome(tmp_path_factory.mktemp("equipped"), prepare)
    yield made
    made.end()


@pytest.fixture
def equipped(equipped_once: KeptHome) -> Home:
    """With the plugin in both agents, and its hooks trusted."""
    return equipped_once.bring_back()
