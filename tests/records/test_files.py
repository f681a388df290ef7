"""A text mentions a file, or another one that looks like it."""

import pytest

from mash_plugin.records.files import is_relative_path, mentions_path

PATH = "src/main.rs"


@pytest.mark.spec("R-089")
@pytest.mark.parametrize(
    "text",
    [
        PATH,
        f"{PATH} is small",
        f"look at {PATH}",
        f"`{PATH}`",
        f"'{PATH}'",
        f'"{PATH}"',
        f"({PATH})",
        f"[{PATH}]",
        f"<{PATH}>",
        f"{PATH}:12",
        f"{PATH}, and",
        f"Keep {PATH}.",
        f"Keep {PATH}. Then go",
        f"./{PATH}",
        f"(./{PATH})",
        f"{PATH}\nnext",
        f"{PATH}; {PATH}.bak",
        f"other/{PATH} and {PATH}",
        f"\u201c{PATH}\u201d",
        f"{PATH}\u3002",
    ],
)
def test_a_whole_path_is_found(text: str) -> None:
    assert mentions_path(text, PATH)


@pytest.mark.spec("R-089")
@pytest.mark.parametrize(
    "text",
    [
        f"other/{PATH}",
        f"{PATH}.bak",
        f"{PATH}x",
        f"x{PATH}",
        f"{PATH}/mod",
        f"{PATH}-old",
        f"{PATH}_old",
        f"../{PATH}",
        f"a/./{PATH}",
        f"-{PATH}",
        f"\\{PATH}",
        f"{PATH}2",
        "src/Main.rs",
        "SRC/MAIN.RS",
        "src/main",
        "",
    ],
)
def test_another_path_is_not_this_one(text: str) -> None:
    assert not mentions_path(text, PATH)


@pytest.mark.spec("R-089")
def test_a_path_is_the_same_composed_and_decomposed() -> None:
    composed, decomposed = "src/\u00e9t\u00e9.py", "src/e\u0301te\u0301.py"
    for text, path in ((composed, decomposed), (decomposed, composed)):
        assert mentions_path(f"see {text} now", path)
    assert not mentions_path("see src/e\u0301 now", "src/e")


@pytest.mark.spec("R-088")
def test_only_paths_inside_a_project_are_relative() -> None:
    assert is_relative_path(PATH)
    assert is_relative_path("a b/\u00e9.txt")
    for path in ("/etc/passwd", "../x", "a/../b", "./a", "a//b", "a/", "", "a\\b", "a\0b"):
        assert not is_relative_path(path)
