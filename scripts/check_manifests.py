"""Both clients take the plugin from the repository itself."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from check_packages import working_folder


def manifests(root: Path) -> Iterator[str]:
    """What the clients say against the manifests; their own words, one line each."""
    clients = Path(os.environ.get("MASH_TEST_CLIENTS", root / ".cache/clients/node_modules/.bin"))
    with working_folder() as folder:
        clone = folder / "clone"
        subprocess.run(["git", "clone", "--quiet", root, clone], check=True)
        env = {
            "PATH": f"{clients}:{os.environ['PATH']}",
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            "CODEX_HOME": str(folder / "codex"),
        }
        (folder / "codex").mkdir()
        yield from asked(["claude", "plugin", "validate", "--strict", str(clone)], env)
        yield from asked(["codex", "plugin", "marketplace", "add", str(clone)], env)
        yield from asked(["codex", "plugin", "add", "mash@mash-plugin"], env)


def asked(command: list[str], env: dict[str, str]) -> Iterator[str]:
    """What a client says when it refuses."""
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        yield f"{command[0]} is not there: run scripts/test first, which installs it"
        return
    said = (done.stdout + done.stderr).strip()
    print(f"{' '.join(command[:3])}: {'refused' if done.returncode else 'taken'}")
    if done.returncode:
        yield f"{' '.join(command[:3])}: {said}"
