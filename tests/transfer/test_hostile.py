"""A file that is damaged, cut, or made to harm is refused in one line, and nothing is written."""

import gzip
import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from mash_plugin.errors import InvalidArgument, MashError, TooLarge, UpgradeNeeded
from mash_plugin.memory.forget_chat import find_going, forget_chat
from mash_plugin.transfer import lines
from mash_plugin.transfer.export import Wanted
from mash_plugin.transfer.export import export_store as write_export
from tests.conftest import SHOP, Memory
from tests.transfer.conftest import (
    Json,
    chats_of,
    edited,
    export,
    lines_of,
    rows_of,
    take_in,
    write_lines,
)

pytestmark = pytest.mark.slow

Edit = Callable[[list[Json]], None]
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def file(memory: Memory, told: Json, tmp_path: Path) -> Path:
    path = tmp_path / "good"
    export(memory, path)
    return path


def refused(memory: Memory, path: Path, mode: Any = "export") -> str:
    """The one line that a file is refused with; nothing may have come of it."""
    before = rows_of(memory), chats_of(memory)
    with pytest.raises((InvalidArgument, TooLarge, UpgradeNeeded)) as caught:
        take_in(memory, path, mode)
    assert (rows_of(memory), chats_of(memory)) == before
    with memory.call.store.reading() as db:
        assert db.one("SELECT count(*) FROM imports") == (0,)
    message = caught.value.message
    assert "\n" not in message
    assert len(message) < 600
    assert "Nothing was imported." in message
    return message


def nth(found: list[Json], kind: str, number: int = 0) -> Json:
    return [line for line in found if line["is"] == kind][number]


@pytest.mark.spec("R-161")
@pytest.mark.row(61)
def test_a_file_that_was_cut_anywhere_is_refused(other: Memory, file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    for size in (0, 1, 9, 10, 20, len(data) // 3, len(data) // 2, len(data) - 9, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:size])
        assert "cut off" in refused(other, tmp_path / "cut")


@pytest.mark.spec("R-161")
def test_a_whole_stream_without_its_last_lines_is_refused(
    other: Memory, file: Path, tmp_path: Path
) -> None:
    plain = gzip.decompress(file.read_bytes())
    for cut in (len(plain) - 1, plain.rstrip().rfind(b"\n") + 1, len(plain) // 2):
        (tmp_path / "cut").write_bytes(gzip.compress(plain[:cut], mtime=0))
        assert "cut off" in refused(other, tmp_path / "cut")


@pytest.mark.spec("R-161")
@pytest.mark.parametrize("at", range(0, 100, 7))
def test_a_flipped_bit_is_found(other: Memory, file: Path, tmp_path: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    where = 10 + (len(data) - 19) * at // 100
    data[where] ^= 1 << (at % 8)
    (tmp_path / "bad").write_bytes(data)
    refused(other, tmp_path / "bad")


@pytest.mark.spec("R-161")
def test_a_changed_word_under_a_good_gzip_is_found(
    other: Memory, file: Path, tmp_path: Path
) -> None:
    plain = gzip.decompress(file.read_bytes())
    assert plain.count(b"Perhaps use Milvus.") == 1
    changed = plain.replace(b"Perhaps use Milvus.", b"Perhaps use Chroma.")
    (tmp_path / "bad").write_bytes(gzip.compress(changed, mtime=0))
    assert "checksum does not hold" in refused(other, tmp_path / "bad")


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"PK\x03\x04" + b"../../etc/passwd" * 9,
        gzip.compress(b"", mtime=0),
        gzip.compress(b"\n", mtime=0),
        gzip.compress(b"[]\n", mtime=0),
        gzip.compress(b"3\n", mtime=0),
        gzip.compress(b'{"is":"record"}\n', mtime=0),
        gzip.compress(b'{"is":"header","format":"1"}\n', mtime=0),
        gzip.compress(b'{"is":"header","format":true}\n', mtime=0),
        gzip.compress(b'\xff\xfe{"is":"header"}\n', mtime=0),
        gzip.compress(b"[" * 100_000 + b"]" * 100_000 + b"\n", mtime=0),
        gzip.compress(b'{"is":' * 50_000 + b"1" + b"}" * 50_000 + b"\n", mtime=0),
    ],
)
def test_what_is_no_export_is_refused(other: Memory, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad").write_bytes(content)
    refused(other, tmp_path / "bad")


def test_other_formats_are_named(other: Memory, file: Path, tmp_path: Path) -> None:
    def newer(found: list[Json]) -> None:
        found[0] = {"is": "header", "format": 2, "unknown": "field"}

    def older(found: list[Json]) -> None:
        found[0]["format"] = 0

    assert "upgrade mash" in refused(other, edited(file, tmp_path / "newer", newer))
    assert "format 0" in refused(other, edited(file, tmp_path / "older", older))


@pytest.mark.row(61)
def test_a_line_without_end_does_not_fill_the_memory(
    other: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES", 1 << 20)
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    noise = bytes(range(33, 127)) * 700
    parts = [packer.compress(b'{"is":"header","format":1,"made_by":"')]
    parts += [packer.compress(noise[i % 93 :]) for i in range(40)]
    (tmp_path / "long").write_bytes(b"".join([*parts, packer.flush()]))
    assert "more than 1048576 bytes" in refused(other, tmp_path / "long")


@pytest.mark.spec("R-161")
def test_five_gigabytes_in_one_line_take_little_memory(other: Memory, tmp_path: Path) -> None:
    """The bomb itself is 5 MB: a megabyte that packs to a thousandth, five thousand times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b"x" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    head = gzip.compress(b"", mtime=0)[:10]
    with (tmp_path / "bomb").open("wb") as bomb:
        bomb.write(head)
        for _ in range(5_000):
            bomb.write(block)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(other, tmp_path / "bomb")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.mark.row(61)
def test_many_lines_that_unpack_to_far_more_are_a_bomb(
    other: Memory, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "ALWAYS_ALLOWED", 1 << 16)

    def swell(found: list[Json]) -> None:
        message = nth(found, "message")
        at = found.index(message)
        found[at:at] = [message | {"text": "a" * 4096}] * 500

    assert "times its size" in refused(other, edited(file, tmp_path / "bomb", swell))


@pytest.mark.row(61)
def test_a_key_that_stands_twice_is_refused(other: Memory, file: Path, tmp_path: Path) -> None:
    found: list[Json | bytes] = list(lines_of(file))
    record = next(line for line in lines_of(file) if line["is"] == "record")
    at = found.index(record)
    found[at] = orjson.dumps(record)[:-1] + b',"id":"other"}'
    assert "stands twice" in refused(other, write_lines(tmp_path / "bad", found))
    found[at] = orjson.dumps(record).replace(b":", b": ", 1)
    assert "not as mash writes it" in refused(other, write_lines(tmp_path / "bad", found))


def set_in(kind: str, /, **fields: Any) -> Edit:
    return lambda found: nth(found, kind).update(fields)


def drop(kind: str) -> Edit:
    return lambda found: found.remove(nth(found, kind))


def twice(kind: str) -> Edit:
    def edit(found: list[Json]) -> None:
        line = nth(found, kind)
        at = found.index(line)
        group = [line]
        while found[at + len(group)]["is"] in ("revision", "message"):
            group.append(found[at + len(group)])
        found[at:at] = group

    return edit


def swapped(found: list[Json]) -> None:
    link, record = nth(found, "link"), nth(found, "record")
    found[found.index(link)], found[found.index(record)] = record, link


def other_field(found: list[Json]) -> None:
    nth(found, "record")["extra"] = 1


def evidence_of(**fields: Any) -> Edit:
    return lambda found: nth(found, "revision")["evidence"][0].update(fields)


HARM: dict[str, tuple[Edit, str]] = {
    "an unknown kind": (set_in("owner", **{"is": "table"}), "no kind of line 'table'"),
    "a kind that is a number": (set_in("owner", **{"is": 5}), "no kind of line"),
    "a field too many": (other_field, "has the fields"),
    "a number for a text": (set_in("revision", statement=5), "wrong type"),
    "a text for a number": (set_in("revision", recorded_at="now"), "wrong type"),
    "a true for a number": (set_in("revision", recorded_at=True), "wrong type"),
    "a fraction": (set_in("revision", recorded_at=1.5), "wrong type"),
    "a negative time": (set_in("revision", recorded_at=-1), "wrong type"),
    "a number beyond all": (set_in("link", recorded_at=2**63), "wrong type"),
    "an ID of odd letters": (set_in("record", id="../x"), "wrong type"),
    "an empty ID": (set_in("record", id=""), "wrong type"),
    "a long ID": (set_in("record", id="x" * 65), "wrong type"),
    "no hex": (set_in("revision", checksum="zz"), "wrong type"),
    "an object in a list of texts": (set_in("revision", alternatives=[{}]), "wrong type"),
    "evidence without a quote": (set_in("revision", evidence=[{"quote": "x"}]), "wrong type"),
    "no evidence": (set_in("revision", evidence=[]), "citations"),
    "no evidence, by hand": (
        set_in("revision", evidence=[], origin="terminal"),
        "a revision has 1 to 32 citations",
    ),
    "kinds out of order": (swapped, "does not belong here"),
    "a revision left out": (drop("revision"), "has no revision"),
    "another wording": (set_in("revision", statement="Other."), "checksum of a revision"),
    "another owner": (set_in("record", owner="somebody"), "checksum of a revision"),
    "another quote": (evidence_of(quote="Other."), "checksum of a revision"),
    "a record twice": (twice("record"), "stands twice"),
    "a link to nowhere": (set_in("link", to="nowhere"), "is not in the file"),
    "a link to itself": (lambda f: nth(f, "link").update(to=nth(f, "link")["from"]), "rule"),
    "an unknown relation": (set_in("link", relation="likes"), "rule of the store"),
    "a chat of another ID": (set_in("chat", id="codex-s-1"), "has an ID or a source"),
    "a chat of another source": (set_in("chat", source="../../x"), "has an ID or a source"),
    "a message of an unknown author": (set_in("message", author="god"), "no message has"),
    "a message before any chat": (
        lambda f: f.insert(f.index(nth(f, "chat")), nth(f, "message")),
        "stands before any chat",
    ),
    "a revision before any record": (
        lambda f: f.insert(f.index(nth(f, "record")), nth(f, "revision")),
        "stands before any record",
    ),
    "a revision of another number": (set_in("revision", revision=7), "should stand here"),
}


@pytest.mark.spec("R-161")
@pytest.mark.parametrize("name", HARM)
@pytest.mark.row(61)
def test_a_line_that_does_harm_is_named(
    other: Memory, file: Path, tmp_path: Path, name: str
) -> None:
    edit, words = HARM[name]
    message = refused(other, edited(file, tmp_path / "bad", edit))
    assert any(word in message for word in words.split("|")), message
    assert message.startswith("Line ")


def signed(found: list[Json], edit: Callable[[Json, Json], None]) -> None:
    """Change the first record and make its checksum right again, as a forger would."""
    from mash_plugin.store.revision_rows import checksum_of, revision_row
    from mash_plugin.transfer.lines import Numbered
    from mash_plugin.transfer.records_in import revision_of

    record, revision = nth(found, "record"), nth(found, "revision")
    edit(record, revision)
    place = tuple(record[n] for n in ("id", "owner", "kind", "scope_kind", "scope_value"))
    made = revision_of(Numbered(1, revision), record["kind"])
    revision["checksum"] = checksum_of(place, revision_row(made), made.evidence).hex()


FORGED: dict[str, tuple[Callable[[Json, Json], None], str]] = {
    "a credential in the statement": (
        lambda _, v: v.update(statement=f"Use {TOKEN}."),
        "holds a credential (GitHub token)",
    ),
    "a credential in a quote": (
        lambda _, v: v["evidence"][0].update(quote=f"the token {TOKEN}"),
        "holds a credential",
    ),
    "private text": (
        lambda _, v: v.update(statement="It is <private>so</private>."),
        "holds a private span",
    ),
    "a private quote": (
        lambda _, v: v["evidence"][0].update(quote="<private>so"),
        "holds a private span",
    ),
    "an unknown kind of record": (lambda r, _: r.update(kind="note"), "a record is one of"),
    "a state of another kind": (lambda _, v: v.update(state="active"), "no decision is 'active'"),
    "an unknown state": (lambda _, v: v.update(state="happy"), "no decision is 'happy'"),
    "an unknown review": (lambda _, v: v.update(review="proven"), "rule of the store"),
    "a personal scope with a value": (
        lambda r, _: r.update(scope_kind="personal"),
        "rule of the store",
    ),
    "a long statement": (lambda _, v: v.update(statement="x" * 2001), "rule of the store"),
    "an empty statement": (lambda _, v: v.update(statement=""), "rule of the store"),
    "a long quote": (lambda _, v: v["evidence"][0].update(quote="x" * 4001), "rule of"),
    "an unknown author": (lambda _, v: v["evidence"][0].update(author="god"), "rule of"),
    "a long name": (lambda _, v: v.update(recorded_by="x" * 301), "longer than any"),
    "many alternatives": (lambda _, v: v.update(alternatives=["x"] * 17), "longer than any"),
    "an unknown origin": (lambda _, v: v.update(origin="heaven"), "rule of the store"),
    "a session as an empty text": (lambda _, v: v.update(session_id=""), "wrong type"),
    "many citations": (lambda _, v: v.update(evidence=v["evidence"] * 33), "1 to 32 citations"),
}


@pytest.mark.spec("R-161", "R-176", "R-177")
@pytest.mark.parametrize("name", FORGED)
def test_a_record_that_was_made_up_is_refused(
    other: Memory, file: Path, tmp_path: Path, name: str
) -> None:
    edit, words = FORGED[name]

    def forge(found: list[Json]) -> None:
        try:
            signed(found, edit)
        except (MashError, KeyError):  # one that has no checksum to forge
            edit(nth(found, "record"), nth(found, "revision"))

    message = refused(other, edited(file, tmp_path / "bad", forge))
    assert words in message
    assert TOKEN not in message


@pytest.mark.row(61)
def test_records_that_supersede_each_other_are_refused(
    other: Memory, file: Path, tmp_path: Path
) -> None:
    def circle(found: list[Json]) -> None:
        link = next(line for line in found if line.get("relation") == "supersedes")
        back = link | {"from": link["to"], "to": link["from"]}
        found.insert(found.index(link) + 1, back)

    assert "in a circle" in refused(other, edited(file, tmp_path / "bad", circle))


@pytest.mark.row(61)
def test_a_bad_line_among_very_many_takes_all_back(
    memory: Memory, other: Memory, told: Json, file: Path, tmp_path: Path
) -> None:
    def long(found: list[Json]) -> None:
        message = nth(found, "message")
        at = found.index(message)
        found[at:at] = [message | {"id": f"m-{n}", "text": f"Text {n}."} for n in range(20_000)]
        nth(found, "link")["to"] = "nowhere"

    assert "is not in the file" in refused(other, edited(file, tmp_path / "bad", long))


@pytest.mark.parametrize("kind", ["keys", "receipt", "forgotten"])
def test_what_keeps_the_identity_is_checked_too(
    other: Memory, file: Path, tmp_path: Path, kind: str
) -> None:
    edits: dict[str, list[Edit]] = {
        "keys": [set_in("keys", receipt_secret="00"), drop("keys"), set_in("owner", id="other")],
        "receipt": [
            set_in("receipt", receipt="[3]"),
            set_in("receipt", receipt="{"),
            set_in("receipt", owner="nobody"),
            set_in("receipt", status="open"),
        ],
        "forgotten": [set_in("forgotten", kind="owner")],
    }
    for edit in edits[kind]:
        refused(other, edited(file, tmp_path / "bad", edit), "identity")


def test_what_follows_the_last_line_is_refused(other: Memory, file: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(file.read_bytes() + gzip.compress(b'{"is":"owner"}\n', mtime=0))
    assert "after the last line" in refused(other, tmp_path / "bad")
    (tmp_path / "bad").write_bytes(file.read_bytes() + b"garbage")
    refused(other, tmp_path / "bad")


def test_a_file_that_changes_while_it_is_read_is_refused(
    memory: Memory, other: Memory, file: Path, tmp_path: Path
) -> None:
    """Between the check and the writing somebody puts other words into the same file."""
    path = tmp_path / "moving"
    path.write_bytes(file.read_bytes())
    forged = edited(file, tmp_path / "forged", lambda f: nth(f, "message").update(text="Other."))
    real = other.call.store.writing

    def writing(**options: Any) -> Any:
        path.write_bytes(forged.read_bytes())
        return real(**options)

    before = rows_of(other)
    other.call.store.writing = writing  # type: ignore[method-assign]
    with pytest.raises(InvalidArgument, match="was changed meanwhile"):
        take_in(other, path)
    other.call.store.writing = real  # type: ignore[method-assign]
    assert (rows_of(other), chats_of(other)) == (before, [])


def test_an_export_never_writes_a_line_that_no_import_reads(
    memory: Memory, told: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES", 300)
    with pytest.raises(TooLarge, match="takes"):
        write_export(memory.call_now(), str(tmp_path / "out"), Wanted())
    assert not (tmp_path / "out").exists()


@pytest.mark.spec("R-178", "R-179")
def test_a_record_about_a_forgotten_chat_stays_out_whatever_it_cites(
    memory: Memory, told: Json, file: Path, tmp_path: Path
) -> None:
    def about(record: Json, revision: Json) -> None:
        record.update(scope_kind="chat", scope_value="claude-code-s-1")
        for evidence in revision["evidence"]:
            evidence["chat_id"] = "codex-other"

    moved = edited(file, tmp_path / "moved", lambda found: signed(found, about))
    forget_chat(memory.call_now(), find_going(memory.call_now(), "claude-code-s-1"))
    before = rows_of(memory)
    assert take_in(memory, moved)["counts"]["forgotten_records"] == 5
    assert rows_of(memory)["records"] == before["records"] == []


@pytest.mark.spec("R-024", "R-025")
def test_a_citation_whose_role_is_not_known_makes_its_record_stale(
    other: Memory, file: Path, tmp_path: Path
) -> None:
    def older(_record: Json, revision: Json) -> None:
        revision["evidence"][0].update(role="unknown", purpose="unknown", author="unknown")

    path = edited(file, tmp_path / "older", lambda found: signed(found, older))
    take_in(other, path, "mine")
    scope = {"kind": "repository", "identity": SHOP}
    listed = other.pages(include_inactive=True, limit=50)["records"]
    (item,) = [one for one in listed if one["statement"] == "Use Qdrant for local search."]
    assert (item["status"], item["evidence"]) == ("stale_evidence", "stale")
    revision = other.get(item["id"], history=True)["revisions"][0]
    assert (revision["evidence"][0]["role"], revision["evidence"][0]["purpose"]) == (
        "unknown",
        "unknown",
    )
    assert item["id"] not in [one["id"] for one in other.recall(scope=scope)["records"]]


@pytest.mark.parametrize("place", ["", "/proc/self/mem"])
def test_a_folder_and_a_file_that_cannot_be_read_are_told(
    memory: Memory, tmp_path: Path, place: str
) -> None:
    path = Path(place) if place else tmp_path
    with pytest.raises(InvalidArgument, match="Nothing was imported"):
        take_in(memory, path)
