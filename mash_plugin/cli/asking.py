"""How commands ask for what they show: in plain words, for this folder, page by page."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from mash_plugin.render.text import clean


def plain(text: str) -> str:
    """The argument without bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def call_here(tool: str, request: dict[str, Any], here: bool) -> dict[str, Any]:
    """The result of a tool, for the project of this folder alone if so wanted."""
    from mash_plugin import client

    if here:
        request["scope"] = _scope_here()
    return client.call(tool, request)


class Page(NamedTuple):
    """Which part of a list is shown; `following` is where the next one begins."""

    limit: int
    offset: int
    following: int
    of: int | None = None
    """How long the list is, where that was counted."""


def more_of(command: str, words: Sequence[str], flags: Mapping[str, bool], page: Page) -> str:
    """Which part of the list this is, and the command that shows the next one, to be copied."""
    parts = [command, *words, *(name for name, is_on in flags.items() if is_on)]
    pages = ["--limit", str(page.limit), "--offset", str(page.following)]
    shown = f"{page.offset + 1}-{page.following}" + (f" of {page.of}" if page.of else "")
    return f"{shown}. More: mash {clean(shlex.join([*map(plain, parts), *pages]))}"


def _scope_here() -> dict[str, str]:
    from mash_plugin.chats.project import project_of

    project = project_of(os.getcwd())
    if project is None:
        raise click.ClickException(f"{os.getcwd()} is no project; leave --here out.")
    return project.scope.as_json()
