"""How a scope is written."""

import pytest

from mash_plugin.records.model import Scope


@pytest.mark.parametrize(
    ("scope", "written"),
    [
        (Scope("personal"), {"kind": "personal"}),
        (Scope("repository", "a/b"), {"kind": "repository", "identity": "a/b"}),
        (Scope("local_project", "/w"), {"kind": "local_project", "path": "/w"}),
        (Scope("chat", "c"), {"kind": "chat", "id": "c"}),
    ],
)
def test_a_scope_names_its_value_after_its_kind(scope: Scope, written: dict[str, str]) -> None:
    assert scope.as_json() == written
