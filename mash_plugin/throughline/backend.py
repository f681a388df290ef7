"""What a backend does for the named queries: SQLite in the workspace, or Postgres."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from mash_plugin.errors import MashError

Row = tuple[Any, ...]
Params = Mapping[str, Any]


class Database(Protocol):
    """An open store."""

    place: str
    agent: str | None
    """Whose login it is, where agents have logins; no other agent's rows can be seen."""

    def one(self, sql: str, params: Params) -> Row | None:
        """The first row, or None."""

    def all(self, sql: str, params: Params) -> list[Row]:
        """Every row."""

    def run(self, sql: str, params: Params) -> None:
        """Execute to the end."""

    def run_many(self, sql: str, rows: Sequence[Params]) -> None:
        """Execute once for each row of parameters."""

    def transaction(self) -> AbstractContextManager[None]:
        """All of it or nothing; the outermost one writes."""

    def is_lost(self, error: MashError) -> bool:
        """Whether nothing more can be stored after it, rather than only one row."""

    def scrub(self) -> bool:
        """Overwrite what deleted rows left behind; False where that has to wait."""

    def close(self) -> None:
        """Give the store back."""
