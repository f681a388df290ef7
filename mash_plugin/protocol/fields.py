"""The single values of requests: how they are checked before a rule looks at them."""

import posixpath
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from mash_plugin.records.files import is_relative_path

OLDEST_MS, NEWEST_MS = 100_000_000_000, 253_402_300_799_999
MAX_OFFSET = 1_000_000_000
MAX_CURSOR = 1000
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their category, yet nothing to see."""


def _visible(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("text", "must not hold NUL characters")
    if not any(map(_is_visible, text)):
        raise PydanticCustomError("text", "must hold at least one visible character")
    return text


def _is_visible(character: str) -> bool:
    """Whether it shows by itself: no space, mark, filler or blank pattern."""
    if not character.isprintable() or character in _BLANK:
        return False
    return unicodedata.category(character)[0] not in "MZC"


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise PydanticCustomError("text", "must be printable characters")
    return text


def _milliseconds(value: int) -> int:
    if value < OLDEST_MS:
        raise PydanticCustomError(
            "time", "must be Unix milliseconds (13 digits); leave an unknown time out"
        )
    if value > NEWEST_MS:
        raise PydanticCustomError("time", "is after the year 9999; Unix milliseconds are expected")
    return value


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise PydanticCustomError("path", "must be an absolute path")
    return posixpath.normpath("/" + path.lstrip("/"))


def _relative(path: str) -> str:
    if not is_relative_path(path):
        raise PydanticCustomError(
            "path", "must be a path relative to the project root, with / and without .."
        )
    return path


def _text(limit: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=limit)


Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Ms = Annotated[int, AfterValidator(_milliseconds)]
ListItem = Annotated[str, _text(500), AfterValidator(_visible)]
Texts = Annotated[list[ListItem], Field(min_length=1, max_length=16)] | ListItem
Statement = Annotated[str, _text(2000), AfterValidator(_visible)]
Quote = Annotated[str, _text(4000), AfterValidator(_visible)]
Moment = Annotated[int, Field(ge=0, lt=1 << 63)]
"""Some time that is looked back to, or so long a time; the store holds no larger number."""
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET)]
OperationId = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_printable)
]
Name = Annotated[str, _text(200), AfterValidator(_visible)]
Reporter = Annotated[str, _text(300), AfterValidator(_visible)]
Identity = Annotated[str, _text(1000), AfterValidator(_visible)]
FolderPath = Annotated[str, _text(4096), AfterValidator(_absolute)]
FilePath = Annotated[
    str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_relative)
]
RevisionNumber = Annotated[int, Field(ge=1, le=MAX_OFFSET)]
Cursor = Annotated[str, Field(json_schema_extra={"maxLength": MAX_CURSOR})]
"""A longer one is not too large, but none that we made: its reader refuses it."""
