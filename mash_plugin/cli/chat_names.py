"""Chats by the beginning of their ID: 48 characters are too many to type."""

from collections.abc import Iterator

from mash_plugin import client
from mash_plugin.errors import ChatNotFound, InvalidArgument, MashError
from mash_plugin.wording import NEWEST

SHORTEST = 8
NAMED = 5
PAGE = 50


def whole_chat_id(start: str) -> str:
    """The ID of the one chat that begins so, with or without its agent's name; or `newest`.

    What no chat in the index begins with stays as it is: the caller tells what it cannot find.
    Raises InvalidArgument where several chats begin so, or it is too short to tell.
    """
    if start == NEWEST:
        newest = next((one for one, _ in _chats()), None)
        if newest is None:
            raise InvalidArgument("There is no chat in the index; `mash index` reads what is new.")
        return newest
    try:
        client.call("get_chat", {"id": start, "limit": 1})
        return start
    except ChatNotFound:
        pass
    except MashError:  # known, and left out by the settings: for the caller to say
        return start
    if len(start) < SHORTEST:
        raise InvalidArgument(
            f"{start!r} is too short: give at least {SHORTEST} characters of the chat's ID, or of"
            " the session's behind the agent's name. `mash chats` lists the IDs."
        )
    found = [
        one for one, session in _chats() if start in (one[: len(start)], session[: len(start)])
    ]
    if len(found) > 1:
        more = " and more" if len(found) > NAMED else ""
        raise InvalidArgument(
            f"{start!r} is the beginning of {', '.join(found[:NAMED])}{more}; give more of the ID."
        )
    return found[0] if found else start


def _chats() -> Iterator[tuple[str, str]]:
    """Each chat of the index, the newest first: its ID, and the part that its session has."""
    offset: int | None = 0
    while offset is not None:
        page = client.call("list_chats", {"limit": PAGE, "offset": offset})
        for chat in page["chats"]:
            yield chat["id"], chat["id"].removeprefix(f"{chat['source']}-")
        offset = page.get("next_offset")
