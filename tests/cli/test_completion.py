"""The Tab key in real shells; nothing is started by it."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mash_plugin.cli.main import COMMANDS
from tests.support.warm_starts import run_mash

SHELLS = ("bash", "zsh", "fish")
PLACES = {
    "bash": ".local/share/bash-completion/completions/mash",
    "zsh": ".local/share/zsh/site-functions/_mash",
    "fish": ".config/fish/completions/mash.fish",
}


@dataclass
class Person:
    """A home without anything, and `mash` on PATH."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"HOME": str(self.home), "MASH_HOME": str(self.home / "mash"), "MASH_TESTING": "1"}
        return {"PATH": path, "LANG": "C.UTF-8", "TERM": "xterm", **own}

    def run(self, *command: str, of: str = "/bin/bash") -> subprocess.CompletedProcess[str]:
        environment = self.environment | {"SHELL": of}
        if command[0] == "mash":
            return run_mash(command[1:], self.home, environment)
        return subprocess.run(
            command,
            env=environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    def typed(self, shell: Sequence[str], keys: str, wanted: str) -> str:
        """What an interactive shell shows for these keys, until it shows what is wanted."""
        ours, theirs = pty.openpty()
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        process = subprocess.Popen(
            shell, env=self.environment, cwd=self.home, start_new_session=True, **streams
        )
        os.close(theirs)
        os.write(ours, keys.encode())
        shown, until = "", time.monotonic() + 30
        while wanted not in shown and time.monotonic() < until:
            if select.select([ours], [], [], 0.2)[0]:
                shown += os.read(ours, 4096).decode("utf-8", "replace")
        process.kill()
        process.wait(10)
        os.close(ours)
        return shown

    def must_have_started_nothing(self) -> None:
        assert not (self.home / "mash").exists()


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def bash_offers(person: Person, *words: str) -> list[str]:
    script = (
        'eval "$(mash completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
        ' _mash_completion mash; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return person.run("bash", "-c", script, "bash", *words).stdout.split()


def test_bash_completes_every_command(person: Person) -> None:
    assert bash_offers(person, "mash", "") == list(COMMANDS)
    assert bash_offers(person, "mash", "stat") == ["status", "statusline"]
    person.must_have_started_nothing()


def test_an_older_bash_completes_too_without_an_error(person: Person) -> None:
    script = (
        'complete() { if [ "$2" = nosort ]; then echo invalid >&2; return 2; fi;'
        ' builtin complete "$@"; }; eval "$(mash completion bash)"; complete -p mash'
    )
    done = person.run("bash", "-c", script)
    assert (done.stdout.strip(), done.stderr) == ("complete -F _mash_completion mash", "")


def test_bash_completes_what_a_lazily_loaded_command_takes(person: Person) -> None:
    assert {"start", "stop", "restart", "status"} <= set(bash_offers(person, "mash", "daemon", ""))
    assert bash_offers(person, "mash", "init", "--dry") == ["--dry-run"]
    assert bash_offers(person, "mash", "daemon", "start", "--fore") == ["--foreground"]
    assert bash_offers(person, "mash", "completion", "z") == ["zsh"]
    assert "--version" in bash_offers(person, "mash", "--")
    person.must_have_started_nothing()


def test_the_names_are_offered_without_loading_any_command(person: Person) -> None:
    program = (
        "import sys; from mash_plugin.cli.main import cli; import click\n"
        "cli.shell_complete(click.Context(cli), 're')\n"
        "print(sorted(name for name in sys.modules if name.startswith('mash_plugin.cli.')))"
    )
    loaded = "['mash_plugin.cli.groups', 'mash_plugin.cli.main']\n"
    assert person.run(sys.executable, "-c", program).stdout == loaded


def test_a_person_presses_tab_in_bash(person: Person) -> None:
    (person.home / "rc").write_text('PS1="> "; eval "$(mash completion bash)"\n')
    shell = ["bash", "--noprofile", "--rcfile", "rc", "-i"]
    assert "mash uninstall" in person.typed(shell, "mash uninst\t", "mash uninstall")
    person.must_have_started_nothing()


def test_a_person_presses_tab_in_zsh(person: Person) -> None:
    told = person.run("mash", "completion", "zsh", "--install")
    line = told.stdout.splitlines()[-1].strip()
    assert line.startswith("fpath=(")
    startup = f"{line}\nautoload -Uz compinit; compinit -u\nPS1='> '\n"
    (person.home / ".zshrc").write_text(startup)
    shown = person.typed(["zsh", "-d", "-i"], "mash uninst\t", "mash uninstall")
    assert "mash uninstall" in shown
    told = person.run("mash", "completion", "zsh", "--install")
    assert told.stdout.splitlines()[-1] == "New shells complete mash."
    person.must_have_started_nothing()


def test_fish_completes_from_the_installed_file(person: Person) -> None:
    person.run("mash", "completion", "fish", "--install")
    done = person.run("fish", "-c", "complete -C 'mash daemon re'")
    assert done.stdout.split()[0] == "restart"
    done = person.run("fish", "-c", "complete -C 'mash stat'")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["status", "statusline"]
    assert not (person.home / "mash" / "run").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_put_where_its_shell_looks_once_and_taken_away_again(
    person: Person, shell: str
) -> None:
    (person.home / ".config").mkdir()
    done = person.run("mash", "completion", "--install", of=f"/usr/bin/{shell}")
    file = person.home / PLACES[shell]
    assert done.returncode == 0
    assert done.stdout.startswith(f"Written to {file}.\n")
    written = file.read_bytes()
    assert person.run("mash", "completion", shell).stdout.encode().strip() in written
    done = person.run("mash", "completion", shell, "--install")
    assert done.stdout.startswith(f"{file} is in place already.\n")
    assert file.read_bytes() == written
    done = person.run("mash", "uninstall", "--yes", "--data")
    assert f"Removed the completion {file}." in done.stdout
    assert [path.name for path in person.home.iterdir()] == [".config"]


def test_an_older_script_of_ours_is_replaced_and_a_foreign_one_left_alone(person: Person) -> None:
    file = person.home / PLACES["fish"]
    person.run("mash", "completion", "fish", "--install")
    current = file.read_text()
    file.write_text("# older\n" + current.splitlines()[-1] + "\n")
    assert "Written to" in person.run("mash", "completion", "fish", "--install").stdout
    assert file.read_text() == current
    file.write_text("# mine\n")
    done = person.run("mash", "completion", "fish", "--install")
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not from mash and was left alone" in done.stderr
    person.run("mash", "uninstall", "--yes")
    assert file.read_text() == "# mine\n"


def test_an_unknown_shell_is_asked_for_by_name(person: Person) -> None:
    done = person.run("mash", "completion", of="/bin/tcsh")
    assert done.returncode == 2
    assert "name one of bash, zsh, fish" in done.stderr
