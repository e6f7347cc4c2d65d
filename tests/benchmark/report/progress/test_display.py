"""A display that fails costs a run nothing."""

import logging
import subprocess
import sys

import pytest

from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK
from fastrag.benchmark.report.progress import display as displays
from fastrag.benchmark.report.progress.display import RunDisplay, surface
from fastrag.benchmark.report.progress.lines import Lines
from fastrag.document import Document


class Surface:
    every_s = 0.0

    def __init__(self, fails_at=""):
        self.fails_at, self.calls = fails_at, []

    def _call(self, name, view):
        self.calls.append((name, view.done))
        if name == self.fails_at:
            raise OSError("the terminal is gone")

    def open(self, view):
        self._call("open", view)

    def draw(self, view):
        self._call("draw", view)

    def close(self, view):
        self._call("close", view)


class Finder:
    async def retrieve(self, question):
        return [Document("a", "")]


@pytest.mark.parametrize("fails_at", ["open", "draw", "close", ""])
async def test_a_display_that_fails_is_left_alone(monkeypatch, caplog, fails_at):
    where = Surface(fails_at)
    monkeypatch.setattr(displays, "surface", lambda: where)
    samples = [EvalSample(f"q{i}", ["a"]) for i in range(300)]
    with caplog.at_level(logging.WARNING):
        result = await Benchmark(Finder(), samples, [RecallAtK(1)]).run("r", progress=True)
    assert result.status.successful == 300
    warnings = [record.message for record in caplog.records if "no longer shown" in record.message]
    assert warnings == (["the run goes on, but is no longer shown: OSError: the terminal is gone"] if fails_at else [])
    names = [name for name, _ in where.calls]
    assert names.count(fails_at) == bool(fails_at)
    assert names[0] == "open"
    assert names[-1] == (fails_at or "close")
    if fails_at in ("close", ""):
        assert where.calls[-1] == ("close", 300)


def test_with_stderr_closed_the_result_is_there():
    script = """
import asyncio, sys
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK
class Finder:
    async def retrieve(self, question):
        return []
sys.stderr.close()
result = asyncio.run(Benchmark(Finder(), [EvalSample("q", ["a"])], [RecallAtK(1)]).run("r", progress=True))
print(result.status.successful)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n")


async def test_no_surface_at_all(monkeypatch, caplog):
    def nowhere():
        raise RuntimeError("no console")

    monkeypatch.setattr(displays, "surface", nowhere)
    result = await Benchmark(Finder(), [EvalSample("q", ["a"])], [RecallAtK(1)]).run("r", progress=True)
    assert result.status.successful == 1
    assert "no longer shown: RuntimeError: no console" in caplog.text


def test_drawing_happens_at_intervals_only(clock, state_at):
    where = Surface()
    display = RunDisplay(lambda: where, "r", 100, clock=clock)
    display.open()
    for done in range(1, 51):
        display.update(state_at(done))
    assert where.calls == [("open", 0)]
    display.tick()
    display.close()
    assert where.calls == [("open", 0), ("draw", 50), ("close", 50)]


def test_an_interruption_is_no_failure_of_the_display(clock):
    class Interrupted(Surface):
        def draw(self, view):
            raise KeyboardInterrupt

    display = RunDisplay(Interrupted, "r", 1, clock=clock)
    display.open()
    with pytest.raises(KeyboardInterrupt):
        display.tick()


def test_outside_of_a_terminal_it_is_lines():
    assert isinstance(surface(), Lines)
