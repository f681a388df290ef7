"""What a process keeps in memory for all its life has a bound, or few keys."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "mash_plugin"
FEW_KEYS = {
    "dashboard/rendering.py": ("_environment",),  # one folder
    "normal_form.py": ("_runs",),  # yes or no
    "postgres/connection.py": ("for_psycopg",),  # statements of ours
    "privacy/credentials.py": ("_rules_of",),  # formats of ours
    "privacy/patterns.py": ("compiled",),  # patterns of ours
    "records/cue_data.py": ("language", "_script", "_hints", "_words_of_rules", "_read", "_group"),
    "throughline/key_lines.py": ("_rule_set", "_hint"),  # two scopes, two hints
}
"""Functions whose results are kept for each argument without a limit, and why that is little."""
BOUNDED_BY_HAND = {
    "daemon/branch.py": {"BRANCHES"},
    "daemon/hook_parts.py": {"_records_lane", "_chats_lane", "_elsewhere_lane"},
    "daemon/start.py": {"_held"},  # the one server
    "memory/browse.py": {"_counted"},  # COUNTED_KEPT
    "store/connection.py": {"_this_thread"},
    "store/queries.py": {"_loaded"},  # files of ours
    "tokens.py": {"_MEMO"},  # MEMO_CHUNKS
}
"""What modules hold that can grow, each with a bound that another test tries or that is fixed."""
TABLES = {
    "what people and agents say and save": (
        *("records", "revisions", "evidence", "confirmations", "links"),
        *("chats", "messages", "chat_messages", "private_shingles", "files"),
    ),
    "a row for each change, forgotten record or forgotten chat, without content": (
        *("receipts", "receipt_records", "record_tombstones", "chat_tombstones"),
        *("imports", "imported_records", "owners"),
    ),
    "a row for each chat, scope or record at most": (
        *("checkpoints", "backfill_items", "record_counts", "publication"),
    ),
    "thirty or ninety days": ("hook_sessions", "hook_injected", "hook_files", "hook_latency"),
    "few rows": ("meta", "record_version", "pauses", "hook_heartbeats"),
}
"""What each table of the stores grows with, or how long it keeps its rows."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield str(file.relative_to(PACKAGE)), ast.parse(file.read_text(encoding="utf-8"))


def has_parameters(function: ast.FunctionDef) -> bool:
    names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    return names not in ([], ["self"])


def is_unlimited_cache(decorator: ast.expr) -> bool:
    text = ast.unparse(decorator)
    return text in ("cache", "functools.cache") or text.endswith("lru_cache(maxsize=None)")


def grows(value: ast.expr) -> bool:
    """An empty container, or an object of a class of its own that a module keeps."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]):
            return True
        case ast.Call(func=ast.Name(id=name)):
            keeps = ("dict", "list", "set", "deque", "defaultdict", "OrderedDict", "Counter")
            return (name in keeps and not value.args) or name in ("Branches", "Lane", "_Memo")
        case ast.Call(func=ast.Attribute(attr="local")):
            return True
    return False


def test_every_function_that_remembers_without_limit_has_few_arguments_to_remember() -> None:
    found = {
        (name, node.name)
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and has_parameters(node)
        and any(map(is_unlimited_cache, node.decorator_list))
    }
    known = {(name, function) for name, functions in FEW_KEYS.items() for function in functions}
    assert found == known


def test_everything_that_modules_keep_and_that_grows_is_known() -> None:
    found: dict[str, set[str]] = {}
    for name, tree in modules():
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=kept)], value=value):
                    pass
                case ast.AnnAssign(target=ast.Name(id=kept), value=ast.expr() as value):
                    pass
                case _:
                    continue
            if grows(value):
                found.setdefault(name, set()).add(kept)
    assert found == BOUNDED_BY_HAND


def test_of_every_table_it_is_known_what_it_grows_with() -> None:
    texts = [file.read_text("utf-8") for file in PACKAGE.glob("store/sql/migrations/*/*.sql")]
    tables = re.findall(r"^CREATE TABLE (\w+)", "\n".join(texts), re.MULTILINE)
    assert sorted(set(tables)) == sorted(table for some in TABLES.values() for table in some)
