"""SHA-256 without OpenSSL, which hashlib loads: 2 ms before a hook's first answer."""

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # CPython from 3.12 on; no stubs
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # CPython 3.11; no stubs
    except ImportError:
        from hashlib import sha256


def sha256_of(data: bytes) -> bytes:
    """The digest of small data; for much of it OpenSSL's is faster."""
    return bytes(sha256(data).digest())
