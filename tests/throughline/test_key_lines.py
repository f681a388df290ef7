"""Which lines an agent writes are worth keeping."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mash_plugin.throughline.key_lines import (
    all_rules,
    category_of,
    eligible_lines,
    judge,
    may_hold_decision,
    may_hold_key_line,
)

ROOT = Path(__file__).resolve().parents[2]
FITS = {
    "decision": [
        "Decided to hold Zephyr's November invoice until the address is fixed.",
        "We’ve settled on the cedar boards.",
        "## **Decision:** the smaller crate",
        "We are going with plan B.",
        "Fine. We agreed to ship on Friday.",
        "我们一致决定延后发货",
        "我們決定延後出貨",
        "結論：延後出貨",
        "我們確定改用紙箱",
        "出荷を延期することにした。",
        "紙箱を採用しました。",
        "출하를 연기하기로 함.",
    ],
    "note": [
        "For future reference: the north gate opens at six.",
        "- [ ] Note to self: Ilse only answers before noon.",
        "Remember that the bank is closed on Monday.",
        "Lesson learned: never stack the jars three high.",
        "记住：备份失败了",
        "記住：備份失敗了",
        "记得：周五对账",
        "請務必記得每週五對帳",
        "别忘了关闭测试环境",
        "申し送り：倉庫は月曜休みです。",
        "倉庫は月曜休みなのを忘れないでください。",
        "기억할 것: 창고는 월요일에 쉽니다.",
        "창고가 월요일에 쉬는 것을 기억하세요.",
    ],
    "commitment": [
        "I'll resend the two bounced invoices tomorrow once Dana confirms the new address.",
        "1. I’ll book the room.",
        "Okay, I'll refund order 55.",
        "I WON'T ship the crate before Friday.",
        "Follow-up: call the port",
        "I promise to water the seedlings.",
        "我会在八点问磨坊面粉是否在路上。",
        "我們明天會核對庫存",
        "等您回覆後我會寄出",
        "待辦：確認出貨地址",
        "待办：确认出货地址",
        "下一步是確認出貨地址",
        "次のステップは在庫を確認することです。",
        "다음 단계는 재고를 확인하는 것입니다.",
    ],
}
FITS_NOT = [
    "Zephyr's October invoices went out at 9:00; two bounced because their address changed.",
    "They decided to leave the crates outside.",
    "The committee has decided to wait.",
    "He said he will come by.",
    "決定因素是價格",
    "記住了，謝謝",
    "记得你上次说过地址",
    "他們決定延期",
    "下一步是什么",
    "下一步由您决定",
    "接下来我将查看日志",
    "備份失敗，請看日誌",
    "お客様が延期することにした。",
    "次のステップは何ですか。",
    "고객이 연기하기로 했다.",
    "我会看一下",
    "I'll be happy to help.",
    "I'll need the order number.",
    "I'll assume that the crate is empty.",
    "I'll let you know.",
    "I'll check that for you.",
    "I'll now explain the table.",
    "We should keep in mind that the gate is shut.",
    "Should I call? I'll wait for the port, shall I?",
]


@pytest.mark.spec("R-191")
@pytest.mark.parametrize(("category", "line"), [(c, x) for c in FITS for x in FITS[c]])
def test_a_line_that_reads_as_one_is_one(category, line):
    assert category_of(line) == category
    assert may_hold_key_line(line)
    assert may_hold_decision(line) >= (category == "decision")


@pytest.mark.spec("R-191")
@pytest.mark.parametrize("line", FITS_NOT)
def test_a_plain_statement_is_none(line):
    assert category_of(line) is None


def test_the_first_category_that_fits_is_taken():
    assert category_of("Note to self: Decided to sell. I'll call tomorrow.") == "note"
    assert category_of("Decided to sell. I'll call tomorrow.") == "decision"


def test_a_step_that_is_done_at_once_is_no_commitment_but_one_with_a_time_is():
    assert category_of("I'll update the price list.") is None
    assert category_of("I'll update the price list tonight.") == "commitment"
    assert category_of("I'll update the price list once you approve it.") == "commitment"


@pytest.mark.spec("R-194", "R-193")
def test_fences_quotations_and_long_lines_are_not_eligible():
    text = "Decided A.\n```\nDecided B.\n```\n> Decided C.\n\n  Decided D.  \n" + "x" * 1001
    assert list(eligible_lines(text)) == [(0, "Decided A."), (6, "Decided D.")]


def test_a_fence_ends_only_at_its_own_kind():
    text = "~~~\nDecided A.\n```\nDecided B.\n~~~\nDecided C."
    assert list(eligible_lines(text)) == [(5, "Decided C.")]


@pytest.mark.parametrize(
    "line", ["I'll " * 200, "a. " * 300, "(" * 999, "é" * 999 + "?", "：" * 990]
)
@pytest.mark.row(55)
def test_no_line_takes_long(line):
    judge("warm")
    start = time.perf_counter()
    judge(line[:1000])
    assert time.perf_counter() - start < 0.1


def test_every_rule_of_the_data_has_a_kind_that_means_something():
    kinds = {rule.kind for rule in all_rules()}
    categories = {"decision", "note", "commitment"}
    assert kinds == categories | {f"not-{name}" for name in categories} | {
        "promise",
        "later",
        "step",
        "code",
        "polite",
        "never",
    }


def test_the_hint_holds_back_no_line_of_the_labelled_ones():
    rows = (ROOT / "tests/fixtures/agent-lines-labelled.jsonl").read_text("utf-8").splitlines()
    found = [row["text"] for row in map(json.loads, rows) if judge(row["text"]).category]
    assert len(found) > 50
    assert [text for text in found if not may_hold_key_line(text)] == []
    decisions = [text for text in found if judge(text).category == "decision"]
    assert len(decisions) > 50
    assert [text for text in decisions if not may_hold_decision(text)] == []


def test_the_judge_counts_what_is_right_and_lists_what_is_wrong(tmp_path):
    rows = [
        {"id": "a", "lang": "en", "label": "decision", "text": "Decided to sell."},
        {"id": "b", "lang": "en", "label": "note", "text": "The gate opens at six.", "hard": True},
        {"id": "c", "lang": "en", "label": "none", "text": "Decided to sell.", "context": "code"},
        {"id": "d", "lang": "fr", "label": "none", "text": "Decided to buy."},
        {"id": "e", "lang": "en", "label": "note", "text": "Hm.", "ambiguous": True},
    ]
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    command = [sys.executable, str(ROOT / "scripts" / "judge"), "agent-lines", str(file)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    done = subprocess.run([*command, "--json"], capture_output=True, check=True).stdout
    report = json.loads(done)
    assert report["all"] == {
        "lines": 4,
        "positives": 2,
        "found": 2,
        "right": 1,
        "same_category": 1,
        "precision": 0.5,
        "recall": 0.5,
    }
    assert [miss["id"] for miss in report["misses"]] == ["b", "d"]
    assert "nothing for note" in told


def test_the_rules_hold_on_the_projects_own_labelled_lines():
    command = [sys.executable, str(ROOT / "scripts" / "judge"), "agent-lines", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert report["all"]["positives"] >= 300
    assert report["all"]["precision"] >= 0.95
    assert report["all"]["recall"] >= 0.95
