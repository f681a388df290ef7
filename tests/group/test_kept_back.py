"""Which projects take no part in the group, by the settings and by their `.mash` file."""

from pathlib import Path

import pytest

from mash_plugin.chats.project import project_of
from mash_plugin.chats.switches import what_is_off
from mash_plugin.config import Settings, read_settings
from mash_plugin.memory.denied import Denied
from tests.conftest import SHOP, Memory, Shop
from tests.support.transcripts import write_repository

JOINED = Settings(group_dsn_file="group.dsn", file="/c/config.toml")


def read(folder: Path, table: str) -> Settings:
    (folder / "config.toml").write_text(f"[group]\n{table}\n")
    return read_settings(str(folder / "config.toml"), {})


def test_what_the_person_settled_is_published_unless_more_or_less_is_asked_for(
    tmp_path: Path,
) -> None:
    assert read(tmp_path, 'dsn_file = "a.dsn"').group_publish == "established"
    for extent in ("all", "nothing"):
        settings = read(tmp_path, f'publish = "{extent}"')
        assert (settings.group_publish, settings.warnings) == (extent, ())


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ('publish = "none"', "is none of established, all, nothing: nothing is published"),
        ("publish = false", "nothing is published"),
        ("never = true", "must be a list of texts so that nothing is published"),
        ('never = ["host.example/a/b", 3]', "3 is no text so that nothing is published"),
        ("only = 3", "must be a list of texts so that nothing is published"),
    ],
)
def test_a_table_that_is_not_clear_publishes_nothing_and_is_told(
    tmp_path: Path, table: str, word: str
) -> None:
    settings = read(tmp_path, table)
    assert settings.group_publish == "nothing"
    assert [word in warning for warning in settings.warnings] == [True]


def test_a_file_that_is_none_and_a_switch_that_is_none_are_told(tmp_path: Path) -> None:
    settings = read(tmp_path, 'dsn_file = ""\npublish_personal = "perhaps"')
    assert settings.group_dsn_file is None
    assert not settings.group_publish_personal
    assert len(settings.warnings) == 2


@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        (JOINED, False),
        (JOINED._replace(group_never=(SHOP,)), True),
        (JOINED._replace(group_never=("github.com/acme/*",)), True),
        (JOINED._replace(group_never=("github.com/acme/other",)), False),
        (JOINED._replace(group_only=(SHOP,)), False),
        (JOINED._replace(group_only=("github.com/acme/other",)), True),
        (JOINED._replace(deny=(SHOP,)), True),
    ],
)
def test_lists_tell_which_repositories_take_part(
    memory: Memory, shop: Shop, settings: Settings, is_kept: bool
) -> None:
    memory.set(**settings._asdict())
    assert Denied(memory.call, "group").has_scope("repository", SHOP) is is_kept
    assert Denied(memory.call, "group").has_chat_id(shop.chat), "nobody knows where it took place"
    memory.index()
    denied = Denied(memory.call, "group")
    assert denied.has_chat_id(shop.chat) is is_kept
    assert not denied.has_scope("personal", "")


def test_a_folder_on_a_list_stands_for_its_repository(memory: Memory, shop: Shop) -> None:
    memory.index()
    clone = str(memory.projects / "w" / "shop")
    for settings, is_kept in (
        (JOINED._replace(group_only=(clone,)), False),
        (JOINED._replace(group_never=(clone,)), True),
    ):
        memory.set(**settings._asdict())
        assert Denied(memory.call, "group").has_scope("repository", SHOP) is is_kept


def test_one_clone_that_says_so_keeps_the_repository_back(memory: Memory, shop: Shop) -> None:
    memory.index()
    memory.set(**JOINED._asdict())
    assert not Denied(memory.call, "group").has_scope("repository", SHOP)
    (memory.projects / "w" / "shop" / ".mash").write_text("group = off\n")
    assert Denied(memory.call, "group").has_scope("repository", SHOP)
    assert not Denied(memory.call, "capture").has_scope("repository", SHOP)


def test_why_a_project_is_kept_back_is_told_only_where_a_group_is_joined(tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "shop", f"https://{SHOP}")
    (clone / ".mash").write_text("group = off\n")
    project = project_of(str(clone))
    told = what_is_off(project, JOINED._replace(group_never=(SHOP,)))
    assert [off.why for off in told] == [
        f"[group] never in /c/config.toml names {SHOP}",
        f"{clone}/.mash says so",
    ]
    outside = what_is_off(project, JOINED._replace(group_only=("github.com/acme/other",)))
    assert outside[0].why == "[group] only in /c/config.toml names others alone"
    assert what_is_off(project, Settings(group_never=(SHOP,))) == []
