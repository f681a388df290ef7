"""Whatever the documents tell a reader to type exists, with each of its options."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import pytest

from mash_plugin.cli import main, meaning_memory
from tests.support.documents import ROOT, Typed, documents, typed

PROGRAMS = {"mash": main.cli, "meaning-memory": meaning_memory.cli}
ALL = sorted(set(typed()))
OF_PROGRAMS = [one for one in ALL if one.program in PROGRAMS]
OF_SCRIPTS = [one for one in ALL if one.program not in PROGRAMS]
LINK = re.compile(r"(?:\]\(|src=\"|srcset=\")([^)\"\s]+)")


def told(one: Typed) -> str:
    return f"{one.document}: {one.program} {' '.join(one.words)}"


def unknown_words(program: str, words: tuple[str, ...]) -> list[str]:
    """Commands and options among these words that the program does not have."""
    command: click.Command = PROGRAMS[program]
    context = click.Context(command, info_name=program)
    unknown, is_value = [], False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-") and word != "-":
            option = option_of(command, context, word.partition("=")[0].rstrip(","))
            is_value = option is not None and takes_a_value(option) and "=" not in word
            unknown += [word] * (option is None)
        elif isinstance(command, click.Group) and not word.isupper():
            inner = command.get_command(context, word.rstrip(","))
            if inner is None:
                return [*unknown, word]
            command, context = inner, click.Context(inner, context, word)
    return unknown


def option_of(command: click.Command, context: click.Context, name: str) -> click.Option | None:
    for parameter in command.get_params(context):
        names = (*parameter.opts, *parameter.secondary_opts)
        if isinstance(parameter, click.Option) and name in names:
            return parameter
    return None


def takes_a_value(option: click.Option) -> bool:
    return not option.is_flag and not option.count


@pytest.mark.parametrize("one", OF_PROGRAMS, ids=told)
def test_a_command_that_a_document_names_exists_with_its_options(one: Typed) -> None:
    assert unknown_words(one.program, one.words) == []


@cache
def usage_of(script: str, kind: str) -> str:
    """What a script says about itself, or about one of its kinds of work."""
    command = [sys.executable, str(ROOT / script)] if is_python(script) else [str(ROOT / script)]
    done = subprocess.run(
        [*command, *kind.split(), "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 0, (script, done.stderr)
    return done.stdout


def is_python(script: str) -> bool:
    return b"python" in (ROOT / script).read_bytes().partition(b"\n")[0]


@pytest.mark.parametrize("one", OF_SCRIPTS, ids=told)
def test_a_script_that_a_document_names_exists_with_its_options(one: Typed) -> None:
    assert os.access(ROOT / one.program, os.X_OK)
    has_kinds = one.program == "scripts/soak" and one.words[:1] not in ((), ("NAME",), ("--help",))
    shown = usage_of(one.program, one.words[0] if has_kinds else "")
    options = [word.partition("=")[0] for word in one.words if word.startswith("--")]
    assert [option for option in options if option not in shown] == []


def test_the_documents_name_many_commands_and_the_search_finds_those_that_are_wrong() -> None:
    assert len(OF_PROGRAMS) > 100
    assert len({one.program for one in OF_SCRIPTS}) > 10
    assert unknown_words("mash", ("records", "--al")) == ["--al"]
    assert unknown_words("mash", ("recrods",)) == ["recrods"]
    assert unknown_words("mash", ("group", "ad", "anna")) == ["ad"]
    assert unknown_words("mash", ("status", "--session", "newest", "--json")) == []


@pytest.mark.parametrize("name", documents())
def test_what_a_document_links_to_is_there(name: str) -> None:
    links = [link for link in LINK.findall(documents()[name]) if "://" not in link]
    folder = (ROOT / name).parent
    files = [link.partition("#")[0] for link in links]
    assert [file for file in files if file and not (folder / file).exists()] == []


@pytest.mark.parametrize("name", documents())
def test_a_link_within_a_document_has_its_heading(name: str) -> None:
    text = documents()[name]
    anchors = {anchor_of(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    assert {link[1:] for link in LINK.findall(text) if link.startswith("#")} <= anchors


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def test_every_command_stands_in_the_readme_and_every_help_page_is_the_present_one() -> None:
    command = [sys.executable, str(Path(ROOT, "scripts", "help-pages")), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run scripts/help-pages"


def test_every_script_stands_in_the_readme() -> None:
    scripts = {f"scripts/{path.name}" for path in ROOT.glob("scripts/*") if "." not in path.name}
    named = {one.program for one in OF_SCRIPTS if one.document == "README.md"}
    assert scripts - {"scripts/__pycache__"} <= named
