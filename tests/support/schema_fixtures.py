"""Stores of each schema with something of everything in them, and what they must tell for ever.

`scripts/schema-fixture` writes those of the newest schema; tests migrate every one to the newest.
"""

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from mash_plugin.chats import reading
from mash_plugin.chats.forget import forgotten_test
from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.search import search_chats
from mash_plugin.config import Settings
from mash_plugin.memory.call import Call
from mash_plugin.memory.extraction import extract_records, get_extraction_checkpoint
from mash_plugin.memory.forget_chat import find_going, forget_chat
from mash_plugin.memory.reading import get_record, list_records
from mash_plugin.memory.recall import recall_records
from mash_plugin.memory.record import apply_change
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import Paths, find_paths
from mash_plugin.protocol import validate
from mash_plugin.store.open import open_chats, open_store
from tests.support.transcripts import ClaudeTranscript, CodexTranscript, write_repository

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "schema"
MIGRATIONS = ROOT / "mash_plugin" / "store" / "sql" / "migrations"
PLACE = Path("/tmp/mash-schema-fixture")
"""Where the fixtures are made: the same each time, since the index holds paths."""
FAMILIES = {"records": "store", "chats": "chats"}
"""Family of migrations → its file among the paths."""
NOW = 1_796_100_000_000
SCOPE = {"kind": "repository", "identity": "github.com/acme/shop"}
WORDS = ("Qdrant", "tabs", "検索", "nightly")
Json = dict[str, Any]


def newest() -> dict[str, int]:
    """The newest schema of each family."""
    return {family: len(list((MIGRATIONS / family).glob("*.sql"))) for family in FAMILIES}


def migration_files(family: str, number: int) -> list[Path]:
    """The migrations up to that schema."""
    return sorted((MIGRATIONS / family).glob("*.sql"))[:number]


