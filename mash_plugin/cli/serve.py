"""`meaning-memory serve`: the REST API, on this machine alone."""

import os
import socket

import click

from mash_plugin.cli.capture import check_name, masked, places, settings_of
from mash_plugin.cli.memory_tools import tell_wrong_name

LOOPBACK = ("127.0.0.1", "::1")


@click.command()
@click.option(
    "--agent",
    "--agent-id",
    "agents",
    required=True,
    multiple=True,
    metavar="NAME",
    help="Whose memory; may be given more than once, on Postgres once.",
)
@click.option("--host", type=click.Choice(LOOPBACK), default=LOOPBACK[0], help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8377, help="0: any that is free.")
@places
def serve(
    agents: tuple[str, ...], host: str, port: int, config_dir: str, workspace: str | None
) -> None:
    """Serve memories over HTTP until interrupted: /v1/memories, /openapi.json.

    Each agent has a bearer token of its own, in a file that you alone can read; the start
    tells where. Working memories can be read and not written.
    """
    from mash_plugin.throughline.tokens import token_file, token_of

    settings = settings_of(config_dir, workspace)
    if settings.backend == "postgres" and len(agents) > 1:
        raise click.UsageError("A Postgres login sees one agent: start one server for each.")
    for agent in agents:
        check_name(click.get_current_context(), click.Option(["--agent"]), agent)
    if not os.path.isdir(config_dir):
        raise click.UsageError(
            f"The folder {masked(config_dir)} does not exist; nothing was started."
            " Is the name right (--config-dir)?"
        )
    for agent in agents:
        tell_wrong_name(settings, agent)
    tokens = {token_of(config_dir, agent): agent for agent in agents}
    with _listening(host, port) as listener:
        where = f"[{host}]" if ":" in host else host
        click.echo(f"serve: http://{where}:{listener.getsockname()[1]}/v1/memories")
        for agent in agents:
            click.echo(masked(f"serve: the token of {agent} is in {token_file(config_dir, agent)}"))
        import uvicorn

        from mash_plugin.throughline.rest import Api

        app = Api(tokens, settings).application()
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise click.ClickException(
            f"Port {port} of {host} cannot be used ({error.strerror}); choose another (--port)."
        ) from None
    return listener
