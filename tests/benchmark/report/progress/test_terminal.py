"""On a terminal a run is a few lines, whatever its names and metrics are and however small the terminal is."""

import io
import os
import pty
import subprocess
import sys
import unicodedata
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

import pytest
from rich.console import Console

from fastrag.benchmark.report.progress.terminal import frame
from fastrag.benchmark.report.progress.view import view_of

WIDTHS = (30, 40, 80, 200)


def console_of(width=80, height=24, *, encoding="utf-8", **options):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    options = {"force_terminal": True, "color_system": "standard", "no_color": False} | options
    return Console(file=stream, width=width, height=height, _environ={}, **options)


def drawn(state, console, name="hybrid", *, total=100, rate=2.0, is_over=False):
    return [line.plain for line in frame(view_of(name, total, 0, state, rate, is_over=is_over), console)]


def test_a_frame(state_at):
    assert drawn(state_at(50, errored=3, incomplete=2), console_of()) == [
        "hybrid  ━━━━━━━━━━━━━━━━━━━━━━━━  50/100  2.0/s  ETA 0:25",
        "3 errored, 2 incomplete",
        "pipeline: 50 calls, 50,000 tokens, $1.00",
        "judges: 100 calls (50 cached), 0 tokens, cost not known",
        "  recall@5    0.250  n 47",
        "  latency_ms  100.2  n 47",
    ]


def test_the_last_frame_has_no_time_left(state_at):
    lines = drawn(state_at(100, spent=False), console_of(), is_over=True)
    assert lines[0].endswith("  100/100  in 0:07  2.0/s")


def test_before_the_first_question_has_ended():
    assert drawn(None, console_of()) == ["hybrid  ━━━━━━━━━━━━━━━━━━━━━━━━  0/100"]


@pytest.mark.parametrize("options", [{"no_color": True}, {"encoding": "ascii"}, {"color_system": None}])
def test_only_ascii_where_more_is_not_wanted_or_not_possible(state_at, options):
    lines = drawn(state_at(50), console_of(**options))
    assert lines[0] == "hybrid  ############............  50/100  2.0/s  ETA 0:25"
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("height", [6, 10, 24])
@pytest.mark.parametrize(
    "name", ["r", "a-configuration-with-a-very-long-name-" * 5, "長い名前" * 30, "\x1b[31m\n", "[b]x[/b]", "\u202egnp"]
)
def test_no_line_is_wider_and_no_frame_higher_than_the_terminal(state_at, name, width, height):
    console = console_of(width, height)
    metrics = [name, *(f"{name}{i}" for i in range(12))]
    lines = frame(view_of(name, 100, 0, state_at(50, errored=1, metrics=metrics), 2.0, is_over=False), console)
    assert max(line.cell_len for line in lines) <= width
    assert len(lines) <= max(height, 6)
    text = "".join(line.plain for line in lines)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in text)
    assert "50/100" in lines[0].plain
    if height == 24:
        assert lines[-1].plain.strip() == "and 7 more metrics"


RUN = """
import asyncio, sys
from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK

class Pipeline:
    async def retrieve(self, question):
        if question == "q3":
            print("said by the pipeline", flush=True)
            raise ValueError("boom")
        return [Document("a", "")]

samples = [EvalSample(f"q{i}", ["a"]) for i in range(40)]
asyncio.run(Benchmark(Pipeline(), samples, [RecallAtK(5)], concurrency=1).run("my [red]run[/red]", progress=True))
"""


def run_on_a_terminal(tmp_path, *, columns=80, stdout_is_a_file=False, **environment):
    """What comes out of a pseudo-terminal, and what of stdout if that is a file."""
    outer, inner = pty.openpty()
    ioctl(inner, TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
    }
    with (tmp_path / "stdout").open("w+") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN], stdin=inner, stdout=file if stdout_is_a_file else inner, stderr=inner,
            env=kept | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | environment,
        )  # fmt: skip
        os.close(inner)
        shown = b""
        try:
            while piece := os.read(outer, 65536):
                shown += piece
        except OSError:  # how Linux says that nobody writes any more
            pass
        finally:
            os.close(outer)
        assert process.wait(60) == 0
        file.seek(0)
        return shown.decode(), file.read()


def test_on_a_real_terminal(tmp_path):
    shown, _ = run_on_a_terminal(tmp_path)
    last = shown.rpartition("my [red]run[/red]")[2]
    assert "40/40" in last
    assert "1 errored" in last
    assert "recall@5  1.000" in last
    assert "━" in last
    assert "said by the pipeline" in shown
    assert shown.rstrip().endswith("\x1b[?25h")


def test_on_a_real_terminal_without_colours(tmp_path):
    shown, _ = run_on_a_terminal(tmp_path, columns=50, NO_COLOR="1")
    assert shown.isascii()
    assert "###" in shown
    assert "\x1b[3" not in shown


def test_what_the_pipeline_prints_goes_where_it_was_sent(tmp_path):
    shown, printed = run_on_a_terminal(tmp_path, stdout_is_a_file=True)
    assert printed == "said by the pipeline\n"
    assert "said by" not in shown


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_a_terminal_that_nobody_watches_gets_lines(tmp_path, environment):
    shown, _ = run_on_a_terminal(tmp_path, **environment)
    assert "\x1b" not in shown
    assert [line.partition(" in ")[0] for line in shown.splitlines() if "run" in line] == [
        "my [red]run[/red]: 40/40 questions"
    ]
