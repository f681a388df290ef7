"""Who is in the group and from where they publish, as its server tells a member."""

from typing import TYPE_CHECKING, Any

from mash_plugin.group.session import SQL_FOLDER
from mash_plugin.store.queries import load

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

MOST = 500
"""Members and nodes on one page."""
Json = dict[str, Any]
_SQL = load("overview", SQL_FOLDER)


def overview(db: "GroupDatabase") -> Json:
    """The group, its members, and the nodes that they publish from."""
    members = db.all(_SQL.members, {"reader": db.member, "count": MOST})
    nodes = db.all(_SQL.nodes, {"count": MOST})
    return {
        "place": db.place,
        "group": db.group,
        "member": db.member,
        "is_read_only": db.is_read_only,
        "members": [
            {
                "member": member,
                "is_read_only": bool(is_read_only),
                "is_removed": is_removed,
                "is_reader": is_reader,
                "nodes": [_node(*node) for whose, *node in nodes if whose == member],
            }
            for member, is_read_only, is_removed, is_reader in members
        ],
    }


def _node(node_id: str, label: str, records: int, quota: int, published_at: int | None) -> Json:
    return {
        "node_id": node_id,
        "label": label,
        "records": records,
        "quota": quota,
        "published_at": published_at,
    }
