"""Where a Postgres server is and how it is reached: never with a password that others can see."""

import os
import re
import shlex
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from itertools import zip_longest

from mash_plugin.errors import InvalidArgument, MashError, plain_reason
from mash_plugin.file_opening import open_file
from mash_plugin.paths import passwd_home

LONGEST_DSN = 65_536
_UNREADABLE = "(unreadable)"


def missing_driver() -> MashError:
    """What to say where psycopg is not installed."""
    return InvalidArgument(
        f"Postgres needs psycopg, which is not installed. Run: {driver_command()}"
    )


def driver_command() -> str:
    """What brings psycopg to this very installation; `mash upgrade` keeps it."""
    from mash_plugin.environments import DRIVER, SOURCE
    from mash_plugin.installer import POSTGRES

    with suppress(OSError), open(os.path.join(sys.prefix, SOURCE), encoding="utf-8") as noted:
        installer = os.path.join(noted.read().strip(), "scripts", "install")
        if os.access(installer, os.X_OK):
            return f"{shlex.quote(installer)} {POSTGRES}"
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(DRIVER)}"


def read_dsn_file(path: str, *, writer: str) -> str:
    """The connection string of a file that only its owner can read. Raises InvalidArgument.

    `writer`: the command that writes such a file.
    """
    try:
        with open(path, encoding="utf-8", opener=open_file) as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(LONGEST_DSN).strip()
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"The connection file cannot be read: {path} ({plain_reason(error)})."
            f" {writer} writes it."
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise InvalidArgument(
            f"{path} can be read by others and may hold a password. Run: chmod 600 {path}"
        )
    if not text:
        raise InvalidArgument(f"{path} is empty; {writer} writes it.")
    return text


def without_password(dsn: str, name: str) -> str:
    """A connection string from a place that others can see. Raises InvalidArgument."""
    if parsed(dsn).get("password"):
        raise InvalidArgument(
            f"{name} holds a password, which others can see there. Put the connection string"
            f" into a file with mode 0600 and name it in {name}_FILE, or use PGPASSFILE."
        )
    return dsn


def parsed(dsn: str) -> dict[str, str]:
    """The parts of a connection string. Raises InvalidArgument, which repeats none of it."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise missing_driver() from None
    try:
        parts = conninfo_to_dict(dsn)
    except ProgrammingError:
        raise InvalidArgument(
            "The connection string cannot be read; it is postgresql://USER@HOST/DATABASE"
            " or host=... dbname=... user=..."
        ) from None
    return {key: str(value) for key, value in parts.items() if value is not None}


def connection_options(
    dsn: str,
    environ: Mapping[str, str],
    *,
    schema: str,
    application: str,
    connect_s: int,
    statement_ms: int,
    is_read_only: bool,
) -> dict[str, str]:
    """Everything that a connection is opened with. Raises InvalidArgument for one without TLS.

    Away from this machine the server's certificate is checked in full: a weaker sslmode is
    refused, not raised in silence, because somebody chose it.
    """
    options = parsed(dsn)
    if "service" in options or environ.get("PGSERVICE"):
        raise InvalidArgument("A service file can hide where a connection goes; name the host.")
    if "options" in options:
        raise InvalidArgument("The connection string sets options; leave them out.")
    if not (options.get("host") or options.get("hostaddr")):
        options |= {"host": environ.get("PGHOST", ""), "hostaddr": environ.get("PGHOSTADDR", "")}
    # Said even when empty: what is said is not taken from the environment or a file.
    options = {"host": "", "hostaddr": "", **options}
    _refuse_mixed_up(options)
    if not stays_here(options):
        options = _proven(options, environ)
    pinned = _pinned(schema, statement_ms, is_read_only=is_read_only)
    options["options"] = " ".join(f"-c {name}={value}" for name, value in pinned.items())
    options["connect_timeout"] = str(connect_s)
    options["tcp_user_timeout"] = str(statement_ms)
    options["application_name"] = application
    return options


def _proven(options: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The options with which the server's certificate is checked in full."""
    mode = options.get("sslmode") or environ.get("PGSSLMODE") or "verify-full"
    if mode != "verify-full":
        raise InvalidArgument(
            f"sslmode={_plain(mode)} does not prove which server {options['host']} is;"
            " use sslmode=verify-full with sslrootcert=FILE."
        )
    # Else HOME or PGSSLROOTCERT, which a project's settings can set, say who vouches for it.
    own = os.path.join(passwd_home(), ".postgresql", "root.crt")
    return {"sslrootcert": own, **options, "sslmode": mode}


def _refuse_mixed_up(options: Mapping[str, str]) -> None:
    """Raise InvalidArgument where a name may be a part of the password: errors would repeat it."""
    for key in ("host", "hostaddr", "dbname", "sslmode"):
        name = options.get(key, "")
        if _plain(name) == _UNREADABLE or (key == "dbname" and "@" in name):
            raise InvalidArgument(
                f"The connection string cannot be read: what stands for its {key} is none. In"
                " postgresql://... a password spells @ / : ? # % as %40 %2F %3A %3F %23 %25."
            )
    if re.fullmatch(r"[0-9,]*", options.get("port", "")) is None:
        raise InvalidArgument("The connection string cannot be read: its port is no number.")


def place_of(options: Mapping[str, str]) -> str:
    """The server and database of a connection, without its password."""
    host = options.get("host") or options.get("hostaddr") or "the local socket"
    database = options.get("dbname") or "of the login"
    return f"Postgres at {_plain(host)}, database {_plain(database)}"


def _plain(name: str) -> str:
    """The name as it may be shown: where the two forms were mixed up, it may hold the password."""
    parts = (re.fullmatch(r"@?[\w /.%+-]*|[0-9A-Fa-f:.%]*", part) for part in name.split(","))
    return name if all(parts) else _UNREADABLE


def _pinned(schema: str, statement_ms: int, *, is_read_only: bool) -> dict[str, str]:
    return {
        # pg_temp last: else a temporary table could stand in for one of ours.
        "search_path": f"pg_catalog,{schema},pg_temp",
        "statement_timeout": str(statement_ms),
        "lock_timeout": str(statement_ms),
        "idle_in_transaction_session_timeout": str(2 * statement_ms),
        "client_encoding": "UTF8",
        "default_transaction_read_only": "on" if is_read_only else "off",
    }


def stays_here(options: Mapping[str, str]) -> bool:
    """Whether every host that may be tried is here; it is reached by its address if it has one."""
    addresses, hosts = (options.get(name, "").split(",") for name in ("hostaddr", "host"))
    pairs = zip_longest(addresses, hosts, fillvalue="")
    return all(_is_here(address or host) for address, host in pairs)


def _is_here(host: str) -> bool:
    """Whether it is a socket or the loopback."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
