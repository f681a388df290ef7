"""The command line: which commands there are, and their failures in one line.

Exit codes: 0 done, 1 the operation failed or a check found something, 2 usage, 3 the daemon
is not reachable, 4 sandboxed, 130 interrupted.
"""

import gc
import io
import os
import re
import signal
import sys
from contextlib import suppress
from typing import NoReturn, TextIO

import click

from mash_plugin.cli.groups import LazyGroup
from mash_plugin.errors import DaemonUnavailable, MashError, Sandboxed, plain_reason

COMMANDS = {
    "init": ("mash_plugin.cli.init", "Set up the store, the index and every agent found."),
    "status": ("mash_plugin.cli.status", "Show what works and what is switched off."),
    "statusline": ("mash_plugin.cli.statusline", "Print one line for Claude Code's status line."),
    "pause": ("mash_plugin.cli.pause", "Silence the hooks for this session or project."),
    "doctor": ("mash_plugin.cli.doctor", "Check everything; print the command that helps."),
    "bug-report": ("mash_plugin.cli.bug_report", "Write an archive for the tracker."),
    "records": ("mash_plugin.cli.records", "Show what is remembered: all, or what holds words."),
    "record": ("mash_plugin.cli.record_page", "Show everything of one record."),
    "recall": ("mash_plugin.cli.recall", "Show what an agent is given here now, and why."),
    "dash": ("mash_plugin.cli.dash", "Show what is remembered, and why, in the browser."),
    "log": ("mash_plugin.cli.log", "Show what was saved, and what was shown to which session."),
    "establish": ("mash_plugin.cli.change", "Make a record your own settled choice."),
    "edit": ("mash_plugin.cli.change", "Change the wording of a record."),
    "withdraw": ("mash_plugin.cli.change", "Take back a record, or all that a session saved."),
    "forget-record": ("mash_plugin.cli.change", "Remove a record for good, at once."),
    "undo": ("mash_plugin.cli.change", "Bring back what an agent asked to forget."),
    "search": ("mash_plugin.cli.chats", "Search earlier chats for words."),
    "chats": ("mash_plugin.cli.chats", "List earlier chats, or show one by its ID."),
    "index": ("mash_plugin.cli.index", "Read new transcripts into the index now."),
    "backfill": ("mash_plugin.cli.backfill", "Let an agent review earlier chats once."),
    "size": ("mash_plugin.cli.size", "Show what takes how much, and how long chats are kept."),
    "forget": ("mash_plugin.cli.forget", "Forget a chat and every record that cites it."),
    "forget-project": (
        "mash_plugin.cli.forget_project",
        "Forget all chats of a project, and what cites them.",
    ),
    "projects": ("mash_plugin.cli.projects", "Tell what is switched off for a folder, and why."),
    "explain-prompt": ("mash_plugin.cli.explain", "Tell why a prompt brings the saving note."),
    "call": ("mash_plugin.cli.tools", "Call a tool with JSON; for scripts."),
    "daemon": ("mash_plugin.cli.daemon", "Start, stop, restart or show the daemon."),
    "mcp": ("mash_plugin.cli.tools", "Serve the tools over stdio; agents start this."),
    "rebind": ("mash_plugin.cli.rebind", "Let the records of a moved project follow it."),
    "export": ("mash_plugin.cli.export", "Write the whole memory, or a part, into one file."),
    "group": ("mash_plugin.cli.group", "Share what was decided with a group, on Postgres."),
    "publish": ("mash_plugin.cli.publish", "Show what goes to the group, or send it now."),
    "import": ("mash_plugin.cli.import_", "Take in an export, or another tool's memory."),
    "capture-session": ("mash_plugin.cli.capture", "Keep a short record of a session that ended."),
    "consolidate": ("mash_plugin.cli.consolidate", "Store what was captured, or let it expire."),
    "demo": ("mash_plugin.cli.demo", "Show how something works, in a temporary folder."),
    "restore": ("mash_plugin.cli.restore", "Bring the store back from its daily backup."),
    "backup": ("mash_plugin.cli.backup", "Make backups; take out what was forgotten since."),
    "completion": ("mash_plugin.cli.completion", "Complete commands in bash, zsh or fish."),
    "upgrade": ("mash_plugin.cli.upgrade", "Install a newer version in the place of this one."),
    "uninstall": ("mash_plugin.cli.uninstall", "Leave the agents as they were."),
}

SECTIONS = {
    "First steps": ("init", "status", "doctor", "demo", "completion", "statusline"),
    "Reading": ("records", "record", "recall", "log", "dash", "explain-prompt"),
    "Correcting": (
        *("establish", "edit", "withdraw", "forget-record", "undo"),
        *("pause", "projects", "rebind"),
    ),
    "Chats": ("search", "chats", "index", "backfill", "forget", "forget-project"),
    "Sharing": ("group", "publish"),
    "Moving and keeping": ("export", "import", "backup", "restore"),
    "Care": ("size", "daemon", "bug-report", "upgrade", "uninstall"),
    "For programs": ("call", "mcp", "capture-session", "consolidate"),
}


