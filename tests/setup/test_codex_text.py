"""Tables of ours go out of Codex's configuration; every other line stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.agents.codex import setup
from mash_plugin.agents.codex.settings_text import is_ours, without_tables
from mash_plugin.agents.plugin import Place
from mash_plugin.paths import passwd_home

OURS = """[hooks.state."mash@mash:hooks/codex.json:stop:0:0"]
trusted_hash = "sha256:1"
trusted_content_hash = "sha256:2"
"""
FIRST = '# first\nmodel = "x"\n'
THEIRS = [
    "[a]\nb = 1\n",
    "[g]\n# last of g\n",
    '[[list]]\nc = "[hooks]"\n',
    "  [e]\n  f = [\n    1,\n  ]\n",
    '[hooks.state."other@place:hooks/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:3"\n',
    '[plugins."mash@elsewhere"]\nenabled = true\n',
]


@given(st.lists(st.sampled_from([OURS, *THEIRS]), max_size=6))
def test_only_our_tables_go_wherever_they_stand(blocks: list[str]) -> None:
    blocks = [FIRST, *blocks]
    rest = without_tables("\n".join(blocks), is_ours)
    assert rest == "\n".join(block for block in blocks if block != OURS)


def test_a_comment_before_the_next_table_stays_with_it() -> None:
    text = f"a = 1\n\n{OURS}\n# mine\n[b]\nc = 1\n"
    assert without_tables(text, is_ours) == "a = 1\n\n# mine\n[b]\nc = 1\n"


STATE = "mash@mash:hooks/codex.json:stop:0:0"


@pytest.mark.spec("R-155")
@pytest.mark.parametrize("before", ['model = "a"\n', 'model = "a"\r\n[tui]\r\na = 1\r\n', ""])
def test_the_trust_that_was_given_leaves_no_empty_table(tmp_path: Path, before: str) -> None:
    place = Place("codex", "Codex", None, tmp_path)
    file = tmp_path / "config.toml"
    file.write_bytes(before.encode())
    noted = setup.note_before(place)
    text = before.replace("\r\n", "\n")
    file.write_text(f'{text}\n[hooks.state]\n\n[hooks.state."{STATE}"]\ntrusted_hash = "x"\n')
    setup.remove(place, noted, {})
    assert file.read_bytes() == before.encode()


def test_an_empty_table_of_the_persons_own_stays(tmp_path: Path) -> None:
    place = Place("codex", "Codex", None, tmp_path)
    before = "[hooks.state]\n\n[hooks]\nother = 1\n"
    (tmp_path / "config.toml").write_text(before)
    noted = setup.note_before(place)
    setup.remove(place, noted, {})
    assert (tmp_path / "config.toml").read_text() == before


def test_an_empty_home_means_the_accounts_own() -> None:
    assert setup.find_place({"HOME": ""}).config == Path(passwd_home()) / ".codex"
