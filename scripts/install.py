"""Build a versioned environment, point `current` at it, link `mash` and run `mash init`.

Called by scripts/install with the interpreter to use; standard library only.
"""

import fcntl
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SOURCES = ("mash_plugin", "hooks", "skills", ".claude-plugin", ".codex-plugin")
FILES = ("pyproject.toml", ".mcp.json", "README.md")
COMPLETE = ".complete"
NOT_FOR_PIP = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")


def main(root: Path, options: list[str]) -> None:
    """Install, then become `mash init`; options are its options."""
    environ = dict(os.environ)
    home = environ.get("MASH_HOME")
    data = Path(os.path.abspath(home), "data") if home else data_folder(environ)
    refuse_git_tree(data)
    with only_one(data / "envs"):
        environment = data / "envs" / name_of(root)
        if (environment / COMPLETE).exists():
            print(f"mash is built already: {environment}")
        else:
            build(environment, root, environ)
        point(data / "current", f"envs/{environment.name}")
        drop_unused(data / "envs", environment)
    folder = Path(os.path.abspath(home), "bin") if home else Path.home() / ".local" / "bin"
    link_command(folder / "mash", data / "current" / "bin" / "mash", environ)
    if not sys.stdin.isatty() and "--yes" not in options:
        options = ["--yes", *options]
    command = str(data / "current" / "bin" / "mash")
    sys.stdout.flush()
    os.execv(command, [command, "init", *options])  # noqa: S606 - no shell is wanted


def data_folder(environ: Mapping[str, str]) -> Path:
    """The pinned data folder, else the one that platformdirs gives `mash init` to pin."""
    try:
        pins = json.loads(Path(pwd.getpwuid(os.getuid()).pw_dir, ".mash/paths.json").read_bytes())
        return Path(pins["data"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    given = environ.get("XDG_DATA_HOME", "").strip()
    if given and os.path.isabs(given):
        return Path(given, "mash")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "mash"
    return Path.home() / ".local" / "share" / "mash"


def refuse_git_tree(data: Path) -> None:
    """A repository must not be able to bring a ready-made memory."""
    for folder in (data, *data.parents):
        git = folder / ".git"
        # An empty one is what Codex's sandbox leaves in /tmp while it runs (seen in 0.171.0).
        if (git / "HEAD").exists() or (git.is_file() and git.stat().st_size):
            fail(f"{data} lies inside the git work tree {folder}; choose a MASH_HOME outside it.")


def name_of(root: Path) -> str:
    """VERSION-HASH of the sources and the interpreter: equal sources are built once."""
    digest = hashlib.sha256(f"{sys.version}\0{sys.executable}\0".encode())
    files = [root / name for name in FILES]
    for folder in SOURCES:
        files += [f for f in sorted((root / folder).rglob("*")) if f.suffix not in (".pyc", ".pyo")]
    for file in files:
        if file.is_file():
            digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return f"{version}-{digest.hexdigest()[:12]}"


def build(environment: Path, root: Path, environ: Mapping[str, str]) -> None:
    """Make the environment at its final place: a moved one would not start."""
    print(f"Building {environment} (this fetches the libraries it needs) ...", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    quiet = {name: value for name, value in environ.items() if name not in NOT_FOR_PIP}
    python = str(environment / "bin" / "python")
    run([sys.executable, "-I", "-m", "venv", str(environment)], quiet)
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
    run([*pip, "--disable-pip-version-check", str(root)], quiet)
    run([str(environment / "bin" / "mash"), "--version"], quiet)
    (environment / COMPLETE).touch()


def run(command: list[str], environ: Mapping[str, str]) -> None:
    """Run one step; end with one line that names it when it fails."""
    done = subprocess.run(
        command, env=dict(environ), capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if "error" in line.lower()]
        said = (errors or lines or ["no message"])[-1].strip()
        fail(f"`{' '.join(command)}` failed: {said}. Correct that and run scripts/install again.")


def point(link: Path, target: str) -> None:
    """Move a link in one step, so that a hook starts the old or the new, never nothing."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


def link_command(link: Path, target: Path, environ: Mapping[str, str]) -> None:
    """Link `mash` into a folder of the person's, unless something else lies there."""
    if os.path.lexists(link) and not (link.is_symlink() and is_ours(link)):
        print(
            f"mash: {link} is not from here and was left alone; the command is {target}",
            file=sys.stderr,
        )
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    point(link, str(target))
    on_path = [os.path.realpath(p) for p in environ.get("PATH", os.defpath).split(os.pathsep) if p]
    if os.path.realpath(link.parent) in on_path:
        print(f"mash is linked as {link}")
        return
    print(f"mash is linked as {link}, but {link.parent} is not on PATH. Add it, for example with:")
    print(f"""  echo 'export PATH="{link.parent}:$PATH"' >> ~/.profile""")


def is_ours(link: Path) -> bool:
    """Whether this link was made by an installation of mash."""
    return Path(os.readlink(link)).parts[-3:] == ("current", "bin", "mash")


def drop_unused(envs: Path, current: Path) -> None:
    """Remove former environments that no process runs from; where that cannot be told, none."""
    for folder in envs.iterdir():
        if folder.is_dir() and folder != current and is_unused(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_unused(folder: Path) -> bool:
    """Whether no process of ours has a file of this folder mapped."""
    processes = Path("/proc")
    if not (processes / "self" / "maps").exists():
        return False
    wanted = os.fsencode(folder) + b"/"
    for process in processes.iterdir():
        try:
            if process.name.isdigit() and wanted in (process / "maps").read_bytes():
                return False
        except OSError:
            continue
    return True


@contextmanager
def only_one(envs: Path) -> Iterator[None]:
    """Let one installation at a time work here."""
    data = envs.parent
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    envs.mkdir(exist_ok=True, mode=0o700)
    with (envs / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fail(message: str) -> None:
    """End with one line."""
    print(f"mash: {message}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
