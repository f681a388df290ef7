"""What sessions were shown: in order, with their prompts, and nothing that is left out."""

import html
import re

import pytest

from mash_plugin.dashboard import memory_pages, session_pages
from mash_plugin.dashboard.place import Place
from mash_plugin.errors import MashError, RecordsDisabled
from mash_plugin.memory import terminal
from mash_plugin.store.pauses import FOR_EVER, Pauses
from mash_plugin.store.session_rows import NOTED_AT_START, NOTED_WITH_PROMPT
from mash_plugin.store.sessions import HookState
from tests.conftest import CHOICE, SHOP, Memory, Shop
from tests.dashboard.conftest import View
from tests.support.transcripts import START, ClaudeTranscript

FILE = "src/search.py"
MINUTE = 60_000


class Hooks:
    """What hooks note of sessions in the shop, a minute after each other."""

    def __init__(self, memory: Memory) -> None:
        self.state = HookState(memory.call.store)
        self.project = str(memory.projects / "w" / "shop")
        self.now = START + MINUTE

    def touch(self, session_id: str = "s-1", project: str | None = None) -> None:
        self.now += MINUTE
        place = self.project if project is None else project
        self.state.touch(session_id, "claude-code", "session-start", self.now, place or None)

    def start(self, *shown: str, session_id: str = "s-1", project: str | None = None) -> None:
        self.touch(session_id, project)
        self.state.note_shown(session_id, [*shown, NOTED_AT_START], self.now)
        self.state.ledger.add(session_id, "session-start", 900)
        self.state.flush(self.now)

    def remind(self, session_id: str = "s-1") -> None:
        self.touch(session_id)
        self.state.note_shown(session_id, [NOTED_WITH_PROMPT], self.now)
        self.state.ledger.add(session_id, "prompt-submit", 300)
        self.state.flush(self.now)

    def read(self, path: str, *shown: str, reader: str = "", session_id: str = "s-1") -> None:
        self.touch(session_id)
        self.state.claim_shown(session_id, reader, path, shown, self.now)
        self.state.flush(self.now)


@pytest.fixture
def hooks(memory: Memory, shop: Shop) -> Hooks:
    memory.index()
    return Hooks(memory)


def page_of(pages: Place, session_id: str = "s-1", **query: str) -> str:
    return session_pages.session(pages, query, {"session_id": session_id})


def list_of(pages: Place, **query: str) -> str:
    return session_pages.sessions(pages, query, {})


def moments_of(page: str) -> list[str]:
    """What was shown at each time, as it reads."""
    shown = page[page.index('id="shown"') : page.index('<section aria-labelledby="cost"')]
    dated = [words_of(part) for part in shown.split('<li class="moment">')[1:]]
    return [re.sub(r" \d+ \w+ \d{4}, \d\d:\d\d", "", text) for text in dated]


