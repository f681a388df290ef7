"""What fetching a copy costs the server: as much as the copy is long, for each node."""

from contextlib import closing

from mash_plugin.group.fetch import _SQL, MOST_FETCHED
from tests.group.test_reads_plans import NODES, NOW, explained, filled, nodes_of
from tests.support.groups import Group

COUNT = 50

__all__ = ["filled"]


def test_the_newest_of_each_node_are_found_by_index_and_texts_read_of_the_chosen_alone(
    filled: Group,
) -> None:
    with closing(filled.open("anna", to_write=False)) as db:
        key = {"identity": "repository-1", "now": NOW, "count": COUNT, "bytes": MOST_FETCHED}
        plan = explained(db, _SQL.established_of_others, key)
    read: dict[str, float] = {}
    for node in nodes_of(plan):
        table = node.get("Relation Name", "")
        if table.startswith("pub_"):
            assert node["Node Type"] in ("Index Scan", "Index Only Scan"), node
            rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            read[table] = read.get(table, 0) + rows * node["Actual Loops"]
    # A quarter of the filled ones are of this repository; the others may be passed over.
    assert read["pub_records"] <= 5 * COUNT * NODES
    assert read["pub_revisions"] <= COUNT
