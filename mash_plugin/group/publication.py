"""What of a record is published, and whether it is (R-012, R-174, R-175).

A record is published whole or not at all: where the rules of today would refuse one of its texts,
an old revision's or a quote's, all of it stays here, and the status says why.
"""

import hmac
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from mash_plugin.agents import AGENTS
from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.private import repeats_private_text
from mash_plugin.chats.project import Project
from mash_plugin.chats.reading import places_of
from mash_plugin.chats.switches import switched_off
from mash_plugin.config import Settings
from mash_plugin.digest import sha256_of
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.privacy.credentials import credential_kind, mask
from mash_plugin.privacy.spans import split_private
from mash_plugin.records.model import Revision
from mash_plugin.store.operations import identity_of
from mash_plugin.store.publication import ids_after, links_from, publishable_scopes
from mash_plugin.store.queries import load
from mash_plugin.store.records import (
    Head,
    get_head,
    list_confirmations,
    list_revisions,
    load_revision,
)
from mash_plugin.store.revision_rows import evidence_row, revision_row
from mash_plugin.store.sqlite import Connection

Json = dict[str, Any]
_SQL = load("publication")
_HEAD = (
    "kind scope_kind review state retired decided_by effective_at valid_until recorded_at"
    " evidence_stale confirmations strong_tokens weak_tokens"
).split()
_LINK = ("to_record", "relation", "from_revision", "to_revision", "recorded_at")
BATCH = 1000
TABLES = ("records", "revisions", "evidence", "confirmations", "links")


class Copy(NamedTuple):
    """What the group is to hold of a record: the rows of each table, each as JSON."""

    rows: dict[str, list[str]]
    digest: str
    size: int


class _Chat(NamedTuple):
    """What is to be known of a cited chat."""

    is_left_out: bool
    has_private: bool


class Withheld(NamedTuple):
    """Why a record that the settings would publish stays here; nothing of its text."""

    why: str


