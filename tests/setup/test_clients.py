"""How the agents' own commands are run."""

import shutil

from mash_plugin.agents.commands import run_client


def test_plugin_commands_never_wait_for_telemetry() -> None:
    said = run_client([shutil.which("env") or "env"], {"PATH": "/usr/bin:/bin"}).splitlines()
    for name in ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER"):
        assert f"{name}=1" in said
    assert "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1" in said
