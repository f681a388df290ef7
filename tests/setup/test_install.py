"""`scripts/install`: from nothing but a Python and a checkout to a working `mash`."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from queue import Queue
from threading import Thread
from types import SimpleNamespace

import pytest

from mash_plugin import command_links as links
from mash_plugin import environments, installer
from mash_plugin.agents.hosts import HOSTS
from mash_plugin.cli.pins import planned_paths, write_pins
from mash_plugin.cli.removal import command_links
from mash_plugin.paths import find_paths
from tests.setup.terminals import on_a_terminal
from tests.support.homes import ROOT, Home, clients_folder
from tests.support.processes import end_processes_of
from tests.support.wheels import base_python, copy_checkout, lend_libraries, set_version

pytestmark = pytest.mark.slow

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def run_install(
    checkout: Path, home: Home, *options: str, **env: str
) -> subprocess.CompletedProcess[str]:
    proxies = {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy") or "PIP" in k}
    path = f"{clients_folder()}:{SYSTEM_PATH}"
    return subprocess.run(
        [checkout / "scripts/install", *options],
        env={**home.environment, **proxies, "PATH": path, "PYTHON": base_python(), **env},
        cwd=home.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.spec("R-152")
def test_a_fresh_home_in_an_odd_place_is_installed_twice_upgraded_and_left(
    tmp_path: Path, quick: str
) -> None:
    home = Home(tmp_path / "mön home", "http://127.0.0.1:9", "http://127.0.0.1:9")
    checkout = copy_checkout(tmp_path / "mön répertoire" / "clone")
    link = home.mash_home / "bin/mash"
    try:
        done = run_install(checkout, home)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"{link.parent} is not on PATH" in done.stdout
        assert "Restart Claude Code and Codex" in done.stdout.splitlines()[-1]
        data = home.mash_home / "data"
        first = (data / "current").resolve()
        hooks = (data / "marketplace/mash/hooks/hooks.json").read_text()
        assert f"{data}/current/bin/python" in hooks
        assert home.run(str(link), "status").code == 0
        planted = home.root / "planted"
        planted.mkdir()
        for name in ("sitecustomize", "click", "mash_plugin"):
            (planted / f"{name}.py").write_text(f"open({str(planted / 'ran')!r}, 'w')\n")
        for command in (link, link.parent / "meaning-memory"):
            assert home.run(str(command), "--help", env={"PYTHONPATH": str(planted)}).code == 0
        assert not (planted / "ran").exists()
        recipes = home.root / "recipes"  # where cron and systemd look is another folder yet
        recipes.symlink_to(link.parent / "meaning-memory")
        assert home.run(str(recipes), "doctor", "--help").code == 0
        assert home.run(str(link), "upgrade", "--check").code == 0, "a version is new to itself"
        done = run_install(checkout, home, "--no-index", PATH=f"{link.parent}:{SYSTEM_PATH}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "built already" in done.stdout
        assert f"{link.parent} is not on PATH" not in done.stdout
        set_version(checkout, "9.9.9")
        # With a pip and libraries that are lent: to fetch them once more would tell nothing new.
        lent = lend_libraries(tmp_path / "libraries")["PIP_FIND_LINKS"]
        others = {
            "PYTHON": quick,
            "PIP_FIND_LINKS": f"{os.environ.get('PIP_FIND_LINKS', '')} {lent}",
        }
        done = run_install(checkout, home, "--no-agents", "--no-index", **others)
        assert done.returncode == 0, done.stdout + done.stderr
        second = (data / "current").resolve()
        assert second != first
        assert first.exists(), "the running daemon's environment was taken from under it"
        assert (data / "marketplace/mash/hooks/hooks.json").read_text() == hooks
        assert home.run(str(link), "--version").out == "mash, version 9.9.9\n"
        home.run(str(link), "daemon", "stop")
        run_install(checkout, home, "--no-agents", "--no-index", **others)
        assert not first.exists()
        done_too = home.run(str(link), "uninstall", "--yes", "--data")
        assert done_too.code == 0, done_too
        assert not home.mash_home.exists()
    finally:
        end_processes_of(home.root)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "person", "http://127.0.0.1:9", "http://127.0.0.1:9")


def fake_python(folder: Path, body: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "python3"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def without_venv(tmp_path: Path) -> Path:
    without = tmp_path / "bin" / "python3"
    # It says of itself that it is the interpreter, and that it has no ensurepip.
    fake_python(
        without.parent,
        f"""case "$*" in
