"""Build the packages, install them where nothing else is, and use them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_data import typed_line

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MAY_USE = re.compile(r"MIT|BSD|Apache|ISC|PSF|MPL|Mozilla Public|Unlicense|Zlib|any-OSI", re.I)
COPYLEFT = re.compile(r"(?<!OR )\b[AL]?GPL|Affero|GNU", re.I)
OPTIONAL = {"psycopg": "LGPL", "psycopg-binary": "LGPL"}
"""Installed by whoever asks for the extra, unchanged and as a library of its own."""
WORDS = "From now on always run the linter before a commit."


def packages(root: Path) -> Iterator[str]:
    """What fails when wheel and sdist are installed and used; one line each."""
    with working_folder() as folder:
        wheel, sdist = build(root, folder)
        pythons = found_pythons()
        if not pythons:
            yield f"no Python of {', '.join(PYTHONS)} was found"
        for number, python in enumerate(pythons):
            for package in (wheel, sdist) if number == 0 else (wheel,):
                fault = fault_of(python, package, folder)
                print(f"{package.name} on {python}: {fault or 'works'}", flush=True)
                if fault:
                    yield f"{package.name} on {python}: {fault}"


def licences(root: Path) -> Iterator[str]:
    """Which libraries may not be used, or do not say how they may be."""
    with working_folder() as folder:
        wheel, _ = build(root, folder)
        python = environment(Path(sys.executable), folder / "licences")
        install(python, f"{wheel}[postgres]")
        listed = json.loads(run([python, "-c", LIST_LICENCES]))
    for name, licence in listed:
        if not may_use(name, licence):
            yield f"{name} has the licence {licence or 'nothing'!r}"
    print(f"{len(listed)} libraries")


def may_use(name: str, licence: str) -> bool:
    """Whether a library under this licence may be installed with ours."""
    if name in OPTIONAL:
        return OPTIONAL[name] in licence
    return MAY_USE.search(licence) is not None and COPYLEFT.search(licence) is None


def audit(root: Path) -> Iterator[str]:
    """Known faults of the libraries, as far as the service of pip-audit answers."""
    with working_folder() as folder:
        wheel, _ = build(root, folder)
        python = environment(Path(sys.executable), folder / "audit")
        install(python, str(wheel), "pip-audit")
        command = [str(python), "-m", "pip_audit", "--local", "--skip-editable", "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        libraries = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"audit: not done, its service did not answer ({last[:120]})")
        return
    for library in libraries:
        for fault in library.get("vulns", []):
            yield f"{library['name']} {library['version']}: {fault['id']}"


LIST_LICENCES = """
import importlib.metadata, json
def licence(about):
    kinds = [c for c in about.get_all("Classifier", []) if c.startswith("License")]
    return about.get("License-Expression") or "; ".join(kinds) or about.get("License") or ""
found = {d.metadata["Name"]: licence(d.metadata) for d in importlib.metadata.distributions()}
print(json.dumps(sorted(found.items())))
"""


@contextmanager
def working_folder() -> Iterator[Path]:
    """A folder outside every repository, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="mash-check-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build(root: Path, folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of what is committed, the wheel built from the sdist."""
    clone, out = folder / "clone", folder / "packages"
    run(["git", "clone", "--quiet", root, clone])
    python = environment(Path(sys.executable), folder / "build")
    install(python, "hatchling")
    run([python, "-m", "hatchling", "build", "-t", "sdist", "-d", out], cwd=clone)
    [sdist] = out.glob("*.tar.gz")
    run([python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out, sdist])
    [wheel] = out.glob("*.whl")
    return wheel, sdist


def found_pythons() -> list[Path]:
    """One interpreter of each supported version that is on PATH or in a pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in PYTHONS:
        places = [*sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
        on_path = shutil.which(f"python{version}")
        candidates = [*places, *([Path(on_path)] if on_path else [])]
        working = (
            p for p in candidates if not subprocess.run([p, "-c", ""], check=False).returncode
        )
        found += [python for python in [next(working, None)] if python]
    return found


def environment(python: Path, folder: Path) -> Path:
    """The interpreter of a new environment."""
    run([python, "-m", "venv", folder])
    return folder / "bin" / "python"


def install(python: Path, *what: str) -> None:
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what])


def fault_of(python: Path, package: Path, folder: Path) -> str | None:
    """Why a package does not work on this Python, or None."""
    place = folder / f"use-{uuid.uuid4().hex[:8]}"
    try:
        own = environment(python, place / "environment")
        install(own, str(package))
        return use(own, place)
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or "").strip().splitlines()[-3:]
        return f"{' '.join(map(str, error.cmd[:4]))} failed: {' / '.join(last)}"


def use(python: Path, place: Path) -> str | None:
    """Save a record by its words and see it at the next session's start."""
    project, claude = place / "project", place / "claude"
    folder = claude / "projects" / "check"
    for made in (project, folder, place / "home"):
        made.mkdir(parents=True)
    run(["git", "init", "--quiet", project])
    session = str(uuid.uuid4())
    (folder / f"{session}.jsonl").write_bytes(typed_line(session, str(project), WORDS))
    variables = {"HOME": place / "home", "MASH_HOME": place / "mash", "CLAUDE_CONFIG_DIR": claude}
    env = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        **{k: str(v) for k, v in variables.items()},
    }
    mash = [python.parent / "mash"]
    try:
        run([*mash, "--version"], env=env, cwd=project)
        run([*mash, "init", "--yes", "--no-agents"], env=env, cwd=project)
        change = saved(session, project)
        run([*mash, "call", "record", json.dumps(change)], env=env, cwd=project)
        [hook] = (python.parent.parent / "lib").glob(
            "*/site-packages/mash_plugin/plugin/hooks/session-start"
        )
        event = {"session_id": str(uuid.uuid4()), "cwd": str(project), "source": "startup"}
        event |= {"hook_event_name": "SessionStart", "transcript_path": f"{folder}/none.jsonl"}
        said = run(
            [python, "-I", "-S", hook, "claude-code"], env=env, cwd=project, stdin=json.dumps(event)
        )
    finally:
        subprocess.run([*mash, "daemon", "stop"], env=env, check=False, capture_output=True)
    return None if "run the linter" in said else f"a session start said {said[:80]!r}"


def saved(session: str, project: Path) -> dict[str, Any]:
    """The change that saves the person's words as a preference of the project."""
    return {
        "operation_id": str(uuid.uuid4()),
        "change": {
            "action": "create",
            "scope": {"kind": "local_project", "path": str(project)},
            "body": {
                "statement": "Always run the linter before a commit.",
                "review": "established",
                "details": {"kind": "preference", "state": "active"},
            },
            "evidence": [{"session_id": session, "quote": WORDS, "purpose": "endorsement"}],
        },
    }


def run(command: list[Any], *, stdin: str = "", **how: Any) -> str:  # noqa: ANN401 - subprocess's own
    """What a command prints. Raises CalledProcessError."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=True, **how)
    return str(done.stdout)
