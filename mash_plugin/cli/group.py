"""`mash group`: a group on the team's own Postgres, its members, and this machine's part in it."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import orjson

from mash_plugin.cli.dsn_input import only_dash, read_dsn
from mash_plugin.cli.groups import TellingGroup
from mash_plugin.cli.tables import lines_of, print_table
from mash_plugin.cli.telling import tell
from mash_plugin.config import Settings, check_settings, read_settings
from mash_plugin.errors import MashError
from mash_plugin.group.names import check_member, roles_of
from mash_plugin.paths import Paths, find_paths
from mash_plugin.postgres.dsn import missing_driver, parsed, stays_here
from mash_plugin.render.text import clean, local_date
from mash_plugin.wording import counted

if TYPE_CHECKING:
    from mash_plugin.group.members import Added

ADMIN = "Administrator's connection string (not shown)"
Json = dict[str, Any]
admin_dsn = click.option(
    "--admin-dsn",
    default="-",
    metavar="-",
    help="Always -: an administrator's connection string is read from standard input.",
)
in_group = click.option(
    "--group", "name", metavar="NAME", help="Which group, where the database has several."
)


@click.group(cls=TellingGroup)
def group() -> None:
    """Share what was decided with a group, on the team's own Postgres."""


@group.command("init")
@admin_dsn
@click.argument("name")
def init(admin_dsn: str, name: str) -> None:
    """Make a group in a database, or bring it up to date; it may be run again.

    It makes the schema mash_NAME with its tables, and row-level security by which the server
    itself keeps members to their own rows. The administrator needs CREATEROLE, and CREATE on
    the database; passwords come from standard input, PGPASSFILE or a file with mode 0600.
    """
    only_dash("--admin-dsn", admin_dsn)
    roles_of(name)
    _need_driver()
    from mash_plugin.group.founding import found_group

    done = found_group(read_dsn(ADMIN), name, _now())
    what = "made" if done.is_new else f"{counted(done.migrated, 'migration')} run"
    tell(f"Group {done.group} at {clean(done.place)}: {what}. Next: mash group add MEMBER")


@group.command()
@admin_dsn
@in_group
@click.option("--host", metavar="HOST", help="The server's name, as the member reaches it.")
@click.option("--read-only", is_flag=True, help="It reads what others publish, and no more.")
@click.option("--new-password", is_flag=True, help="Make a new one; the former stops working.")
@click.argument("member")
def add(
    admin_dsn: str,
    name: str | None,
    host: str | None,
    read_only: bool,
    new_password: bool,
    member: str,
) -> None:
    """Give a member a login of its own; prints its connection string, once.

    One login for each person: what they publish stands under this name. Run again for a member
    that is there, it changes whether they may publish.
    """
    only_dash("--admin-dsn", admin_dsn)
    check_member(member)
    _need_driver()
    from mash_plugin.group.members import add_member

    dsn = read_dsn(ADMIN)
    done = add_member(
        *(dsn, member, _now()),
        group=name,
        host=host,
        read_only=read_only,
        new_password=new_password,
    )
    tell(_told_of(done), err=True)
    if done.dsn is not None:
        # As it is: no line is broken or masked, and nothing else is on standard output.
        click.echo(done.dsn)


@group.command()
@admin_dsn
@in_group
@click.option("--purge", is_flag=True, help="Delete what the member published, too.")
@click.argument("member")
def remove(admin_dsn: str, name: str | None, purge: bool, member: str) -> None:
    """Take a member's login away; it reads nothing from then on.

    What it published stays under its name, unless --purge is given.
    """
    only_dash("--admin-dsn", admin_dsn)
    check_member(member)
    _need_driver()
    from mash_plugin.group.members import remove_member

    done = remove_member(read_dsn(ADMIN), member, _now(), group=name, purge=purge)
    records = counted(done.records, "published record")
    tell(f"{done.member} is out of {done.group}; {records} {'deleted' if purge else 'kept'}.")
    if not done.is_login_gone:
        tell(
            "Its login is shut out, but still there: it owns something on that server, or has"
            " rights there. DROP OWNED and DROP ROLE finish it.",
            err=True,
        )


@group.command()
@click.argument("dsn", metavar="-")
@click.option("--yes", is_flag=True, help="Do not ask.")
def join(dsn: str, yes: bool) -> None:
    """Join a group with the connection string that you were given, on standard input.

    It is tried, then kept in group.dsn beside config.toml, readable by you alone. From then on
    the daemon publishes what you settled in repositories, with its history and the words that it
    quotes; [group] in config.toml says how much. How many records of which projects would go out
    at once is told first, and you are asked; `mash publish` tells it at any time.
    """
    only_dash("join", dsn)
    from mash_plugin.cli.consent import refuse_in_session

    refuse_in_session("Joining a group publishes your records to others")
    _need_driver()
    paths = find_paths(os.environ)
    check_settings(paths.config_file)
    from mash_plugin.cli.publish import agree_to_publish
    from mash_plugin.group.joining import join_group

    settings = _settings(paths)
    agree = partial(agree_to_publish, paths, settings, yes=yes)
    done = join_group(read_dsn(), settings, os.environ, agree)
    tell(f"Joined {done.group} as {done.member}, at {clean(done.place)}.")
    tell(f"The connection string is in {clean(done.file)}.")
    _begin_to_publish(paths)


@group.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(as_json: bool) -> int:
    """Show the group, who is in it, and how much each has published.

    Exit code 1 when a group is joined and its server cannot be used.
    """
    from mash_plugin.group.standing import standing
    from mash_plugin.memory.masking import masking

    paths = find_paths(os.environ)
    settings = _settings(paths)
    told = masking(settings).whole(standing(settings, os.environ, _node_id(paths)))
    if as_json:
        click.echo(orjson.dumps(told).decode())
    else:
        _show(told)
    return 1 if told.get("problem") else 0


@group.command()
@click.option("--keep", is_flag=True, help="Leave what you published on the server.")
def leave(keep: bool) -> None:
    """Leave the group: withdraw what this machine published, and forget the connection.

    Your own records stay as they are. Where the server cannot be reached nothing is changed.
    """
    paths = find_paths(os.environ)
    check_settings(paths.config_file)
    from mash_plugin.group.cache import GroupCache
    from mash_plugin.group.joining import leave_group

    done = leave_group(_settings(paths), os.environ, _node_id(paths), keep=keep)
    GroupCache(paths.group).clear()  # a daemon that runs is told by the settings
    if done.withdrawn is None:
        tell("Left the group; what was published stays there.")
    else:
        tell(f"Left the group; {counted(done.withdrawn, 'published record')} withdrawn.")


def _told_of(done: "Added") -> str:
    may = "read" if done.is_read_only else "read and publish"
    told = f"{done.member} may {may} in {done.group} at {clean(done.place)}."
    if done.kept_records and not done.was_there:
        told += f" {counted(done.kept_records, 'record')} published under this name before are"
        told += " theirs again."
    elif done.kept_records and done.is_read_only:
        told += f" {counted(done.kept_records, 'record')} that they published stay there, and only"
        told += " `mash group remove --purge` takes them away."
    if done.dsn is None:
        return f"{told} The password is the former one; --new-password makes another."
    told += " Hand this on in private, it is not shown again; they run `mash group join -`."
    if stays_here(parsed(done.dsn)):
        told += " It works on this machine alone; --host NAME makes one for others."
    return told


def _begin_to_publish(paths: Paths) -> None:
    """Let a daemon that runs know at once; any other finds it when it starts."""
    from mash_plugin import client

    with suppress(MashError):
        client.call("publish_now", {}, paths=paths, start=False)


def _show(told: Mapping[str, Any]) -> None:
    if not told["is_joined"]:
        tell("No group is joined. `mash group join -` takes the connection string you were given.")
        return
    if told["problem"] is not None:
        click.echo(f"Connection in {clean(told['file'])}")
        tell(clean(f"PROBLEM: {told['problem']['message']}"))
        return
    node = told["node"]
    may = "reads only" if told["is_read_only"] else f"publishes: {told['publish']}"
    click.echo(clean(f"Group {told['group']} as {told['member']} ({may})"))
    click.echo(clean(f"At {told['place']}"))
    click.echo(clean(f"Published from here: {counted(node['records'], 'record')}"))
    rows = [
        (
            clean(one["member"]),
            lines_of(_role(one)),
            str(one["records"]),
            local_date(one["published_at"]) if one["published_at"] else "never",
        )
        for one in told["members"]
    ]
    print_table(rows, ("Member", "", "Records", "Published last"))


def _role(member: Mapping[str, Any]) -> str:
    if member["is_removed"]:
        return "removed"
    return "reads" if member["is_read_only"] else "publishes"


def _settings(paths: Paths) -> Settings:
    return read_settings(paths.config_file, {})


def _node_id(paths: Paths) -> str:
    """The ID under which this store publishes; empty before it has one."""
    from mash_plugin.store.looking import looking_into
    from mash_plugin.store.publication import node_id

    if not os.path.exists(paths.store):
        return ""
    with looking_into(paths.store) as db:
        return node_id(db)


def _need_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise missing_driver() from None


def _now() -> int:
    return time.time_ns() // 1_000_000
