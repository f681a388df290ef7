"""Whatever was said or saved is text on every page: nothing runs, nothing is asked elsewhere."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import key_of, opener
from tests.support.daemons import event
from tests.support.dashboards import dashboard
from tests.support.demo_memory import Demo, home, said

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TEXTS = {
    "script": SCRIPT,
    "link": "javascript:alert(3) [a](javascript:alert(4)) https://evil.example/x.png",
    "drawing": "<svg onload=alert(5)><use href='//evil.example/#x'/></svg>]]>--></style></title>",
    "template": "{{ 7*7 }}{% raw %} ${7*7} &lt;b&gt; \" onmouseover=alert(6) ' autofocus",
    "turned": "abc \u202egnp.exe\u2066 x\u200bx end",
}
CHAT = "claude-code-s-hostile"
LONG = "x" * 100_000


@pytest.fixture(scope="module")
def hostile() -> Iterator[Demo]:
    """Records and messages whose every field is hostile."""
    with home() as demo:
        chat = demo.chat("s-hostile", "shop", SCRIPT, 1)
        for text in TEXTS.values():
            chat.person(f"Remember this: {text}")
            chat.agent(text)
        chat.tool_result(LONG)
        chat.agent(LONG)
        for name, text in TEXTS.items():
            details = {"kind": "decision", "state": "accepted", "alternatives": [text]}
            body = {
                "statement": text,
                "review": "established",
                "recorded_by": f"agent {text}"[:200],
                "details": details,
            }
            demo.save(
                name,
                0,
                action="create",
                scope={"kind": "chat", "id": CHAT},
                body=body,
                evidence=said("s-hostile", f"Remember this: {text}"),
            )
        longest = {**body, "statement": "x" * 2_000, "details": {**details, "alternatives": []}}
        del longest["details"]["alternatives"]
        demo.save(
            "script",
            0,
            action="supersede",
            expected=demo.at("script"),
            body=longest,
            evidence=said("s-hostile", f"Remember this: {SCRIPT}"),
        )
        prompt = event("UserPromptSubmit", prompt="Always do.", session_id="s-hostile", cwd=SCRIPT)
        demo.place.hook("prompt-submit", prompt)
        yield demo


@pytest.mark.spec("R-166")
@pytest.mark.row(50, 65)
def test_hostile_text_is_shown_and_nothing_happens(hostile: Demo, browser: Browser) -> None:
    names = list(TEXTS)
    with (
        dashboard(hostile.place) as dash,
        opener(browser, dash.base, key_of(dash, dash.enter())) as opened,
    ):
        watched = opened(viewport={"width": 360, "height": 740})
        shown = watched.go("/memory").locator(".rows").inner_text()
        assert SCRIPT in shown
        assert TEXTS["drawing"] in shown
        assert TEXTS["template"] in shown
        pages = ["/memory", "/memory?q=%3Cscript%3Ealert(1)", "/timeline", "/chats", "/health"]
        pages += [f"/memory/{hostile.ids[name]}" for name in names]
        pages += ["/sessions", "/sessions/s-hostile", f"/sessions?record={hostile.ids['script']}"]
        pages += ["/sessions?project=%3Cscript%3Ealert(1)%3C%2Fscript%3E"]
        pages += [f"/chats/{CHAT}", "/chats?q=alert", "/memory/%3Cscript%3Ealert(1)%3C%2Fscript%3E"]
        pages += ["/memory?scope=repository:%22%3E%3Cscript%3Ealert(1)%3C/script%3E"]
        for path in pages:
            page = watched.go(path)
            assert page.locator("html").evaluate("one => one.scrollWidth") <= 360, path
            assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
            page.keyboard.press("j")
            links = page.evaluate("[...document.links].map(one => one.protocol)")
            assert set(links) <= {"http:"}, path
            assert not {"\u202e", "\u2066", "\u200b"} & set(page.content()), path
        page = watched.go(f"/memory/{hostile.ids['script']}")
        expect(page.locator(".graph")).to_have_count(1)
        told = [one for one in watched.complaints if "404" not in one and "400" not in one]
        assert told == []
        assert watched.leaks == []


@pytest.mark.spec("R-166")
def test_the_policy_would_stop_what_slipped_through(hostile: Demo, browser: Browser) -> None:
    with (
        dashboard(hostile.place) as dash,
        opener(browser, dash.base, key_of(dash, dash.enter())) as opened,
    ):
        watched = opened()
        page = watched.go("/memory")
        stopped: list[str | None] = []
        page.on("requestfailed", lambda request: stopped.append(request.failure))
        page.evaluate(
            """() => { const one = document.createElement("div");
            one.innerHTML = "<img src='https://evil.example/x.png' onerror='window.ran = 1'>"
              + "<form action='https://evil.example/'></form><iframe src='/memory'></iframe>";
            const script = document.createElement("script");
            script.textContent = "window.ran = 2";
            document.body.append(one, script);
            document.querySelector("form[action^=https]").submit(); }"""
        )
        assert page.evaluate("window.ran") is None
        assert page.evaluate("new Promise(done => setTimeout(done, 50))") is None
        assert set(stopped) <= {"csp"}
        assert len(stopped) == len(watched.leaks)
        assert len([one for one in watched.complaints if "Content Security Policy" in one]) >= 4