def hashes(family: str, number: int) -> dict[str, str]:
    """The hash of each migration up to that schema."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in migration_files(family, number)
    }


def is_released() -> bool:
    """Whether any version was: its migrations are then for ever as they are."""
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return re.search(r"^## \[\d", changes, re.MULTILINE) is not None


def fixtures() -> list[str]:
    """The names of all fixtures: the numbers of both schemas."""
    return sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json"))


def unpack(name: str, paths: Paths) -> Json:
    """Put the stores of a fixture into a home; what they must tell."""
    Path(paths.data).mkdir(parents=True, mode=0o700)
    for family, attribute in FAMILIES.items():
        content = gzip.decompress((FOLDER / f"{name}-{family}.db.gz").read_bytes())
        Path(getattr(paths, attribute)).write_bytes(content)
    told = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    assert isinstance(told, dict)
    return told


def write_fixture() -> list[Path]:
    """Make the fixture of the newest schemas; the files. Refuses to replace a released one."""
    name = "-".join(f"{number:04}" for number in newest().values())
    if name in fixtures() and is_released():
        raise SystemExit(f"{name} was released: its fixture stays. Add the next migration instead.")
    shutil.rmtree(PLACE, ignore_errors=True)
    paths = find_paths({"MASH_HOME": str(PLACE / "mash")})
    PLACE.mkdir()
    try:
        with served(paths, PLACE) as call:
            plant(call, PLACE)
        with served(paths, PLACE) as call:
            told = {"contents": contents(call), "migrations": {}}
        FOLDER.mkdir(exist_ok=True)
        written = [FOLDER / f"{name}.json"]
        for family, attribute in FAMILIES.items():
            told["migrations"][family] = hashes(family, newest()[family])
            content = Path(getattr(paths, attribute)).read_bytes()
            written.append(FOLDER / f"{name}-{family}.db.gz")
            written[-1].write_bytes(gzip.compress(content, 9, mtime=0))
        written[0].write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return written
    finally:
        shutil.rmtree(PLACE)


@contextmanager
def served(paths: Paths, root: Path) -> Iterator[Call]:
    """The use cases over the stores of a home, as a daemon has them."""
    store, chats = open_store(paths, NOW), open_chats(paths)
    roots = [("claude-code", str(root / "claude")), ("codex", str(root / "codex"))]
    index = ChatIndex(chats, lambda: roots, is_forgotten=forgotten_test(store))
    ids = count(1)
    try:
        yield Call(store, index, Settings(), NOW, lambda: f"r{next(ids):031}", Windows())
    finally:
        store.close()
        chats.close()


def contents(call: Call) -> Json:
    """Everything that the use cases tell of both stores, in an order of its own."""
    listed = list_records(call, validate("list_records", {"include_inactive": True}))["records"]
    ids = sorted(record["id"] for record in listed)
    recall = validate("recall_records", {"scope": SCOPE, "include_review": True})
    retry = apply_change(call, validate("record", _create("first", "Search runs on Qdrant.")))
    with call.chats.database.reading() as db:
        chats, _ = reading.list_chats(db, 100)
        messages = {c.id: [m._asdict() for m in reading.messages_from(db, c.id)] for c in chats}
        hits = {word: search_chats(db, word, 20, 0)[0] for word in WORDS}
    with call.store.reading() as db:
        marks = {
            table: db.all(f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608 - names of ours
            for table in ("chat_tombstones", "record_tombstones", "receipts", "checkpoints")
        }
    return json.loads(  # type: ignore[no-any-return]  # as JSON gives it back
        json.dumps(
            {
                "records": [
                    get_record(call, validate("get_record", {"id": i, "history": True}))
                    for i in ids
                ],
                "recalled": sorted(r["id"] for r in recall_records(call, recall)["records"]),
                "retried": retry,
                "chats": sorted((c._asdict() for c in chats), key=lambda c: str(c["id"])),
                "messages": messages,
                "hits": {w: sorted(h.message_id for h in found) for w, found in hits.items()},
                "marks": marks,
            }
        )
    )


def plant(call: Call, root: Path) -> None:
    """Two agents' chats, and records of every kind and fate that rest on them."""
    clone = write_repository(root / "work" / "shop", "git@github.com:acme/shop.git")
    claude = ClaudeTranscript(root / "claude", str(clone), "s-1")
    claude.person("Which vector store should we use? <private>codename umbrella nine</private>")
    claude.agent("I propose Qdrant for local search.")
    claude.person("Yes, let's use Qdrant. 検索は必ずテストすること。")
    claude.tool_call("Read", {"file_path": "src/index.py"}, "toolu_1")
    claude.tool_result("class Index: ...")
    going = ClaudeTranscript(root / "claude", str(clone), "s-2")
    going.person("Forget this chat about the nightly job.")
    codex = CodexTranscript(root / "codex", str(clone), "01a22b46-ef78-7e32-8ff3-ca6f94ba9da4")
    codex.person("I prefer tabs in Makefiles.")
    codex.agent("Noted: tabs it is.")
    call.chats.refresh_all(NOW)
    first = _saved(call, _create("first", "Search runs on Qdrant."))
    second = _saved(call, _create("second", "Tests cover the search."))
    change = {"expected": _at(second), "relation": "supports", "target": _at(first)}
    _saved(call, {"operation_id": "link", "change": {"action": "link", **change}})
    again = {"expected": _at(first), "evidence": [_said("検索は必ずテストすること。")]}
    _saved(call, {"operation_id": "confirm", "change": {"action": "confirm", **again}})
    newer = _create("third", "Search runs on Qdrant 2.", "supersede", expected=_at(first))
    _saved(call, newer)
    for name, statement in (
        ("gone", "This one is forgotten."),
        ("going", "This one is about s-2."),
    ):
        quote = "Forget this chat about the nightly job." if name == "going" else None
        made = _saved(call, _create(name, statement, quote=quote, review="candidate"))
        if name == "gone":
            change = {"action": "forget", "expected": _at(made)}
            _saved(call, {"operation_id": "forget", "change": change})
    forget_chat(call, find_going(call, "claude-code-s-2"))
    _extract(call, "codex-01a22b46-ef78-7e32-8ff3-ca6f94ba9da4")


def _extract(call: Call, chat_id: str) -> None:
    at = {"chat_id": chat_id, "scope": SCOPE}
    asked = validate("get_extraction_checkpoint", at)
    fingerprint = get_extraction_checkpoint(call, asked)["source_fingerprint"]
    details = {"kind": "preference", "state": "active", "conditions": ["in Makefiles"]}
    draft = {
        "body": {"statement": "Tabs.", "details": details},
        "evidence": [{"session_id": chat_id[6:], "quote": "I prefer tabs in Makefiles."}],
    }
    request = {"operation_id": "review", **at, "source_fingerprint": fingerprint}
    extract_records(call, validate("extract_records", {**request, "records": [draft]}))


def _create(
    name: str,
    statement: str,
    action: str = "create",
    *,
    quote: str | None = None,
    review: str = "established",
    **change: Any,
) -> Json:
    if action == "create":
        change["scope"] = SCOPE
    state = "accepted" if review == "established" else "proposed"
    details = {"kind": "decision", "state": state, "alternatives": ["FAISS", "nothing"]}
    body = {"statement": statement, "review": review, "details": details}
    said = _said(quote) if quote else _said("Yes, let's use Qdrant.")
    if quote:
        said |= {"session_id": "s-2", "purpose": "context"}
    return {
        "operation_id": name,
        "change": {"action": action, "body": body, "evidence": [said], **change},
    }


def _said(quote: str) -> Json:
    return {"session_id": "s-1", "quote": quote, "purpose": "endorsement"}


def _saved(call: Call, request: Json) -> Json:
    return apply_change(call, validate("record", request))


def _at(receipt: Json) -> Json:
    return {"id": receipt["id"], "revision": receipt["revision"]}
