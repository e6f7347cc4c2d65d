"""A real browser in front of real reports. What it must never do is watched on every page: ask elsewhere, complain."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from fastrag.cli import main

from .pages import Written
from .real_runs import make_hostile, make_large, make_real

AXE = Path(__file__).resolve().parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"

# Without the last ones, a browser that has just been started asks its maker's servers for news.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def lacking(reason):
    """Skip, or fail where nothing that shows the report may be skipped."""
    if os.environ.get("FASTRAG_REQUIRE_FRONTEND"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(built_pages):
    """Chromium, started once for the tests of a file."""
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        lacking("no Chromium is installed")
    api = pytest.importorskip("playwright.sync_api", reason="the browser's driver is in the extra test")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory, built_pages):
    """``written(make)``: the report that the command writes of the results that ``make(folder)`` makes."""

    def write(make, **options):
        folder = tmp_path_factory.mktemp("reported")
        reported = make(folder, **options)
        path = folder / "report.html"
        samples = [] if reported.samples_path is None else ["--samples", str(reported.samples_path)]
        assert main(["report", *map(str, reported.paths), "-o", str(path), *samples]) == 0
        return Written(path, reported)

    return write


@pytest.fixture(scope="session")
def real(written):
    """Of `make_real`."""
    return written(make_real)


@pytest.fixture(scope="session")
def hostile(written):
    """Of `make_hostile`."""
    return written(make_hostile)


@pytest.fixture(scope="session")
def large(written):
    """10,000 questions of six runs."""
    return written(make_large, metrics=["token_f1"])


@pytest.fixture
def watched(browser):
    """``with watched(width=..., colors=...) as page``: fails at its end if the page complained or asked elsewhere."""

    @contextmanager
    def open_page(*, width=1280, height=900, colors="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=colors, service_workers="block", **options
        )
        page = context.new_page()
        complaints, requests = [], []
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.set_default_timeout(60_000)
        try:
            yield page
            allowed = page.url.partition("#")[0]
            own = allowed if allowed.startswith("file:") else allowed.rsplit("/", 1)[0] + "/"
            elsewhere = [url for url in requests if not url.startswith(own)]
            assert complaints == []
            assert elsewhere == []
        finally:
            context.close()

    return open_page


@pytest.fixture
def violations():
    """``violations(page)``: what axe-core finds serious or critical, as texts."""
    if not AXE.is_file():
        lacking("axe-core is not installed: npm ci in frontend/")
    source = AXE.read_text(encoding="utf-8")

    def run(page):
        # Evaluated by the debugger: the page's own policy lets no script in.
        page.evaluate(source + ";0")
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {node['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    return run
