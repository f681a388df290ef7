"""The commands of the newest version in the person's own folder of commands.

`scripts/install` runs this with the standard library alone.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from mash_plugin.file_opening import open_file
from mash_plugin.wrapping import say

PROGRAMS = ("mash", "meaning-memory")
"""What is linked into the person's folder of commands; the first one sets it all up."""

FIRST_LINE_BYTES = 127
"""What Linux before 5.1 reads of the line that names an interpreter."""
SHELL_LINE = b"'''exec' "
"""How pip has a shell start Python; to Python it begins a string."""


def link_commands(folder: Path, data: Path) -> list[Path]:
    """Link the commands of the newest version into a folder of the person's; those that are."""
    targets = [data / "current" / "bin" / name for name in PROGRAMS]
    there = [target for target in targets if target.exists()]
    return [folder / target.name for target in there if link_command(folder / target.name, target)]


def link_command(link: Path, target: Path) -> bool:
    """Link one command, unless something else lies there."""
    if os.path.lexists(link) and not (link.is_symlink() and is_ours(link)):
        text = f"mash: {link} is not from here and was left alone; the command is {target}"
        say(text, sys.stderr)
        return False
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        point(link, str(target))
    except OSError as error:
        why = f"no link was made in {link.parent} ({error.strerror})"
        say(f"mash: {why}; the command is {target}", sys.stderr)
        return False
    return True


def tell_links(links: list[Path], environ: Mapping[str, str]) -> None:
    """Say which commands there are now, and how they are found where they are not."""
    folder, names = links[0].parent, " and ".join(link.name for link in links)
    on_path = [os.path.realpath(p) for p in environ.get("PATH", os.defpath).split(os.pathsep) if p]
    if os.path.realpath(folder) in on_path:
        say(f"Linked into {folder}: {names}")
        return
    say(f"Linked into {folder}: {names}. But {folder} is not on PATH. Add it, then log in again:")
    print(f"  {path_command(folder, environ)}", flush=True)


def path_command(folder: Path, environ: Mapping[str, str]) -> str:
    """The command that puts a folder on the PATH of the person's own shell."""
    shell = os.path.basename(environ.get("SHELL", ""))
    if shell == "fish":
        return f"fish_add_path {shlex.quote(str(folder))}"
    profile = "~/.zprofile" if shell == "zsh" else "~/.profile"
    # bash reads the first of these alone.
    for name in (".bash_profile", ".bash_login") if shell == "bash" else ():
        if Path(environ.get("HOME", ""), name).exists():
            profile = f"~/{name}"
            break
    return f"""echo {shlex.quote(f'export PATH="{folder}:$PATH"')} >> {profile}"""


def isolate(program: Path, python: Path) -> None:
    """Let a command that pip wrote start Python isolated: no variable brings it other modules.

    An agent hands the variables of a project's settings on, such as PYTHONPATH.
    """
    _, _, code = program.read_bytes().partition(b"\n")
    if code.startswith(SHELL_LINE):  # a first line cannot name every path
        code = code.split(b"\n", 2)[2]
    isolated = program.with_name(f".{program.name}.{os.getpid()}")
    isolated.write_bytes(_first_lines(os.fsencode(python)) + code)
    isolated.chmod(0o755)
    isolated.replace(program)  # it may be started at this moment


def _first_lines(python: bytes) -> bytes:
    line = b"#!%s -I\n" % python
    if b" " not in python and len(line) <= FIRST_LINE_BYTES:
        return line
    return b"#!/bin/sh\n" + SHELL_LINE + b'"%s" -I "$0" "$@"\n\' \'\'\'\n' % python


def is_ours(link: Path) -> bool:
    """Whether this link was made by an installation of mash."""
    *_, current, folder, name = ("", "", "", *Path(os.readlink(link)).parts)
    return (current, folder) == ("current", "bin") and name in PROGRAMS


def noted_folders(data: Path) -> list[Path]:
    """The folders that commands were linked into before."""
    return sorted({link.parent for link in noted_links(data)})


def noted_links(data: Path) -> list[Path]:
    """The links that were noted; none where that cannot be read."""
    try:
        with open(data / "envs" / "links.json", "rb", opener=open_file) as file:
            links = json.load(file)
    except (OSError, ValueError):
        return []
    return [Path(link) for link in links if isinstance(link, str)]


def note_links(data: Path, made: list[Path]) -> None:
    """Note the links beside the environments: `mash uninstall` may run with another HOME."""
    links = {str(link) for link in (*noted_links(data), *made)}
    if links:
        (data / "envs" / "links.json").write_text(json.dumps(sorted(links)), "utf-8")


def point(link: Path, target: str) -> None:
    """Move a link in one step, so that a hook starts the old or the new, never nothing."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)
