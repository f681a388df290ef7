"""Ask the doctor, do what it says, ask again."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.homes import Home

Json = dict[str, Any]
Environment = Mapping[str, str] | None


def examined(
    home: Home, *options: str, cwd: Path | None = None, env: Environment = None
) -> tuple[int, Json]:
    """The exit code and the JSON of `mash doctor`."""
    done = home.mash("doctor", "--json", *options, cwd=cwd, env=env)
    assert done.err == "", done
    report = json.loads(done.out)
    assert isinstance(report, dict)
    return done.code, report


def findings(home: Home, category: str, **where: Any) -> list[Json]:
    """What one category of checks found."""
    found = examined(home, "--category", category, **where)[1]["findings"]
    assert isinstance(found, list)
    return found


def named(home: Home, category: str, name: str, **where: Any) -> Json:
    """The one finding of that name."""
    found = findings(home, category, **where)
    (one,) = [one for one in found if one["name"] == name] or [{}]
    assert one, found
    return one


def is_gone(home: Home, category: str, name: str, **where: Any) -> bool:
    return name not in {one["name"] for one in findings(home, category, **where)}


def shell(home: Home, command: str, **where: Any) -> None:
    """Run a command as a person would who copies it."""
    done = home.run("sh", "-c", command, **where)
    assert done.code == 0, done


def mend(home: Home, category: str, name: str, **where: Any) -> Json:
    """Find the fault, run the command that is printed, and see that it is gone; the finding."""
    one = named(home, category, name, **where)
    assert one["next"], one
    shell(home, one["next"], **where)
    assert is_gone(home, category, name, **where), one
    return one


def fix(home: Home, category: str, name: str, **where: Any) -> Json:
    """Find the fault, repair it by --fix, and see that it is gone; what was told of the repair."""
    assert named(home, category, name, **where)["fixable"]
    report = examined(home, "--category", category, "--fix", **where)[1]
    (told,) = [one for one in report["repairs"] if one["name"] == name]
    assert told["done"], told
    assert name not in {one["name"] for one in report["findings"]}
    assert is_gone(home, category, name, **where)
    assert isinstance(told, dict)
    return told


def change_store(home: Home, *statements: str) -> None:
    """Change the rows of the store behind the daemon's back."""
    home.mash("daemon", "stop")
    with sqlite3.connect(home.mash_home / "data/records.db") as store:
        for statement in statements:
            store.execute(statement)
    store.close()
