"""Wheels of this checkout and of changed ones, and environments that take no minute to build."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.support.homes import ROOT

FOLDERS = ("mash_plugin", "hooks", "skills", "scripts", ".claude-plugin", ".codex-plugin")
NOTHING: Mapping[str, str] = MappingProxyType({})
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".mcp.json")


def base_python() -> str:
    """The interpreter outside any virtual environment."""
    return str(getattr(sys, "_base_executable", sys.executable))


def quick_python(folder: Path) -> str:
    """The same interpreter and its library, but environments made with it borrow pip from here.

    To unpack and compile a pip takes each of them longer than mash itself. Where an interpreter
    cannot be copied, it is the one outside any environment.
    """
    base, library = Path(base_python()).resolve(), Path(os.__file__).parent
    python, lent = folder / "bin" / base.name, folder / "lib" / library.name
    for made in (python.parent, lent / "ensurepip", folder / "lent"):
        made.mkdir(parents=True)
    shutil.copy2(base, python)
    for path in library.iterdir():
        if path.name not in ("ensurepip", "site-packages"):
            (lent / path.name).symlink_to(path)
    for path in [*_packages().glob("pip"), *_packages().glob("pip-*")]:
        (folder / "lent" / path.name).symlink_to(path)
    (lent / "ensurepip/__init__.py").touch()
    line = f"{folder / 'lent'}\n"
    (lent / "ensurepip/__main__.py").write_text(
        "import pathlib, sysconfig\n"
        f"pathlib.Path(sysconfig.get_path('purelib'), 'pip_of_tests.pth').write_text({line!r})\n"
    )
    probe = [python, "-I", "-c", "import ensurepip, venv; print(ensurepip.__file__)"]
    found = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=60).stdout
    return str(python) if Path(found.strip()).is_relative_to(folder) else base_python()


def copy_checkout(folder: Path) -> Path:
    """What a clone holds, without history, caches and environments."""
    folder.mkdir(parents=True)
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


def set_version(checkout: Path, version: str) -> None:
    """Let a checkout be another version."""
    file = checkout / "pyproject.toml"
    lines = file.read_text().splitlines(keepends=True)
    new = f'version = "{version}"\n'
    file.write_text("".join(new if line.startswith("version = ") else line for line in lines))


def wheel_as(wheel: Path, folder: Path, version: str, added: Mapping[str, str] = NOTHING) -> Path:
    """That wheel as another version, with texts added to files of it: quicker than to build it."""
    name, former, *_ = wheel.name.split("-")
    head, new_head = f"{name}-{former}.dist-info/", f"{name}-{version}.dist-info/"
    made = folder / wheel.name.replace(former, version, 1)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(made, "w") as target:
        assert set(added) <= set(source.namelist())
        for file in source.namelist():
            content = source.read(file) + added.get(file, "").encode()
            if file == f"{head}METADATA":
                content = content.replace(
                    f"\nVersion: {former}\n".encode(), f"\nVersion: {version}\n".encode()
                )
            if file == f"{head}RECORD":  # without sums, which pip does not ask for
                names = (line.partition(",")[0] for line in content.decode().splitlines())
                content = "".join(f"{one.replace(head, new_head)},,\n" for one in names).encode()
            target.writestr(file.replace(head, new_head), content)
    return made


def checkout_before(folder: Path) -> Path:
    """The commit before this one; where no history is at hand, this checkout with its version."""
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", "HEAD~1"], capture_output=True, check=False, timeout=60
    )
    if archive.returncode != 0:
        copy_checkout(folder)
    else:
        folder.mkdir(parents=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True, timeout=60)
    with (folder / "mash_plugin" / "__main__.py").open("a") as file:
        file.write("# Not what it is now: a commit may change nothing of the package.\n")
    return folder


def wheel_of(checkout: Path, folder: Path) -> Path:
    """The wheel that pip builds of a checkout."""
    out = folder / f"wheel-of-{checkout.name}"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out, checkout]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (built,) = out.glob("*.whl")
    return built


def lend_libraries(folder: Path) -> dict[str, str]:
    """Pip's settings with which an environment gets the libraries of this one, not copies.

    Every library that mash needs is an empty wheel there; one of them leads to those that are
    installed here, so that nothing is fetched and little is written. They are newer than any.
    """
    folder.mkdir(parents=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for number, requirement in enumerate(project["dependencies"]):
        name, _, bounds = requirement.partition(">=")
        files = {"libraries_of_tests.pth": f"{_packages()}\n"} if number == 0 else {}
        above = bounds.partition("<")[2]
        newest = f"{int(above) - 1}.9999" if above else "9999"
        _write_stub(folder, name.replace("-", "_"), newest, files)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def _packages() -> Path:
    return next(Path(path) for path in sys.path if path.endswith("site-packages"))


def _write_stub(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    info = f"{name}-{version}.dist-info"
    written = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*written, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in {**written, f"{info}/RECORD": record}.items():
            wheel.writestr(file, text)
