"""Calls of the disk that fail: the n-th of a kind, once or from then on."""

import os

import apsw

SITES = ("xOpen", "xWrite", "xSync", "xRead", "xTruncate", "xDelete")
"""Of SQLite; the calls of `os` go by their own names."""


class Faults:
    """Counts calls once armed; the wanted one fails."""

    def __init__(self) -> None:
        self.site = ""
        self.at = self.calls = 0
        self.code = 0
        self.is_lasting = self.is_short = self.has_failed = False

    def arm(
        self, site: str, at: int, code: int, *, is_lasting: bool = False, is_short: bool = False
    ) -> None:
        """Make call number `at` fail with that SQLite code, or errno for a call of `os`.

        `is_short`: half of the data is written first. A site of "" counts nothing.
        """
        self.site, self.at, self.code = site, at, code
        self.is_lasting, self.is_short = is_lasting, is_short
        self.calls, self.has_failed = 0, False

    def disarm(self) -> None:
        self.site = ""

    def is_due(self, site: str) -> bool:
        """Count a call; whether it is one that fails."""
        if site != self.site:
            return False
        self.calls += 1
        is_due = self.calls == self.at or (self.is_lasting and self.calls > self.at)
        self.has_failed |= is_due
        return is_due

    def error(self) -> Exception:
        if self.site in SITES:
            return apsw.exception_for(self.code)
        return OSError(self.code, os.strerror(self.code))

    def pass_or_fail(self, site: str) -> None:
        if self.is_due(site):
            raise self.error()
