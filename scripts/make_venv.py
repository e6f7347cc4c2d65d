"""Make a virtual environment, also where Debian's python3-venv is not installed.

Usage: python3 make_venv.py FOLDER

Debian ships Python without `ensurepip`. Where it is missing, the environment is made without pip and the pip of
the system, if there is one, puts pip in.
"""

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path


def main(folder: Path) -> int:
    """Make the environment in ``folder`` and return an exit code."""
    has_ensurepip = importlib.util.find_spec("ensurepip") is not None
    venv.EnvBuilder(with_pip=has_ensurepip, clear=True, symlinks=True).create(folder)
    if has_ensurepip:
        return 0
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "pip"]
    if importlib.util.find_spec("pip") is not None and subprocess.run(install, check=False).returncode == 0:
        return 0
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    sys.stderr.write(
        f"This Python ({sys.executable}) can make no virtual environment with pip.\n"
        f"On Debian or Ubuntu: apt install python3-venv (or python{version}-venv), then run make again.\n"
    )
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