*_base_executable*) echo '{without}' ;;
*ensurepip*) exit 1 ;;
*) exec '{base_python()}' "$@" ;;
esac""",
    )
    return without


def test_a_python_without_venv_is_one_line_that_names_the_package(
    home: Home, without_venv: Path
) -> None:
    done = run_install(ROOT, home, PYTHON=str(without_venv))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"python{sys.version_info.major}.{sys.version_info.minor}-venv" in line
    assert not home.mash_home.exists()


def test_its_help_needs_no_venv(home: Home, without_venv: Path) -> None:
    done = run_install(ROOT, home, "--help", PYTHON=str(without_venv))
    assert (done.returncode, done.stderr) == (0, "")
    assert "--dry-run" in done.stdout


def test_an_old_python_is_one_line_that_says_what_is_needed(home: Home, tmp_path: Path) -> None:
    fake_python(tmp_path / "bin", "exit 1")
    tools = tmp_path / "bin"
    for name in ("dirname", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "")
    done = run_install(ROOT, home, PATH=str(tools), PYTHON="")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "Python 3.11" in line


def test_the_shim_of_a_version_manager_is_resolved(tmp_path: Path) -> None:
    """The shim answers, and the interpreter behind it is what is written down."""
    shim = fake_python(tmp_path / "shims", f'exec {base_python()} "$@"')
    script = (ROOT / "scripts/install").read_text()
    probe = script.partition("probe='")[2].partition("'")[0]
    done = subprocess.run(
        [shim, "-I", "-c", probe], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout.strip() == os.path.abspath(base_python())


def test_a_foreign_command_of_the_same_name_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mash").write_text("theirs")
    links.link_command(tmp_path / "mash", tmp_path / "current/bin/mash")
    assert "left alone" in capsys.readouterr().err
    assert (tmp_path / "mash").read_text() == "theirs"


def name_by(interpreter: Path) -> str:
    """The name that an environment made by this interpreter gets."""
    command = [str(interpreter), "-I", str(ROOT / "mash_plugin/installer.py"), str(ROOT), "--name"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_one_interpreter_names_an_environment_alike_by_whatever_name_it_is_started(
    tmp_path: Path,
) -> None:
    names = [tmp_path / "python3", tmp_path / "python3.99"]
    for name in names:
        name.symlink_to(base_python())
    expected = name_by(Path(base_python()))
    assert [name_by(name) for name in (*names, Path(sys.executable))] == [expected] * 3


def test_every_command_is_linked_and_noted_and_goes_again(tmp_path: Path) -> None:
    places = installer.find_places({"MASH_HOME": str(tmp_path / "mash")})
    commands = places.data / "envs/1/bin"
    commands.mkdir(parents=True)
    for name in links.PROGRAMS:
        (commands / name).touch()
    (places.data / "current").symlink_to("envs/1")
    elsewhere = tmp_path / "elsewhere"
    links.note_links(places.data, links.link_commands(elsewhere, places.data))
    assert sorted(os.listdir(elsewhere)) == ["mash", "meaning-memory"]
    assert links.noted_folders(places.data) == [elsewhere]
    paths = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    assert {link.name for link in command_links(paths)} == set(links.PROGRAMS)
    (elsewhere / "meaning-memory").unlink()
    (elsewhere / "meaning-memory").write_text("theirs")
    assert [link.name for link in command_links(paths)] == ["mash"]


def test_a_pipe_in_place_of_the_note_of_links_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    os.mkfifo(tmp_path / "envs/links.json")
    assert links.noted_links(tmp_path) == []


def test_a_version_without_a_command_gets_no_dangling_link(tmp_path: Path) -> None:
    places = installer.find_places({"MASH_HOME": str(tmp_path / "mash")})
    (places.data / "current/bin").mkdir(parents=True)
    (places.data / "current/bin/mash").touch()
    environments.isolate_commands(places.data / "current")
    assert [link.name for link in links.link_commands(tmp_path / "bin", places.data)] == ["mash"]


def test_a_place_inside_a_clone_is_refused_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    places = installer.find_places({"MASH_HOME": str(tmp_path / "mash")})
    installer.refuse_unusable(places)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(SystemExit):
        installer.refuse_unusable(places)
    assert "git work tree" in capsys.readouterr().err


@pytest.mark.parametrize("given", [None, "", "  ", "relative", "/tmp/some place"])
def test_the_installer_and_init_agree_on_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    unpinned = SimpleNamespace(pw_dir=str(tmp_path))
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: unpinned)
    monkeypatch.setenv("HOME", str(tmp_path))
    if given is None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_DATA_HOME", given)
    planned = planned_paths({"HOME": str(tmp_path)})
    assert str(installer.data_folder(os.environ)) == os.path.abspath(planned.data)


def test_pins_are_written_once_and_found_again_by_the_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_dir=str(tmp_path)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "first"))
    write_pins({})
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "second"))
    write_pins({})
    assert find_paths({}).data == str(tmp_path / "first/mash")
    assert str(installer.data_folder(os.environ)) == str(tmp_path / "first/mash")
    assert (tmp_path / ".mash").stat().st_mode & 0o077 == 0


def test_no_pin_is_written_under_a_home_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_dir=str(tmp_path)))
    write_pins({"MASH_HOME": str(tmp_path / "root")})
    assert not (tmp_path / ".mash").exists()


def test_a_passing_home_is_never_pinned_for_the_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = tmp_path / "account"
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_dir=str(account)))
    monkeypatch.setenv("HOME", str(tmp_path / "passing"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "passing/data"))
    write_pins({})
    assert find_paths({}).data == str(account / ".local/share/mash")
    places = installer.find_places(os.environ)
    assert places.data == account / ".local/share/mash"
    assert places.commands == tmp_path / "passing/.local/bin"
    assert "memory is kept once for your account" in installer.plan(places, dict(os.environ), [])


def test_only_a_named_place_inside_a_work_tree_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_dir=str(tmp_path)))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    installer.refuse_unusable(installer.find_places({"HOME": str(tmp_path)}))
    with pytest.raises(SystemExit):
        installer.refuse_unusable(installer.find_places({"MASH_HOME": str(tmp_path / "mash")}))


def test_a_place_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for place, said in ((tmp_path / "file/mash", "not a folder"), ('/a "b"', "a character")):
        with pytest.raises(SystemExit):
            installer.refuse_unusable(installer.find_places({"MASH_HOME": str(place)}))
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line


def test_a_command_folder_that_is_a_file_is_told_and_the_command_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").write_text("")
    command = tmp_path / "current/bin/mash"
    assert not links.link_command(tmp_path / "bin/mash", command)
    (line,) = capsys.readouterr().err.splitlines()
    assert str(command) in line


@pytest.mark.parametrize(
    ("shell", "file", "said"),
    [
        ("/bin/zsh", None, ">> ~/.zprofile"),
        ("/bin/bash", None, ">> ~/.profile"),
        ("/bin/bash", ".bash_profile", ">> ~/.bash_profile"),
        ("/usr/bin/fish", None, "fish_add_path"),
    ],
)
def test_the_path_is_added_where_the_persons_shell_reads_it(
    tmp_path: Path, shell: str, file: str | None, said: str
) -> None:
    if file:
        (tmp_path / file).touch()
    environ = {"HOME": str(tmp_path), "SHELL": shell}
    assert said in links.path_command(tmp_path / "bin", environ)


@pytest.mark.parametrize("given", [{}, {"CLAUDE_CONFIG_DIR": "/other/a", "CODEX_HOME": "/b"}])
def test_the_plan_names_the_settings_that_each_agent_would_write(
    tmp_path: Path, given: dict[str, str]
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": str(tmp_path), **given}
    for agent in installer.AGENTS:
        (tmp_path / agent.command).symlink_to("/bin/true")
    told = installer.plan(installer.find_places(environ), environ, [])
    for host in HOSTS:
        settings = host.find_place(environ).config / host.SETTINGS
        assert f"{host.TITLE} (in {settings})" in told
    assert "indexes your agents' chats" in told
    told = installer.plan(installer.find_places(environ), environ, ["--no-agents", "--no-index"])
    assert "`mash init` then sets it up." in told


@pytest.mark.parametrize(
    ("option", "code", "said"),
    [
        ("--help", 0, "--no-agents"),
        ("--dry-run", 0, "Nothing was changed"),
        ("--bogus", 2, "bogus"),
    ],
)
def test_options_are_read_before_anything_is_built(
    home: Home, tmp_path: Path, option: str, code: int, said: str
) -> None:
    link = tmp_path / "install me"
    link.symlink_to(ROOT / "scripts/install")
    done = subprocess.run(
        [link, option],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not home.mash_home.exists()


def test_an_installation_that_waits_for_another_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Queue[str] = Queue()
    monkeypatch.setattr(environments, "say", told.put)

    def install() -> None:
        with environments.only_one(tmp_path / "data/envs"):
            told.put("in")

    second = Thread(target=install)
    with environments.only_one(tmp_path / "data/envs"):
        second.start()
        assert told.get(timeout=30).startswith("Another installation is at work")
        assert told.empty()
    assert told.get(timeout=30) == "in"
    second.join()


def test_no_on_the_terminal_leaves_nothing_behind(home: Home) -> None:
    code, shown = on_a_terminal(home, "n\n", str(ROOT / "scripts/install"))
    assert code == 1
    assert f"This builds mash in {home.mash_home}/data" in " ".join(shown.split())
    assert "Nothing was changed." in shown
    assert not home.mash_home.exists()


@pytest.mark.parametrize(("is_terminal", "flags"), [(True, ["--agreed"]), (False, ["--yes"])])
def test_on_a_terminal_init_asks_what_to_set_up(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    is_terminal: bool,
    flags: list[str],
) -> None:
    started: list[list[str]] = []
    monkeypatch.setenv("MASH_HOME", str(tmp_path / "mash"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: is_terminal))
    monkeypatch.setattr(installer, "agrees", lambda: True)
    monkeypatch.setattr(installer, "build", lambda folder, *_: folder.mkdir())
    monkeypatch.setattr(installer.os, "execve", lambda _file, words, _env: started.append(words))
    installer.main(ROOT, ["--no-index", "--personal"])
    ((_command, *words),) = started
    assert words == ["init", *flags, "--no-index", "--personal"]
    shown = capsys.readouterr().out
    assert ("done unasked, also in the settings of the agents" in shown) is not is_terminal
    assert ("`--no-agents` leaves those alone" in shown) is not is_terminal


def test_what_is_said_unasked_is_true_of_the_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    assert installer.agreed(["--no-agents"]) == ["--yes", "--no-agents"]
    shown = " ".join(capsys.readouterr().out.split())
    assert "the settings of the agents are left alone" in shown
    assert "also in the settings" not in shown


@pytest.mark.parametrize(
    ("options", "had_it", "is_added"),
    [([], False, False), (["--postgres"], False, True), ([], True, True)],
)
def test_the_driver_of_postgres_comes_when_asked_for_and_is_kept(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: list[str],
    had_it: bool,
    is_added: bool,
) -> None:
    driver = Path("lib/python3.11/site-packages/psycopg/__init__.py")
    envs = tmp_path / "mash/data/envs"
    (envs / "former" / driver.parent).mkdir(parents=True)
    (envs.parent / "current").symlink_to("envs/former")
    if had_it:
        (envs / "former" / driver).touch()
    ran: list[list[str]] = []
    started: list[list[str]] = []
    monkeypatch.setenv("MASH_HOME", str(tmp_path / "mash"))
    monkeypatch.setattr(installer, "build", lambda folder, *_: folder.mkdir())
    monkeypatch.setattr(environments, "run", lambda command, _: ran.append(command))
    monkeypatch.setattr(installer.os, "execve", lambda _file, words, _env: started.append(words))
    installer.main(ROOT, ["--yes", *options])
    assert [command[-1] for command in ran] == [environments.DRIVER] * is_added
    assert started[0][1:] == ["init", "--yes"]


def test_the_driver_is_the_one_that_the_package_names() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert package["optional-dependencies"]["postgres"] == [environments.DRIVER]


def test_a_named_python_that_is_none_is_an_error(home: Home) -> None:
    done = run_install(ROOT, home, PYTHON="/nonexistent")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "mash: PYTHON=/nonexistent is no Python 3.11 or newer; correct it or leave it out."
    ]


@pytest.mark.parametrize("folder", ["plain", "with a space", "deep/" + "d" * 120])
def test_no_variable_brings_an_installed_command_other_modules(tmp_path: Path, folder: str) -> None:
    python = tmp_path / folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(base_python())
    (tmp_path / "sitecustomize.py").write_text("print('planted')\n")
    code = "import sys\nprint(sys.flags.isolated, sys.argv[1:])\n"
    by_shell = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    for written_by_pip in (f"#!{python}\n", by_shell):
        command = python.with_name("mash")
        command.write_text(written_by_pip + code)
        command.chmod(0o755)
        links.isolate(command, python)
        planted = {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run([command, "a b"], env=planted, capture_output=True, check=True)
        assert done.stdout == b"1 ['a b']\n"


def test_the_telling_lines_of_a_failure_are_shown_with_what_to_do() -> None:
    offline = """\
WARNING: Retrying (Retry(total=4)) after connection broken by \
'NewConnectionError(': Failed to establish a new connection: no route to host')': /hatchling/
ERROR: Could not find a version that satisfies the requirement hatchling
ERROR: No matching distribution found for hatchling
"""
    assert "no route to host" in environments.telling(offline)
    assert "No matching distribution found for hatchling" in environments.telling(offline)
    assert "PIP_INDEX_URL" in environments.advice_on(offline)
    venv = "Error: Command '[python, -m, ensurepip]' returned non-zero exit status 1."
    assert "ensurepip" in environments.telling(venv)
    assert "-venv" in environments.advice_on(venv)


def test_a_build_that_fails_says_why_and_leaves_no_half_environment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    quick: str,
) -> None:
    monkeypatch.setattr(sys, "executable", quick)
    (tmp_path / "broken").mkdir()  # nothing that pip could install
    with pytest.raises(SystemExit):
        environments.build(tmp_path / "envs/1", tmp_path / "broken", {"PATH": SYSTEM_PATH})
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install" in line
    assert "broken" in line
    assert line.endswith("run scripts/install again.")
    assert not (tmp_path / "envs/1").exists()
