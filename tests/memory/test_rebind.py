"""Records follow a folder that was moved, with their whole history, and back again."""

from pathlib import Path

import pytest

from mash_plugin.errors import InvalidArgument, NotFound, RevisionConflict
from mash_plugin.memory.drafts import tokens_of
from mash_plugin.memory.rebind import rebind
from mash_plugin.protocol import validate
from mash_plugin.protocol.commands import COMMANDS
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.store import publication
from mash_plugin.store.changes import add_link, add_revision, insert_record
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import find_live, get_head, load_head, load_revision
from tests.conftest import NOW, Json, Memory
from tests.support.transcripts import write_repository, write_work_tree

TABLES = ("records", "revisions", "evidence", "confirmations", "links", "checkpoints")


def revision(number: int, statement: str) -> Revision:
    body = Body("decision", "accepted", statement, "tests", "established", decided_by="person")
    evidence = Evidence(
        "c", f"m{number}", "So be it.", "endorsement", "user", "person", "So be it."
    )
    return Revision(number, body, NOW + number, (evidence,), "s-1")


def plant(memory: Memory, record_id: str, path: str, *statements: str) -> None:
    """A record of a folder with one revision for each statement."""
    scope = Scope("local_project", path)
    with memory.call.store.writing() as db:
        owner = identity_of(db).owner
        for number, statement in enumerate(statements or (f"Of {record_id}.",), 1):
            new = revision(number, statement)
            same = interpretation_hash(scope, new.body)
            head = get_head(db, record_id)
            if head is None:
                insert_record(db, record_id, owner, scope, new, same, tokens_of(new))
            else:
                assert add_revision(db, head, new, same, tokens_of(new))


def everything(memory: Memory) -> dict[str, list[object]]:
    with memory.call.store.reading() as db:
        return {
            table: sorted(map(repr, db.all(f"SELECT * FROM {table}")))  # noqa: S608 - our names
            for table in TABLES
        }


def asked(memory: Memory, old: str | Path, new: str | Path, **more: str) -> Json:
    request = validate("terminal_rebind", {"old": str(old), "new": str(new), **more}, COMMANDS)
    return rebind(memory.call, request)


def moved(memory: Memory, old: str | Path, new: str | Path) -> Json:
    return asked(memory, old, new, digest=asked(memory, old, new)["digest"])


def scopes(memory: Memory) -> dict[str, str]:
    with memory.call.store.reading() as db:
        return dict(db.all("SELECT record_id, scope_value FROM records"))  # type: ignore[arg-type]


def test_whole_components_of_the_path_move_and_nothing_else(memory: Memory, tmp_path: Path) -> None:
    new = tmp_path / "new"
    for name, path in {"a": "/p/app", "b": "/p/app/sub", "c": "/p/app2", "d": "/p"}.items():
        plant(memory, name, path)
    told = asked(memory, "/p/app", new)
    assert [(one["from"], one["to"], one["records"]) for one in told["scopes"]] == [
        ("/p/app", str(new), 1),
        ("/p/app/sub", f"{new}/sub", 1),
    ]
    assert scopes(memory)["a"] == "/p/app", "telling moves nothing"
    done = moved(memory, "/p/app", new)
    assert (done["records"], done["done"]) == (2, True)
    assert scopes(memory) == {"a": str(new), "b": f"{new}/sub", "c": "/p/app2", "d": "/p"}


def test_wildcards_of_sql_in_a_path_mean_nothing(memory: Memory) -> None:
    for name, path in {"a": "/p/a_p", "b": "/p/axp", "c": "/p/a_p/%", "d": "/p/a%p"}.items():
        plant(memory, name, path)
    moved(memory, "/p/a_p", "/new")
    assert scopes(memory) == {"a": "/new", "b": "/p/axp", "c": "/new/%", "d": "/p/a%p"}


