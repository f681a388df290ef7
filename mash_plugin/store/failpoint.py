"""A named place where a test may let the process die."""

import os


def failpoint(name: str) -> None:
    """Die here when a test asks for it (MASH_FAILPOINT=NAME:kill)."""
    wanted = os.environ.get("MASH_FAILPOINT")
    if wanted == f"{name}:kill" and os.environ.get("MASH_TESTING") == "1":
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
