"""Drive a terminal program through a tmux server of its own."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.polling import eventually


class Terminal:
    """One program on one screen of 160 by 50."""

    def __init__(self, socket: Path, command: list[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.socket = socket
        self.env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        words = ["env", "-i", *(f"{k}={v}" for k, v in env.items()), *command]
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50"),
            *("-c", str(cwd), shlex.join(words)),
        )
        self.server_pid = int(self._tmux("display-message", "-p", "#{pid}"))
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def screen(self) -> str:
        """The text on the screen now."""
        return self._tmux("capture-pane", "-p", "-J")

    def everything(self) -> str:
        """All that the program has written, what has scrolled away included."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def wait_for(self, *texts: str, timeout_s: float = 60) -> str:
        """The screen once it shows one of these texts; the error holds the last screen."""
        last = ""

        def shows() -> str:
            nonlocal last
            last = self.screen()
            return last if any(text in last for text in texts) else ""

        try:
            return eventually(shows, f"the screen never showed {texts}", timeout_s, 0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{last}") from None

    def type(self, text: str) -> None:
        """Type one line, see it on the screen, press Enter."""
        self.write(text)
        self.press("Enter")

    def write(self, text: str) -> None:
        """Type and see it on the screen."""
        self._tmux("send-keys", "-l", text)
        self.wait_for(text[:60])

    def paste(self, text: str) -> None:
        """Paste as a terminal does, so that the program can tell it from typing."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", "-p", "-r")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def wait_for_end(self, timeout_s: float = 60) -> None:
        """Until the program has ended; its last screen stays."""

        def is_dead() -> bool:
            return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

        eventually(is_dead, "the program goes on", timeout_s)

    def close(self) -> None:
        """End the program and the tmux server."""
        subprocess.run(self._command("kill-server"), env=self.env, capture_output=True, check=False)

    def _tmux(self, *arguments: str) -> str:
        finished = subprocess.run(
            self._command(*arguments), env=self.env, capture_output=True, text=True, check=True
        )
        return finished.stdout

    def _command(self, *arguments: str) -> list[str]:
        return ["tmux", "-S", str(self.socket), *arguments]
