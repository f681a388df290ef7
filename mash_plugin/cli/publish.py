"""`mash publish`: what waits for the group, what stays here and why, and publish it now."""

import time
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
import orjson

from mash_plugin.cli.tables import print_table
from mash_plugin.cli.telling import tell
from mash_plugin.config import Settings
from mash_plugin.errors import MashError, SharedUnavailable
from mash_plugin.paths import Paths
from mash_plugin.render.text import clean, local_date
from mash_plugin.wording import counted

if TYPE_CHECKING:
    from mash_plugin.group.joining import Joined

POLL_S = 0.1
WAIT_S = 10 * 60.0
Json = dict[str, Any]
NAMED = 5
NEVER = (
    "Never: what belongs to a folder without a remote, private text, credentials, and messages of"
    " chats beyond the quoted words."
)
"""What no setting publishes."""
UNASKED = (
    "joining asks first, and there is no terminal to ask on: run it in one, or add --yes. Nothing"
    " was changed."
)


@click.command()
@click.option("--now", is_flag=True, help="Publish what waits, and wait until it is there.")
@click.option("--status", "only_status", is_flag=True, help="Show what waits; the default.")
@click.option(
    "--take-over",
    is_flag=True,
    help="With --now: publish from here although another folder or machine did last.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def publish(now: bool, only_status: bool, take_over: bool, as_json: bool) -> int:
    """Show what of your records goes to the group, or send it at once.

    The daemon publishes by itself, seconds after each change, and goes on when a server that
    was away is back. --now also tries again what the rules or the server had refused.
    """
    from mash_plugin import client

    if now and only_status:
        raise click.UsageError("--now and --status exclude each other; --now shows it, too.")
    if take_over and not now:
        raise click.UsageError("--take-over goes with --now.")
    asked = {"places": True}
    told = _publish(take_over=take_over) if now else client.call("publication_status", asked)
    if as_json:
        click.echo(orjson.dumps(told).decode())
    else:
        _show(told)
    return 1 if told.get("last_failure") else 0


def _publish(*, take_over: bool) -> Json:
    """Have it published; the status when the attempt has ended."""
    from mash_plugin import client

    attempt = client.call("publish_now", {"take_over": take_over})["attempt"]
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        told = client.call("publication_status", {})
        # Who leaves the group meanwhile leaves nothing to wait for.
        if not told["configured"] or told["attempts"]["ended"] >= attempt:
            return told
        time.sleep(POLL_S)
    raise SharedUnavailable("It is still being published; `mash publish --status` tells more.")


def _show(told: Json) -> None:
    if not told["configured"]:
        tell(
            "No group is joined: nothing is published, and nothing waits. See `mash group --help`."
        )
        if (places := told.get("places")) is not None:
            tell(f"Once you join one, {what_goes(places)} would go out at once. {NEVER}")
        _show_left(told.get("left_in_folders", []))
        return
    print_table(_rows(told))
    _show_left(told.get("left_in_folders", []))
    for one in told["refused"]:
        tell(f"Stays here: {clean(one['id'])}: {clean(one['why'])}")
    if len(told["refused"]) < told["set_aside"]:
        left = told["set_aside"] - len(told["refused"])
        tell(f"... and {left} more; `mash publish --status` names them once these are settled.")
    if failure := told.get("last_failure"):
        tell(f"PROBLEM: {clean(failure['message'])}")


def _show_left(folders: list[Json]) -> None:
    for one in folders[:NAMED]:
        tell(told_left(one["folder"], one["records"]))
    if len(folders) > NAMED:
        tell(f"... and of {counted(len(folders) - NAMED, 'more folder')}: `mash doctor`")


def told_left(folder: str, records: int) -> str:
    """Why records of a folder that has a remote are in no other clone, and what helps."""
    line = clean(f"mash rebind {quote(folder)}")
    return (
        f"Stays here: {counted(records, 'record')} of {clean(folder)}, saved before it had a"
        f" remote. `{line}` moves {'it' if records == 1 else 'them'} to the repository."
    )


def what_goes(places: list[Json]) -> str:
    """How many records, and of which projects: "3 records (host/a/b 2, host/c/d 1)"."""
    total = counted(sum(one["records"] for one in places), "record")
    named = [f"{clean(one['place'])} {one['records']}" for one in places[:NAMED]]
    if len(places) > NAMED:
        named.append(f"{counted(len(places) - NAMED, 'more project')}")
    return f"{total} ({', '.join(named)})" if named else total


def agree_to_publish(paths: Paths, settings: Settings, found: "Joined", *, yes: bool) -> None:
    """Tell what goes out as soon as this group is joined, and ask where that is anything.

    Ends the command after a no; raises UsageError where nobody can be asked.
    """
    if found.is_read_only:
        return tell("This login only reads: nothing of yours is published.")
    if settings.group_publish == "nothing":
        return tell("Nothing of yours is published: [group] publish says so.")
    from mash_plugin.cli.consent import input_from_terminal, require_yes

    count, goes_now = _goes_at_once(paths)
    kind = "settled and unconfirmed" if settings.group_publish == "all" else "settled"
    tell(
        f"Goes out at once under the name {found.member}: {count}, {kind}, each with its history"
        f" and the words that it quotes; later ones within seconds. {NEVER} `mash publish`"
        " shows how it goes, `group = off` in a project's .mash file keeps it here, and"
        " `mash group leave` takes all of it back."
    )
    if goes_now and not yes:
        with input_from_terminal():
            require_yes(f"Join {found.group} and publish that?", UNASKED)
    return None


def _goes_at_once(paths: Paths) -> tuple[str, bool]:
    """What goes out, and whether that may be anything; without a daemon nobody can count it."""
    from mash_plugin import client

    try:
        told = client.call("publication_status", {"places": True}, paths=paths)
    except MashError:
        return "the records of your repositories", True
    return what_goes(told["places"]), bool(told["places"])


def _rows(told: Json) -> list[tuple[str, str]]:
    group = told.get("group")
    rows = []
    if group:
        may = " (may only read: nothing is published)" if group["is_read_only"] else ""
        rows.append(("Group", f"{clean(group['group'])} as {clean(group['member'])}{may}"))
    waiting = counted(told["waiting"], "record")
    if told["oldest_at"]:
        waiting += f", since {local_date(told['oldest_at'])}"
    rows.append(("Publishes", _chosen(told["publishes"])))
    if told.get("is_ready") is False:
        waiting += ", until all chats are read"
    rows.append(("Waiting", waiting))
    left = sum(one["records"] for one in told.get("left_in_folders", []))
    rows.append(("Stay here", counted(told["set_aside"] + left, "record")))
    last = told["last_published_at"]
    rows.append(("Last published", local_date(last) if last else "never"))
    if told.get("last_failure"):
        rows.append(("Last failure", local_date(told["last_failure"]["at"])))
    return rows


def _chosen(publishes: Json) -> str:
    texts = {"established": "what is established", "all": "candidates, too", "nothing": "nothing"}
    more = [f"{name} records" for name in ("personal", "chats") if publishes[name]]
    more += [
        f"{name} {', '.join(publishes[name])}" for name in ("only", "never") if publishes[name]
    ]
    return clean("; ".join([texts[publishes["publish"]], *more]))
