"""A folder's project: real path and identity, read from git's files without running git."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from mash_plugin.chats.project import Project, project_of, shared_place
from mash_plugin.chats.remotes import normalise_remote
from mash_plugin.chats.switches import is_denied, marker_at, switched_off
from mash_plugin.records.model import Scope
from tests.support.transcripts import write_repository

SHOP = "github.com/acme/shop"


def test_what_was_saved_before_there_was_a_remote_is_looked_for_too() -> None:
    project = Project("/w/shop", SHOP)
    assert project.scope == Scope("repository", SHOP)
    assert project.scopes == [project.scope, Scope("local_project", "/w/shop")]


@pytest.mark.spec("R-042")
@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/shop.git",
        "git@github.com:Acme/Shop",
        "github.com:acme/shop",
        "git@github.com:/acme/shop.git",
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git/",
        "HTTPS://GitHub.com/Acme/Shop.git",
        "https://user:secret@github.com/acme/shop.git",
        "https://github.com:443/acme/shop",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git://github.com/acme/shop.git",
        "git+ssh://git@github.com/acme//shop.git",
        "https://www.github.com/acme/shop",
    ],
)
@pytest.mark.row(57)
def test_every_spelling_of_a_remote_is_one_identity(url: str) -> None:
    assert normalise_remote(url) == SHOP


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("https://git.example.com:8443/Team/Repo.git", "git.example.com/Team/Repo"),
        ("ssh://me@git.example.com:2222/Team/Repo", "git.example.com/Team/Repo"),
        ("git@[::1]:team/repo.git", "[::1]/team/repo"),
        ("https://[2001:db8::1]:8443/a/b", "[2001:db8::1]/a/b"),
        ("git@ssh.dev.azure.com:v3/org/proj/repo", "dev.azure.com/org/proj/repo"),
        ("https://org@dev.azure.com/org/proj/_git/repo", "dev.azure.com/org/proj/repo"),
        ("https://example.com/a%20b/c", "example.com/a b/c"),
        ("/srv/git/shop.git", "localhost/srv/git/shop"),
        ("file:///srv/git/shop.git", "localhost/srv/git/shop"),
        ("../shop.git", "localhost/srv/shop"),
        ("", None),
        ("   ", None),
        ("https://", None),
        ("https://host", None),
        ("https://host/", None),
        ("ext::sh -c evil", None),
        ("javascript://github.com/acme/shop", None),
        ("git@github.com:acme/../../other/shop", None),
        ("git@github.com:acme/\nshop", None),
        ("https://github.com/" + "a" * 1_000, None),
    ],
)
def test_remotes_of_every_spelling_get_one_identity_or_none(url: str, identity: str | None) -> None:
    assert normalise_remote(url, "/srv/clone") == identity


def test_a_subfolder_belongs_to_its_repository(tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "a", "git@github.com:acme/shop.git")
    (clone / "src" / "deep").mkdir(parents=True)
    assert project_of(str(clone / "src" / "deep")) == Project(str(clone), SHOP)


def test_two_clones_share_the_identity_and_keep_their_paths(tmp_path: Path) -> None:
    one = write_repository(tmp_path / "one" / "app", "git@github.com:acme/shop.git")
    two = write_repository(tmp_path / "two" / "app", "https://github.com/acme/shop")
    other = write_repository(tmp_path / "three" / "app", "https://github.com/acme/other")
    found = [project_of(str(p)) for p in (one, two, other)]
    assert [p.identity for p in found if p] == [SHOP, SHOP, "github.com/acme/other"]
    assert len({p.root for p in found if p}) == 3


@pytest.mark.row(57)
def test_links_and_dots_lead_to_one_project(tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "real", "git@github.com:acme/shop.git")
    (tmp_path / "link").symlink_to(clone)
    (clone / "src").mkdir()
    for spelling in ("link", "link/", "real/../real", "real/src/..", "link/src", "./real/"):
        assert project_of(f"{tmp_path}/{spelling}") == Project(str(clone), SHOP)


@pytest.mark.parametrize("place", ["/", "/tmp", "~", "/tmp/", "/tmp/.", "/../"])
def test_no_project_is_invented_at_home_or_at_the_top(place: str) -> None:
    assert project_of(os.path.expanduser(place)) is None


def test_a_home_under_version_control_is_no_project_and_none_of_its_folders_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write_repository(tmp_path / "home", "git@github.com:me/dotfiles.git")
    (home / "notes").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert project_of(str(home)) is None
    assert project_of(str(home / "notes")) == Project(str(home / "notes"), None)


@pytest.mark.parametrize(
    "cwd", ["", "relative/path", "a\0b", "/w/a\nb", "/" + "x" * 5_000, "/\udcff"]
)
@pytest.mark.row(6)
def test_odd_paths_have_no_project_and_raise_nothing(cwd: str) -> None:
    project = project_of(cwd)
    assert project is None or project.identity is None


@pytest.mark.row(6)
def test_a_deleted_folder_is_a_project_without_identity(tmp_path: Path) -> None:
    assert project_of(str(tmp_path / "gone")) == Project(str(tmp_path / "gone"), None)


@pytest.mark.row(57)
def test_worktrees_and_submodules_as_git_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "GIT_AUTHOR_NAME",
        "GIT_COMMITTER_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.setenv(name, "a@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")

    def git(folder: Path, *arguments: str) -> None:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    library, shop = tmp_path / "library", tmp_path / "shop"
    for folder in (library, shop):
        folder.mkdir()
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(shop, "remote", "add", "origin", "git@github.com:acme/shop.git")
    git(shop, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(shop, "submodule", "add", "-q", str(library), "vendor/library")
    tree = Project(str(tmp_path / "tree"), SHOP, str(shop))
    assert project_of(str(tmp_path / "tree")) == tree
    inside = project_of(str(shop / "vendor" / "library"))
    assert inside is not None
    assert inside.root == str(shop / "vendor" / "library")
    assert inside.identity == f"localhost{library}"
    assert inside.place == inside.root
    assert project_of(str(library)) == Project(str(library), None)


@pytest.mark.parametrize("kind", ["ordinary", "bare", "submodule"])
def test_work_trees_without_a_remote_share_one_place(tmp_path: Path, kind: str) -> None:
    def git(folder: Path, *arguments: str) -> None:
        person = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", "-c", "protocol.file.allow=always", *person, *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    def write(folder: Path) -> Path:
        folder.mkdir()
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        return folder

    main = write(tmp_path / "main")
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(main), "store")
        main = tmp_path / "store"
        git(main, "remote", "remove", "origin")
    elif kind == "submodule":
        outer = write(tmp_path / "outer")
        git(outer, "submodule", "add", "-q", str(main), "part")
        main = outer / "part"
        git(main, "remote", "remove", "origin")
    trees = [tmp_path / "one", tmp_path / "two"]
    for tree in trees:
        git(main, "worktree", "add", "-q", "--detach", str(tree))
        (tree / "src").mkdir()
        assert project_of(str(tree / "src")) == Project(str(tree), None, str(main))
        assert shared_place(str(tree)) == str(main)
        assert Project(str(tree), None, str(main)).scopes == [Scope("local_project", str(main))]
    assert shared_place(str(main)) == str(main)
    assert is_denied(project_of(str(trees[0])), [str(main)])
    assert is_denied(project_of(str(trees[0])), [str(trees[0])])
    assert not is_denied(project_of(str(trees[0])), [str(trees[1])])


@pytest.mark.row(57)
def test_a_folder_that_only_claims_to_be_a_work_tree_shares_nothing(tmp_path: Path) -> None:
    main = write_repository(tmp_path / "main", None)
    own = main / ".git" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{tmp_path}/real/.git\n")
    for name in ("real", "false"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(f"gitdir: {own}\n")
    assert shared_place(str(tmp_path / "real")) == str(main)
    assert shared_place(str(tmp_path / "false")) == str(tmp_path / "false")


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ('[remote "origin"]\nurl=git@github.com:acme/shop.git', SHOP),
        ('[REMOTE "origin"]\n\tURL = "git@github.com:acme/shop.git" ; note', SHOP),
        ('[remote "origin"] url = https://github.com/acme/shop # note\n', SHOP),
        ('[remote "upstream"]\nurl = https://github.com/acme/other\n', None),
        ('[remote "Origin"]\nurl = https://github.com/acme/other\n', None),
        ('[remote "origin"]\nurl = https://github.com/\\\nacme/shop\n', SHOP),
        (
            '[url "git@github.com:"]\n insteadOf = gh:\n[remote "origin"]\n url = gh:acme/shop\n',
            SHOP,
        ),
        ('# [remote "origin"]\n;url = x\n', None),
        ("\0\0\xff[[[", None),
        ("", None),
    ],
)
def test_the_origin_is_read_as_git_reads_it(
    tmp_path: Path, text: str, identity: str | None
) -> None:
    clone = write_repository(tmp_path / "a", None)
    (clone / ".git" / "config").write_text(text)
    assert project_of(str(clone)) == Project(str(clone), identity)


def test_a_pipe_in_place_of_a_git_file_is_not_waited_for(tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "a", None)
    (clone / ".git" / "config").unlink()
    os.mkfifo(clone / ".git" / "config")
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / ".git")
    assert project_of(str(clone)) == Project(str(clone), None)
    assert project_of(str(tmp_path / "b")) == Project(str(tmp_path / "b"), None)


def test_a_path_that_is_too_long_for_any_system_is_not_followed() -> None:
    began = time.thread_time()
    assert project_of("/a" * 40_000) is None
    assert time.thread_time() - began < 0.05


def test_projects_are_denied_by_path_and_by_identity() -> None:
    project = Project("/w/shop", SHOP)
    assert is_denied(project, ["/w/shop"])
    assert is_denied(project, ["/w/"])
    assert is_denied(project, ["https://github.com/Acme/Shop.git"])
    assert is_denied(project, ["github.com/acme/shop"])
    assert not is_denied(project, ["/w/sho", "github.com/acme/other", ""])
    assert not is_denied(None, ["/"])


@pytest.mark.parametrize(
    "entry", ["github.com/acme/*", "https://github.com/Acme/*", "git@github.com:acme/*"]
)
def test_a_star_in_the_last_place_names_every_repository_of_an_owner(entry: str) -> None:
    assert is_denied(Project("/w/shop", SHOP), [entry])
    assert not is_denied(Project("/w/shop", "github.com/acme2/shop"), [entry])
    assert not is_denied(Project("/w/shop", None), [entry])


def test_a_star_is_no_pattern_anywhere_else() -> None:
    project = Project("/w/shop", SHOP)
    assert is_denied(project, ["github.com/*"])
    for entry in ("github.com/*/shop", "github.com/acme/sh*", "/w/*", "*", "/*", "*/*"):
        assert not is_denied(project, [entry]), entry


ALL = {"capture", "recall", "index", "group"}


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("", ALL),
        ("\n# nothing but words\n", ALL),
        ("off", ALL),
        ("OFF  # all of it\n", ALL),
        ("capture = on\noff\n", ALL),
        ("capture = off\n", {"capture"}),
        ("capture=0\r\nindex = no\r\n", {"capture", "index"}),
        ('recall = "False"  # quiet\nindex=0', {"recall", "index"}),
        ("Capture = Off", {"capture"}),
        ("group = off\n", {"group"}),
        ("capture = on\nrecall = yes\nindex = true\ngroup = on\n", set()),
    ],
)
def test_a_marker_file_only_switches_off(tmp_path: Path, text: str, off: set[str]) -> None:
    (tmp_path / ".mash").write_text(text)
    assert switched_off(Project(str(tmp_path), None)) == off
    assert switched_off(None) == frozenset()
    assert marker_at(str(tmp_path))[1] == ()


@pytest.mark.parametrize(
    ("text", "off", "word"),
    [
        ("capture = on\nother = off\n", ALL, "'other = off'"),
        ("capture: off\n", ALL, "'capture: off'"),
        ("recall\n", ALL, "'recall'"),
        ("captrue = off\n", ALL, "so everything counts as off"),
        ("recall = disabled\n", {"recall"}, "counts as off"),
        ("capture =\n", {"capture"}, "counts as off"),
    ],
)
def test_what_in_a_marker_file_is_unclear_is_told(
    tmp_path: Path, text: str, off: set[str], word: str
) -> None:
    (tmp_path / ".mash").write_text(text)
    found, faults = marker_at(str(tmp_path))
    assert found == off
    assert [word in fault for fault in faults] == [True]


def test_a_marker_counts_at_the_projects_root_alone(tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "a", None)
    (clone / "src").mkdir()
    (clone / "src" / ".mash").write_text("off\n")
    (tmp_path / ".mash").write_text("off\n")
    assert switched_off(project_of(str(clone / "src"))) == frozenset()
    (clone / ".mash").write_text("")
    assert switched_off(project_of(str(clone / "src"))) == ALL


def test_a_folder_of_the_markers_name_switches_nothing_off(tmp_path: Path) -> None:
    (tmp_path / ".mash").mkdir()
    assert switched_off(Project(str(tmp_path), None)) == frozenset()


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside", "nothing"])
def test_a_marker_that_leads_out_of_the_project_is_not_followed(
    tmp_path: Path, target: str
) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (tmp_path / "outside").write_text("recall = off\nsecret line\n")
    (root / ".mash").symlink_to(target)
    off, faults = marker_at(str(root))
    assert off == ALL
    assert len(faults) == 1
    assert "secret" not in faults[0]


def test_a_marker_may_be_a_link_within_the_project(tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("recall = off\n")
    (tmp_path / ".mash").symlink_to("settings")
    assert marker_at(str(tmp_path)) == ({"recall"}, ())


def test_a_marker_of_any_size_and_content_costs_little_and_is_told(tmp_path: Path) -> None:
    marker = tmp_path / ".mash"
    with marker.open("wb") as file:
        file.truncate(1 << 40)
    off, (fault,) = marker_at(str(tmp_path))
    assert off == ALL
    assert "longer than 4,096 bytes" in fault
    marker.write_bytes(b"\x00\xff\x1b[2J\n" * 400)
    off, faults = marker_at(str(tmp_path))
    assert off == ALL
    assert faults[-1] == "395 more lines like that"
    assert all(fault.isprintable() and len(fault) < 160 for fault in faults)
    marker.unlink()
    os.mkfifo(marker)
    assert marker_at(str(tmp_path)) == (frozenset(), ())


def test_the_main_work_trees_marker_counts_in_the_linked_ones(tmp_path: Path) -> None:
    for name in ("main", "tree"):
        (tmp_path / name).mkdir()
    project = Project(str(tmp_path / "tree"), None, str(tmp_path / "main"))
    (tmp_path / "main" / ".mash").write_text("capture = off\n")
    (tmp_path / "tree" / ".mash").write_text("recall = off\n")
    assert switched_off(project) == {"capture", "recall"}
