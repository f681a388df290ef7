"""How long hooks waited for their answers since the daemon started, in a few numbers per hook."""

from bisect import bisect_left

LIMITS_MS = (1, 2, 5, 10, 20, 50, 100, 200)
"""Each column holds what took at most so long; one more holds the rest."""


class Latency:
    """Counts answers by hook and by how long they took; adding is one addition."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def add(self, hook: str, took_ms: float) -> None:
        """Count one answer."""
        counts = self._counts.setdefault(hook, [0] * (len(LIMITS_MS) + 1))
        counts[bisect_left(LIMITS_MS, took_ms)] += 1

    def told(self) -> dict[str, list[int]]:
        """The counts of each hook, by the limits."""
        return {hook: list(counts) for hook, counts in sorted(self._counts.copy().items())}
