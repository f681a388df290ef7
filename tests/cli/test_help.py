"""Every `--help`: what a command is for, what each option does, and what to type."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import mash_plugin
from mash_plugin.cli.examples import EXAMPLES
from mash_plugin.cli.main import COMMANDS, SECTIONS, MashGroup, cli, run

TOP = click.Context(cli, info_name="mash", **cli.context_settings)


def walk(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Context]]:
    """Every command with the context in which its help is printed."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(
            command, context, name, **{**command.context_settings, "terminal_width": 80}
        )
        yield inner.command_path, inner
        if isinstance(command, click.Group):
            yield from walk(command, inner)


ALL = dict(walk(cli, TOP))


def told_options(context: click.Context) -> Iterator[click.Option]:
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield parameter


@pytest.mark.parametrize("path", ALL)
def test_a_command_says_in_a_sentence_what_it_is_for(path: str) -> None:
    first = (ALL[path].command.help or "").strip().partition("\n\n")[0]
    assert first[:1].isupper()
    assert first.endswith(".")
    assert len(first) <= 160


@pytest.mark.parametrize("path", ALL)
def test_each_option_says_what_it_does_and_what_holds_without_it(path: str) -> None:
    context = ALL[path]
    shown = context.command.get_help(context)
    for option in told_options(context):
        name = option.opts[-1]
        assert option.help, name
        assert name in shown
        is_silent = option.is_flag or option.multiple or option.default in (None, "", ())
        said = option.get_help_extra(context).get("default") or "default" in option.help
        assert is_silent or type(option.default).__name__ == "Sentinel" or said, name


@pytest.mark.parametrize("path", ALL)
def test_a_help_page_fits_a_narrow_terminal(path: str) -> None:
    context = ALL[path]
    assert max(map(len, context.command.get_help(context).splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_what_to_type(name: str) -> None:
    context = ALL[f"mash {name}"]
    shown = context.command.get_help(context)
    assert "Examples:\n" in shown
    for typed, what in EXAMPLES[name]:
        assert " ".join(typed.split()) in " ".join(shown.split())
        assert what in shown


@pytest.mark.parametrize("typed", [typed for rows in EXAMPLES.values() for typed, _ in rows])
def test_what_is_shown_can_be_typed(typed: str) -> None:
    program, *words = shlex.split(typed.replace("\\\n", ""))
    assert program == "mash"
    command: click.Command = cli
    context = TOP
    while isinstance(command, click.Group) and words:
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
        context = click.Context(command, context, name)
    command.make_context(command.name, words, parent=TOP).close()


def test_the_names_of_the_examples_are_commands() -> None:
    assert EXAMPLES.keys() <= COMMANDS.keys()


def test_the_first_page_lists_every_command_and_every_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in shown
        assert " ".join(text.split()) in " ".join(shown.split())
        assert text.endswith(".")
    codes = shown.partition("Exit codes:\n")[2].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in codes] == ["0", "1", "2", "3", "4", "130"]
    assert max(map(len, shown.splitlines())) <= 80


def test_no_text_sends_people_to_a_group_of_commands_for_what_one_of_them_does() -> None:
    groups = {
        path.removeprefix("mash ")
        for path, context in ALL.items()
        if isinstance(context.command, click.Group) and not context.command.invoke_without_command
    }
    named = re.compile(rf"`mash ({'|'.join(groups)})`(?!: )")  # a module begins with its own
    files = Path(mash_plugin.__file__).parent.rglob("*.py")
    assert {f"{f.name}: {m[0]}" for f in files for m in named.finditer(f.read_text())} == set()
    assert "backup" in groups


def test_every_command_stands_under_one_heading() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


def test_a_word_of_other_programs_is_answered_with_the_commands_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for typed, names in MashGroup.meant.items():
        assert run([typed]) == 2
        assert f"Did you mean {' or '.join(f'`{n}`' for n in names)}?" in capsys.readouterr().err
        assert set(names) <= set(COMMANDS)


@pytest.mark.parametrize("typed", ["recrods", "backup mak", "daemon sttaus"])
def test_a_mistyped_command_is_answered_with_what_was_meant(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    meant = {"recrods": "`records`", "backup mak": "`make`", "daemon sttaus": "`status`"}[typed]
    assert run(typed.split()) == 2
    said = capsys.readouterr().err
    assert said.count("Did you mean") == 1
    assert meant in said


def test_what_looks_like_no_command_gets_no_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zzzz"]) == 2
    assert capsys.readouterr().err == "mash: No such command 'zzzz'. See `mash --help`.\n"


@pytest.mark.parametrize("name", ["backup", "daemon", "demo"])
def test_a_group_tells_in_whole_sentences_what_its_commands_do(name: str) -> None:
    context = ALL[f"mash {name}"]
    shown = " ".join(context.command.get_help(context).split())
    assert isinstance(context.command, click.Group)
    for inner in context.command.commands.values():
        assert " ".join((inner.help or "").partition("\n\n")[0].split()) in shown
