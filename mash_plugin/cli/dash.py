"""`mash dash`: the memory in the browser, read-only, for as long as this terminal lives."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from mash_plugin.dashboard.address import TOKEN, listen
from mash_plugin.errors import InvalidArgument
from mash_plugin.paths import Paths, find_paths
from mash_plugin.wording import counted

if TYPE_CHECKING:
    from mash_plugin.dashboard.place import Place


@click.command()
@click.option("--no-open", is_flag=True, help="Print the address; open no browser.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port; 0 takes a free one."
)
@click.option(
    "--export",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE.html",
    help="Write one page of a selection instead, for others to read; credentials are masked.",
)
@click.option("--select", "query", default="", help="What --export writes, as in an address.")
@click.option("--force", is_flag=True, help="Let --export replace a file that is there.")
def dash(no_open: bool, port: int, file: str | None, query: str, force: bool) -> int:
    """Show what is remembered, and why, in the browser; nothing can be changed there.

    It listens on this machine alone, and its address works once. Ctrl-C ends it.
    """
    paths = find_paths(os.environ)
    if file is not None:
        return _export(paths, file, query, force)
    from mash_plugin import client

    gc.disable()  # what is imported from here on stays; the server turns it on
    _end_with_terminal()
    with client.lease(paths):
        sockets = listen(port)
        # Not `secrets`: what it imports costs a tenth of the time until the address is there.
        token, root = os.urandom(32).hex(), "/" + os.urandom(16).hex()
        address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}{root}/?{TOKEN}={token}"
        click.echo(address)
        click.echo("It works once, in one browser. Ctrl-C ends the dashboard.", err=True)
        if not no_open and _has_windows():
            threading.Thread(target=_open, args=(address,), daemon=True).start()
        # Late: the socket listens, so that a browser waits while these are read.
        from mash_plugin.dashboard.server import serve

        with suppress(KeyboardInterrupt):
            serve(sockets, token, _place(paths, root))
    return 0


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)


def _place(paths: Paths, root: str = "") -> "Place":
    from mash_plugin.dashboard.findings import Findings
    from mash_plugin.dashboard.place import Place

    return Place(
        ask=_ask(paths), findings=Findings(lambda: _findings(paths)), paths=paths, root=root
    )


def _ask(paths: Paths) -> Any:  # noqa: ANN401 - see `Place.ask`
    from mash_plugin import client

    def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return client.call(method, params, paths=paths)

    return ask


def _findings(paths: Paths) -> list[dict[str, Any]]:
    """What the doctor finds, masked as every output."""
    from mash_plugin.cli.doctor import machine_of
    from mash_plugin.doctor import telling
    from mash_plugin.doctor.examination import examine

    machine = machine_of(paths)
    shown, _ = telling.masked(examine(machine), [], machine.settings)
    found: list[dict[str, Any]] = telling.as_json(shown)["findings"]
    return found


def _export(paths: Paths, file: str, query: str, force: bool) -> int:
    from mash_plugin.dashboard.export import export_page, selection_of

    if not file:
        raise click.UsageError("--export needs the name of a file, or '-' for standard output.")
    if file != "-" and os.path.lexists(file) and not force:
        raise InvalidArgument(f"{file} is there already; --force replaces it.")
    folder = os.path.dirname(os.path.realpath(file))
    if file != "-" and not os.path.isdir(folder):
        raise InvalidArgument(f"{folder} is no folder; make it, or name another file.")
    from pathlib import Path

    from mash_plugin.file_writing import replace_file
    from mash_plugin.privacy.credentials import mask

    page, count = export_page(_place(paths), selection_of(query))
    if file == "-":
        click.echo(page, nl=False)
        return 0
    replace_file(Path(file), page.encode(), 0o600)
    click.echo(f"Wrote {mask(file)}: {counted(count, 'record')}, credentials masked.")
    return 0


def _has_windows() -> bool:
    """Whether a browser would open in a window: one of text would take this terminal."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)


def _end_with_terminal() -> None:
    """End when the terminal goes, also where the shell asked for no signal (`disown`)."""
    if not sys.stdin.isatty():
        return
    import select

    poller = select.poll()
    poller.register(sys.stdin.fileno(), 0)  # a hang-up is always told

    def watch() -> None:
        poller.poll()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