class Rules:
    """Decides for one batch what is published; what it has looked up once it knows."""

    def __init__(self, call: Call, db: Connection) -> None:
        identity = identity_of(db)
        self._call = call
        self._settings = call.settings
        self._owner, self._secret = identity.owner, identity.secret
        self._left_out = (Denied(call), Denied(call, "group"))
        self._unread = (self._left_out[0], Denied(call, "index"))
        self._scopes: dict[tuple[str, str], bool] = {}
        self._chats: dict[str, _Chat] = {}

    def copy_of(self, db: Connection, record_id: str) -> Copy | Withheld | None:
        """What the group is to hold of a record; None for nothing."""
        head = get_head(db, record_id)
        if head is None or not self._is_wanted(head):
            return None
        numbers = list_revisions(db, record_id, None, head.revision)[::-1]
        revisions = [load_revision(db, head, number) for number in numbers]
        whole = [revision for revision in revisions if revision is not None]
        if not whole or len(whole) < len(revisions):
            return Withheld("it is damaged: `mash doctor`")
        why = self._refusal(head, whole)
        return Withheld(why) if why else self._copy(db, head, whole)

    def is_wanted(self, db: Connection, record_id: str) -> bool:
        """Whether the settings would publish it; its texts are not looked at."""
        head = get_head(db, record_id)
        return head is not None and self._is_wanted(head)

    def count_wanted(self, db: Connection) -> Counter[str]:
        """How many records of each place the settings would publish; no text is looked at."""
        found: Counter[str] = Counter()
        last = ""
        while record_ids := ids_after(db, last, BATCH):
            heads = [head for record_id in record_ids if (head := get_head(db, record_id))]
            found.update(
                head.scope_value or head.scope_kind for head in heads if self._is_wanted(head)
            )
            last = record_ids[-1]
        return found

    def fingerprint(self, db: Connection) -> str:
        """What stands for these rules: with another one, everything is to be compared again."""
        settings = self._settings
        kinds = ("repository", "chat") if settings.group_publish_chats else ("repository",)
        scopes = [scope for scope in sorted(publishable_scopes(db)) if scope[0] in kinds]
        told = [
            _program(),
            self._newest_private(),
            *(getattr(settings, name) for name in _DECIDING),
            *((*scope, self._is_open(*scope), *self._markers(*scope)) for scope in scopes),
        ]
        return sha256_of(json.dumps(told).encode()).hex()[:32]

    def _newest_private(self) -> int:
        """It grows with each private text that is read, which a record may repeat."""
        with self._call.chats.database.reading() as db:
            row = db.one(_SQL.newest_private)
        return int(row[0] or 0) if row else 0

    def _markers(self, kind: str, value: str) -> list[str]:
        """What `.mash` files in the clones of a repository switch off, each for its own chats."""
        if kind != "repository":
            return []
        with self._call.chats.database.reading() as db:
            places = sorted(set(places_of(db, value)))
        return [f"{at} {sorted(off)}" for at in places if (off := switched_off(Project(at, value)))]

    def _is_wanted(self, head: Head) -> bool:
        settings = self._settings
        if head.hidden_at is not None:
            return False
        if head.owner != self._owner:
            return False  # it came with an import: its owner publishes it
        if settings.group_publish not in ("all", head.review):
            return False  # `established` is the name of both, and `nothing` that of no review
        match head.scope_kind:
            case "personal":
                return settings.group_publish_personal
            case "chat":
                return settings.group_publish_chats and self._is_open("chat", head.scope_value)
            case "repository":
                return self._is_open("repository", head.scope_value)
        return False

    def _is_open(self, kind: str, value: str) -> bool:
        scope = (kind, value)
        if scope not in self._scopes:
            is_off = any(denied.has_scope(kind, value) for denied in self._left_out)
            self._scopes[scope] = not is_off
        return self._scopes[scope]

    def _refusal(self, head: Head, revisions: Sequence[Revision]) -> str | None:
        """Why one of the texts may not leave, by the rules of today."""
        texts = [text for revision in revisions for text in _texts(revision)]
        texts.append(head.scope_value)  # a remote's path may hold a token
        if any(split_private(text)[0] != text for text in texts):
            return "a text of it holds a private span"
        if kind := _credential_in(texts, self._settings.extra_patterns):
            return f"a text of it holds a credential ({kind})"
        cited = dict.fromkeys(e.chat_id for revision in revisions for e in revision.evidence)
        looked_at = {chat: self._look_at(chat) for chat in cited}
        if any(found.is_left_out for found in looked_at.values()):
            return "it cites a chat of a project that is left out"
        looked_at |= {chat: self._look_at(chat) for chat in _saved_in(revisions)}
        private = [chat for chat, found in looked_at.items() if found.has_private]
        if private and self._repeats(texts, private):
            return "a text of it repeats private text of a chat that it comes from"
        return None

    def _look_at(self, chat: str) -> "_Chat":
        if chat not in self._chats:
            is_left_out = any(denied.has_chat_id(chat) for denied in self._unread)
            with self._call.chats.database.reading() as db:
                has_private = db.one(_SQL.has_private, {"chat_id": chat}) is not None
            self._chats[chat] = _Chat(is_left_out, has_private)
        return self._chats[chat]

    def _repeats(self, texts: Sequence[str], chats: Sequence[str]) -> bool:
        key = self._call.chats.private_key
        with self._call.chats.database.reading() as db:
            return any(repeats_private_text(db, texts, key, chat) for chat in chats)

    def _copy(self, db: Connection, head: Head, revisions: Sequence[Revision]) -> Copy:
        scope = head.scope_value
        if head.scope_kind == "chat":
            scope = self._shown_chat(scope)
        at = {"scope_value": scope, "record_id": head.id}
        record = {**at, "created_at": revisions[0].recorded_at, "head_revision": head.revision}
        record |= {name: getattr(head, name) for name in _HEAD}
        rows: dict[str, list[str]] = {name: [] for name in TABLES}
        for revision in revisions:
            row = at | revision_row(revision)
            del row["session_id"]
            rows["revisions"].append(as_json(row))
            key = at | {"revision": revision.revision}
            rows["evidence"] += map(as_json, self._evidence(key, revision))
            rows["confirmations"] += [
                as_json(key | {"message_id": message_id, "confirmed_at": confirmed_at})
                for message_id, confirmed_at in list_confirmations(db, head.id, revision.revision)
            ]
        for link in links_from(db, head.id):
            row = {"scope_value": scope, "from_record": head.id}
            rows["links"].append(as_json(row | dict(zip(_LINK, link, strict=True))))
        text = "\n".join([as_json(record), *chain.from_iterable(rows.values())])
        digest = sha256_of(text.encode()).hex()
        rows["records"] = [as_json(record | {"digest": digest})]
        return Copy(rows, digest, len(text))

    def _evidence(self, key: Json, revision: Revision) -> Iterator[Json]:
        for position, evidence in enumerate(revision.evidence, start=1):
            row = key | evidence_row(evidence)
            del row["message_text"]
            row |= {"position": position, "added_by": evidence.added_by, "status": evidence.status}
            yield row | {"chat_id": self._shown_chat(evidence.chat_id)}

    def _shown_chat(self, chat: str) -> str:
        """A name for a chat that is always the same and does not hold its session's ID."""
        name = b"published chat\0" + chat.encode("utf-8", "replace")
        return "chat-" + hmac.digest(self._secret, name, "sha256").hex()[:32]


_DECIDING = (
    *("group_publish", "group_publish_personal", "group_publish_chats", "group_only"),
    *("group_never", "deny", "no_index", "extra_patterns"),
)
"""The settings that decide what is published."""


@cache
def _program() -> str:
    """This version of mash: another one knows other credentials, and may make other copies."""
    from importlib.metadata import version

    return version("mash-plugin")


def as_json(value: object) -> str:
    """JSON in ASCII: a half character that a chat may hold is for the server to refuse."""
    return json.dumps(value, separators=(",", ":"))


def settings_of(settings: Settings) -> Json:
    """What the person chose to publish, for the status."""
    return {
        "publish": settings.group_publish,
        "personal": settings.group_publish_personal,
        "chats": settings.group_publish_chats,
        "only": list(settings.group_only),
        "never": list(settings.group_never),
    }


def _saved_in(revisions: Sequence[Revision]) -> list[str]:
    """The chats that the sessions which saved them can be."""
    sessions = dict.fromkeys(r.session_id for r in revisions if r.session_id)
    return [chat_id(source, session) for session in sessions for source in AGENTS]


def _credential_in(texts: Sequence[str], extra: Sequence[str]) -> str | None:
    """The kind of a credential that saving would refuse by now, or showing would mask."""
    joined = "\n".join(texts)
    if not extra and joined.isascii() and mask(joined) == joined:
        return None  # one look for most records
    for text in texts:
        kind = credential_kind(text, extra)
        if kind or mask(text, extra) != text:
            return kind or "masked"
    return None


def _texts(revision: Revision) -> Iterator[str]:
    body = revision.body
    yield from (body.statement, body.recorded_by, body.reported_by or "")
    for texts in (body.alternatives, body.consequences, body.conditions):
        yield from texts
    for evidence in revision.evidence:
        yield evidence.quote
