"""Take the messages of one stretch of a transcript into the index."""

from dataclasses import dataclass, field

from mash_plugin.agents.events import Message
from mash_plugin.chats.fingerprints import next_fingerprint, variant_id
from mash_plugin.chats.private import shingles
from mash_plugin.chats.stretch import Stretch
from mash_plugin.store.chats import (
    KnownMessage,
    MessageRow,
    add_messages,
    is_held_elsewhere,
    is_placed,
    known_messages,
    last_seq,
    replace_message,
)
from mash_plugin.store.sqlite import Connection


@dataclass(slots=True)
class Place:
    """Where the next message of a chat goes."""

    chat_no: int
    generation: int
    ordinal: int
    chain: str


@dataclass(slots=True)
class _Batch:
    next_seq: int
    known: dict[str, KnownMessage]
    here: dict[str, str] = field(default_factory=dict)
    """Text of the messages that this batch has placed already, by ID."""
    rows: list[MessageRow] = field(default_factory=list)
    tokens: list[tuple[int, str]] = field(default_factory=list)
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    shingles: list[tuple[int, int]] = field(default_factory=list)


def take_in(db: Connection, stretch: Stretch, place: Place, key: bytes) -> int:
    """Store and place the messages of a stretch, moving `place` on; how many are new.

    A message that another chat holds already is stored once and placed in both (forks).
    Where a known ID comes with other words, the chat's own outdated text is replaced; words
    that another chat still holds are kept, and these get an ID of their own.
    """
    batch = _Batch(last_seq(db) + 1, known_messages(db, {m.id for m in stretch.messages}))
    for message, tokens in zip(stretch.messages, stretch.tokens, strict=True):
        text = message.text
        try:
            data = text.encode()
        except UnicodeEncodeError:  # a database cannot store lone surrogates
            data = text.encode("utf-8", "replace")
            text = data.decode()
        message_id = _name(db, batch, place, message, text, data)
        if message_id is None:
            continue
        seq = _store(db, batch, message_id, message, text, tokens)
        batch.here[message_id] = text
        if message.private_text:
            hashes = {h for inner in message.private_text for h in shingles(inner, key)}
            batch.shingles += [(h, seq) for h in hashes]
        batch.places.append((place.chat_no, place.generation, place.ordinal, seq))
        place.ordinal += 1
        place.chain = next_fingerprint(place.chain, message_id, message.author, data)
    add_messages(db, batch.rows, batch.tokens, batch.places, batch.shingles)
    return len(batch.rows)


def _name(
    db: Connection, batch: _Batch, place: Place, message: Message, text: str, data: bytes
) -> str | None:
    """The ID to place a message under; None when the chat holds it already."""
    message_id = message.id
    if message_id in batch.here:
        if batch.here[message_id] == text:
            return None
        return _name_of_variant(db, batch, place, message_id, data)
    known = batch.known.get(message_id)
    if known is None:
        return message_id
    if is_placed(db, known.seq, place.chat_no, place.generation):
        if known.text == text:
            return None
        return _name_of_variant(db, batch, place, message_id, data)
    said = (text, message.role, message.author)
    if (known.text, known.role, known.author) != said and is_held_elsewhere(
        db, known.seq, place.chat_no
    ):
        # Nor may a copy change whose words the other chat's are.
        whose = b"" if known.text != text else f"{message.role} {message.author} ".encode()
        return _name_of_variant(db, batch, place, message_id, whose + data)
    return message_id


def _name_of_variant(
    db: Connection, batch: _Batch, place: Place, message_id: str, data: bytes
) -> str | None:
    variant = variant_id(message_id, data)
    batch.known |= known_messages(db, {variant})
    known = batch.known.get(variant)
    if variant in batch.here or (
        known is not None and is_placed(db, known.seq, place.chat_no, place.generation)
    ):
        return None
    return variant


def _store(
    db: Connection, batch: _Batch, message_id: str, message: Message, text: str, tokens: str | None
) -> int:
    known = batch.known.get(message_id)
    if known is None:
        seq = batch.next_seq
        batch.next_seq += 1
        batch.rows.append(_row(seq, message_id, message, text))
        if tokens is not None:
            batch.tokens.append((seq, tokens))
        return seq
    if (known.text, known.role, known.author) != (text, message.role, message.author):
        replace_message(db, _row(known.seq, message_id, message, text), tokens)
    return known.seq


def _row(seq: int, message_id: str, message: Message, text: str) -> MessageRow:
    typed = message.person_text
    if typed is not None and not typed.isascii():
        typed = typed.encode("utf-8", "replace").decode()
    is_all_typed = typed is not None and typed == text
    return (
        seq,
        message_id,
        message.role,
        message.author,
        text,
        None if is_all_typed else typed,
        is_all_typed,
        message.is_headless,
        bool(message.private_text),
        message.sent_at,
        " ".join(message.tool_use_ids) or None,
    )
