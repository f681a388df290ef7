"""`mash search` and `mash chats`: earlier discussions, at the terminal."""

from collections.abc import Sequence
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import Page, call_here, more_of, plain
from mash_plugin.cli.telling import tell
from mash_plugin.errors import ChatNotFound
from mash_plugin.render.text import clean, local_date, shorten

TITLE_CHARS = 70
SNIPPET_CHARS = 300


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--here", is_flag=True, help="Only chats of the project in this folder.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, help="Messages on one page.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Where the page begins.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def search(words: tuple[str, ...], here: bool, limit: int, offset: int, as_json: bool) -> int:
    """Find messages of earlier chats that hold WORDS; exit code 1 when there are none.

    A hit may also be the answer to such a message, or what was said to it; then it says so.
    """
    request = {"query": plain(" ".join(words)), "limit": limit, "offset": offset}
    result = call_here("search_chats", request, here)
    if as_json:
        click.echo(orjson.dumps(result).decode())
        return 0 if result["hits"] else 1
    for hit in result["hits"]:
        tell(f"{local_date(hit.get('sent_at'))}  {_title(hit)}")
        said = shorten(clean(hit.get("snippet", "")), SNIPPET_CHARS)
        tell(f"    {hit.get('role', '')}: {said}")
        if found := clean(hit.get("follows", "")):
            tell(f"      found as it follows {found}")
        place = clean(hit.get("project_path") or "no project")
        tell(f"    {_agent_of(hit['chat_id'])}  {place}  {hit['chat_id']}")
    _tell_more(result, "search", words, here, (limit, offset))
    if result["hits"]:
        click.echo("`mash chats ID` shows a chat.", err=True)
    if not result["hits"]:
        click.echo("Nothing found. `mash index` reads what is new.", err=True)
    return 0 if result["hits"] else 1


@click.command()
@click.argument("chat_id", required=False)
@click.option("--here", is_flag=True, help="Only chats of the project in this folder.")
@click.option(
    "--limit", type=click.IntRange(1, 50), default=20, help="Chats, or messages of one, on a page."
)
@click.option("--offset", type=click.IntRange(0), default=0, help="Where the page begins.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def chats(chat_id: str | None, here: bool, limit: int, offset: int, as_json: bool) -> None:
    """List earlier chats, the newest first, or show the one that CHAT_ID names.

    The first eight or more characters of an ID, or of its part behind the agent's name, are enough;
    `newest` is the last one.
    """
    if chat_id is not None:
        from mash_plugin.cli.chat_names import whole_chat_id

        _show_chat(whole_chat_id(plain(chat_id)), limit, offset, as_json=as_json)
        return
    result = call_here("list_chats", {"limit": limit, "offset": offset}, here)
    if as_json:
        click.echo(orjson.dumps(result).decode())
        return
    for chat in result["chats"]:
        project = chat.get("repository_identity") or chat.get("project_path") or ""
        click.echo(f"{local_date(chat.get('last_active_at'))}  {chat['source']}  {_title(chat)}")
        click.echo(f"    {clean(project)}  {chat['id']}")
    _tell_more(result, "chats", (), here, (limit, offset))
    if not result["chats"]:
        click.echo("No chats here. `mash index` reads what is new.", err=True)


def _show_chat(chat_id: str, limit: int, offset: int, *, as_json: bool) -> None:
    try:
        page = {"id": chat_id, "limit": limit, "offset": offset}
        result = call_here("get_chat", page, here=False)
    except ChatNotFound:
        raise click.ClickException(
            f"No chat has the ID {chat_id!r}; `mash chats` lists the IDs."
        ) from None
    if as_json:
        click.echo(orjson.dumps(result).decode())
        return
    chat = result["chat"]
    project = chat.get("repository_identity") or chat.get("project_path") or "no project"
    click.echo(f"{_title(chat)}\n{chat['source']}  {clean(project)}")
    for message in result["messages"]:
        click.echo(
            f"\n{local_date(message.get('sent_at'))}  {message['role']} ({message['author']})"
        )
        for line in message["text"].splitlines():
            click.echo(f"    {clean(line)}")
    _tell_more(result, "chats", (chat_id,), False, (limit, offset))


def _agent_of(chat_id: str) -> str:
    """The agent, by whose name every ID of its chats begins."""
    from mash_plugin.agents import AGENTS

    return next((name for name in AGENTS if chat_id.startswith(f"{name}-")), "")


def _title(chat: dict[str, Any]) -> str:
    title = clean(chat.get("title") or "") or "(no title)"
    return shorten(title, TITLE_CHARS)


def _tell_more(
    result: dict[str, Any],
    command: str,
    words: Sequence[str],
    here: bool,
    asked: tuple[int, int],
) -> None:
    following = result.get("next_offset")
    if following is not None:
        page = Page(*asked, following)
        click.echo(more_of(command, words, {"--here": here}, page), err=True)