def words_of(page: str) -> str:
    """What a page reads like."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


@pytest.mark.spec("R-165")
def test_a_session_tells_in_order_what_it_was_shown_and_with_which_prompt(
    memory: Memory, shop: Shop, hooks: Hooks, second_shop: ClaudeTranscript, pages: Place
) -> None:
    record = memory.established("Use Qdrant.")["id"]
    memory.index()
    hooks.now = START - 2 * MINUTE  # before anything was said
    hooks.start(record, "chat:claude-code-s-2")
    hooks.now = START + MINUTE
    hooks.read(FILE, record)
    hooks.read(FILE, record, reader="a-7")
    hooks.now += 3 * MINUTE
    # A prompt's hook runs before its prompt stands in the transcript.
    shop.transcript.start = hooks.now + MINUTE + 1000 - (shop.transcript.count + 1) * 1000
    asked = shop.transcript.person("Then always use Qdrant.")
    memory.index()
    hooks.remind()
    hooks.start(record)
    note = "Reminder to save what you settle, and how to cite it"
    assert moments_of(page := page_of(pages)) == [
        f"At its start Decision Use Qdrant. Earlier chat Qdrant works well, keep it. {note}",
        f"Prompt {CHOICE} When it read {FILE} Decision Use Qdrant.",
        f"When its subagent a-7 read {FILE} Decision Use Qdrant.",
        f"Prompt Then always use Qdrant. With a prompt {note}",
        f"When it was resumed, cleared or compacted Decision Use Qdrant. {note}",
    ]
    assert f"#m-{asked}" in page
    assert "session-start 2 times 1.8 kB" in words_of(page)
    listed = words_of(list_of(pages))
    assert "Then always use Qdrant. Claude Code acme/shop 1 record shown 1 earlier chat" in listed
    assert "reminded 1 time" in listed
    assert "1–1 of 1 acme/shop ×" in words_of(list_of(pages, project=hooks.project))
    assert "No session fits." in words_of(list_of(pages, project="/elsewhere"))


@pytest.mark.spec("R-165")
def test_a_record_tells_how_many_sessions_were_shown_it(
    memory: Memory, shop: Shop, hooks: Hooks, pages: Place
) -> None:
    first, other = (memory.established(text)["id"] for text in ("Use Qdrant.", "Use tabs."))
    told = words_of(memory_pages.record(pages, {}, {"record_id": first}))
    assert "No session was shown it in the last 90 days." in told
    hooks.start(first, other)
    hooks.read(FILE, first)
    hooks.start(first, session_id="s-2")
    hooks.start(other, session_id="s-3")
    told = words_of(memory_pages.record(pages, {}, {"record_id": first}))
    assert "Shown to 2 sessions , the newest active" in told
    page = list_of(pages, record=first)
    assert re.findall(r'id="s-(.*?)"', page) == ["s-2", "s-1"]
    assert "1–2 of 2 shown: Use Qdrant. ×" in words_of(page)


@pytest.mark.spec("R-165")
def test_nothing_is_told_of_sessions_and_records_that_are_left_out(
    memory: Memory, hooks: Hooks, view: View, pages: Place
) -> None:
    record = memory.established("Use Qdrant.")["id"]
    hooks.start(record)
    elsewhere = str(memory.projects / "w2" / "shop")
    hooks.start(record, session_id="s-9", project=elsewhere)
    assert view("view_sessions")["total"] == 2
    memory.set(deny=(SHOP,))
    found = view("view_sessions")
    assert [one["session_id"] for one in found["sessions"]] == ["s-9"]
    assert (found["total"], found["projects"]) == (1, [{"project": elsewhere, "sessions": 1}])
    for asked in ({"method": "view_session", "id": "s-1"}, {"record": record}):
        with pytest.raises(RecordsDisabled):
            view(**{"method": "view_sessions", **asked})
    page = page_of(pages, "s-9")
    assert record[:12] not in page
    assert "Qdrant" not in page


@pytest.mark.spec("R-176")
def test_neither_private_text_nor_chats_that_are_not_read_stand_there(
    memory: Memory, shop: Shop, hooks: Hooks, second_shop: ClaudeTranscript, pages: Place
) -> None:
    shop.transcript.person("Keep this. <private>hunter2</private>")
    memory.index()
    hooks.start("chat:claude-code-s-2")
    assert "Keep this." in words_of(list_of(pages))
    assert "hunter2" not in list_of(pages) + page_of(pages)
    memory.set(no_index=(SHOP,))
    page = list_of(pages) + page_of(pages)
    assert "Session s-1" in words_of(page)
    assert "Keep this." not in page
    assert "Qdrant works well" not in page
    assert "Its chat" not in page


@pytest.mark.spec("R-165")
def test_what_was_forgotten_since_is_a_gap_without_its_text(
    memory: Memory, hooks: Hooks, pages: Place
) -> None:
    made = memory.established("Use Qdrant.")
    hooks.start(made["id"])
    terminal.change(memory.call, {"action": "forget", "id": made["id"], "revision": 1})
    page = page_of(pages)
    assert f"Record forgotten since: {made['id'][:12]}" in words_of(page)
    assert "Use Qdrant." not in page
    with pytest.raises(MashError):
        list_of(pages, record=made["id"])


@pytest.mark.spec("R-165")
def test_it_is_told_when_hooks_are_silent_and_why(
    memory: Memory, hooks: Hooks, pages: Place
) -> None:
    hooks.touch()
    hooks.state.flush(hooks.now)
    assert "Nothing was added" in words_of(list_of(pages))
    assert "Hooks ran, and added nothing" in words_of(page_of(pages))
    pauses = Pauses(memory.call.store)
    pauses.put(f"project:{SHOP}", None, FOR_EVER, memory.clock.now)
    assert "Paused" in words_of(list_of(pages))
    assert "Hooks say nothing there until mash pause --off ." in words_of(page_of(pages))
    pauses.put(f"project:{SHOP}", None, memory.clock.now + MINUTE, memory.clock.now)
    assert "Hooks say nothing there until " in words_of(page_of(pages))
    memory.clock.advance(MINUTE)
    assert "Hooks say nothing" not in words_of(page_of(pages))
    memory.set(no_recall=(SHOP,), capture=False)
    told = words_of(page_of(pages))
    assert "Off now: recall [projects] no_recall" in told
    assert "Off now: capture [records] capture is off" in told


@pytest.mark.spec("R-165")
def test_many_sessions_and_long_ones_come_in_light_pages(
    memory: Memory, hooks: Hooks, pages: Place
) -> None:
    long = "漢字は長い。" * 330
    record = memory.established(long)["id"]
    for number in range(35):
        hooks.touch(f"n-{number}")
    hooks.touch("s-1")
    hooks.state.claim_shown("s-1", "", "漢" * 200, [record], hooks.now)
    for number in range(119):
        hooks.state.claim_shown("s-1", "", f"src/{number}{'長' * 60}.py", [record], hooks.now)
    hooks.state.flush(hooks.now)
    first = list_of(pages)
    assert "1–30 of 36" in words_of(first)
    following = list_of(pages, n="30")
    assert "31–36 of 36" in words_of(following)
    seen = [re.findall(r'id="s-(.*?)"', page) for page in (first, following)]
    assert len({*seen[0], *seen[1]}) == 36
    page, rest = page_of(pages), page_of(pages, n="60")
    assert (page.count('class="moment"'), rest.count('class="moment"')) == (60, 60)
    assert max(len(one.encode()) for one in (first, page)) < 100_000


@pytest.mark.spec("R-166")
def test_hostile_prompts_and_paths_are_text(
    memory: Memory, shop: Shop, hooks: Hooks, pages: Place
) -> None:
    hostile = '<script>alert(1)</script> " onload=x abc\u202egnp.exe\u200b {{ 7*7 }}'
    shop.transcript.person(hostile)
    memory.index()
    record = memory.established(hostile)["id"]
    hooks.start(record, project=f"/work/{hostile}")
    hooks.read(f"src/{hostile}.py", record, reader=hostile)
    hooks.touch("s-1", f"/work/{hostile}")
    hooks.state.flush(hooks.now)
    for page in (list_of(pages, project=f"/work/{hostile}"), page_of(pages)):
        assert page.count("<script") == 1  # our own
        assert "&lt;script&gt;alert(1)" in page
        assert '" onload' not in page
        assert not {"\u202e", "\u200b"} & set(page)
        assert "{{ 7*7 }}" in page
