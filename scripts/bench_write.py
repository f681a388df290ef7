"""Write what was measured into docs/bench and, in short, into the README."""

import inspect
import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path

import apsw
from bench_place import EVENTS, ROOT
from bench_rows import ROWS
from bench_svg import Bar, Curve, bars, curves, times
from bench_table import Line

FOLDER, README = ROOT / "docs" / "bench", ROOT / "README.md"
BEGIN, END = "<!-- figures: written by scripts/bench --write -->", "<!-- end of figures -->"
MANY = 100
FLOOR = "python -I -S -c pass"
Rows = Mapping[str, Sequence[Line]]


def about(command: str, beside: str) -> dict[str, str]:
    """When and where this is measured, by which command, and what else runs."""
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    told = {"date": date, "commit": commit.strip(), "machine": machine()}
    return {**told, "command": command, "beside": beside}


def write(rows: Rows, about: Mapping[str, str]) -> None:
    """The figures as data, as a table and as plots; the README has the most important ones."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = {line.key: line for row in rows.values() for line in row if line.key}
    told = {name: [_plain(asdict(line)) for line in row] for name, row in rows.items()}
    whole = json.dumps({**about, "rows": told}, indent=1, ensure_ascii=False)
    (FOLDER / "results.json").write_text(clean(whole) + "\n", "utf-8")
    (FOLDER / "README.md").write_text(clean("\n".join(_table(about, rows))) + "\n", "utf-8")
    for name, plot in plots(lines):
        (FOLDER / name).write_text(plot, "utf-8")
    text = README.read_text("utf-8")
    if BEGIN in text:
        short = "\n".join(_short(about, lines))
        rest = re.escape(BEGIN) + ".*?" + re.escape(END)
        text = re.sub(rest, lambda _: f"{BEGIN}\n{short}\n{END}", text, flags=re.DOTALL)
        README.write_text(text, "utf-8")


def machine() -> str:
    """Processor, cores, memory and versions; nothing that names the machine."""
    models = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    size = f", {int(memory[1]) / 2**20:.0f} GB" if memory else ""
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    versions = f"CPython {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    model = models[0] if models else platform.machine()
    return f"{model}, {os.cpu_count()} cores{size}, {system}, {versions}"


def clean(text: str) -> str:
    """Without the folders of this machine."""
    return text.replace(str(ROOT), ".").replace(str(Path.home()), "~")


def plots(lines: Mapping[str, Line]) -> Iterator[tuple[str, str]]:
    """Name and content of each plot that there are figures for."""
    hooks = [
        Bar(key.partition("/")[2], line.value, is_ours=False)
        for key, line in lines.items()
        if key.startswith("peers/") and not (key.startswith("peers/mash") or isnan(line.value))
    ]
    ours = [(name, lines[f"hooks/{name}"].value) for name in EVENTS if f"hooks/{name}" in lines]
    hooks += [Bar(f"mash {name}", value, is_ours=True) for name, value in ours]
    if hooks:
        title = "A hook beside the bare interpreter"
        said = f"wall time over that of {FLOOR}, medians of paired runs; shorter is better"
        yield "hooks.svg", bars(title, said, hooks)
    drawn = [Curve(name, points) for name, points in growth(lines).items() if len(points) > 1]
    if drawn:
        title = "How calls grow with what is stored"
        said = "records or messages; medians, and dashed the slowest in a hundred"
        yield "growth.svg", curves(title, said, drawn)


def growth(lines: Mapping[str, Line]) -> dict[str, list[tuple[float, float, float]]]:
    """Size, median and the slowest in a hundred of each kind of call."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for key, line in lines.items():
        if key.startswith("growth/") and "/p50/" in key:
            _, name, _, size = key.split("/")
            slow = lines[key.replace("/p50/", "/p99/")].value
            found.setdefault(name, []).append((float(size), line.value, slow))
    return found


def _plain(line: dict[str, object]) -> dict[str, object]:
    """Without what is not given; what was not measured is null."""
    value = line["value"]
    kept = {name: of for name, of in line.items() if of not in (None, "")}
    return kept | {"value": None if isinstance(value, float) and isnan(value) else value}


def _value(line: Line) -> str:
    """A count without decimals, everything else as at the terminal."""
    is_count = line.value >= MANY and float(line.value).is_integer()
    shown = f"{line.value:,.0f}" if is_count else line.shown
    return f"{shown} {line.unit}".strip()


def _about(about: Mapping[str, str]) -> str:
    beside = f" Beside it ran: {about['beside']}." if about["beside"] else ""
    when, machine = f"{about['date']} at {about['commit']}", about["machine"]
    return f"Measured {when} on {machine}, by `{about['command']}`.{beside}"


def _table(about: Mapping[str, str], rows: Rows) -> Iterator[str]:
    yield "# What was measured\n"
    yield _about(about)
    yield "\nWritten by `scripts/bench --write`, beside `results.json`, which has the same as data."
    for name, row in rows.items():
        how = inspect.getdoc(ROWS[name]) or ""
        yield f"\n## {name}\n\n{how}\n\n| what | value | promise | note |\n|---|---:|---|---|"
        for line in row:
            missed = " **missed**" * line.is_missed
            value = _value(line)
            yield f"| {line.what.strip()} | {value} | {line.promise}{missed} | {line.note} |"


def _short(about: Mapping[str, str], lines: Mapping[str, Line]) -> Iterator[str]:
    yield _about(about)
    yield from _short_hooks(lines)
    sizes = growth(lines)
    if sizes:
        yield "\n![How calls grow with what is stored](docs/bench/growth.svg)\n"
        counts = sorted({size for points in sizes.values() for size, *_ in points})
        heads = " | ".join(f"{count:,.0f}" for count in counts)
        yield f"| median / slowest in a hundred, ms | {heads} | grows with the power |"
        yield f"|---|{'---:|' * len(counts)}---:|"
        for name, points in sizes.items():
            cells = {size: f"{p50:.1f} / {p99:.1f}" for size, p50, p99 in points}
            row = " | ".join(cells.get(count, "") for count in counts)
            yield f"| {name} | {row} | {lines[f'exponent/{name}'].shown} |"
    others = [line for key, line in lines.items() if key.startswith("short/")]
    if others:
        yield "\n| what else | | promise |\n|---|---:|---|"
        yield from (f"| {ln.what} | {_value(ln)} | {ln.promise} |" for ln in others)
    yield "\nEverything that was measured: [docs/bench](docs/bench/README.md)."


def _short_hooks(lines: Mapping[str, Line]) -> Iterator[str]:
    yield "\n![A hook beside the bare interpreter](docs/bench/hooks.svg)\n"
    yield f"| hook | beside `{FLOOR}` | |\n|---|---:|---|"
    for name in EVENTS:
        if line := lines.get(f"hooks/{name}"):
            calls = lines.get(f"calls/{name}")
            told = f"{calls.value:.0f} system calls; {line.note}" if calls else line.note
            yield f"| mash {name} | {times(line.value)}x | {told} |"
    if bare := lines.get(f"calls/{FLOOR}"):
        yield f"| the bare interpreter | 1x | {bare.value:.0f} system calls |"
    for key, line in lines.items():
        if key.startswith("peers/") and not key.startswith("peers/mash"):
            ratio = "" if isnan(line.value) else f"{times(line.value)}x"
            yield f"| {key.partition('/')[2]} | {ratio} | {line.note} |"
