"""``fastrag view``: its arguments and its ends. What it serves: benchmark/report/view/test_server.py."""

import re
import socket
import subprocess
import sys
import webbrowser

import pytest

from fastrag.cli import main, view


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    """Nothing is served: what the command would serve is looked at instead."""
    served = []

    async def serve(app, listening):
        served.append((app, listening.getsockname()))

    monkeypatch.setattr("fastrag.benchmark.report.view.server.serve", serve)
    return served


@pytest.fixture
def folder(tmp_path, built_pages):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def wrong_usage(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["view", *map(str, arguments)])
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "localhost.example.org", "", "128.0.0.1"]
)
def test_other_machines_are_let_in_only_by_name(tmp_path, capsys, host):
    assert "--allow-host" in wrong_usage(capsys, tmp_path, "--host", host)


@pytest.mark.parametrize(
    "name",
    ["*", "", "http://box", "box/", "box:port", "a b", "box:", "[::1", "-box", "bo\x00x", "b\u00f6x", "user@box"],
)
def test_a_name_is_a_name(tmp_path, capsys, name):
    assert "must be a name or address" in wrong_usage(capsys, tmp_path, f"--allow-host={name}")


@pytest.mark.parametrize("port", ["-1", "65536", "http", "1.5", "\u0661", ""])
def test_a_port_is_a_port(tmp_path, capsys, port):
    assert "from 0 to 65535" in wrong_usage(capsys, tmp_path, f"--port={port}")


def test_a_file_is_no_folder(tmp_path, capsys):
    (tmp_path / "run.json").touch()
    assert "fastrag report" in wrong_usage(capsys, tmp_path / "run.json")
    assert "DIR" in wrong_usage(capsys)


def test_the_address_is_printed(folder, no_server, capsys):
    assert main(["view", str(folder), "--port", "0"]) == 0
    [(_, (host, port))] = no_server
    assert host == "127.0.0.1"
    assert capsys.readouterr() == (f"{folder} is at http://127.0.0.1:{port}/ (Ctrl-C ends it)\n", "")


@pytest.mark.parametrize(
    ("options", "address"),
    [
        (["--host", "localhost"], r"http://localhost:\d+/"),
        (["--host", "127.0.0.2"], r"http://127\.0\.0\.2:\d+/"),
        (["--host", "0.0.0.0", "--allow-host", "Box"], r"http://Box:\d+/"),
        (["--host", "0.0.0.0", "--allow-host", "box:443"], "http://box:443/"),
    ],
)
def test_addresses(folder, no_server, capsys, options, address):
    assert main(["view", str(folder), "--port", "0", *options]) == 0
    assert re.search(address, capsys.readouterr().out)


def test_a_folder_that_is_not_there_yet_is_said(tmp_path, built_pages, capsys):
    assert main(["view", str(tmp_path / "later"), "--port", "0"]) == 0
    assert "not there yet" in capsys.readouterr().err


def test_a_port_that_is_taken(folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["view", str(folder), "--port", str(port)]) == 1
    errors = capsys.readouterr().err
    assert f"port {port} of 127.0.0.1 is taken" in errors
    assert "--port 0" in errors


def test_an_address_of_another_machine(folder, capsys):
    assert main(["view", str(folder), "--host", "192.0.2.1", "--allow-host", "box", "--port", "0"]) == 1
    assert "cannot listen" in capsys.readouterr().err


def test_samples_that_cannot_be_read(folder, tmp_path, capsys):
    assert main(["view", str(folder), "--samples", str(tmp_path / "none.jsonl"), "--port", "0"]) == 1
    assert "none.jsonl" in capsys.readouterr().err


def test_the_browser_is_opened(folder, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(view.threading, "Thread", Now)
    assert main(["view", str(folder), "--port", "0", "--open"]) == 0
    assert opened == re.findall(r"http://\S+", capsys.readouterr().out)


class Now:
    """A thread that has run."""

    def __init__(self, target, args, daemon):
        assert daemon
        self.start = lambda: target(*args)


def test_an_extra_that_is_not_installed_is_named(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert main(["view", str(folder), "--port", "0"]) == 1
    assert "pip install 'fastrag[view]'" in capsys.readouterr().err


def test_nothing_of_it_is_loaded_by_other_commands():
    names = ["starlette", "uvicorn", "jinja2", "webbrowser"]
    code = f"import sys, fastrag.cli; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["view", "--help"])
    out = capsys.readouterr().out
    assert "fastrag view results/ --open" in out
    assert "130  ended with Ctrl-C" in out
    assert "a shell shows 143" in out
    assert max(map(len, out.splitlines())) <= 80
