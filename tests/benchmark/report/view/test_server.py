"""`fastrag view` as a process of its own, asked over real HTTP."""

import asyncio
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fastrag.benchmark import Benchmark, EvalSample, SampleResult
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.journal import Journal
from fastrag.benchmark.metrics import RecallAtK
from fastrag.benchmark.run_header import run_header
from fastrag.document import Document

TIMEOUT_S = 60


class Server:
    """The command, and asking it."""

    def __init__(self, folder, *options):
        command = [sys.executable, "-m", "fastrag", "view", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://(\S+):(\d+)/", line)
        assert found, line + self.process.stderr.read()
        self.name, self.port = found[1], int(found[2])

    def ask(self, path, method="GET", **headers):
        """Status, headers in small letters, and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in ({"host": f"127.0.0.1:{self.port}"} | headers).items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
        finally:
            connection.close()

    def overview(self):
        status, _, body = self.ask("/data/overview.json")
        assert status == 200, body
        return json.loads(body)

    def until(self, holds):
        """The first overview of which that holds; a time-out ends a test in which none comes."""
        while not holds(overview := self.overview()):
            pass
        return overview

    def stop(self, with_signal=signal.SIGINT):
        self.process.send_signal(with_signal)
        _, errors = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, errors


@pytest.fixture(scope="module")
def server(built_pages, tmp_path_factory, make_result):
    """One that several tests ask, over the results "base" and "new"."""
    folder = tmp_path_factory.mktemp("served") / "results"
    save(folder, make_result)
    one = Server(folder, "--allow-host", "box", "--allow-host", "tunnel:9000")
    yield one
    one.process.kill()
    one.process.communicate()


@pytest.fixture
def serve(built_pages):
    servers = []

    def start(folder, *options):
        servers.append(Server(folder, *options))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


@pytest.fixture
def folder(tmp_path, make_result):
    return save(tmp_path / "results", make_result)


def save(folder, make_result):
    make_result("base", [0.5, 0.25, 0.75, 0.3, None, 1.0]).save(folder / "base.json")
    make_result("new", [0.6, 0.5, 0.75, 0.8, 0.5, 1.0]).save(folder / "new.json")
    return folder


def test_the_page_and_its_parts(server):
    status, headers, body = server.ask("/")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert b'data-parts="served"' in body
    overview = server.overview()
    assert [run["label"] for run in overview["runs"]] == ["base", "new"]
    assert overview["live"] is True
    assert overview["title"] == "results"
    for name in ("overview", "questions", "scores-0", "scores-1", "comparison-0-1", "details-0"):
        status, headers, body = server.ask(f"/data/{overview['snapshot']}/{name}.json")
        assert (status, headers["content-type"]) == (200, "application/json")
        assert json.loads(body)
    comparison = json.loads(server.ask(f"/data/{overview['snapshot']}/comparison-0-1.json")[2])
    assert (comparison["baseline"], comparison["candidate"]) == (0, 1)
    assert server.ask("/", method="HEAD")[::2] == (200, b"")
    assert server.ask("/favicon.ico")[0] == 204


def test_every_answer_is_strict(server):
    answers = [server.ask(path) for path in ("/", "/data/overview.json", "/nothing", "/data/x/overview.json")]
    answers += [server.ask("/", method="POST"), server.ask("/", host="evil.example"), server.ask("/%00", method="HEAD")]
    for _, headers, _ in answers:
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "server" not in headers
        assert not any(name.startswith("access-control") for name in headers)


def test_who_is_refused(server):
    port = server.port
    for path in ("/", "/data/overview.json"):
        assert server.ask(path)[0] == 200
        assert server.ask(path, host=f"box:{port}", origin=f"http://box:{port}")[0] == 200
        assert server.ask(path, host="tunnel:9000")[0] == 200
        for headers in (
            {"host": f"evil.example:{port}"},
            {"host": "localhost"},
            {"host": f"tunnel:{port}"},
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"origin": f"http://localhost:{port}"},
            {"sec_fetch_site": "cross-site"},
        ):
            status, _, body = server.ask(path, **headers)
            assert status == 403
            assert b"base" not in body
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert server.ask(path, method=method)[0] == 405
    assert server.process.poll() is None


@pytest.mark.parametrize(
    "path",
    [
        "/data/{}/../../base.json",
        "/data/{}/..%2F..%2Fbase.json",
        "/data/{}/base.json",
        "/data/{}/%2e%2e.json",
        "/data/{}/scores-99.json",
        "/data/{}/scores--1.json",
        "/data/{}/scores-%D9%A1.json",
        "/data/{}/scores-0.json/",
        "/data/{}/comparison-1-0.json",
        "/data/{}/details-999999999.json",
        "/data/{}/details-99999999999999999999.json",
        "/data/{}/overview",
        "/data/{}/overview.json.json",
        "//data/overview.json",
        "/base.json",
        "/data/overview.json%00",
        "http://evil.example/data/overview.json",
        "/data/{}/" + "a" * 2000 + ".json",
    ],
)
def test_there_is_nothing_else(server, path):
    status, _, body = server.ask(path.format(server.overview()["snapshot"]))
    assert status == 404
    assert body == b"There is nothing of that name here.\n"


def test_a_reading_that_is_gone_says_so(server):
    for token in ("0" * 24, "..", "%2e%2e%2f"):
        status, _, body = server.ask(f"/data/{token}/questions.json")
        assert status in (404, 410)
        assert b"base" not in body
    assert server.ask(f"/data/{'0' * 24}/questions.json")[::2] == (
        410,
        b"This reading of the results is not kept any more: load the page again.\n",
    )


def test_what_cannot_be_read_is_said_on_the_page(serve, folder):
    (folder / "broken.json").write_text("{")
    (folder / "link.json").symlink_to("/etc/passwd")
    overview = serve(folder).overview()
    assert [run["label"] for run in overview["runs"]] == ["base", "new"]
    assert any("broken.json is left out" in warning for warning in overview["warnings"])
    assert any("link.json is a link that leads out" in warning for warning in overview["warnings"])
    assert "root:" not in json.dumps(overview)


def test_a_folder_that_comes_later(serve, tmp_path, make_result):
    server = serve(tmp_path / "later")
    overview = server.overview()
    assert overview["runs"] == []
    assert any("will be shown when there are any" in warning for warning in overview["warnings"])
    (tmp_path / "later").mkdir()
    make_result("first", [0.5, 0.25]).save(tmp_path / "later" / "first.json")
    overview = server.until(lambda overview: overview["runs"])
    assert overview["runs"][0]["label"] == "first"
    assert overview["warnings"] == []


async def test_a_journal_that_grows(serve, folder):
    samples = [EvalSample(f"q{i}", id=str(i)) for i in range(5)]
    journal = Journal(
        folder / "under-way.json", run_header("under way", datetime.now(UTC), {"ndcg@10": True}, samples, 1)
    )
    server = serve(folder)
    first = server.overview()
    for position in range(3):
        result = SampleResult(f"q{position}", "successful", {"ndcg@10": 0.5})
        journal.add(position, result, 1, Budget(None, None, None))
    overview = server.until(lambda overview: any((run["partial"] or {}).get("ended") == 3 for run in overview["runs"]))
    assert overview["snapshot"] != first["snapshot"]
    # Pages that show what was before can go on.
    assert server.ask(f"/data/{first['snapshot']}/scores-0.json")[0] == 200
    assert any("under way" in warning for warning in overview["warnings"])
    journal.close()


async def test_a_run_is_seen_from_its_beginning_to_its_end(serve, tmp_path):
    folder = tmp_path / "results"
    go_on = asyncio.Event()

    class Finder:
        async def retrieve(self, question):
            if question in ("third", "fourth"):
                await go_on.wait()
            return [Document("a", "text", uri="a.txt")]

    server = serve(folder)
    samples = [EvalSample(question, relevant_ids=["a"]) for question in ("first", "second", "third", "fourth")]
    running = asyncio.create_task(
        Benchmark(Finder(), samples, [RecallAtK(1)]).run("run", path=folder / "run.json", keep_outcomes=True)
    )

    def ended(overview):
        return [run["partial"] and run["partial"]["ended"] for run in overview["runs"]]

    overview = await asyncio.to_thread(server.until, lambda overview: ended(overview) == [2])
    assert overview["runs"][0]["samples"] == 2
    assert overview["runs"][0]["metrics"]["recall@1"]["mean"] == 1.0
    assert overview["warnings"] != []
    details = json.loads(server.ask(f"/data/{overview['snapshot']}/details-0.json")[2])
    assert details["texts"] == ["text"]
    go_on.set()
    await running
    overview = await asyncio.to_thread(server.until, lambda overview: ended(overview) == [None])
    assert overview["runs"][0]["samples"] == 4
    assert overview["warnings"] == []


def test_ctrl_c_ends_it_at_once(serve, folder):
    server = serve(folder)
    # A connection that says nothing must not hold up the end.
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        silent.sendall(b"GET / HT")
        server.overview()
        code, errors = server.stop()
    assert code == 130
    assert errors == "fastrag: stopped serving; the results are as they were\n"


NEVER_ANSWERS = """
import asyncio
from fastrag.benchmark.report.view.server import listen, serve
from fastrag.cli.running import run_async

async def app(scope, receive, send):
    print("asked", flush=True)
    await asyncio.Event().wait()

listening = listen("127.0.0.1", 0)
print(listening.getsockname()[1], flush=True)
run_async(serve(app, listening))
"""


def test_ctrl_c_does_not_wait_for_answers():
    process = subprocess.Popen([sys.executable, "-c", NEVER_ANSWERS], stdout=subprocess.PIPE, text=True)
    try:
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline()))) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert process.stdout.readline() == "asked\n"
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == -signal.SIGINT
    finally:
        process.kill()
        process.communicate()


def test_a_term_signal_ends_it(serve, folder):
    server = serve(folder)
    code, errors = server.stop(signal.SIGTERM)
    assert code == -signal.SIGTERM
    assert errors == ""


@pytest.mark.parametrize(
    "junk", [b"\x00\xff" * 100, b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 100_000, b"\r\n" * 10]
)
def test_junk_is_survived(server, junk):
    with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(junk)
        connection.shutdown(socket.SHUT_WR)
        try:
            reply = connection.recv(10_000)
        except ConnectionResetError:
            reply = b""
    assert not reply.startswith(b"HTTP/1.1 200")
    assert server.ask("/")[0] == 200


def test_it_listens_to_this_machine_only(server):
    with Path(f"/proc/{server.process.pid}/net/tcp").open() as lines:
        local = [line.split()[1] for line in lines if f":{server.port:04X} " in line and line.split()[3] == "0A"]
    assert local == [f"0100007F:{server.port:04X}"]


def test_ipv6(serve, folder):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = serve(folder, "--host", "::1")
    assert server.name == "[::1]"
    connection = http.client.HTTPConnection("::1", server.port, timeout=TIMEOUT_S)
    connection.request("GET", "/data/overview.json")
    assert connection.getresponse().status == 200
    connection.close()


def test_reading_is_all_that_is_done_to_the_folder(serve, folder):
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}
    server = serve(folder)
    server.overview()
    server.stop()
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()} == before
    assert list(folder.parent.iterdir()) == [folder]
