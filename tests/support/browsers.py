"""Debian's Chromium, started by the tests without a window."""

import os
import shutil

from playwright.sync_api import Browser, Playwright


def chromium(playwright: Playwright) -> Browser:
    """The browser of the system; root needs it without its sandbox."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "Chromium is missing; on Debian: apt-get install chromium"
    arguments = ["--disable-dev-shm-usage", "--disable-gpu"]
    if os.getuid() == 0:
        arguments.append("--no-sandbox")
    return playwright.chromium.launch(executable_path=path, args=arguments)
