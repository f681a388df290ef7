"""`meaning-memory setup-postgres`: the schema, and a login of its own for each agent."""

import click

from mash_plugin.cli.capture import agent_option
from mash_plugin.cli.dsn_input import only_dash, read_dsn


@click.command("setup-postgres")
@click.option(
    "--admin-dsn",
    required=True,
    metavar="-",
    help="Always -: an administrator's connection string is read from standard input.",
)
@agent_option("Whose login.")
@click.option(
    "--config-dir",
    envvar="MM_CONFIG_DIR",
    required=True,
    metavar="DIR",
    help="Where the login is written: DIR/postgres.dsn, readable by you alone; one DIR for each"
    " agent.",
)
@click.option("--new-password", is_flag=True, help="Replace the password of a login that exists.")
def setup_postgres(admin_dsn: str, agent: str, config_dir: str, new_password: bool) -> None:
    """Prepare a Postgres database for one agent; run it once for each, and after an upgrade.

    The login that it makes sees the rows of its agent alone, also in plain SQL and whatever
    it sets. Away from this machine the connection string needs sslmode=verify-full. Passwords
    come from standard input, PGPASSFILE or a file with mode 0600, never from an argument.
    """
    only_dash("--admin-dsn", admin_dsn)
    from mash_plugin.postgres.dsn import missing_driver

    try:
        from mash_plugin.throughline.setup_postgres import set_up
    except ImportError:
        raise missing_driver() from None
    click.echo(str(set_up(read_dsn(), agent, config_dir, new_password=new_password)))
