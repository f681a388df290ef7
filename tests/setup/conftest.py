"""A person with both real clients: nothing of mash yet, or with all of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.settled import settle
from tests.support.homes import Home, person
from tests.support.kept_home import KeptHome
from tests.support.wheels import copy_checkout, quick_python, wheel_of


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with person(tmp_path / "person") as made:
        yield made


@pytest.fixture(scope="session")
def equipped_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptHome]:
    def prepare(home: Home) -> None:
        settle(home)
        home.mash("init", "--yes", "--no-index")

    made = KeptHome(tmp_path_factory.mktemp("equipped"), prepare)
    yield made
    made.end()


@pytest.fixture
def equipped(equipped_once: KeptHome) -> Home:
    """With the plugin in both agents beside settings of the person's own; no hook is trusted."""
    return equipped_once.bring_back()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `scripts/install` builds it, by pip and hatchling."""
    folder = tmp_path_factory.mktemp("wheel")
    return wheel_of(copy_checkout(folder / "checkout"), folder)


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter whose environments borrow their pip."""
    return quick_python(tmp_path_factory.mktemp("quick") / "python")
