"""An export is whole, private, and made at once or not at all."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from mash_plugin.errors import DiskFull, InvalidArgument
from mash_plugin.records.model import Scope
from mash_plugin.transfer import files
from tests.conftest import SHOP, Memory, Shop
from tests.store.saving import mode
from tests.transfer.conftest import Json, export, lines_of


@pytest.mark.spec("R-161")
def test_everything_stands_in_it_once(memory: Memory, told: Json, tmp_path: Path) -> None:
    path = tmp_path / "out.gz"
    done = export(memory, path)
    lines = lines_of(path)
    kinds = [line["is"] for line in lines]
    assert done["counts"] == {kind: kinds.count(kind) for kind in set(kinds)}
    assert kinds.count("record") == 5
    assert kinds.count("revision") == 6
    assert kinds.count("link") == 2
    assert kinds.count("message") == 5
    assert [line["name"] for line in lines if line["is"] == "forgotten"] == [told["gone"]["id"]]
    assert lines[-1]["lines"] == len(lines) - 1
    assert "Forget this one." not in str(lines)


@pytest.mark.spec("R-164")
def test_it_is_the_owners_alone_and_says_what_it_holds(
    memory: Memory, told: Json, tmp_path: Path
) -> None:
    os.umask(0o022)
    path = tmp_path / "out.gz"
    done = export(memory, path)
    assert mode(str(path)) == 0o600
    assert "keep it where nobody else reads it" in done["warnings"][0]
    assert os.listdir(tmp_path).count("out.gz") == 1
    assert not [name for name in os.listdir(tmp_path) if "part" in name]


@pytest.mark.spec("R-161", "R-107")
def test_a_record_of_many_long_revisions_is_complete(
    memory: Memory, shop: Shop, tmp_path: Path
) -> None:
    memory.index()
    at = memory.candidate("0" * 2000)
    for number in range(1, 20):
        body = {
            "statement": f"{number % 10}" * 2000,
            "details": {"kind": "decision", "state": "proposed", "alternatives": ["a" * 500] * 16},
        }
        evidence = [{"message_id": shop.choice, "quote": "Yes"}]
        at = memory.change("revise", at, body=body, evidence=evidence)
    export(memory, tmp_path / "out.gz")
    texts = [line["statement"][0] for line in lines_of(tmp_path / "out.gz") if "statement" in line]
    assert texts == [str(n % 10) for n in range(20)]


@pytest.mark.spec("R-161")
def test_the_same_memory_gives_the_same_bytes(memory: Memory, told: Json, tmp_path: Path) -> None:
    export(memory, tmp_path / "a")
    export(memory, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.spec("R-161")
def test_one_scope_takes_its_records_and_its_chats_alone(
    memory: Memory, told: Json, other_shop: object, tmp_path: Path
) -> None:
    memory.index()
    personal = memory.candidate("A wish.", scope={"kind": "personal"})
    path = tmp_path / "out.gz"
    done = export(memory, path, scopes=(Scope("repository", SHOP),))
    lines = lines_of(path)
    assert not done["complete"]
    assert personal["id"] not in [line.get("id") for line in lines]
    assert {line["session"] for line in lines if line["is"] == "chat"} == {"s-1"}
    assert not [line for line in lines if line["is"] in ("keys", "receipt", "forgotten")]
    export(memory, tmp_path / "mine.gz", scopes=(Scope("personal"),))
    lines = lines_of(tmp_path / "mine.gz")
    assert [line["id"] for line in lines if line["is"] == "record"] == [personal["id"]]


@pytest.mark.spec("R-164", "R-177")
def test_credentials_are_masked_only_where_it_was_asked_for(
    memory: Memory, shop: Shop, tmp_path: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    shop.transcript.person(f"The token is {secret}.")
    memory.index()
    memory.candidate("Keep it.")
    export(memory, tmp_path / "exact.gz")
    assert secret in str(lines_of(tmp_path / "exact.gz"))
    done = export(memory, tmp_path / "masked.gz", is_masked=True)
    assert secret not in str(lines_of(tmp_path / "masked.gz"))
    assert "[masked" in str(lines_of(tmp_path / "masked.gz"))
    assert not done["complete"]


@pytest.mark.row(60)
def test_a_name_that_is_taken_is_left_as_it_is(memory: Memory, told: Json, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(InvalidArgument, match="is there already"):
            export(memory, tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(InvalidArgument, match="There is no folder"):
        export(memory, tmp_path / "nothing" / "out.gz")


@pytest.mark.row(60)
def test_a_name_taken_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(InvalidArgument, match="is there already"), files.new_file(str(path)):
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["out"]


def test_what_a_killed_export_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / ".out.part").write_text("x" * 10_000)
    with files.new_file(str(tmp_path / "out")) as file:
        file.write(b"ours")
    assert (tmp_path / "out").read_bytes() == b"ours"
    assert mode(str(tmp_path / "out")) == 0o600
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.row(60)
def test_a_link_in_the_place_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / ".out.part").symlink_to(tmp_path / "victim")
    with pytest.raises(InvalidArgument, match="is a link"), files.new_file(str(tmp_path / "out")):
        raise AssertionError
    (tmp_path / ".out.part").unlink()
    os.link(tmp_path / "victim", tmp_path / ".out.part")
    with pytest.raises(InvalidArgument, match="is not ours"), files.new_file(str(tmp_path / "out")):
        raise AssertionError
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.row(60)
def test_a_folder_of_somebody_else_that_anybody_may_change_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)
    with (
        pytest.raises(InvalidArgument, match="Anybody may change"),
        files.new_file(str(tmp_path / "out")),
    ):
        raise AssertionError


@pytest.mark.row(60)
def test_places_that_others_see_are_named(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert "Others may rename" in files.warnings_about(str(tmp_path / "open" / "out"))[0]
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    assert "do not commit it" in files.warnings_about(str(tmp_path / "repo" / "out"))[0]
    (tmp_path / "plain").mkdir()
    assert files.warnings_about(str(tmp_path / "plain" / "out")) == []


@pytest.mark.row(32, 60)
def test_a_full_disk_leaves_no_file(memory: Memory, told: Json) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("no /dev/full here")

    def write() -> None:
        with files.new_file("/dev/shm/mash-test-full/out") as file:
            os.dup2(os.open("/dev/full", os.O_WRONLY), file.fileno())
            file.write(b"x" * 1_000_000)

    Path("/dev/shm/mash-test-full").mkdir(exist_ok=True)
    try:
        with pytest.raises(DiskFull, match="nothing was saved"):
            write()
        assert os.listdir("/dev/shm/mash-test-full") == []
    finally:
        os.rmdir("/dev/shm/mash-test-full")


def test_a_damaged_record_is_left_out_and_named(memory: Memory, told: Json, tmp_path: Path) -> None:
    with memory.call.store.writing() as db:
        db.run("DROP TRIGGER revisions_immutable")
        db.run(
            "UPDATE revisions SET statement = 'Other.' WHERE record_id = :id",
            {"id": told["choice"]["id"]},
        )
    done = export(memory, tmp_path / "out.gz")
    assert done["damaged"] == [told["choice"]["id"]]
    ends = [line["from"] for line in lines_of(tmp_path / "out.gz") if line["is"] == "link"]
    assert ends == [told["new"]["id"]]
    assert stat.S_ISREG((tmp_path / "out.gz").stat().st_mode)


def test_a_file_system_without_hard_links_gets_its_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_paths: str, **_options: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", link)
    with files.new_file(str(tmp_path / "out")) as file:
        file.write(b"ours")
    assert os.listdir(tmp_path) == ["out"]
    with (
        pytest.raises(InvalidArgument, match="is there already"),
        files.new_file(str(tmp_path / "other")),
    ):
        (tmp_path / "other").write_text("theirs")
    assert (tmp_path / "other").read_text() == "theirs"


def test_two_exports_at_once_do_not_write_into_one_file(tmp_path: Path) -> None:
    with files.new_file(str(tmp_path / "out")) as file:
        file.write(b"first")
        with (
            pytest.raises(InvalidArgument, match="Another export"),
            files.new_file(str(tmp_path / "out")),
        ):
            raise AssertionError
    assert (tmp_path / "out").read_bytes() == b"first"


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    for path in ("relative", f"{tmp_path}/", f"{tmp_path}/..", f"{tmp_path}/out/in"):
        with pytest.raises(InvalidArgument), files.new_file(path):
            raise AssertionError
