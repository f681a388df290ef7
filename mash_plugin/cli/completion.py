"""`mash completion`: the Tab key completes commands and options in bash, zsh and fish."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from mash_plugin.agents.plugin import remove_if_empty, user_home
from mash_plugin.errors import InvalidArgument
from mash_plugin.file_writing import replace_file

VARIABLE = "_MASH_COMPLETE"
NEEDS_BASH_4_4 = "complete -o nosort -F _mash_completion mash\n"
WITH_ANY_BASH = (
    "complete -o nosort -F _mash_completion mash 2>/dev/null ||\n"
    "        complete -F _mash_completion mash\n"
)
"""The bash of macOS is 3.2; an unknown option would be an error at the start of every shell."""
MARK = "# Written by `mash completion --install`; folders made for it: "
LOADERS = (
    "/usr/share/bash-completion/bash_completion",
    "/opt/homebrew/etc/profile.d/bash_completion.sh",
    "/usr/local/etc/profile.d/bash_completion.sh",
)


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")), required=False)
@click.option("--install", is_flag=True, help="Write it to the place where that shell looks.")
def completion(shell: str | None, install: bool) -> None:
    """Print the script by which a shell completes the commands and options of mash.

    Without a name it is for the shell in $SHELL. `mash uninstall` removes what --install wrote.
    """
    name = shell or _own_shell()
    if not install:
        click.echo(_script(name))
        return
    file = _places(os.environ)[name]
    if _install(file, _script(name)):
        click.echo(f"Written to {file}.")
    else:
        click.echo(f"{file} is in place already.")
    click.echo(_hint(name, file, os.environ))


def remove_completions(environ: Mapping[str, str]) -> list[Path]:
    """Remove every script that `--install` wrote, with the folders made for it."""
    removed = []
    for file in _places(environ).values():
        made = _folders_made(file)
        if made is not None:
            file.unlink()
            remove_if_empty(*list(file.parents)[:made])
            removed.append(file)
    return removed


def written_completions(environ: Mapping[str, str]) -> list[Path]:
    """The scripts that `--install` wrote."""
    return [file for file in _places(environ).values() if _folders_made(file) is not None]


def _own_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in _places(os.environ):
        raise click.UsageError(
            f"$SHELL is {os.environ.get('SHELL', 'not set')!r}; name one of bash, zsh, fish."
        )
    return name


def _places(environ: Mapping[str, str]) -> dict[str, Path]:
    """Where each shell looks, or is told to look, for a script of the person's own."""
    home = user_home(environ)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    bash = Path(environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion")
    return {
        "bash": bash / "completions" / "mash",
        "zsh": data / "zsh" / "site-functions" / "_mash",
        "fish": config / "fish" / "completions" / "mash.fish",
    }


def _script(name: str) -> str:
    from click.shell_completion import get_completion_class

    from mash_plugin.cli.main import cli

    kind = get_completion_class(name)
    assert kind is not None  # noqa: S101 - click knows the three
    maker = kind(cli, {}, "mash", VARIABLE)
    # Not `source()`: for bash it first runs one to ask for its version.
    script = maker.source_template % maker.source_vars()
    return script.replace(NEEDS_BASH_4_4, WITH_ANY_BASH)


def _install(file: Path, script: str) -> bool:
    """Write the script unless it is there. Raises InvalidArgument for a file of someone else's."""
    made = _folders_made(file)
    if made is None:
        if file.exists():
            raise InvalidArgument(f"{file} is not from mash and was left alone; move it away.")
        made = sum(not parent.exists() for parent in file.parents)
    text = f"{script.rstrip()}\n{MARK}{made}\n".encode()
    if file.exists() and file.read_bytes() == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text, 0o644)
    return True


def _folders_made(file: Path) -> int | None:
    """How many folders were made for this script of ours; None where there is none of ours."""
    try:
        last = file.read_text("utf-8").rstrip().rpartition("\n")[2]
        return int(last.removeprefix(MARK)) if last.startswith(MARK) else None
    except (OSError, ValueError):
        return None


def _hint(name: str, file: Path, environ: Mapping[str, str]) -> str:
    hints: dict[str, Callable[[], str]] = {
        "bash": lambda: _bash_hint(file),
        "zsh": lambda: _zsh_hint(file, environ),
        "fish": lambda: "New shells complete mash.",
    }
    return hints[name]()


def _bash_hint(file: Path) -> str:
    if any(os.path.exists(loader) for loader in LOADERS):
        return "New shells complete mash."
    return f"The package bash-completion was not found: add this line to ~/.bashrc:\n  . '{file}'"


def _zsh_hint(file: Path, environ: Mapping[str, str]) -> str:
    startup = Path(environ.get("ZDOTDIR") or user_home(environ)) / ".zshrc"
    line = f"fpath=('{file.parent}' $fpath)"
    try:
        if line in startup.read_text("utf-8"):
            return "New shells complete mash."
    except (OSError, ValueError):
        pass
    return f"Add this to {startup}, above the line with compinit:\n  {line}"
