"""Search finds words in every language, and no text can break or bend it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mash_plugin.chats import search
from mash_plugin.chats.project import Project
from mash_plugin.chats.search import search_chats
from mash_plugin.store.chats import quoted
from tests.chats.conftest import NOW, Chats

TEXTS = {
    "chinese": "我们用用户身份验证，然后重跑gen-itgc后再看。",
    "japanese": "しりとりのゲームを東京で作る",
    "korean": "끝말잇기 서버를 다시 시작했다",
    "russian": "Пароль хранится в файле настроек",
    "accents": "Le café de la gare",
    "identifier": "call parse_args before load",
    "camel": "then readConfigFile is called",
    "path": "see src/ledger/main.rs:12 for it",
    "emoji": "shipped 🎉 today 👨‍👩‍👧",
    "hebrew": "שלום עולם",
    "plain": "The quick ledger uses C++ and it's fine",
}


@pytest.fixture
def talk(chats: Chats) -> Chats:
    t = chats.transcript()
    for text in TEXTS.values():
        t.person(text)
    t.tool_result("secretly printed xylophone")
    chats.refresh()
    return chats


def find(chats: Chats, query: str, **within: str) -> list[str]:
    with chats.database.reading() as db:
        hits, _more = search_chats(db, query, 10, 0, **within)
    texts = {m.id: m.text for m in chats.messages()}
    return [texts[hit.message_id] for hit in hits]


@pytest.mark.spec("R-158")
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("用户身份", "chinese"),
        ("身份", "chinese"),
        ("我", "chinese"),
        ("看", "chinese"),
        ("gen-itgc", "chinese"),
        ("しりとり", "japanese"),
        ("東京", "japanese"),
        ("끝말잇기", "korean"),
        ("서버", "korean"),
        ("пароля", "russian"),
        ("CAFÉ", "accents"),
        ("cafe\u0301", "accents"),
        ("cafe", "accents"),
        ("parseArgs", "identifier"),
        ("parse args", "identifier"),
        ("read_config_file", "camel"),
        ("src/ledger/main.rs", "path"),
        ("🎉", "emoji"),
        ("שלום", "hebrew"),
        ("C++", "plain"),
        ("quick", "plain"),
    ],
)
def test_a_query_in_any_language_finds_its_message(talk: Chats, query: str, name: str) -> None:
    assert find(talk, query)[:1] == [TEXTS[name]]


HOSTILE = [
    '"', "''", "it's", "a-b", "foo:bar", "NEAR(", "NEAR(a b, 5)", "", " ", "*", "^x", "a*",
    "tokens:x", "{tokens}:x", "AND", "OR NOT", "x AND", "(", ")", "\0", "a\0b", "%", "_",
    "';DROP TABLE messages;--",
    "\ud83d", "\u202e", "-", "+", "\\", "🎉" * 500, "用" * 5_000, "a " * 100_000, "x" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
@pytest.mark.row(56)
def test_no_query_is_an_error_or_changes_its_meaning(talk: Chats, query: str) -> None:
    find(talk, query)


@pytest.mark.parametrize("query", ["tokens:xylophone", "NEAR(zzz yyy)", "zzz*", "^zzz", "%", "_"])
@pytest.mark.row(56)
def test_syntax_has_no_meaning_of_its_own(talk: Chats, query: str) -> None:
    assert find(talk, query) == []


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=80))
@pytest.mark.row(56)
def test_any_text_can_be_searched(talk: Chats, query: str) -> None:
    find(talk, query)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text != "AND"])
@pytest.mark.row(56)
def test_a_phrase_is_one_whatever_stands_in_it(talk: Chats, text: str) -> None:
    with talk.database.reading() as db:
        shown = text.encode("utf-8", "replace").decode()
        assert db.all(search.SQL.newest_matches, {"match": quoted(shown), "limit": 1}) == []


def test_tool_output_is_not_searched(talk: Chats) -> None:
    assert find(talk, "xylophone") == []


def test_common_words_order_but_do_not_find(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "COMMON_FLOOR", 3)
    t = chats.transcript()
    for number in range(10):
        t.person(f"deploy number {number}")
    t.person("heron alone")
    t.person("heron and deploy")
    chats.refresh()
    assert find(chats, "deploy heron") == ["heron and deploy", "heron alone"]
    assert len(find(chats, "deploy")) == 10


def test_only_common_words_still_find(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "COMMON_FLOOR", 1)
    t = chats.transcript()
    t.person("alpha beta")
    t.person("alpha gamma beta")
    t.person("alpha")
    chats.refresh()
    assert set(find(chats, "alpha beta")) == {"alpha beta", "alpha gamma beta"}
    assert find(chats, "the of alpha")


def test_pages_of_hits_never_repeat(chats: Chats) -> None:
    t = chats.transcript()
    for number in range(25):
        t.person(f"heron {number}")
    chats.refresh()
    seen: list[str] = []
    with chats.database.reading() as db:
        for offset in range(0, 30, 10):
            hits, more = search_chats(db, "heron", 10, offset)
            seen += [hit.message_id for hit in hits]
            assert more == (offset < 20)
    assert len(seen) == len(set(seen)) == 25


def test_a_search_stays_within_its_project(chats: Chats, tmp_path: Path) -> None:
    chats.transcript("s-1").person("heron here")
    chats.transcript("s-2", tmp_path / "other").person("heron there")
    chats.index.refresh_all(NOW)
    with chats.database.reading() as db:
        hits, _ = search_chats(db, "heron", 10, 0, project_path=str(tmp_path / "other"))
        assert [hit.snippet for hit in hits] == ["heron there"]
        assert search_chats(db, "heron", 10, 0, repository="github.com/no/one")[0] == []
        one = search_chats(db, "heron", 10, 0, chat_id="claude-code-s-1")[0]
        assert [hit.snippet for hit in one] == ["heron here"]


def test_a_scope_is_searched_beyond_the_best_of_all_chats(
    chats: Chats, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(search, "CANDIDATES", 5)
    t = chats.transcript("s-1")
    for number in range(20):
        t.person(f"heron {number}")
    chats.transcript("s-2", tmp_path / "other").person("heron " + "and many other words " * 20)
    chats.index.refresh_all(NOW)
    with chats.database.reading() as db:
        hits, _ = search_chats(db, "heron", 3, 0, project_path=str(tmp_path / "other"))
    assert len(hits) == 1


def test_a_snippet_shows_the_surroundings_of_the_word(chats: Chats) -> None:
    chats.transcript().person("start " + "word " * 100 + "heron\nflies " + "end " * 200)
    chats.refresh()
    with chats.database.reading() as db:
        snippet = search_chats(db, "herons")[0][0].snippet
    assert snippet.startswith("… ")
    assert "heron flies" in snippet
    assert len(snippet) < 300


@pytest.mark.spec("R-159")
def test_chats_that_mention_a_file_name_it_as_a_whole_path(chats: Chats, tmp_path: Path) -> None:
    project = Project(str(chats.project), None)
    said = {
        "s-1": "look at `src/ledger.py` please",
        "s-2": "src/ledger.py.bak is old",
        "s-3": "other/src/ledger.py is not ours",
        "s-4": f"opened {chats.project}/src/ledger.py:12",
        "s-5": "src ledger py as words",
    }
    for session, text in said.items():
        chats.transcript(session).agent(text)
    chats.transcript("s-6", tmp_path / "other").agent("src/ledger.py elsewhere")
    chats.index.refresh_all(NOW)
    found = chats.index.mentions.chats(project, "src/ledger.py", 3, None)
    assert {c.session_id for c in found} == {"s-1", "s-4"}
    found = chats.index.mentions.chats(project, "src/ledger.py", 3, "s-1")
    assert {c.session_id for c in found} == {"s-4"}
    assert chats.index.mentions.chats(project, "文档/说明.md", 3, None) == []
    assert chats.index.mentions.chats(project, '"; * %', 3, None) == []


def test_what_is_kept_of_a_file_follows_the_index(chats: Chats) -> None:
    project = Project(str(chats.project), None)
    for session in ("s-1", "s-2"):
        chats.transcript(session).person("look at src/ledger.py")
    chats.index.refresh_all(NOW)

    def mentioned(exclude: str | None = None) -> set[str]:
        found = chats.index.mentions.chats(project, "src/ledger.py", 3, exclude)
        return {chat.session_id for chat in found}

    assert mentioned() == {"s-1", "s-2"}
    assert mentioned("s-1") == {"s-2"}
    chats.transcript("s-3").person("and src/ledger.py again")
    assert mentioned() == {"s-1", "s-2"}
    chats.index.refresh_all(NOW)
    assert mentioned() == {"s-1", "s-2", "s-3"}
    assert mentioned("s-2") == {"s-1", "s-3"}


def test_a_file_with_a_chinese_name_is_found(chats: Chats) -> None:
    chats.transcript().agent("打开文档/说明.md 看看, 见 文档/说明.md。")
    chats.refresh()
    project = Project(str(chats.project), None)
    found = chats.index.mentions.chats(project, "文档/说明.md", 3, None)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        *(("MySQL", query) for query in ("MySQL", "mysql", "MYSQL", "my sql")),
        *(("mysql", query) for query in ("MySQL", "mysql", "MYSQL", "my sql")),
        ("SQLite", "sqlite"),
        ("sqlite", "SQLite"),
        *(("JavaScript", query) for query in ("javascript", "java script")),
        *(("javascript", query) for query in ("JavaScript", "java script")),
        ("TypeScript", "typescript"),
        ("typescript", "TypeScript"),
        ("GitHub", "github"),
        ("github", "GitHub"),
        ("PostgreSQL", "postgresql"),
        ("postgresql", "PostgreSQL"),
        ("iOS", "ios"),
        ("ios", "iOS"),
        ("OAuth", "oauth"),
        *(("getUserName", query) for query in ("getusername", "user name", "get_user_name")),
        ("getusername", "getUserName"),
        ("get_user_name", "getUserName"),
    ],
)
def test_a_name_is_found_in_whatever_case_it_is_written(
    chats: Chats, said: str, asked: str
) -> None:
    talk = chats.transcript()
    talk.person(f"We have always liked {said} for this one.")
    talk.person("Nothing of the kind is said here.")
    chats.refresh()
    assert find(chats, asked) == [f"We have always liked {said} for this one."]


def test_a_snippet_shows_a_name_in_the_case_it_was_written_in(chats: Chats) -> None:
    chats.transcript().person("far away words " * 40 + "then MySQL came " + "and more " * 90)
    chats.refresh()
    with chats.database.reading() as db:
        (hit,), _more = search_chats(db, "mysql", 10, 0)
    assert "then MySQL came" in hit.snippet


@pytest.mark.parametrize("asked", ["mysql", "MySQL"])
def test_a_name_is_found_where_it_stands_in_most_messages(
    chats: Chats, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(search, "COMMON_FLOOR", 2)
    t = chats.transcript()
    said = {f"{name} holds part {n}." for name in ("MySQL", "mysql") for n in range(4)}
    for text in said:
        t.person(text)
    chats.refresh()
    assert set(find(chats, asked)) == said