class MashGroup(LazyGroup):
    """The commands of mash."""

    table = COMMANDS
    sections = SECTIONS
    meant = dict.fromkeys(("list", "ls"), ("records", "chats")) | {
        "show": ("record", "chats"),
        **dict.fromkeys(("delete", "remove", "rm"), ("forget-record", "forget")),
    }


EXIT_CODES = """\b
Exit codes:
  0    done
  1    the operation failed, was declined, or a check found something
  2    the command was not given as it is described
  3    the daemon does not answer
  4    inside a sandbox, which cannot reach it
  130  interrupted

`mash COMMAND --help` tells about one command, with examples."""


@click.group(
    cls=MashGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=EXIT_CODES,
)
@click.version_option(package_name="mash-plugin", prog_name="mash")
def cli() -> None:
    """One memory for Claude Code and Codex: decisions, preferences and facts, with evidence."""


def main() -> NoReturn:
    """Run one command and end the process with its exit code."""
    use_utf8()
    end(run(sys.argv[1:]))


def end(code: int, program: str = "mash") -> NoReturn:
    """End the process; what cannot be written at the last is told once, by us."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if code == 0 and not isinstance(error, BrokenPipeError):
            _tell(f"standard output: {plain_reason(error)}.", 1, program)
        code = code or 1
        _drop(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:  # the exit code is all that is left to tell
        _drop(sys.stderr)
    gc.freeze()  # an interpreter ends with collections over all that it imported: 10 ms
    sys.exit(code)


def run(arguments: list[str], group: click.Group = cli, program: str = "mash") -> int:
    """The exit code of one command; every failure is told in one line on standard error."""
    try:
        result = group.main(arguments, prog_name=program, standalone_mode=False)
    except click.exceptions.Abort as error:
        # A second ^C while Python ends would change the exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # From a question: the cursor still stands behind it.
        lead = "\n" if error.__cause__ is None else ""
        print(f"{lead}{program}: interrupted.", file=sys.stderr)
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        hint = f" See `{error.ctx.command_path} --help`." if error.ctx else ""
        return _tell(f"{error.format_message()}{hint}", 2, program)
    except click.ClickException as error:
        return _tell(error.format_message(), 1, program)
    except MashError as error:
        return _tell(error.message, exit_code(error), program)
    except BrokenPipeError:
        # The reader (`head`, a pager) has gone: no message, and none at interpreter exit either.
        _drop(sys.stdout)
        return 1
    except OSError as error:
        if _is_folder_gone():
            return _tell("the folder you are in is gone; change to one that is there.", 1, program)
        place = f"{error.filename}: " if error.filename else ""
        told = f"{place}{plain_reason(error)}. Check that place, then see `{program} doctor`."
        return _tell(told, 1, program)
    except Exception as error:
        fault = f"something failed inside {program} ({type(error).__name__}: {error})."
        return _tell(f"{fault} See `{program} doctor`.", 1, program)
    return result if isinstance(result, int) else 0


def exit_code(error: MashError) -> int:
    """The exit code that tells scripts what kind of failure this was."""
    match error:
        case Sandboxed():
            return 4
        case DaemonUnavailable():
            return 3
        case _:
            return 1


def use_utf8() -> None:
    """Read and write UTF-8 whatever the locale says, and never fail on a lone surrogate."""
    if sys.getfilesystemencoding().lower() != "utf-8":
        # Paths and arguments were decoded already: only a new start decodes them rightly.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    # Closed by the caller (`>&-`), they are None, which few who print expect.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - to the end of the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - no terminal, and nothing to read
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def for_people(message: str) -> str:
    """The message without advice for programs that call tools, and with the place of the log."""
    message = re.sub(r"\s*Retry the same operation(?: ID)?\.", "", message)
    message = message.replace("retry the same operation ID", "run the command again")
    message = re.sub(
        "[Oo]nly the person should change that(?: list)?",
        "`mash projects` tells what leaves it out",
        message,
    )
    if "the log has" not in message:
        return message
    from mash_plugin.paths import find_paths

    return message.replace("the log has", f"{find_paths(os.environ).log} has")


def _tell(message: str, code: int, program: str) -> int:
    from mash_plugin.privacy.credentials import mask
    from mash_plugin.render.text import clean
    from mash_plugin.wrapping import say

    one_line = mask(clean(for_people(message)))  # a repository chooses the names of its folders
    with suppress(OSError):  # nobody reads it, or there is no room for it
        say(f"{program}: {one_line}", sys.stderr)
    return code


def _drop(stream: TextIO) -> None:
    """Let nothing more be tried with what was not written: Python would tell of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_folder_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
