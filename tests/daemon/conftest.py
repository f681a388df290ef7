import pytest

from tests.support.daemons import Place


@pytest.fixture(autouse=True)
def own_environment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process starts is started in the home of the test."""
    for name, value in place.environment.items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
