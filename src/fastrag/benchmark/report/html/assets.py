"""Script, style and licences of the pages, as Vite built them from `frontend/`."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from fastrag.errors import ConfigurationError

_FOLDER = "static"


@dataclass(frozen=True)
class Assets:
    """What every page holds besides its data. None of the texts can end the element that it stands in."""

    script: str
    style: str
    licences: str

    @cached_property
    def sources(self) -> str:
        """The directives of a Content-Security-Policy that allow exactly this script and this style."""
        return f"script-src {_digest(self.script)}; style-src {_digest(self.style)}"


def read_assets() -> Assets:
    """The built files.

    Raises:
        ConfigurationError: They are not there, or cannot stand in a page.
    """
    return Assets(
        script=_read("report.js", ends=("</script", "<!--")),
        style=_read("report.css", ends=("</style", "<!--")),
        licences=_read("licenses.md", ends=("</script", "<!--")),
    )


def _read(name: str, *, ends: tuple[str, ...]) -> str:
    file = files("fastrag.benchmark.report.html") / _FOLDER / name
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(
            f"the pages of reports are not built: {name} cannot be read ({reason}). In a clone of the "
            "repository run: make frontend (it needs Node.js 20.19 or newer); installed packages have them"
        ) from error
    # A browser turns these into others before it takes the digest.
    text = text.replace("\r\n", "\n")
    if found := [mark for mark in (*ends, "\r", "\0") if mark in text.lower()]:
        raise ConfigurationError(f"{name} cannot stand in a page, for it has {found[0]!r} in it: build it anew")
    return text


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
