"""What a fuzz target is, and the inputs that are kept for it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.errors import MashError

FIXTURES = Path(__file__).parents[1] / "fixtures"
CORPUS = FIXTURES / "fuzz-corpus"
Check = Callable[[bytes], None]


class Target(NamedTuple):
    """Something of ours that reads what others wrote."""

    inputs: SearchStrategy[bytes]
    """Inputs of the real shape, and what becomes of them when they are spoilt."""
    opened: Callable[[Path], AbstractContextManager[Check]]
    """The check, over a folder of its own: it raises when a promise is broken."""


def kept_inputs(name: str) -> list[Path]:
    """The files of a target's corpus."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())


def with_head(head: SearchStrategy[str], body: SearchStrategy[bytes]) -> SearchStrategy[bytes]:
    """A first line that says how the rest is to be read."""
    return st.builds(lambda line, rest: line.encode() + b"\n" + rest, head, body)


def split_head(data: bytes) -> tuple[list[str], bytes]:
    """The words of the first line, and what follows."""
    line, _, rest = data.partition(b"\n")
    return line.decode("utf-8", "replace").split(), rest


def refusal_of(work: Callable[[], object]) -> MashError | None:
    """The error by which something of ours is refused, if it is; any other one is a fault."""
    error = None
    try:
        work()
    except MashError as refusal:
        error = refusal
    assert error is None or (error.code != MashError.code and error.message)
    return error


def fixture_lines(folder: str) -> Iterator[bytes]:
    """Every line of the JSON Lines files of a folder of fixtures."""
    for path in sorted((FIXTURES / folder).glob("*.jsonl")):
        yield from path.read_bytes().splitlines()
