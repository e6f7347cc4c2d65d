"""A written report, and what tests do with its pages again and again."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .real_runs import Reported


@dataclass
class Written:
    """A report that `fastrag report` wrote."""

    path: Path
    reported: Reported

    @property
    def url(self):
        return self.path.as_uri()

    @cached_property
    def text(self):
        return self.path.read_text("utf-8")

    def part(self, name):
        [packed] = re.findall(f'data-part="{name}">([^<]*)<', self.text)
        return json.loads(gzip.decompress(base64.b64decode(packed)))

    @cached_property
    def overview(self):
        return self.part("overview")

    @property
    def labels(self):
        return [run["label"] for run in self.overview["runs"]]


def open_at(page, written, address=""):
    """Open the report at a page."""
    page.goto(written.url + address)
    settled(page)


def go(page, address):
    """Go on to another page of the report, as its links do."""
    page.evaluate(
        """hash => new Promise(done => {
            if (new URL(hash, location).hash === location.hash) return done();
            const frame = requestAnimationFrame;
            addEventListener("hashchange", () => frame(() => frame(done)), {once: true});
            location.hash = hash;
        })""",
        address,
    )
    settled(page)


def settled(page):
    """Wait until the page shows all that it has to load."""
    page.wait_for_function(
        """() => document.querySelector("main h1") !== null
            && ![...document.querySelectorAll("main [role=status]")].some(one => /^Loading/.test(one.textContent))"""
    )


def drawn(page):
    """Wait until what was just done is on the screen."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def follow(page, link):
    """Click a link of the report, and wait for the page that it leads to."""
    before = page.url
    link.click()
    page.wait_for_function("before => location.href !== before", arg=before)
    drawn(page)
    settled(page)


def cells(table):
    """The texts of a table's cells, a list a row; lines of a cell stand one below the other."""
    return table.evaluate(
        """table => [...table.rows].map(row => [...row.cells].map(
            cell => cell.innerText.split("\\n").map(line => line.trim()).filter(Boolean).join("\\n")))"""
    )


def heading(page):
    return page.locator("main h1").inner_text()


def virtual_rows(page):
    """The texts of all rows of the page's virtual table, top to bottom, met by scrolling."""
    return page.evaluate(
        """async () => {
            const scroller = document.querySelector(".virtual-table");
            const rows = new Map();
            for (let top = 0; ; top += scroller.clientHeight / 2) {
                scroller.scrollTop = top;
                await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
                for (const row of scroller.querySelectorAll("tbody tr"))
                    rows.set(Number(row.dataset.index), [...row.cells].map(cell => cell.innerText.trim()));
                if (top + scroller.clientHeight >= scroller.scrollHeight) break;
            }
            scroller.scrollTop = 0;
            return [...rows].sort(([a], [b]) => a - b).map(([, texts]) => texts);
        }"""
    )


def sort_by(page, title):
    """Press the column's header."""
    page.locator(".virtual-table thead button").filter(
        has_text=re.compile(rf"^\s*{re.escape(title)}\s*[▲▼]?\s*$")
    ).click()
    drawn(page)
