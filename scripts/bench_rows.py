"""The rows of the table by their names, each a function that yields lines."""

from collections.abc import Callable, Iterator

from bench_chats import append, index, search
from bench_dash import dash
from bench_group import group
from bench_growth import growth
from bench_hooks import away, calls, cold, hooks
from bench_mask import mask
from bench_mcp import mcp
from bench_peers import peers
from bench_place import Place
from bench_publish import publish
from bench_quality import quality
from bench_recall import recall
from bench_saving import save
from bench_table import Line
from bench_throughline import capture, drain, working

ROWS: dict[str, Callable[[Place, int], Iterator[Line]]] = {
    "hooks": hooks,
    "away": away,
    "calls": calls,
    "peers": peers,
    "recall": recall,
    "index": index,
    "append": append,
    "cold": cold,
    "mcp": mcp,
    "search": search,
    "mask": mask,
    "save": save,
    "growth": growth,
    "quality": quality,
    "publish": publish,
    "group": group,
    "capture": capture,
    "drain": drain,
    "working": working,
    "dash": dash,
}
