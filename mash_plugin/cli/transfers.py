"""Let the daemon export or import: progress goes to standard error, and ^C breaks it off there."""

import secrets
import threading
from contextlib import suppress
from typing import Any

import click

from mash_plugin import client
from mash_plugin.cli.progress import Progress
from mash_plugin.errors import MashError

WAIT_S = 6 * 3600.0
POLL_S = 0.5
ASK_S = 5.0
Json = dict[str, Any]


def run_transfer(method: str, request: Json) -> Json:
    """The result of a transfer. Raises what the daemon raises, Abort when it was broken off."""
    run = secrets.token_hex(8)
    asked = _Asked(method, request | {"run": run})
    asked.start()
    try:
        _watch(asked, run)
    except KeyboardInterrupt as error:
        return _broken_off(asked, run, error)
    return asked.result()


class _Asked(threading.Thread):
    """Waits for the reply, so that the main thread can tell and hear ^C meanwhile."""

    def __init__(self, method: str, request: Json) -> None:
        super().__init__(daemon=True)
        self._method, self._request = method, request
        self._reply: Json = {}
        self._error: BaseException | None = None
        self.is_answered = threading.Event()

    def run(self) -> None:
        try:
            self._reply = client.call(self._method, self._request, timeout_s=WAIT_S)
        except BaseException as error:  # raised again where the result is wanted
            self._error = error
        self.is_answered.set()

    def result(self) -> Json:
        """The reply. Raises what came instead."""
        if self._error:
            raise self._error
        return self._reply


def _watch(asked: _Asked, run: str) -> None:
    step, progress = "", Progress("")
    try:
        while not asked.is_answered.wait(POLL_S):
            told = _progress(run)
            if told is None:
                continue
            if told["step"] != step:
                progress.end()
                step, progress = told["step"], Progress(told["step"], unit=told["unit"])
            progress.show(told["done"], told["total"])
    finally:
        progress.end()


def _progress(run: str) -> Json | None:
    with suppress(MashError):  # the transfer itself tells what is wrong
        told = client.call("transfer_progress", {"run": run}, start=False, timeout_s=ASK_S)
        progress: Json | None = told["progress"]
        return progress
    return None


def _broken_off(asked: _Asked, run: str, error: KeyboardInterrupt) -> Json:
    """What was asked for, where it was done before ^C came to it."""
    click.echo("Breaking off ...", err=True)
    with suppress(MashError):
        client.call("break_off_transfer", {"run": run}, start=False, timeout_s=ASK_S)
    asked.is_answered.wait()
    try:
        return asked.result()
    except MashError as failure:
        click.echo(f"mash: {failure.message}", err=True)
        raise click.Abort from error
