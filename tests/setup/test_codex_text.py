"""Tables of ours go out of Codex's configuration; every other line stays."""

from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.agents.codex.setup import _is_ours, without_tables

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
    rest = without_tables("\n".join(blocks), _is_ours)
    assert rest == "\n".join(block for block in blocks if block != OURS)


def test_a_comment_before_the_next_table_stays_with_it() -> None:
    text = f"a = 1\n\n{OURS}\n# mine\n[b]\nc = 1\n"
    assert without_tables(text, _is_ours) == "a = 1\n\n# mine\n[b]\nc = 1\n"