def test_every_revision_fits_its_checksum_at_the_new_place(memory: Memory) -> None:
    plant(memory, "a", "/old", "First.", "Second.", "Third.")
    moved(memory, "/old", "/new")
    with memory.call.store.reading() as db:
        head = get_head(db, "a")
        assert head is not None
        found = [load_revision(db, head, number) for number in (1, 2, 3)]
        assert [one and one.body.statement for one in found] == ["First.", "Second.", "Third."]
        assert load_head(db, head) == found[-1]


def test_a_record_is_recalled_at_the_new_place_and_known_as_a_duplicate_there(
    memory: Memory, tmp_path: Path
) -> None:
    old, new = {"kind": "local_project", "path": "/old"}, {"kind": "local_project", "path": "/new"}
    plant(memory, "a", "/old", "We use tabs.")
    assert [one["id"] for one in memory.recall(scope=old)["records"]] == ["a"]
    moved(memory, "/old", "/new")
    assert memory.recall(scope=old)["records"] == []
    assert [one["id"] for one in memory.recall(scope=new)["records"]] == ["a"]
    with memory.call.store.reading() as db:
        head = get_head(db, "a")
        assert head is not None
        scope = Scope("local_project", "/new")
        same = interpretation_hash(scope, revision(1, "We use tabs.").body)
        assert find_live(db, head.owner, scope, same) == head


def test_the_reverse_brings_back_the_very_rows_of_before(memory: Memory) -> None:
    plant(memory, "a", "/p/old", "First.", "Second.")
    plant(memory, "b", "/p/old/sub")
    with memory.call.store.writing() as db:
        ends = get_head(db, "a"), get_head(db, "b")
        assert ends[0] is not None
        assert ends[1] is not None
        assert add_link(db, ends[0], ends[1], "supports", NOW, "s-1")
    before = everything(memory)
    moved(memory, "/p/old", "/p/new")
    assert everything(memory) != before
    moved(memory, "/p/new", "/p/old")
    assert everything(memory) == before


def test_into_its_own_subfolder_and_out_again(memory: Memory) -> None:
    plant(memory, "a", "/p")
    plant(memory, "b", "/p/q")
    moved(memory, "/p", "/p/q")
    assert scopes(memory) == {"a": "/p/q", "b": "/p/q/q"}
    moved(memory, "/p/q", "/p")
    assert scopes(memory) == {"a": "/p", "b": "/p/q"}


def test_a_damaged_revision_stays_damaged(memory: Memory) -> None:
    plant(memory, "a", "/old", "First.", "Second.")
    with memory.call.store.writing() as db:
        db.run("DROP TRIGGER revisions_immutable")
        db.run("UPDATE revisions SET statement = 'Forged.' WHERE revision = 1")
    moved(memory, "/old", "/new")
    with memory.call.store.reading() as db:
        head = get_head(db, "a")
        assert head is not None
        assert load_revision(db, head, 1) is None
        assert load_revision(db, head, 2) is not None


def test_records_that_the_new_place_has_already_are_told(memory: Memory) -> None:
    plant(memory, "a", "/old", "We use tabs.")
    plant(memory, "b", "/old", "We use Typst.")
    plant(memory, "c", "/new", "We use tabs.")
    told = asked(memory, "/old", "/new")
    assert (told["scopes"][0]["there"], told["same"]) == (1, 1)
    moved(memory, "/old", "/new")
    assert set(scopes(memory).values()) == {"/new"}


def test_what_changed_since_it_was_told_is_not_moved(memory: Memory) -> None:
    plant(memory, "a", "/old")
    digest = asked(memory, "/old", "/new")["digest"]
    plant(memory, "b", "/old")
    with pytest.raises(RevisionConflict, match="look at the list again"):
        asked(memory, "/old", "/new", digest=digest)
    assert set(scopes(memory).values()) == {"/old"}


def test_reviews_of_chats_count_at_the_new_place(memory: Memory) -> None:
    plant(memory, "a", "/old")
    with memory.call.store.writing() as db:
        owner = identity_of(db).owner
        db.run(
            "INSERT INTO checkpoints VALUES (:owner, 'c', 'local_project', '/old', 'f', 2, :now)",
            {"owner": owner, "now": NOW},
        )
    moved(memory, "/old", "/new")
    with memory.call.store.reading() as db:
        assert db.all("SELECT scope_value, record_count FROM checkpoints") == [("/new", 2)]


