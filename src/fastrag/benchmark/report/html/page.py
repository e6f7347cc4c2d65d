"""The page: one file that holds everything, or the frame that `fastrag view` fills.

A file asks nothing of anybody. Its parts stand in it as base64 of gzipped JSON, so that nothing in them can end a
script; everything else goes through Jinja2 with autoescape; and its Content-Security-Policy allows the one script and
the one style by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag._support.files import written_atomically
from fastrag.benchmark.report.html.assets import Assets, read_assets
from fastrag.benchmark.report.html.plain_overview import PlainOverview
from fastrag.benchmark.report.templates import templates
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    from fastrag.benchmark.report.html.data import ReportData

_NOTHING_ELSE = "default-src 'none'; base-uri 'none'; form-action 'none'"
_PACKAGE = "fastrag.benchmark.report.html"
_LEVEL = 6  # of gzip: 9 takes three times as long for one percent


@dataclass(frozen=True, slots=True)
class Part:
    """One part as it stands in the page."""

    name: str
    packed: str


@dataclass(frozen=True, slots=True)
class Shell:
    """The page without data, and the Content-Security-Policy that it has to be served with."""

    html: str
    policy: str


def write_page(data: ReportData, path: Path, *, on_part: Callable[[str], object] = lambda name: None) -> None:
    """Write the page to ``path``, atomically and part by part: it is never in memory whole.

    Args:
        data: What the page shows.
        path: An existing file is replaced.
        on_part: Called with the name of each part before that is made.

    Raises:
        ConfigurationError: The pages are not built, or ``path`` cannot be written; an old file is untouched then.
    """
    pieces = _pieces(data, read_assets(), on_part)
    try:
        with written_atomically(path) as file:
            for piece in pieces:
                file.write(piece.encode("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: the report could not be written: {error.strerror or error}") from error


def page_html(data: ReportData, *, start: str = "") -> str:
    """The page as one text; the same data give the same text.

    Args:
        data: What the page shows.
        start: What it opens at: the part of an address from "#" on. A page in a frame has no address to say so.

    Raises:
        ConfigurationError: The pages are not built.
    """
    return "".join(_pieces(data, read_assets(), lambda name: None, start=start))


def shell_html(title: str) -> Shell:
    """The page that asks a server for its parts.

    Raises:
        ConfigurationError: The pages are not built.
    """
    assets = read_assets()
    html = templates(_PACKAGE).get_template("served.html.jinja").render(title=title, assets=_marked(assets))
    own = f"connect-src 'self'; img-src 'self'; frame-ancestors 'none'; {assets.sources}"
    return Shell(html, f"{_NOTHING_ELSE}; {own}")


def _pieces(data: ReportData, assets: Assets, on_part: Callable[[str], object], *, start: str = "") -> Iterator[str]:
    return (
        templates(_PACKAGE)
        .get_template("report.html.jinja")
        .generate(
            overview=PlainOverview.of(data.overview),
            policy=f"{_NOTHING_ELSE}; {assets.sources}",
            assets=_marked(assets),
            parts=_parts(data, on_part),
            start=start,
        )
    )


def _parts(data: ReportData, on_part: Callable[[str], object]) -> Iterator[Part]:
    for name in data.part_names():
        on_part(name)
        # The time of day must not be in it.
        packed = base64.b64encode(gzip.compress(data.part(name), _LEVEL, mtime=0))
        yield Part(name, packed.decode("ascii"))


def _marked(assets: Assets) -> dict[str, str]:
    """The built files as they are: they were checked, and escaped they would be something else."""
    from markupsafe import Markup

    return {"script": Markup(assets.script), "style": Markup(assets.style), "licences": Markup(assets.licences)}  # noqa: S704
