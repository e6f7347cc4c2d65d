"""How long a report takes in a browser: until the overview is shown, until two runs are compared, and while scrolling.

Each time stands beside that of an empty page in the same browser, and beside a table of plain HTML with all its rows,
which is what a report without virtual tables would be. Takes minutes, most of them for writing the reports.

    python benchmarks/report_in_browser.py [--questions 10000 --runs 6]
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import sync_playwright

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.cli import main as fastrag

TIMES = 5
SENTENCE = "the river town which lies between the hills was founded before anybody wrote down what it is called "
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# Runs before anything of the page does: notes when what the selector finds is on the screen.
WATCH = """
    const look = () => document.querySelector(SELECTOR) === null
        ? requestAnimationFrame(look) : requestAnimationFrame(() => { window.shownAt = performance.now() });
    look();
"""

# Scrolls by a third of a screen a frame, from top to bottom and back, and gives the times between frames.
SCROLL = """selector => new Promise(done => {
    const one = (selector && document.querySelector(selector)) || document.scrollingElement;
    const times = [];
    let before = performance.now(), step = 0;
    const frame = now => {
        times.push(now - before);
        before = now;
        step += 1;
        one.scrollTop = (one.scrollHeight / 200) * (step <= 200 ? step : 400 - step);
        if (step < 400) requestAnimationFrame(frame); else done(times.slice(1));
    };
    requestAnimationFrame(frame);
})"""


def run_of(number, questions):
    samples = []
    for place in range(questions):
        value = (place * 7919 + number * 104_729) % 1000 / 999
        start = (place + number) % len(SENTENCE)
        samples.append(
            SampleResult(
                f"Question {place}: what is known about town {place * 31 % questions}?",
                "successful",
                {"recall@10": float(round(value)), "token_f1": value, "latency_ms": 100 + 900 * value},
                answer=(SENTENCE * 4)[start : start + 300],
                retrieved_ids=[f"doc-{(place * 13 + i * 7) % 50_000}" for i in range(10)],
                retrieved_uris=[""] * 10,
                latency_ms=100 + 900 * value,
            )
        )
    names = samples[0].scores
    return BenchmarkResult(
        f"run {number}",
        datetime(2026, 1, 1 + number, tzinfo=UTC),
        StatusCounts(questions, 0, 0),
        {name: DistributionSummary.of([sample.scores[name] for sample in samples]) for name in names},
        samples,
        60.0,
        {name: name != "latency_ms" for name in names},
    )


def plain_table(path, questions):
    rows = "".join(
        f"<tr><td>{place}<td><a href='#{place}'>Question {place}: what is known about it?</a>" + "<td>0.500" * 6
        for place in range(questions)
    )
    path.write_text(f"<!doctype html><meta charset=utf-8><title>all rows</title><table>{rows}</table><h1>End</h1>")


def shown_ms(browser, url, selector):
    """Medians over fresh pages: from navigation until what the selector finds is on the screen."""
    times = []
    for _ in range(TIMES):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(WATCH.replace("SELECTOR", json.dumps(selector)))
        page.goto(url, wait_until="commit")
        page.wait_for_function("() => window.shownAt !== undefined", timeout=120_000)
        times.append(page.evaluate("() => window.shownAt"))
        page.close()
    return statistics.median(times)


def frames_ms(browser, url, selector):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    page.wait_for_selector(selector or "h1", state="attached", timeout=120_000)
    page.wait_for_timeout(1000)
    times = sorted(page.evaluate(SCROLL, selector))
    page.close()
    return statistics.median(times), times[int(0.95 * len(times))], times[-1]


def told(name, ms):
    print(f"{name:<52} {ms:8.0f} ms")


def told_frames(name, frames):
    median, p95, worst = frames
    print(f"{name:<52} {median:8.1f} ms median {p95:8.1f} ms p95 {worst:8.1f} ms worst")


def measure(browser, folder, questions, runs):
    print(f"\n{questions:,} questions x {runs} runs")
    results = folder / f"{questions}x{runs}"
    results.mkdir()
    for number in range(runs):
        run_of(number, questions).save(results / f"{number}.json")
    report = folder / f"{questions}x{runs}.html"
    started = time.perf_counter()
    fastrag(["report", str(results), "-o", str(report)])
    print(f"{'written by fastrag report':<52} {time.perf_counter() - started:8.1f} s")
    print(f"{'results':<52} {sum(file.stat().st_size for file in results.iterdir()) / 1e6:8.1f} MB")
    print(f"{'report':<52} {report.stat().st_size / 1e6:8.1f} MB")
    shutil.rmtree(results)
    url = report.as_uri()
    told("overview shown", shown_ms(browser, url, "main[id] h1"))
    told("table of all questions shown", shown_ms(browser, f"{url}#/questions", ".virtual-table tbody tr"))
    told("last question shown", shown_ms(browser, f"{url}#run%200/{questions}", ".runs article"))
    if runs > 1:
        told("two runs compared, with their questions", shown_ms(browser, f"{url}#/compare", ".virtual-table tbody tr"))
    told_frames("frames while scrolling all questions", frames_ms(browser, f"{url}#/questions", ".virtual-table"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    sizes = [(10_000, 6), (100_000, 1)] if options.questions is None else [(options.questions, options.runs)]
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        print(f"Chromium {browser.version}; medians of {TIMES} fresh pages")
        empty, table = folder / "empty.html", folder / "table.html"
        empty.write_text("<!doctype html><meta charset=utf-8><title>empty</title><h1>Nothing</h1>")
        plain_table(table, 10_000)
        told("baseline: an empty page shown", shown_ms(browser, empty.as_uri(), "h1"))
        told("baseline: 10,000 rows of plain HTML shown", shown_ms(browser, table.as_uri(), "h1"))
        told_frames("baseline: frames of an empty page", frames_ms(browser, empty.as_uri(), ""))
        told_frames("baseline: frames of 10,000 rows of plain HTML", frames_ms(browser, table.as_uri(), ""))
        for questions, runs in sizes:
            measure(browser, folder, questions, runs)
        browser.close()


if __name__ == "__main__":
    main()
