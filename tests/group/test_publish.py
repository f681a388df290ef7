"""What a node publishes, what it does not, and that the group's copies follow it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import InvalidState, SharedUnavailable
from mash_plugin.store import publication
from mash_plugin.store.records import get_head, load_revision
from mash_plugin.store.revision_rows import checksum_of, revision_row
from tests.conftest import CHOICE, QUESTION, SHOP, Json, Memory, Shop
from tests.support.groups import Group
from tests.support.publications import heads, join, publish, publisher
from tests.support.transcripts import ClaudeTranscript
from tests.transfer.conftest import a_memory

TABLES = ("pub_records", "pub_revisions", "pub_evidence", "pub_confirmations", "pub_links")


@pytest.fixture
def anna(memory: Memory, shop: Shop, group: Group) -> Memory:
    """The member whose records are published; her chats are indexed."""
    memory.index()
    join(memory, group, "anna")
    return memory


def backlog(memory: Memory) -> tuple[int, int]:
    with memory.call.store.reading() as db:
        found = publication.backlog(db)
    return found.waiting, found.set_aside


def refused(memory: Memory) -> dict[str, str]:
    with memory.call.store.reading() as db:
        return dict(publication.refused(db, 100))


def everything(group: Group) -> str:
    """Every text of every row on the server."""
    return "\n".join(
        str(row) for table in (*TABLES, "nodes") for row in group.run(f"TABLE {table}")
    )


@pytest.mark.spec("R-174", "R-012")
def test_an_established_record_is_published_whole(anna: Memory, shop: Shop, group: Group) -> None:
    made = anna.established("Use Qdrant for local search.")
    publish(anna)
    assert heads(group) == {made["id"]: 1}
    [row] = group.run(
        "SELECT scope_kind, scope_value, kind, review, state, retired FROM pub_records"
    )
    assert row == ("repository", SHOP, "decision", "established", "accepted", 0)
    assert group.run("SELECT statement, origin FROM pub_revisions") == [
        ("Use Qdrant for local search.", "tool")
    ]
    quotes = group.run("SELECT position, quote, purpose, message_id FROM pub_evidence ORDER BY 1")
    assert (1, CHOICE, "endorsement", shop.choice) in quotes
    assert backlog(anna) == (0, 0)


@pytest.mark.spec("R-174")
def test_the_copy_follows_each_change(anna: Memory, shop: Shop, group: Group) -> None:
    first = anna.established("Use Qdrant for local search.")
    second = anna.established("Tests cover the search.")
    publish(anna)
    relation: Json = {"relation": "supports", "target": {"id": first["id"], "revision": 1}}
    anna.change("link", second, **relation)
    body = {"statement": "Use Qdrant.", "review": "established"}
    body["details"] = {"kind": "decision", "state": "accepted"}  # type: ignore[assignment]
    said = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
    revised = anna.change("revise", first, body=body, evidence=said)
    publish(anna)
    assert heads(group) == {first["id"]: 2, second["id"]: 1}
    assert group.run("SELECT from_record, to_record, relation FROM pub_links") == [
        (second["id"], first["id"], "supports")
    ]
    found = group.run(
        "SELECT revision, statement FROM pub_revisions WHERE record_id = %s", first["id"]
    )
    assert sorted(found) == [(1, "Use Qdrant for local search."), (2, "Use Qdrant.")]
    body["details"] = {"kind": "decision", "state": "withdrawn"}  # type: ignore[assignment]
    anna.change("revise", revised, body=body, evidence=said)
    relation["target"]["revision"] = 3
    anna.change("unlink", second, **relation)
    publish(anna)
    assert group.run(
        "SELECT state, retired FROM pub_records WHERE record_id = %s", first["id"]
    ) == [("withdrawn", 1)]
    assert group.run("SELECT * FROM pub_links") == []


@pytest.mark.spec("R-174")
def test_what_is_forgotten_or_out_of_sight_leaves_the_group(
    anna: Memory, shop: Shop, group: Group
) -> None:
    anna.set(group_publish="all")
    kept, gone = anna.established("Use Qdrant for local search."), anna.candidate("Perhaps Milvus.")
    publish(anna)
    assert heads(group) == {kept["id"]: 1, gone["id"]: 1}
    anna.change("forget", gone)
    anna.change("forget", kept)  # only hidden, for the person had spoken
    publish(anna)
    assert heads(group) == {}
    assert "Milvus" not in everything(group)
    anna.undo(kept)
    publish(anna)
    assert heads(group) == {kept["id"]: 1}


@pytest.mark.spec("R-175")
def test_local_projects_chats_and_personal_records_stay_here(
    anna: Memory, shop: Shop, group: Group, tmp_path: Path
) -> None:
    anna.set(group_publish="all")
    folder = str(tmp_path / "projects" / "w" / "shop")
    shared = anna.candidate("Keep the parser whole.")
    local = anna.candidate("Local.", scope={"kind": "local_project", "path": folder})
    chat = anna.candidate("Chat.", scope={"kind": "chat", "id": shop.chat})
    personal = anna.candidate("Personal.", scope={"kind": "personal"})
    publish(anna)
    assert heads(group).keys() == {shared["id"]}
    anna.set(group_publish_chats=True, group_publish_personal=True)
    publish(anna)
    assert heads(group).keys() == {shared["id"], chat["id"], personal["id"]}
    assert local["id"] not in everything(group)
    assert folder not in everything(group)
    anna.set(group_publish_chats=False, group_publish_personal=False)
    publish(anna)
    assert heads(group).keys() == {shared["id"]}


def test_a_candidate_stays_here_until_all_is_to_be_published(
    anna: Memory, shop: Shop, group: Group
) -> None:
    made = anna.candidate("Perhaps use Milvus.")
    publish(anna)
    assert heads(group) == {}
    anna.set(group_publish="all")
    publish(anna)
    assert heads(group) == {made["id"]: 1}
    anna.set(group_publish="nothing")
    publish(anna)
    assert heads(group) == {}


@pytest.mark.parametrize(
    "chosen",
    [
        {"group_never": (SHOP,)},
        {"deny": ("github.com/acme/*",)},
        {"group_only": ("github.com/acme/other",)},
    ],
)
def test_a_project_that_the_lists_leave_out_is_taken_back(
    anna: Memory, shop: Shop, group: Group, chosen: dict[str, tuple[str, ...]]
) -> None:
    made = anna.established("Use Qdrant for local search.")
    anna.set(group_only=(SHOP,))
    publish(anna)
    assert heads(group) == {made["id"]: 1}
    anna.set(group_only=())
    anna.set(**chosen)
    publish(anna)
    assert heads(group) == {}


@pytest.mark.parametrize("line", ["group = off", "off", "index = off"])
def test_a_marker_in_the_repository_keeps_its_records_here(
    anna: Memory, shop: Shop, group: Group, line: str
) -> None:
    made = anna.established("Use Qdrant for local search.")
    publish(anna)
    marker = anna.projects / "w" / "shop" / ".mash"
    marker.write_text(f"{line}\n")
    publish(anna)
    assert heads(group) == {}
    marker.unlink()
    publish(anna)
    assert heads(group) == {made["id"]: 1}


def test_neither_sessions_nor_messages_leave(anna: Memory, shop: Shop, group: Group) -> None:
    anna.come_from(session_id="s-1")
    anna.set(group_publish="all", group_publish_chats=True)
    anna.candidate("Keep the parser whole.", scope={"kind": "chat", "id": shop.chat})
    quote = {"session_id": "s-1", "quote": "use Qdrant", "purpose": "endorsement"}
    body = {"statement": "Qdrant it is.", "review": "established"}
    body["details"] = {"kind": "decision", "state": "accepted"}  # type: ignore[assignment]
    anna.create(body, [quote])
    publish(anna)
    told = everything(group)
    assert "use Qdrant" in told
    assert CHOICE not in told
    assert "s-1" not in told
    assert shop.chat not in told
    [(one,), *more] = group.run("SELECT DISTINCT chat_id FROM pub_evidence")
    assert one.startswith("chat-")
    assert not more
    assert (one,) in group.run("SELECT scope_value FROM pub_records WHERE scope_kind = 'chat'")


def test_what_the_rules_of_today_refuse_stays_here(anna: Memory, shop: Shop, group: Group) -> None:
    made, other = anna.established("Use Qdrant for local search."), anna.established("Cover it.")
    publish(anna)
    anna.set(extra_patterns=("(?i)qdrant for",))
    publish(anna)
    assert heads(group) == {other["id"]: 1}
    assert "Qdrant for" not in everything(group)
    [why] = [why for record, why in refused(anna).items() if record == made["id"]]
    assert "extra_patterns" in why
    assert "Qdrant" not in why
    anna.set(extra_patterns=())
    publish(anna)
    assert heads(group).keys() == {made["id"], other["id"]}


def test_a_credential_in_the_store_never_leaves(anna: Memory, shop: Shop, group: Group) -> None:
    anna.established("Use Qdrant for local search.")
    key = "AKIA" + "Q3EGRZ7KJ4WXN2TB"
    other = anna.established("Cover it.")
    replant(anna, other["id"], f"Deploy with {key}.")
    publish(anna)
    assert key not in everything(group)
    assert other["id"] not in heads(group)
    assert "credential" in refused(anna)[other["id"]]


def test_a_credential_in_the_address_of_a_repository_stays_here(
    anna: Memory, shop: Shop, group: Group
) -> None:
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    made = anna.established("Use Qdrant for local search.")
    rescope(anna, made["id"], f"github.com/{key}/shop")
    publish(anna)
    assert heads(group) == {}
    assert key not in everything(group)
    assert "credential" in refused(anna)[made["id"]]


def test_private_text_that_a_chat_holds_by_now_stays_here(
    anna: Memory, shop: Shop, group: Group
) -> None:
    made = anna.established("The launch is called umbrella nine.")
    publish(anna)
    assert heads(group) == {made["id"]: 1}
    shop.transcript.person("<private>The launch is called umbrella nine.</private> Go on.")
    anna.index()
    publish(anna)
    assert heads(group) == {}
    assert "private" in refused(anna)[made["id"]]


def test_private_text_of_the_session_that_saved_it_stays_here(
    anna: Memory, shop: Shop, second_shop: ClaudeTranscript, group: Group
) -> None:
    anna.come_from(session_id="s-2")
    made = anna.established("The launch is called umbrella nine.")
    second_shop.person("<private>The launch is called umbrella nine.</private> Go on.")
    anna.index()
    publish(anna)
    assert heads(group) == {}
    assert "private" in refused(anna)[made["id"]]


def test_records_of_another_owner_are_not_published_as_ones_own(
    anna: Memory, shop: Shop, group: Group
) -> None:
    made = anna.established("Use Qdrant for local search.")
    plant(anna, "INSERT INTO owners VALUES ('other', 'Other', 'import', 1)")
    plant(anna, "UPDATE records SET owner_id = 'other'")
    publish(anna)
    assert heads(group) == {}
    assert refused(anna) == {}
    assert made["id"] not in everything(group)


def test_a_damaged_record_is_not_published(anna: Memory, shop: Shop, group: Group) -> None:
    made = anna.established("Use Qdrant for local search.")
    plant(anna, "UPDATE revisions SET checksum = x'00'")
    publish(anna)
    assert heads(group) == {}
    assert "mash doctor" in refused(anna)[made["id"]]


@pytest.mark.spec("R-012", "R-168")
def test_two_nodes_with_one_statement_are_two_rows(
    anna: Memory, shop: Shop, group: Group, tmp_path: Path
) -> None:
    anna.established("Use Qdrant for local search.")
    publish(anna)
    with a_memory(tmp_path / "bob", "b") as bob:
        join(bob, group, "bob")
        copy_chats(anna, bob)
        bob.established("Use Qdrant for local search.")
        publish(bob, "bob's")
    owners = group.run(
        "SELECT m.member FROM pub_records JOIN nodes USING (node_id)"
        " JOIN members m USING (role_name) ORDER BY 1"
    )
    assert owners == [("anna",), ("bob",)]


def test_a_replay_changes_nothing(anna: Memory, shop: Shop, group: Group) -> None:
    made = [anna.established(f"Number {n}.")["id"] for n in range(3)]
    publish(anna)
    before = [group.run(f"TABLE {table}") for table in TABLES]
    with anna.call.store.writing() as db:
        publication.queue(db, made, 1)
    publish(anna)
    assert [group.run(f"TABLE {table}") for table in TABLES] == before


def test_without_a_change_nothing_is_written(anna: Memory, shop: Shop, group: Group) -> None:
    anna.established("Use Qdrant for local search.")
    publish(anna)
    before = group.run("SELECT mark, published_at FROM nodes")
    publish(anna)
    assert group.run("SELECT mark, published_at FROM nodes") == before


def test_another_version_looks_at_everything_again(
    anna: Memory, shop: Shop, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = anna.established("Use Qdrant for local search.")
    publish(anna)
    group.run("DELETE FROM pub_records")
    publish(anna)
    assert heads(group) == {}
    monkeypatch.setattr("mash_plugin.group.publication._program", lambda: "999.0")
    publish(anna)
    assert heads(group) == {made["id"]: 1}


def test_a_restored_server_is_made_whole(anna: Memory, shop: Shop, group: Group) -> None:
    made = [anna.established(f"Number {n}.")["id"] for n in range(3)]
    publish(anna)
    group.run("DELETE FROM pub_records WHERE record_id = %s", made[0])
    group.run("UPDATE pub_records SET digest = 'old' WHERE record_id = %s", made[1])
    group.run("UPDATE nodes SET mark = 'an older one'")
    publish(anna)
    assert heads(group).keys() == set(made)
    assert group.run("SELECT 1 FROM pub_records WHERE digest = 'old'") == []


def test_a_server_that_lost_the_node_gets_it_again(anna: Memory, shop: Shop, group: Group) -> None:
    made = anna.established("Use Qdrant for local search.")
    publish(anna)
    group.run("DELETE FROM nodes")
    publish(anna)
    assert heads(group) == {made["id"]: 1}


def test_a_restored_store_takes_back_what_it_does_not_know(
    anna: Memory, shop: Shop, group: Group
) -> None:
    kept = anna.established("Use Qdrant for local search.")
    publish(anna)
    with anna.call.store.reading() as db:
        before = publication.membership(db)
    assert before is not None
    later = anna.established("Made after the backup.")
    publish(anna)
    with anna.call.store.writing() as db:  # as a backup of that moment is
        publication.leave(db)
        db.run("DELETE FROM records WHERE record_id = :id", {"id": later["id"]})
        publication.join(db, before)
    publish(anna)
    assert heads(group) == {kept["id"]: 1}


def test_another_group_gets_everything(anna: Memory, shop: Shop, group: Group) -> None:
    made = anna.established("Use Qdrant for local search.")
    publish(anna)
    group.run("UPDATE group_info SET group_id = 'made anew'")
    group.run("DELETE FROM nodes")
    anna.candidate("Waits in vain.")
    publish(anna)
    assert heads(group) == {made["id"]: 1}
    with anna.call.store.reading() as db:
        joined = publication.membership(db)
    assert joined is not None
    assert joined.group_id == "made anew"


def test_a_copied_store_tells_and_does_not_fight(anna: Memory, shop: Shop, group: Group) -> None:
    anna.established("Use Qdrant for local search.")
    publish(anna, "old")
    with pytest.raises(InvalidState, match="--take-over"):
        publish(anna, "new")
    publish(anna, "new", take_over=True)
    publish(anna, "new")
    with pytest.raises(InvalidState, match="another folder or machine"):
        publish(anna, "old")


def test_a_copy_of_another_members_store_publishes_nothing(
    anna: Memory, shop: Shop, group: Group
) -> None:
    anna.established("Use Qdrant for local search.")
    publish(anna)
    join(anna, group, "bob")
    with pytest.raises(InvalidState, match="another member's"):
        publish(anna, take_over=True)
    assert len(heads(group)) == 1


def test_one_who_comes_back_under_another_name_is_told_who_stands_in_the_way(
    anna: Memory, shop: Shop, group: Group
) -> None:
    made = anna.established("Use Qdrant for local search.")
    publish(anna)
    group.remove("anna")
    join(anna, group, "anna2")
    with pytest.raises(InvalidState, match="remove anna --purge"):
        publish(anna)
    group.remove("anna", purge=True)
    publish(anna)
    assert heads(group) == {made["id"]: 1}


def test_a_node_that_is_moved_in_the_middle_publishes_nothing_more(
    anna: Memory, shop: Shop, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(anna)
    anna.established("Use Qdrant for local search.")
    at_work = publisher(anna)
    agree = at_work._agree

    def moved_meanwhile(*args: Any, **how: Any) -> str:
        node = agree(*args, **how)
        group.run("UPDATE nodes SET home = 'elsewhere'")
        return node

    monkeypatch.setattr(at_work, "_agree", moved_meanwhile)
    with pytest.raises(Exception, match="moved meanwhile"):
        at_work.run()
    assert heads(group) == {}
    assert backlog(anna) == (1, 0)


def test_a_row_that_the_server_refuses_holds_up_nobody(
    anna: Memory, shop: Shop, group: Group
) -> None:
    made = [anna.established(f"Number {n}.")["id"] for n in range(5)]
    publish(anna)
    group.run("ALTER TABLE pub_revisions ADD CHECK (statement <> 'Number 3.') NOT VALID")
    with anna.call.store.writing() as db:
        publication.queue(db, made, 1)
    publish(anna)
    assert heads(group).keys() == {*made[:3], made[4]}
    assert backlog(anna) == (0, 1)
    assert "the server refuses it: pub_revisions" in refused(anna)[made[3]]
    group.run("ALTER TABLE pub_revisions DROP CONSTRAINT pub_revisions_statement_check1")
    publish(anna)
    assert backlog(anna) == (0, 1)
    publish(anna, again=True)
    assert heads(group).keys() == set(made)


def test_text_that_postgres_cannot_hold_holds_up_nobody(
    anna: Memory, shop: Shop, group: Group
) -> None:
    good, bad = anna.established("Good."), anna.established("Bad.")
    tokens = {"id": bad["id"], "tokens": "half of one \x00"}
    plant(anna, "UPDATE records SET weak_tokens = :tokens WHERE record_id = :id", tokens)
    publish(anna)
    assert heads(group) == {good["id"]: 1}
    assert "the server refuses it" in refused(anna)[bad["id"]]


def test_a_full_quota_keeps_what_is_there_up_to_date(
    anna: Memory, shop: Shop, group: Group
) -> None:
    anna.set(group_publish="all")
    made = [anna.candidate(f"Number {n}.")["id"] for n in range(4)]
    publish(anna)
    group.run("UPDATE nodes SET quota = 6")
    more = [anna.candidate(f"More {n}.")["id"] for n in range(20)]
    withdraw(anna, {"id": made[0], "revision": 1})
    publish(anna)
    there = heads(group)
    assert len(there) == 6
    assert there[made[0]] == 2
    assert backlog(anna) == (0, 18)
    assert all("6 records at most" in why for why in refused(anna).values())
    group.run("UPDATE nodes SET quota = 100")
    publish(anna, again=True)
    assert heads(group).keys() == {*made, *more}


def test_more_than_a_batch_is_published_and_compared(
    anna: Memory, shop: Shop, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mash_plugin.group.publisher.BATCH", 3)
    monkeypatch.setattr("mash_plugin.group.comparison.PAGE", 3)
    anna.set(group_publish="all")
    made = [anna.candidate(f"Number {n}.")["id"] for n in range(10)]
    publish(anna)
    assert heads(group).keys() == set(made)
    group.run("DELETE FROM pub_records WHERE record_id = ANY(%s)", made[2:8:2])
    group.run("UPDATE pub_records SET digest = 'x' WHERE record_id = ANY(%s)", [made[0], made[9]])
    group.run("UPDATE nodes SET mark = ''")
    with anna.call.store.writing() as db:  # without a note, as in a backup
        db.run("DELETE FROM meta WHERE key = 'group_id'")
        db.run("DELETE FROM records WHERE record_id = :id", {"id": made[5]})
    publish(anna)
    assert heads(group).keys() == {*made[:5], *made[6:]}
    assert group.run("SELECT 1 FROM pub_records WHERE digest = 'x'") == []


def test_a_read_only_member_publishes_nothing_and_notes_nothing(
    anna: Memory, shop: Shop, group: Group
) -> None:
    group.add("carla", read_only=True)
    join(anna, group, "carla")
    anna.established("Use Qdrant for local search.")
    at_work = publisher(anna)
    at_work.run()
    assert at_work.entered is not None
    assert at_work.entered.is_read_only
    assert heads(group) == {}
    assert backlog(anna) == (0, 0)


@pytest.mark.parametrize("skew_ms", [-(10**11), 10**11])
def test_a_clock_that_is_years_off_changes_nothing(
    anna: Memory, shop: Shop, group: Group, skew_ms: int
) -> None:
    first = anna.candidate("Number 1.")
    anna.set(group_publish="all")
    publish(anna)
    anna.clock.advance(skew_ms)
    anna.call = anna.call._replace(now=anna.clock.now)
    withdraw(anna, first)
    publish(anna)
    assert heads(group) == {first["id"]: 2}


@pytest.mark.row(66)
def test_a_server_that_is_away_leaves_the_outbox_alone(
    anna: Memory, shop: Shop, group: Group, tmp_path: Path
) -> None:
    publish(anna)
    anna.established("Use Qdrant for local search.")
    away = tmp_path / "away.dsn"
    away.write_text(f"host={tmp_path} user={group.roles.login('anna')} password=x dbname=x\n")
    away.chmod(0o600)
    anna.set(group_dsn_file=str(away))
    with pytest.raises(SharedUnavailable):
        publish(anna)
    assert backlog(anna) == (1, 0)


def withdraw(memory: Memory, expected: Json) -> None:
    """Take a candidate back."""
    details = {"kind": "decision", "state": "withdrawn"}
    evidence = [{"session_id": "s-1", "quote": QUESTION}]
    memory.change(
        "revise", expected, body={"statement": "No.", "details": details}, evidence=evidence
    )


def plant(memory: Memory, sql: str, params: Json | None = None) -> None:
    with memory.call.store.writing() as db:
        db.run(sql, params or {})


def replant(memory: Memory, record_id: str, text: str) -> None:
    """Put a text into the store that no tool would have let in, under a right checksum."""
    with memory.call.store.writing() as db:
        head = get_head(db, record_id)
        assert head is not None
        revision = load_revision(db, head, 1)
        assert revision is not None
        changed = revision._replace(body=revision.body._replace(statement=text))
        checksum = checksum_of(head.place, revision_row(changed), changed.evidence)
        db.run("DROP TRIGGER revisions_immutable")
        db.run(
            "UPDATE revisions SET statement = :t, checksum = :c WHERE record_id = :id",
            {"t": text, "c": checksum, "id": record_id},
        )


def rescope(memory: Memory, record_id: str, identity: str) -> None:
    """Let a record belong to another repository."""
    with memory.call.store.writing() as db:
        head = get_head(db, record_id)
        assert head is not None
        revision = load_revision(db, head, 1)
        assert revision is not None
        place = head._replace(scope_value=identity).place
        checksum = checksum_of(place, revision_row(revision), revision.evidence)
        key = {"id": record_id, "to": identity, "sum": checksum}
        db.run("UPDATE records SET scope_value = :to WHERE record_id = :id", key)
        db.run("UPDATE revisions SET checksum = :sum WHERE record_id = :id", key)


def copy_chats(source: Memory, target: Memory) -> None:
    """The same chats on another machine."""
    shutil.copytree(source.claude_root, target.claude_root, dirs_exist_ok=True)
    target.index()
