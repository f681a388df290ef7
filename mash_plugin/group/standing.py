"""How this machine stands with its group: what is configured, and what the server says."""

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from mash_plugin.config import Settings
from mash_plugin.errors import MashError
from mash_plugin.group.session import SQL_FOLDER, dsn_file, open_group
from mash_plugin.store.queries import load

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

Json = dict[str, Any]
sql = load("session", SQL_FOLDER)


def standing(settings: Settings, environ: Mapping[str, str], node_id: str) -> Json:
    """Everything that `mash group status` tells; `problem` says why the server tells nothing."""
    if settings.group_dsn_file is None:
        return {"is_joined": False}
    told: Json = {
        "is_joined": True,
        "file": dsn_file(settings),
        "publish": settings.group_publish,
        "publish_personal": settings.group_publish_personal,
        "publish_chats": settings.group_publish_chats,
        "only": list(settings.group_only),
        "never": list(settings.group_never),
        "recall": settings.group_recall,
    }
    try:
        with closing(open_group(settings, environ, to_write=False)) as db:
            return told | _at_the_server(db, node_id) | {"problem": None}
    except MashError as error:
        return told | {"problem": error.as_json()}


def _at_the_server(db: "GroupDatabase", node_id: str) -> Json:
    own = db.one(sql.own_node, {"node": node_id})
    return {
        "place": db.place,
        "group": db.group,
        "group_id": db.group_id,
        "member": db.member,
        "is_read_only": db.is_read_only,
        "node": {
            "node_id": node_id,
            "records": own[0] if own else 0,
            "quota": own[1] if own else None,
            "published_at": own[2] if own else None,
        },
        "members": [
            {
                "member": member,
                "is_read_only": bool(is_read_only),
                "is_removed": is_removed,
                "nodes": nodes,
                "records": int(records),
                "published_at": published_at,
            }
            for member, is_read_only, is_removed, nodes, records, published_at in db.all(
                sql.members, {}
            )
        ],
    }
