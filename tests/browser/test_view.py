"""``fastrag view`` as a browser sees it: the real command, while results come and go."""

import http.server
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from .pages import cells, drawn, follow, heading, settled, virtual_rows


@contextmanager
def viewing(folder, *arguments):
    """The address of the command's server, and its process."""
    command = [sys.executable, "-m", "fastrag.cli", "view", str(folder), "--port", "0", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+/", line)
        assert found is not None, line + process.stderr.read()
        yield found[0], process
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def served(real):
    with viewing(real.reported.folder, "--samples", real.reported.samples_path) as (address, _):
        yield address


def test_every_page_works_and_only_this_server_is_asked(watched, served, real):
    with watched() as page:
        page.goto(served)
        settled(page)
        assert heading(page) == "6 runs on 60 questions"
        assert page.locator("aside.warnings").inner_text() == real.reported.is_partial
        labels = [row[0].split("\n")[0] for row in cells(page.locator(".run-facts"))[1:]]
        assert labels == real.labels
        follow(page, page.locator(".metric-table").get_by_role("link", name="mrr"))
        assert heading(page) == "mrr"
        follow(page, page.get_by_role("link", name="Compare"))
        page.wait_for_selector("table.comparison")
        settled(page)
        follow(page, page.locator(".virtual-table tbody a").first)
        assert heading(page) == "Question 1"
        assert "the river Amber" in page.locator("section[aria-labelledby=sample]").inner_text()
        assert page.locator(".sources summary").count() > 10
        follow(page, page.get_by_role("link", name="Errors"))
        assert heading(page) == "Errors"
        follow(page, page.get_by_role("link", name="Questions"))
        assert len(virtual_rows(page)) == 60


def test_what_every_answer_says(browser, served):
    page = browser.new_page()
    reply = page.goto(served)
    policy = reply.header_value("content-security-policy")
    directives = dict(one.strip().split(" ", 1) for one in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'"
    for name in ("script-src", "style-src"):
        assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", directives[name])
    assert "unsafe" not in policy
    assert reply.header_value("x-content-type-options") == "nosniff"
    assert reply.header_value("cache-control") == "no-store"
    part = page.evaluate("async () => (await fetch('data/overview.json')).headers.get('content-security-policy')")
    assert part == policy
    page.close()


@pytest.fixture(scope="module")
def elsewhere():
    """A page of another origin."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<!doctype html><title>elsewhere</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_page_of_another_origin_reads_nothing(browser, served, elsewhere):
    page = browser.new_page()
    statuses = []
    page.on("response", lambda reply: reply.url.startswith(served) and statuses.append(reply.status))
    page.goto(elsewhere)
    for address in (f"{served}data/overview.json", served):
        for mode in ("cors", "no-cors"):
            said = page.evaluate(
                """async ([address, mode]) => {
                    try { return await (await fetch(address, {mode})).text() } catch (error) { return error.name }
                }""",
                [address, mode],
            )
            assert said == "TypeError"
    framed = page.evaluate(
        """address => new Promise(done => {
            const frame = document.createElement("iframe");
            frame.onload = () => { try { done(frame.contentDocument?.body.innerText ?? "") } catch { done("") } };
            frame.src = address;
            document.body.append(frame);
        })""",
        served,
    )
    assert "keywords" not in framed
    page.wait_for_function("() => window.length === 1")
    assert all("keywords" not in frame.content() for frame in page.frames)
    # The browser keeps the answers from the page, and the server does not even give any.
    assert statuses
    assert set(statuses) == {403}
    page.close()


@pytest.fixture
def going(real, tmp_path):
    """A folder with a journal that has ten questions yet, and the lines that will come."""
    folder = tmp_path / "results"
    folder.mkdir()
    header, *lines = real.reported.paths[-1].read_text("utf-8").splitlines(keepends=True)
    journal = folder / "going.json.journal"
    journal.write_text(header + "".join(lines[:10]), "utf-8")
    return folder, journal, lines[10:]


def append(journal, lines):
    with journal.open("a", encoding="utf-8") as file:
        file.writelines(lines)


def test_a_run_that_goes_on_is_followed_without_disturbing(watched, going):
    folder, journal, lines = going
    with viewing(folder) as (address, _), watched(height=560) as page:
        page.goto(f"{address}#/questions")
        settled(page)
        assert page.locator(".shown").inner_text() == "All 10 questions"
        assert "10 of 60 questions have ended" in page.locator("aside.warnings").inner_text()
        row = page.locator(".virtual-table tbody tr").nth(7)
        row.locator("a").focus()
        asked = row.locator("a").inner_text()
        page.evaluate("() => { window.scrollTo(0, 40); document.querySelector('.virtual-table').scrollTop = 60 }")
        drawn(page)
        place = (
            """() => [scrollY, document.querySelector(".virtual-table").scrollTop, document.activeElement.innerText]"""
        )
        before = page.evaluate(place)
        assert before[2] == asked
        page.evaluate("() => { window.same = true }")
        append(journal, lines[:5])
        page.wait_for_function("() => document.querySelector('.shown').innerText === 'All 15 questions'")
        append(journal, lines[5:])
        page.wait_for_function(
            "n => document.querySelector('.shown').innerText === `All ${n} questions`", arg=10 + len(lines)
        )
        assert page.evaluate(place) == before
        assert page.evaluate("() => window.same")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("() => document.activeElement.innerText") != asked
        # What is written into the search field stays, too.
        page.get_by_label("Search the questions").fill("town 1")
        shutil.copy(journal, folder / "other.json.journal")
        page.wait_for_function("() => document.querySelectorAll('aside.warnings p').length === 2")
        assert page.evaluate("() => document.activeElement.tagName") == "INPUT"
        assert page.get_by_label("Search the questions").input_value() == "town 1"


def test_a_finished_run_takes_the_place_of_its_journal(watched, going, real):
    folder, journal, _ = going
    with viewing(folder) as (address, _), watched() as page:
        page.goto(address)
        settled(page)
        assert page.locator("aside.warnings").count() == 1
        shutil.copy(real.reported.paths[1], folder / "going.json")
        journal.unlink()
        page.wait_for_function("() => document.querySelector('aside.warnings') === null")
        assert heading(page) == "1 run on 60 questions"


def test_a_server_that_is_stopped_is_said(browser, going):
    folder, *_ = going
    context = browser.new_context()
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with viewing(folder) as (address, process):
        page.goto(address)
        settled(page)
        process.terminate()
        process.wait(timeout=60)
        page.wait_for_selector("aside.warnings [role=alert]")
        assert "has fastrag view been stopped?" in page.locator("[role=alert]").inner_text()
        # What was loaded is still there.
        assert heading(page) == "1 run on 10 questions"
        page.evaluate("() => { location.hash = '#/questions' }")
        page.wait_for_selector("main [role=alert]")
        assert errors == []
    context.close()


def test_a_folder_without_results_says_so_until_there_are_some(browser, real, tmp_path):
    page = browser.new_context().new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with viewing(tmp_path / "later") as (address, _):
        page.goto(address)
        page.wait_for_selector("[role=alert], main h1")
        assert "later" in page.locator("body").inner_text()
        (tmp_path / "later").mkdir()
        shutil.copy(real.reported.paths[0], tmp_path / "later")
        page.wait_for_function("() => document.querySelector('main h1')?.innerText === '1 run on 60 questions'")
        assert errors == []
    page.context.close()
