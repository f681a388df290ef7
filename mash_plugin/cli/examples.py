"""What people type, for the end of each command's `--help`."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "init": (
        ("mash init", "look, ask, set up"),
        ("mash init --dry-run", "show the changes, line by line"),
        ("mash init --yes", "unattended, nothing optional"),
        ("mash init --yes --allow-saving", "and agents save without asking you"),
        ("mash init --yes --backfill-memory codex", "and Codex reviews your last chats"),
    ),
    "status": (
        ("mash status", "does it work, and what is off"),
        ("mash status --session newest", "what hooks gave the last session"),
    ),
    "pause": (
        ("mash pause", "no notes in this session"),
        ("mash pause --project --for 2h", "none in this project for two hours"),
        ("mash pause --off", "go on"),
    ),
    "doctor": (
        ("mash doctor", "find what is wrong, and what helps"),
        ("mash doctor --fix", "and repair what can be repaired"),
        ("mash doctor --json", "the same for a program"),
    ),
    "bug-report": (("mash bug-report", "an archive here, or at home in a git work tree"),),
    "records": (
        ("mash records", "what is settled, the newest first"),
        ("mash records tabs --here", "of this project, with this word"),
        ("mash records --all --json", "everything, for a program"),
    ),
    "record": (("mash record 820c36910f12", "with its quotes and its history"),),
    "recall": (
        ("mash recall", "what a session here begins with"),
        ("mash recall --explain", "and why"),
    ),
    "dash": (
        ("mash dash", "in your browser"),
        ("mash dash --no-open --port 8123", "at a port that you know"),
        ("mash dash --export page.html", "a page to hand on"),
    ),
    "log": (
        ("mash log", "the last day"),
        ("mash log --since 1w", "the last week"),
        ("mash log --follow", "what happens from now on"),
    ),
    "establish": (("mash establish 820c36910f12", "an unconfirmed record becomes yours"),),
    "edit": (
        ("mash edit 820c36910f12", "in your editor"),
        ('mash edit 820c36910f12 --statement "Use tabs."', "at once"),
    ),
    "withdraw": (
        ("mash withdraw 820c36910f12", "one record"),
        ("mash withdraw --session newest", "all that the last session saved"),
    ),
    "forget-record": (("mash forget-record 820c36910f12", "asks, then removes it for good"),),
    "undo": (
        ("mash undo", "what agents asked to forget"),
        ("mash undo 820c36910f12", "bring it back"),
    ),
    "search": (
        ("mash search typst invoices", "messages that hold both words"),
        ("mash search typst --here", "in this project's chats alone"),
    ),
    "chats": (
        ("mash chats --here", "the chats of this project"),
        ("mash chats claude-code-0f8fad5b", "read one, page by page"),
    ),
    "index": (("mash index", "read what is new"),),
    "backfill": (
        ("mash backfill --dry-run", "which chats would be reviewed"),
        ("mash backfill --agent codex", "asks, then lets Codex review them"),
    ),
    "size": (("mash size", "what takes how much"),),
    "forget": (
        ("mash forget claude-code-0f8fad5b --dry-run", "what would go"),
        ("mash forget claude-code-0f8fad5b", "asks, then forgets it"),
    ),
    "forget-project": (
        ("mash forget-project . --dry-run", "what would go"),
        ("mash forget-project github.com/acme/shop", "all chats of a repository"),
    ),
    "projects": (
        ("mash projects", "of this folder"),
        ("mash projects ~/work/shop", "of another one"),
    ),
    "explain-prompt": (('mash explain-prompt "Always use tabs."', "would an agent be told?"),),
    "call": (
        ("mash call list_records '{\"limit\": 5}'", "any tool of the agents"),
        ("mash call search_chats -", "its JSON from standard input"),
    ),
    "daemon": (
        ("mash daemon status", "does it run"),
        ("mash daemon restart", "end it and start this version"),
    ),
    "mcp": (("mash mcp", "what the agents' settings start"),),
    "statusline": (("mash statusline", "the command for Claude Code's `statusLine`"),),
    "rebind": (
        ("mash rebind ~/old/shop ~/work/shop", "after the folder was moved"),
        ("mash rebind ~/work/shop", "after it got a remote"),
    ),
    "capture-session": (
        (
            "mash capture-session --agent deskbot --session-id chat-12 \\\n"
            "      --channel telegram:dm --source-kind chat \\\n"
            "      --transcript chat.jsonl --config-dir ~/deskbot",
            "when a chat has ended",
        ),
        (
            "mash capture-session --agent deskbot --session-id stock-11-30 \\\n"
            "      --channel cron:stock --source-kind cron \\\n"
            "      --plain stock.log --config-dir ~/deskbot",
            "when a job has ended, well or not",
        ),
    ),
    "consolidate": (
        (
            "mash consolidate --agent-id deskbot --drain-only \\\n      --config-dir ~/deskbot",
            "every few minutes",
        ),
        (
            "mash consolidate --agent-id deskbot --promote-only \\\n      --config-dir ~/deskbot",
            "every night",
        ),
    ),
    "export": (
        ("mash export", "everything, into a new file here"),
        ("mash export --out /media/stick/mash.gz", "under a name of your own"),
        ("mash export --project --masked", "this project, for others to read"),
    ),
    "import": (
        ("mash import mash.gz --dry-run", "what would come"),
        ("mash import mash.gz --as-mine", "from your other machine"),
        ("mash import mash.gz --keep-identity", "the store itself, into an empty one"),
        ("mash import CLAUDE.md --from rules", "its rules, as candidates"),
    ),
    "demo": (
        ("mash demo", "from a person's words to another agent's session"),
        ("mash demo throughline", "two channels of one agent"),
    ),
    "restore": (("mash restore", "from the newest good backup"),),
    "backup": (("mash backup rewrite", "old copies lose what was forgotten"),),
    "group": (
        ("mash group init --admin-dsn - team", "make it, from an admin's DSN"),
        ("mash group add anna --admin-dsn -", "a login for anna, shown once"),
        ("mash group join -", "take part, with the DSN you got"),
        ("mash group status", "who is in it, who published"),
        ("mash group leave", "withdraw your records, and go"),
    ),
    "publish": (
        ("mash publish", "what waits, and what stays here"),
        ("mash publish --now", "send it, and wait for it"),
    ),
    "completion": (
        ("mash completion --install", "for the shell that you use"),
        ("mash completion zsh --install", "for another one"),
        ("mash completion bash", "print it, for `source` or `eval`"),
    ),
    "upgrade": (
        ("mash upgrade --check", "has its checkout changed"),
        ("mash upgrade", "install what it holds"),
        ("mash upgrade ~/mash_plugin-1.1.0-py3-none-any.whl", "a wheel"),
    ),
    "uninstall": (
        ("mash uninstall", "leave the agents as they were"),
        ("mash uninstall --data", "and remove all memory"),
    ),
}


def epilog_of(command: str) -> str | None:
    """The examples as the end of a help page; None where there are none."""
    lines = EXAMPLES.get(command)
    if not lines:
        return None
    width = max((len(typed) for typed, _ in lines if "\n" not in typed), default=0)
    shown = "\n".join(
        f"  {typed}\n      {what}" if "\n" in typed else f"  {typed.ljust(width)}  {what}"
        for typed, what in lines
    )
    return f"\b\nExamples:\n{shown}"
