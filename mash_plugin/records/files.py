"""Does a text mention exactly this file (R-089)?"""

from mash_plugin.normal_form import normal_form

_PATH_CHARACTERS = frozenset("_-./\\")


def is_relative_path(path: str) -> bool:
    """Whether this is a path inside a project: relative, forward slashes, no dot parts."""
    if not path or "\\" in path or "\0" in path or path.startswith("/"):
        return False
    return all(part not in ("", ".", "..") for part in path.split("/"))


def mentions_path(text: str, path: str) -> bool:
    """Whether the path stands in the text as a whole path, case-sensitive.

    `./` before it is allowed; a full stop after it only where no letter or digit follows.
    Composed and decomposed letters are the same: file systems and people differ in them.
    """
    text, path = normal_form("NFC", text), normal_form("NFC", path)
    start = text.find(path)
    while start != -1:
        if _begins_path(text, start) and _ends_path(text, start + len(path)):
            return True
        start = text.find(path, start + 1)
    return False


def _begins_path(text: str, start: int) -> bool:
    if text.endswith("./", 0, start):
        start -= 2
    return start == 0 or not (text[start - 1].isalnum() or text[start - 1] in _PATH_CHARACTERS)


def _ends_path(text: str, end: int) -> bool:
    if end == len(text):
        return True
    after = text[end]
    if after == ".":
        return end + 1 == len(text) or not text[end + 1].isalnum()
    return not (after.isalnum() or after in "_-/")
