"""An authority of one's own, and servers' certificates signed by it; made with openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass
class Authority:
    """Signs certificates; whoever trusts `file` trusts those servers."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        made = ("-keyout", self._key, "-out", self.file, "-days", "30", "-subj", "/CN=Authority")
        _openssl("req", "-x509", *NEW_KEY, *made)

    @property
    def file(self) -> Path:
        return self.folder / "authority.crt"

    @property
    def _key(self) -> Path:
        return self.folder / "authority.key"

    def sign(self, name: str, *also: str, days: int = 30) -> tuple[Path, Path]:
        """Certificate and key of a server of this name; with 0 days it has expired."""
        place = self.folder / f"{name}-{days}"
        certificate, key, request, names = (
            place.with_name(f"{place.name}.{end}") for end in ("crt", "key", "csr", "ext")
        )
        names.write_text(f"subjectAltName = {', '.join((f'DNS:{name}', *also))}\n")
        _openssl("req", *NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        signed = ("-CA", self.file, "-CAkey", self._key, "-CAcreateserial", "-extfile", names)
        _openssl(
            *("x509", "-req", "-in", request, *signed, "-days", str(days), "-out", certificate)
        )
        return certificate, key


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
