"""`capture-session`: hand over a session's transcript when the session or job has ended."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline.artifacts import SOURCE_KINDS, Source

if TYPE_CHECKING:
    from mash_plugin.throughline.capture import Captured
    from mash_plugin.throughline.settings import Settings

LONGEST_NAME = 200
BUFFER = 1 << 18
REPLACES = (
    "This takes the place of what was captured of session {} before. If it was another run, give"
    " each an ID of its own: with the hour and minute, for example."
)


def check_name(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    """A name of the command line: short, on one line, so that no transcript text hides in it."""
    if not value.strip():
        raise click.BadParameter("must not be empty.", param=parameter)
    if len(value) > LONGEST_NAME:
        raise click.BadParameter(
            f"has {len(value)} characters; at most {LONGEST_NAME} are allowed.", param=parameter
        )
    if not value.isascii() or not value.isprintable():
        from unicodedata import category

        if any(category(c) in ("Cc", "Cs", "Zl", "Zp") for c in value):
            raise click.BadParameter(
                "holds a line break, a control character or bytes that are no text.",
                param=parameter,
            )
    return value


def check_label(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """A name that is stored beside every line: it must hold no credential either."""
    from mash_plugin.privacy.credentials import credential_kind

    if kind := credential_kind(check_name(context, parameter, value)):
        raise click.BadParameter(
            f"looks like a credential ({kind}); nothing was queued. Give another name.",
            param=parameter,
        )
    return value


def places(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where the workspace and its settings are."""
    command = click.option(
        "--workspace",
        metavar="DIR",
        help="Where queue and store lie [default: MM_WORKSPACE, the file's workspace, DIR of"
        " --config-dir].",
    )(command)
    return click.option(
        "--config-dir",
        envvar="MM_CONFIG_DIR",
        required=True,
        metavar="DIR",
        help="The folder of config.toml, which may be missing.",
    )(command)


def quiet(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option for schedulers, which mail whatever is printed."""
    return click.option(
        "--quiet", is_flag=True, help="Print nothing unless something is wrong; for schedulers."
    )(command)


def as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option for programs that read what was done."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(
        command
    )


def agent_option(
    help_text: str, callback: Callable[..., str] = check_name
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names the agent; every command takes both spellings."""
    names = ("--agent", "--agent-id", "agent")
    return click.option(*names, required=True, callback=callback, metavar="NAME", help=help_text)


@click.command("capture-session")
@agent_option("Whose session.", check_label)
@click.option(
    "--session-id",
    "session",
    required=True,
    callback=check_label,
    metavar="ID",
    help="The logical session; for a job its name and scheduled date.",
)
@click.option(
    "--channel", required=True, callback=check_label, metavar="NAME", help="Such as telegram:dm."
)
@click.option(
    "--source-kind",
    "kind",
    required=True,
    type=click.Choice(SOURCE_KINDS),
    help="What ran: a chat, a scheduled job, a background loop.",
)
@click.option(
    "--transcript",
    metavar="FILE",
    help="JSON Lines with role, content and perhaps ts; - is standard input.",
)
@click.option(
    "--plain",
    metavar="FILE",
    help="A log without roles: stored is that it ran and how many lines it has, none of its text;"
    " - as above.",
)
@click.option(
    "--verbose",
    is_flag=True,
    help="Tell on standard error how many key lines were dropped (a credential, a person's words,"
    " private, over 1,000 characters), and what else was left out.",
)
@quiet
@as_json
@places
def capture_session(
    agent: str,
    session: str,
    channel: str,
    kind: str,
    transcript: str | None,
    plain: str | None,
    verbose: bool,
    quiet: bool,
    as_json: bool,
    config_dir: str,
    workspace: str | None,
) -> int:
    """Queue a short record of a session: a summary and up to four lines that the agent wrote.

    It can be found from any other channel after the next `consolidate --drain-only`. The same
    transcript is stored once, however often it is captured; another one under the same
    session ID replaces it.

    A key line is a decision ("Decided to ..."), a note ("Remember: ...") or a commitment
    ("I'll ... tomorrow"). So a job tells how it ended: hand over one JSON line with the role
    assistant and the content "Remember: the stock check ended with exit code 3."

    Lines typed by people are never stored. A line that looks like a credential is dropped
    whole; this is a best-effort filter, not a security boundary: a secret in an unusual
    format, split across lines or encoded can pass it.
    """
    from mash_plugin.throughline import capture
    from mash_plugin.throughline.clock import now_ms

    if (transcript is None) == (plain is None):
        raise click.UsageError("Give either --transcript FILE or --plain FILE.")
    settings = settings_of(config_dir, workspace)
    source, now = Source(agent, session, channel, kind), now_ms(os.environ)
    take = capture.capture_session if plain is None else capture.capture_log
    is_new = not os.path.isdir(settings.workspace)
    with _opened(plain or transcript or "") as file:
        captured = take(source, file, settings.workspace, now, settings.backend)
    if as_json:
        print_json(captured.data())
        quiet = True
    _tell(captured, quiet=quiet, verbose=verbose)
    if is_new and captured.queued:
        _tell_made(settings.workspace)
    return 1 if captured.fault else 0


def _tell_made(workspace: str) -> None:
    click.echo(
        f"{masked(workspace)} did not exist and was made: is the name right? A drain has to name"
        " it, too.",
        err=True,
    )


def _tell(captured: "Captured", *, quiet: bool, verbose: bool) -> None:
    if not quiet:
        click.echo(masked(str(captured)))
        if captured.replaces:
            click.echo(masked(REPLACES.format(captured.source.session)), err=True)
        if captured.remark:
            click.echo(captured.remark, err=True)
    for said in filter(None, (captured.fault, *captured.notes)):
        click.echo(said, err=True)
    if verbose:
        for said in (f"{captured.dropped} key line(s) dropped", *captured.details):
            click.echo(said, err=True)


def print_json(body: dict[str, Any]) -> None:
    """A result on one line, without any credential."""
    import orjson

    click.echo(masked(orjson.dumps(body).decode()))


def masked(text: str) -> str:
    """The text without any credential; the names of a command line may hold one."""
    from mash_plugin.privacy.credentials import mask

    return mask(text)


def settings_of(
    config_dir: str, workspace: str | None, *, faults: list[str] | None = None
) -> "Settings":
    """The settings of a command; one that has no meaning is an error of usage.

    `faults`: of who only looks; see read_settings.
    """
    from mash_plugin.throughline.settings import read_settings

    try:
        settings = read_settings(config_dir, workspace, os.environ, faults)
    except InvalidArgument as error:
        raise click.UsageError(error.message) from None
    if faults is None:
        _refuse_root(settings.workspace)
    return settings


def _refuse_root(workspace: str) -> None:
    """What root writes into another user's workspace that user can neither drain nor read."""
    if os.geteuid() != 0 or not os.path.isdir(workspace):
        return
    owner = os.stat(workspace).st_uid
    if owner != 0:
        from pwd import getpwuid

        try:
            name = getpwuid(owner).pw_name
        except KeyError:
            name = f"#{owner}"
        raise click.UsageError(
            f"{masked(workspace)} belongs to {name}, who could not use what root writes there;"
            f" nothing was done. Run this as that user: sudo -u '{name}' ..."
        )


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    if path == "-":
        return nullcontext(sys.stdin.buffer)
    return open(path, "rb", buffering=BUFFER)
