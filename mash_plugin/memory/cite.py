"""Find the words that a change cites, in the transcript as it stands now (R-013 to R-023)."""

from collections.abc import Iterator, Sequence
from typing import Any

from mash_plugin.chats.reading import (
    Chat,
    StoredMessage,
    chat_by_session,
    chat_of,
    chats_of_message,
    message_before,
    message_by_id,
    messages_newest_first,
)
from mash_plugin.errors import (
    EndorsementNotByPerson,
    Forgotten,
    MashError,
    MessageNotFound,
    PrivateText,
    QuoteNotFound,
    SessionNotFound,
    TooLarge,
)
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import refuse_source, refuse_unread
from mash_plugin.memory.scopes import chat_in_scope
from mash_plugin.privacy.credentials import mask
from mash_plugin.privacy.spans import PRIVATE_MARK
from mash_plugin.records.approvals import is_bare_approval
from mash_plugin.records.authority import Cited, Trust, counts_as_person
from mash_plugin.records.evidence import find_quote, kept_text
from mash_plugin.records.model import Evidence, Scope
from mash_plugin.records.own_say import Say, own_say
from mash_plugin.store.sqlite import Connection

FLUSH_WAITS_S = (0.05, 0.05, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.25, 0.25, 0.25, 0.25)
"""Hosts write the newest line slightly late: re-read for 2 seconds in all before giving up."""
QUOTE_CHARS = 4000
_TELLS = (
    " Ask the person whether they say so too, and cite their answer; or save with review"
    ' "candidate" and this citation with purpose "context".'
)
NOT_OWN_SAY = {
    Say.QUOTED: "The quote stands between quotation marks alone, where the person may only tell"
    f" what somebody else said.{_TELLS}",
    Say.REPORTED: "The quote tells what somebody else said: the person does not say so themselves."
    + _TELLS,
    Say.ASKED: "The quote only asks: a question settles nothing. Answer it, and cite what the"
    ' person then says; or save with review "candidate" and this citation with purpose "context".'
    " To forget a record without the person's words, leave the evidence out: it is hidden for a"
    " day, and `mash undo` brings it back.",
}
_MAY_COME_LATE = (QuoteNotFound, EndorsementNotByPerson, SessionNotFound, MessageNotFound)


def resolve_citations(call: Call, scope: Scope, citations: Sequence[dict[str, Any]]) -> list[Cited]:
    """The citations as evidence, in their order.

    Raises QuoteNotFound, EndorsementNotByPerson, SessionNotFound, MessageNotFound or
    ScopeMismatch, with the index of the citation in `details.citation`.
    """
    waits = iter(FLUSH_WAITS_S)
    found: dict[int, Cited] = {}
    # Endorsements first: what a bare approval answers is the message directly before it.
    order = sorted(range(len(citations)), key=lambda n: citations[n]["purpose"] != "endorsement")
    for index in order:
        answered = {
            c.agent_message_before
            for c in found.values()
            if c.agent_message_before and is_bare_approval(c.evidence.quote)
        }
        try:
            found[index] = _resolve_patiently(call, scope, citations[index], answered, waits)
        except MashError as error:
            error.details["citation"] = index
            raise
    return [found[index] for index in range(len(citations))]


def _resolve_patiently(
    call: Call,
    scope: Scope,
    citation: dict[str, Any],
    answered: set[str],
    waits: Iterator[float],
) -> Cited:
    session_id = citation.get("session_id") or call.caller.session_id
    seen: str | None = None
    late: MashError | None = None
    while True:
        chat_id = call.chats.refresh_session(session_id, call.now) if session_id else None
        with call.chats.database.reading() as db:
            # The index keeps a chat whose transcript its host has removed.
            chat = chat_of(db, chat_id) if chat_id else chat_by_session(db, session_id or "")
            state = chat.fingerprint if chat else None
            is_first = late is None
            if late is None or state != seen:
                try:
                    return _resolve(db, call, scope, citation, chat, answered)
                except _MAY_COME_LATE as error:
                    late, seen = error, state
        wait = next(waits, None) if _may_come(call, citation, late, session_id) else None
        if session_id and (is_first or wait is None):
            refuse_unread(call.settings, call.chats.project_of_session(session_id))
            if chat is None and "message_id" not in citation:
                _refuse_forgotten(call, session_id)
        if wait is None:
            raise late
        call.wait(wait)


def _refuse_forgotten(call: Call, session_id: str) -> None:
    if call.chats.is_forgotten_session(session_id):
        raise Forgotten(
            f"The person had session {session_id!r} forgotten: nothing that is said in it is saved."
            " Cite another session; `mash index --restore-chat` lets this one in again."
        )


def _may_come(
    call: Call, citation: dict[str, Any], error: MashError, session_id: str | None
) -> bool:
    """Whether waiting can help: what a message says does not change once it is known.

    Nor does a session's transcript appear that runs nowhere, as far as hooks tell.
    """
    if "message_id" in citation:
        return isinstance(error, MessageNotFound) and session_id is not None
    if isinstance(error, SessionNotFound):
        return session_id == call.caller.session_id or call.is_live(session_id or "")
    return not (isinstance(error, EndorsementNotByPerson) and error.details["role"] == "user")


def _resolve(
    db: Connection,
    call: Call,
    scope: Scope,
    citation: dict[str, Any],
    chat: Chat | None,
    answered: set[str],
) -> Cited:
    if "message_id" in citation:
        return _from_message(db, call, scope, citation)
    if chat is None:
        raise SessionNotFound(
            f"No transcript of session {citation['session_id']!r} is known. Take the session ID"
            " that the session start told you, or cite a message_id from search_chats."
        )
    refuse_source(call, chat)
    chat_in_scope(scope, [chat])
    if citation["purpose"] == "endorsement":
        return _newest_endorsement(db, call, citation, chat)
    return _newest_mention(db, call, citation, chat, answered)


