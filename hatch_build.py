"""What building a wheel needs besides copying files: the report's pages, made from frontend/ by npm."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_BUILT = "src/fastrag/benchmark/report/html/static/report.js"


class PagesHook(BuildHookInterface[Any]):
    """Builds the pages where they are not there: from a clone; a source distribution has them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run npm, or say what is missing."""
        # An editable installation is a clone's, whose Makefile builds them, and works without them.
        if version == "editable" or (Path(self.root) / _BUILT).is_file():
            return
        frontend = Path(self.root) / "frontend"
        try:
            for command in (["npm", "ci", "--no-fund", "--no-audit"], ["npm", "run", "build"]):
                subprocess.run(command, cwd=frontend, check=True)  # noqa: S603 - words of ours
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(
                f"the report's pages could not be built in {frontend} ({error}): Node.js 20.19 or newer is needed"
            ) from error
