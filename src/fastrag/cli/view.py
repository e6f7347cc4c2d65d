"""``fastrag view``: a folder of results, in the browser, while runs go on."""

from __future__ import annotations

import argparse
import ipaddress
import re
import sys
import threading
from pathlib import Path

from fastrag.cli.arguments import WrongUsage, add_samples
from fastrag.cli.running import run_async
from fastrag.cli.terminal import print_line, say

ABOUT = "show a folder of results in the browser, and runs while they go on"

EXAMPLES = """\
fastrag view results/
fastrag view results/ --open --samples questions.jsonl
fastrag view results/ --port 0                  (any free port)
fastrag view results/ --host 0.0.0.0 --allow-host my-machine"""

EXIT_CODES = """\
  1    the job failed: a port that is taken, an extra that is not installed
  2    wrong usage
  130  ended with Ctrl-C

SIGTERM ends it, too, at once and in silence: a shell shows 143.

It answers to this machine only, unless --host says more, and only to the names
127.0.0.1, localhost and those of --allow-host, so that no other site can read
along. Whoever can reach the address sees every result in the folder. Through a
tunnel or proxy name the other end: ssh -L 9000:127.0.0.1:8711 needs
--allow-host localhost:9000."""

AFTER_INTERRUPT = "stopped serving; the results are as they were"

_PORT = 8711
_NAME = re.compile(r"([a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of results; it need not exist yet")
    parser.add_argument(
        "--port", type=_port, default=_PORT, metavar="N", help="0 is any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="H",
        help="the address to listen at (default: %(default)s: this machine only); any other needs --allow-host",
    )
    parser.add_argument(
        "--allow-host",
        type=_name,
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="a name by which browsers may call this server; may be repeated",
    )
    add_samples(parser)
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(options: argparse.Namespace) -> None:
    """Serve until interrupted."""
    from fastrag.benchmark import read_samples
    from fastrag.benchmark.report.html.page import shell_html
    from fastrag.benchmark.report.texts import one_line
    from fastrag.benchmark.report.view.folder import ResultsFolder
    from fastrag.benchmark.report.view.guard import LOOPBACK, host_headers
    from fastrag.benchmark.report.view.server import listen, make_app, serve
    from fastrag.benchmark.report.view.snapshots import Snapshots

    folder: Path = options.folder
    is_loopback = _is_loopback(options.host)
    if not is_loopback and not options.allow_host:
        raise WrongUsage(
            f"--host {options.host} lets other machines in: say with --allow-host by which name they call this one"
        )
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(f"{folder} is no folder; one file is shown by: fastrag report {folder} -o report.html")
    samples = None if options.samples is None else read_samples(options.samples)
    title = one_line(folder.resolve().name or str(folder))
    shell = shell_html(title)
    snapshots = Snapshots(ResultsFolder(folder), samples=samples, title=title)
    listening = listen(options.host, options.port)
    with listening:
        port = listening.getsockname()[1]
        own = _in_address(options.host) if is_loopback else options.allow_host[0]
        app = make_app(snapshots, shell, host_headers([*LOOPBACK, own, *options.allow_host], port))
        address = f"http://{own if re.search(r':[0-9]+$', own) else f'{own}:{port}'}/"
        if not folder.is_dir():
            say(f"{folder} is not there yet; the page will show what comes")
        print_line(f"{folder} is at {address} (Ctrl-C ends it)")
        sys.stdout.flush()
        if options.open:
            _open(address)
        run_async(serve(app, listening))


def _open(address: str) -> None:
    import webbrowser

    # Some browsers stay in the foreground until they are closed.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _port(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 65535, not {text!r}")
    return int(text)


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be a name or address with or without a port, not {text!r}")
    return text
