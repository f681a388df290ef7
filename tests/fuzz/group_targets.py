"""What other members of a group published, as the server gives it out and a copy here holds it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from mash_plugin.daemon import hooks
from mash_plugin.group.cache import GroupCache, Membership, membership_of
from mash_plugin.group.fetch import in_order
from mash_plugin.memory.call import Caller
from mash_plugin.memory.recall import recall_records
from mash_plugin.protocol import validate
from tests.fuzz.shapes import json_bytes, texts
from tests.fuzz.target import Check, Target
from tests.hooks_answers.conftest import IDENTITY, NOW, Desk, make_repository, open_node

ON = '[recall]\ngroup = true\n[group]\ndsn_file = "group.dsn"\n'
MINUTE, DAY = 60_000, 86_400_000
BYTES = 2_048


@st.composite
def rows(draw: DrawFn) -> list[Any]:
    """One row of `established_of_others`: whatever its columns let through."""
    text = texts().map(lambda found: found.replace("\0", "").encode("utf-8", "replace").decode())
    number = st.one_of(st.just(NOW - DAY), st.integers(-(1 << 63), (1 << 63) - 1))
    listed = st.one_of(
        st.none(), text, json_bytes(st.lists(texts() | st.none(), max_size=20)).map(_as_text)
    )
    kind = draw(st.sampled_from(("decision", "preference", "fact")))
    state = {"decision": "accepted", "preference": "active", "fact": "current"}[kind]
    name = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
    moment = st.none() | number
    return [
        *(draw(name), draw(name), draw(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,22}", fullmatch=True))),
        *(kind, draw(number), draw(st.integers(0, (1 << 31) - 1)), draw(text), draw(text)),
        *(draw(st.integers(1, (1 << 31) - 1)), draw(text.filter(bool)), draw(text), "established"),
        *(draw(st.sampled_from((state, state, state, "x"))),),
        draw(st.sampled_from((None, "person", "agent")) if kind == "decision" else st.none()),
        *(draw(moment), draw(moment), draw(st.none() | text)),
        *(draw(listed), draw(listed), draw(listed), draw(number), "tool"),
    ]


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@contextmanager
def recalling(folder: Path) -> Iterator[Check]:
    """A machine of another member, its copy replaced for every input."""
    desk = Desk(folder, open_node(folder), make_repository(folder / "shop"))
    home = folder / "mash"
    (home / "group.dsn").write_text("host=/nowhere user=mash_team_m_bob")
    (home / "config.toml").write_text(ON)
    desk.listen()
    desk.keep("Ours holds.")
    membership = membership_of(desk.node.settings({}))
    assert membership is not None
    budget, hooks.BUDGET_S = hooks.BUDGET_S, 10.0  # a busy machine is not what is tested
    try:
        yield lambda data: _check_rows(desk, membership, data)
    finally:
        hooks.BUDGET_S = budget
        desk.node.close()


def _check_rows(desk: Desk, membership: Membership, data: bytes) -> None:
    try:
        given = [tuple(row) for row in json.loads(data)]
    except (ValueError, TypeError, RecursionError):
        return  # no rows of a server
    if not all(map(_fits_columns, given)):
        return
    records = in_order(given, desk.now)
    cache = GroupCache(desk.node.paths.group)
    cache.keep(IDENTITY, records, membership, desk.now - MINUTE)
    kept = GroupCache(desk.node.paths.group).look(IDENTITY, membership)
    assert kept is not None
    assert len(list(kept.records)) <= len(records)
    _check_recall(desk)
    _check_start(desk)


def _fits_columns(row: tuple[Any, ...]) -> bool:
    """Whether the columns of the server can hold it."""
    texts_at, numbers_at = (0, 1, 2, 3, 6, 7, 9, 10, 11, 12, 21), (4, 5, 8, 20)
    nullable = {13: str, 14: int, 15: int, 16: str, 17: str, 18: str, 19: str}
    return (
        len(row) == 22
        and all(isinstance(row[at], str) for at in texts_at)
        and all(type(row[at]) is int and abs(row[at]) < 1 << 63 for at in numbers_at)
        and all(row[at] is None or type(row[at]) is kind for at, kind in nullable.items())
        and all(type(row[at]) is not int or abs(row[at]) < 1 << 63 for at in (14, 15))
        and not any("\0" in part for part in row if isinstance(part, str))
        and row[3] in ("decision", "preference", "fact")
        and row[13] in (None, "person", "agent")
        and row[11] in ("established", "candidate")
        and bool(row[9])
    )


def _check_recall(desk: Desk) -> None:
    scope = {"kind": "repository", "identity": IDENTITY}
    request = {"scope": scope, "include_group": True, "byte_budget": BYTES, "query": "tabs"}
    call = desk.node.call(Caller("codex", "s-1", None), desk.now, {})
    found = recall_records(call, validate("recall_records", request))
    told = json.dumps(found, ensure_ascii=False)
    told.encode()
    assert len(json.dumps(found["records"], ensure_ascii=False).encode()) <= 2 * BYTES


def _check_start(desk: Desk) -> None:
    desk.failures.clear()
    desk.now += MINUTE
    text = desk.start(f"s-{desk.now}")
    assert desk.failures == [], desk.failures
    assert "Ours holds." in text
    for line in text.splitlines():
        assert line.isprintable()
        if line.startswith("{"):
            assert not set(line) & set("<>&`")
            json.loads(line)


TARGETS = {"group-rows": Target(json_bytes(st.lists(rows(), max_size=4)), recalling)}