def test_links_of_the_file_system_are_resolved_at_the_new_place(
    memory: Memory, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    plant(memory, "a", "/old")
    moved(memory, "/old", tmp_path / "link")
    assert scopes(memory) == {"a": str(real)}


def test_a_folder_that_is_part_of_a_project_is_refused_and_the_projects_named(
    memory: Memory, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "mono", None)
    (root / "app").mkdir()
    plant(memory, "a", "/old")
    with pytest.raises(InvalidArgument, match=f"part of the project {root},"):
        asked(memory, "/old", root / "app")
    moved(memory, "/old", write_work_tree(root, tmp_path / "tree"))
    assert scopes(memory) == {"a": str(root)}


def test_folders_in_a_repository_without_a_remote_keep_their_own(
    memory: Memory, tmp_path: Path
) -> None:
    plant(memory, "a", "/old")
    plant(memory, "b", "/old/app")
    root = write_repository(tmp_path / "new", None)
    (root / "app").mkdir()
    moved(memory, "/old", root)
    assert scopes(memory) == {"a": str(root), "b": f"{root}/app"}
    moved(memory, root, "/old")
    assert scopes(memory) == {"a": "/old", "b": "/old/app"}


def test_a_folder_without_records_and_the_same_place_are_refused(memory: Memory) -> None:
    with pytest.raises(NotFound, match="No records belong to /none"):
        asked(memory, "/none", "/new")
    plant(memory, "a", "/old")
    with pytest.raises(InvalidArgument, match="nothing is to be moved"):
        asked(memory, "/old", "/old")
    with pytest.raises(InvalidArgument, match="absolute"):
        asked(memory, "old", "/new")
    for old, new in (("/old", "/"), ("/", "/old")):
        with pytest.raises(InvalidArgument, match="never a project"):
            asked(memory, old, new)


def test_a_folder_that_got_a_remote_gives_its_records_to_the_repository(
    memory: Memory, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "app", "git@github.com:acme/app.git")
    (root / "sub").mkdir()
    plant(memory, "a", str(root), "First.", "Second.")
    plant(memory, "b", str(root / "sub"))
    with memory.call.store.writing() as db:
        publication.join(db, publication.Membership("g1"))
        db.run("DELETE FROM publication")
        owner = identity_of(db).owner
        db.run(
            "INSERT INTO checkpoints VALUES (:owner, 'c', 'local_project', :path, 'f', 2, :now)",
            {"owner": owner, "path": str(root), "now": NOW},
        )
    told = asked(memory, root, root)
    assert {(one["to"], one["kind"]) for one in told["scopes"]} == {
        ("github.com/acme/app", "repository")
    }
    moved(memory, root, root)
    app = Scope("repository", "github.com/acme/app")
    with memory.call.store.reading() as db:
        for record_id in ("a", "b"):
            head = get_head(db, record_id)
            assert head is not None
            assert head.scope == app
            newest = load_head(db, head)
            assert newest is not None
            same = interpretation_hash(app, newest.body)
            assert find_live(db, head.owner, app, same) == head
        history = get_head(db, "a")
        assert history is not None
        assert load_revision(db, history, 1) == revision(1, "First.")
        assert db.all("SELECT scope_kind, scope_value FROM checkpoints") == [tuple(app)]
        # What waits for the group: moving makes no revision, but what it may publish changed.
        waiting = db.all("SELECT record_id FROM publication ORDER BY record_id")
        assert waiting == [("a",), ("b",)]
    with pytest.raises(NotFound):
        asked(memory, root, root)


def test_no_other_column_of_a_revision_can_be_changed(memory: Memory) -> None:
    plant(memory, "a", "/old")
    for column in ("statement", "recorded_by", "review", "recorded_at", "session_id", "origin"):
        with (
            pytest.raises(Exception, match="revisions are immutable"),
            memory.call.store.writing() as db,
        ):
            db.run(f"UPDATE revisions SET {column} = {column}")  # noqa: S608 - our names
