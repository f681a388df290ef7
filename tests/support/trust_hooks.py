"""Trust every hook that Codex lists, as its /hooks screen would (seen with 0.171.0)."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class AppServer:
    """One `codex app-server` spoken to over its standard streams."""

    def __init__(self, codex: str, folder: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [codex, "app-server"],
            cwd=folder,
            env=dict(env),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.count = 0
        self.call("initialize", {"clientInfo": {"name": "trust-hooks", "version": "1"}})
        self._send({"method": "initialized"})

    def call(self, method: str, params: dict[str, Any]) -> Any:
        self.count += 1
        self._send({"id": self.count, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.count and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"{method}: the app server ended")

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


def trust_hooks(codex: str, folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Trust all; hook key → its status before."""
    server = AppServer(codex, folder, env)
    try:
        before, edits = {}, []
        for entry in server.call("hooks/list", {"cwds": [str(folder)]})["data"]:
            for hook in entry["hooks"]:
                before[hook["key"]] = hook["trustStatus"]
                # A plugin's hook has two hashes: of its definition and of the plugin's folder.
                names = ("trusted_hash", "trusted_content_hash")
                for name, value in zip(names, hook["currentHash"].split("/"), strict=False):
                    path = f"hooks.state.{json.dumps(hook['key'])}.{name}"
                    edits.append({"keyPath": path, "value": value, "mergeStrategy": "upsert"})
        if edits:
            server.call("config/batchWrite", {"edits": edits})
    finally:
        server.close()
    return before
