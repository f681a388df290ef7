"""Write a file that only its owner can read, whole or not at all."""

import os
import secrets


def write_private(place: str, text: str) -> None:
    """Replace the file; its folder is made when missing. Raises OSError."""
    os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
    temporary = f"{place}.{secrets.token_hex(4)}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise
