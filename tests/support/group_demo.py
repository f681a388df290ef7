"""A group worth looking at, joined by a home: for the dashboard and for pictures of it."""

from contextlib import closing
from pathlib import Path

from tests.support.daemons import Place
from tests.support.groups import SHOP, Group, published

DAY_MS = 86_400_000
SETTLED = (
    ("anna", "a1b2c3d4e5f60718", "Prices are stored in cents."),
    ("anna", "a1b2c3d4e5f60718", "Deploys happen on Mondays."),
    ("carol", "0f1e2d3c4b5a6978", "Images are served as AVIF."),
)


def settle(group: Group, now: int) -> None:
    """Let anna and carol have published decisions, one of anna's without being sure of it."""
    for member in {"anna", "carol"} - group.dsns.keys():
        group.add(member)
    for number, (member, node, statement) in enumerate(SETTLED):
        record, at = f"r{number}", now - (number + 1) * DAY_MS
        with closing(group.open(member)) as db:
            published(db, node, record)
        key = (node, record)
        group.run(
            "UPDATE pub_records SET kind = 'decision', state = 'accepted', decided_by = 'person',"
            " recorded_at = %s WHERE node_id = %s AND record_id = %s",
            at,
            *key,
        )
        group.run(
            "UPDATE pub_revisions SET statement = %s, state = 'accepted', decided_by = 'person',"
            " recorded_at = %s WHERE node_id = %s AND record_id = %s",
            statement,
            at,
            *key,
        )
        group.run(
            "INSERT INTO pub_evidence VALUES (%s, %s, %s, 1, 1, 'revision', 'c', 'm', %s,"
            " 'endorsement', 'user', 'person', 'matching', %s)",
            *(SHOP, *key, f"{statement} Decided.", at),
        )
        label = f"{member}'s laptop"
        group.run(
            "UPDATE nodes SET published_at = %s, label = %s WHERE node_id = %s", now, label, node
        )
    for table in ("pub_records", "pub_revisions"):
        group.run(f"UPDATE {table} SET review = 'candidate' WHERE record_id = 'r1'")  # noqa: S608


def join(place: Place, group: Group, member: str = "bob") -> None:
    """Let a home be that member's; its daemon is told by the settings."""
    config = Path(place.paths.config_file)
    before = config.read_text() if config.exists() else ""
    file = group.dsn_file(member)
    more = f'[group]\ndsn_file = "{file}"\n[recall]\ngroup = true\n'
    config.write_text(before + more)
