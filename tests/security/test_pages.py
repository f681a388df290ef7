"""Compiled pages are code: they are kept, and read, in a folder of the person's own alone."""

import io
import marshal
import os
import pickle
import subprocess
import sys
from pathlib import Path

from jinja2.bccache import bc_magic

from tests.support.daemons import Place


def export(place: Place) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "mash_plugin", "dash", "--export", "-"]
    return subprocess.run(command, env=place.environment, capture_output=True, text=True)


def plant(file: Path, source: str) -> None:
    """Put other code into a compiled page, with the mark that it was made of this template."""
    kept = io.BytesIO(file.read_bytes())
    kept.seek(len(bc_magic))
    checksum = pickle.load(kept)  # noqa: S301 - our own file
    code = marshal.dumps(compile(source, "planted", "exec"))
    file.write_bytes(bc_magic + pickle.dumps(checksum, 2) + code)


def test_no_compiled_page_is_read_where_others_could_have_put_one(
    place: Place, tmp_path: Path
) -> None:
    place.start()
    run = Path(place.paths.run)
    assert export(place).returncode == 0
    compiled = list((run / "pages").iterdir())
    assert compiled
    assert {one.stat().st_uid for one in (run / "pages", *compiled)} == {os.getuid()}
    ran = tmp_path / "ran"
    for file in compiled:
        plant(file, f"open({str(ran)!r}, 'w').close()")
    run.chmod(0o770)
    refused = export(place)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "chmod 700" in refused.stderr
    assert not ran.exists()
    run.chmod(0o700)
    export(place)
    assert ran.exists()  # else this test would prove nothing
