"""A person whose agents have settings of their own."""

from pathlib import Path

from tests.support.homes import Home

CLAUDE_SETTINGS = '{\n    "theme": "dark",\n    "permissions": {"allow": ["Bash(ls:*)"]}\n}'
CODEX_SETTINGS = """# Mine, with a comment
model = "gpt-5.5"   # and one here

[mcp_servers.other]
command = "other"   # kept
"""


def settle(home: Home) -> None:
    """Give both clients settings of the person's own."""
    (home.claude / "settings.json").write_text(CLAUDE_SETTINGS)
    (home.codex / "config.toml").write_text(CODEX_SETTINGS)


def snapshot(*folders: Path) -> dict[str, bytes]:
    """Every file but what each run writes anew: logs, locks, write-ahead logs, sockets."""
    unsteady = (".log", ".lock", "-wal", "-shm", "-open", ".sqlite", ".claude.json", "now_ms")
    return {
        str(path): path.read_bytes()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.endswith(unsteady)
        and not {"backups", ".hook-trust", ".tmp"} & set(path.parts)
    }
