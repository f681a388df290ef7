"""Blocks of the documents that need nothing but a home of one's own are run as they stand."""

import ast
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_sessions import start
from tests.support.documents import ROOT, SHELL, Block, blocks
from tests.support.homes import Home
from tests.support.processes import end_processes_of
from tests.support.saved import begin, save

NOWHERE = "http://127.0.0.1:9"
SESSION = "7a41638a-9ce3-460b-841c-facd7895ebf3"
HERE = (
    "mash status ",
    "mash backup make ",
    "meaning-memory capture-session --agent deskbot --session-id stock-2026-11-30 \\",
)
ELSEWHERE = {
    "scripts/install     ": "tests/setup/test_install.py::"
    "test_a_fresh_home_in_an_odd_place_is_installed_twice_upgraded_and_left",
    "scripts/install --no-agents": "tests/cli/test_demo.py::"
    "test_the_demo_touches_nothing_of_the_users_and_leaves_nothing",
    "$ mash records --all": "tests/cli/test_change.py::test_no_changes_nothing_and_yes_establishes",
    "mash group init ": "tests/group/test_admin.py::"
    "test_a_connection_string_is_printed_once_alone_and_works",
    "log=$(mktemp)": "tests/throughline/test_recipes.py::"
    "test_a_cron_job_is_captured_also_when_it_fails_and_its_exit_code_stays",
    "tell() {": "tests/throughline/test_recipes.py::"
    "test_a_cron_job_tells_how_it_ended_and_its_exit_code_stays",
    "while did=$(one-cycle); do": "tests/throughline/test_recipes.py::"
    "test_a_loop_is_captured_after_each_cycle_that_did_something",
    "*/5 * * * * ": "tests/throughline/test_recipes.py::"
    "test_the_drain_by_cron_and_by_timer_is_one_command_every_five_minutes",
    "[Unit]": "tests/throughline/test_recipes.py::"
    "test_a_systemd_service_is_sound_and_its_last_command_captures",
    "meaning-memory setup-postgres ": "tests/throughline/test_postgres.py::"
    "test_setup_can_be_run_again_and_keeps_the_password",
    "MM_BACKEND=postgres meaning-memory consolidate ": "tests/throughline/"
    "test_moving.py::test_everything_is_moved_as_it_was_and_once",
}
"""Blocks that need a server, an agent, a terminal or other programs: who runs them."""

SHOWN = [block for block in blocks() if block.language in SHELL]
RUN = {block.text: block for block in SHOWN if block.first.startswith(HERE)}
"""One of each: a page may repeat what the README shows."""


def name_of(block: Block) -> str:
    return f"{block.document}: {block.first}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A person with a chat, two records, a session that was told of them, and a job's log."""
    made = Home(tmp_path_factory.mktemp("reader"), NOWHERE, NOWHERE)
    begin(made)
    save(made, "established", "Invoices are rendered with Typst.")
    save(made, "candidate", "Letters use the same template as invoices.")
    start(made, clone_of(made), SESSION)
    line = {"role": "assistant", "content": "Decided to order flour."}
    (clone_of(made) / "stock.jsonl").write_text(json.dumps(line) + "\n")
    program = made.root / "bin" / "meaning-memory"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mash_plugin.cli.meaning_memory "$@"\n')
    program.chmod(0o755)
    yield made
    end_processes_of(made.root)


def clone_of(home: Home) -> Path:
    return home.root / "work" / "shop-1"


@pytest.mark.parametrize("block", RUN.values(), ids=name_of)
def test_every_command_of_a_block_succeeds(block: Block, home: Home) -> None:
    path = f"{home.root / 'bin'}:{home.environment['PATH']}"
    done = home.run(*("sh", "-e", "-x", "-c", block.text), cwd=clone_of(home), env={"PATH": path})
    assert done.code == 0, done.err
    for name in os.listdir(clone_of(home)):
        if name.startswith("mash"):
            (clone_of(home) / name).unlink()


@pytest.mark.parametrize("block", SHOWN, ids=name_of)
def test_every_block_is_run_here_or_by_a_test_that_is_named(block: Block) -> None:
    others = [test for begins, test in ELSEWHERE.items() if block.first.startswith(begins)]
    assert len(others) + (block.text in RUN) == 1, block.first
    for test in others:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in functions, test


def test_every_name_of_a_block_belongs_to_one() -> None:
    firsts = [block.first for block in SHOWN]
    assert [b for b in (*HERE, *ELSEWHERE) if not any(f.startswith(b) for f in firsts)] == []