def _from_message(db: Connection, call: Call, scope: Scope, citation: dict[str, Any]) -> Cited:
    chats = chats_of_message(db, citation["message_id"])
    if not chats:
        raise MessageNotFound(
            f"No indexed chat has a message {citation['message_id']!r}. Find it with search_chats,"
            " or cite your own session by session_id."
        )
    chat = chat_in_scope(scope, chats)
    refuse_source(call, chat)
    message = message_by_id(db, citation["message_id"], chat.id)
    assert message is not None  # noqa: S101 - the same snapshot has its chats
    quote = find_quote(citation["quote"], message.text)
    if quote is None:
        raise QuoteNotFound(
            "The quote does not stand in that message: copy its words exactly, without cutting"
            " a word."
        )
    if citation["purpose"] == "endorsement" and not _persons_words(call, citation, message):
        raise _not_the_persons(call, citation, message)
    return _cited(db, call, chat, message, quote, citation)


def _newest_endorsement(db: Connection, call: Call, citation: dict[str, Any], chat: Chat) -> Cited:
    elsewhere: StoredMessage | None = None
    for message in messages_newest_first(db, chat.id):
        quote = find_quote(citation["quote"], message.text)
        if quote is None:
            continue
        if _persons_words(call, citation, message):
            return _cited(db, call, chat, message, quote, citation)
        elsewhere = elsewhere or message
    if elsewhere is not None:
        raise _not_the_persons(call, citation, elsewhere)
    raise _not_in_session(citation)


def _newest_mention(
    db: Connection, call: Call, citation: dict[str, Any], chat: Chat, answered: set[str]
) -> Cited:
    """The newest message with the quote, or the one that a bare approval answers."""
    newest: tuple[StoredMessage, str] | None = None
    for message in messages_newest_first(db, chat.id):
        if message.role not in ("user", "assistant"):
            continue  # else the quote would always stand in the request that saves it
        if newest is not None and message.id not in answered:
            continue
        quote = find_quote(citation["quote"], message.text)
        if quote is None:
            continue
        newest = (message, quote)
        if not answered or message.id in answered:
            break
    if newest is None:
        raise _not_in_session(citation)
    return _cited(db, call, chat, *newest, citation)


def _cited(
    db: Connection,
    call: Call,
    chat: Chat,
    message: StoredMessage,
    quote: str,
    citation: dict[str, Any],
) -> Cited:
    if len(quote) > QUOTE_CHARS:
        raise TooLarge(
            f"The quoted passage has {len(quote)} characters; quote at most {QUOTE_CHARS}."
        )
    if message.has_private and PRIVATE_MARK in quote:
        raise PrivateText("A quote runs over a private span; quote the words on one side of it.")
    is_persons = _persons_words(call, citation, message)
    before = message_before(db, chat.id, message.id, "assistant") if is_persons else None
    evidence = Evidence(
        chat_id=chat.id,
        message_id=message.id,
        quote=quote,
        purpose=citation["purpose"],
        role=message.role,
        author=message.author,
        message_text=mask(kept_text(quote, message.text), call.settings.extra_patterns),
        recorded_at=call.now,
    )
    return Cited(evidence, is_persons, before.id if before else None)


def _persons_words(call: Call, citation: dict[str, Any], message: StoredMessage) -> bool:
    """Whether the quote is said by the person, as far as what was typed is trusted."""
    typed = message.person_text or ""
    return _is_persons(call, message) and own_say(citation["quote"], typed) is Say.OWN


def _is_persons(call: Call, message: StoredMessage) -> bool:
    trust = Trust(call.settings.trust_inferred_authors, call.settings.trust_headless_prompts)
    return (
        message.role == "user"
        and message.person_text is not None
        and counts_as_person(message.author, message.is_headless, trust)
    )


def _not_the_persons(
    call: Call, citation: dict[str, Any], message: StoredMessage
) -> EndorsementNotByPerson:
    typed = message.person_text or ""
    if _is_persons(call, message) and find_quote(citation["quote"], typed) is not None:
        return EndorsementNotByPerson(
            NOT_OWN_SAY[own_say(citation["quote"], typed)], role=message.role
        )
    if message.role != "user":
        what = f"by a message of role {message.role}"
    elif _is_only_untrusted(call, citation, message):
        what = (
            "in a message of an older client, which does not mark who typed it: its author can"
            " only be inferred, and [records] trust_inferred_authors = false in"
            f" {call.settings.file} lets no such words count"
        )
    elif message.is_headless:
        what = "in a prompt that may be of a headless run: its author is not known"
    elif message.author in ("person", "inferred"):
        what = "in pasted, fenced or quoted text, not in the person's own words"
    else:
        what = f"in a message whose author is {message.author}"
    return EndorsementNotByPerson(
        f"The quote is said {what}. Cite words that the person typed, or save with review"
        ' "candidate" and this citation with purpose "context".',
        role=message.role,
    )


def _is_only_untrusted(call: Call, citation: dict[str, Any], message: StoredMessage) -> bool:
    settings = call.settings._replace(trust_inferred_authors=True)
    return message.author == "inferred" and _persons_words(
        call._replace(settings=settings), citation, message
    )


def _not_in_session(citation: dict[str, Any]) -> QuoteNotFound:
    return QuoteNotFound(
        f"The quote stands in no message of session {citation['session_id']!r} (tool calls and"
        " their results are not searched). Copy the words exactly, without cutting a word."
    )
