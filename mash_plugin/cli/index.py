"""`mash index`: read new transcripts now, in the daemon, with progress on stderr."""

import time
from typing import Any

import click

from mash_plugin.cli.progress import Progress
from mash_plugin.cli.telling import tell
from mash_plugin.errors import Internal
from mash_plugin.wording import counted

POLL_S = 0.15


@click.command()
@click.option("--restore-chat", metavar="CHAT_ID", help="Let a forgotten chat in again.")
def index(restore_chat: str | None) -> None:
    """Read what is new in your chats into the index; only new bytes cost time."""
    if restore_chat is not None:
        from mash_plugin.cli.forget import restore_line

        tell(restore_line(restore_chat))
        return
    tell(run_index())


def run_index() -> str:
    """Run a full index and say in one line what it found."""
    from mash_plugin import client

    run = client.call("index", {})["run"]
    # Progress goes to stderr, so that stdout can be read by a program.
    progress = Progress("Reading chats")
    try:
        while True:
            state = client.call("index_progress", {})
            _show(progress, state.get("progress"))
            if state.get("run") != run or not state.get("running"):
                break
            time.sleep(POLL_S)
    finally:
        progress.end()
    if state.get("error"):
        raise Internal(str(state["error"].get("message")))
    return _summary(state.get("report") or {})


def _show(progress: Progress, told: dict[str, Any] | None) -> None:
    told = told or {"bytes": 0, "bytes_total": 0, "files": 0, "files_total": 0}
    files = f"{told['files']:,} of {told['files_total']:,} files"
    progress.show(told["bytes"], told["bytes_total"], files)


def _summary(report: dict[str, Any]) -> str:
    files, messages = report.get("files", 0), report.get("new_messages", 0)
    text = "Chats: nothing new"
    if files or messages:
        text = f"Chats: {counted(files, 'file')}, {counted(messages, 'new message')}"
    if report.get("lines_skipped"):
        text += f", {report['lines_skipped']} over-long lines left out"
    if report.get("refused"):
        text += f", {report['refused']} files that cannot be read"
    return f"{text}."
