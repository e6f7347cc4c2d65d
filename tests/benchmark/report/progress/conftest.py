"""A run's states, for displays that are told of them."""

import pytest

from fastrag.benchmark.results import StatusCounts
from fastrag.benchmark.run import RunProgress
from fastrag.benchmark.running_means import RunningMean
from fastrag.benchmark.spending import Spending, Usage


@pytest.fixture(scope="session")
def state_at():
    """``state_at(done, total, ...)``: what a run would tell then."""

    def make(done, total=100, *, errored=0, incomplete=0, metrics=("recall@5", "latency_ms"), spent=True, **fields):
        usage = Spending(Usage(done, 0, 900 * done, 100 * done, 0.02 * done), Usage(2 * done, done, 0, 0, None))
        status = StatusCounts(done - errored - incomplete, errored, incomplete)
        means = {metric: RunningMean(done - errored, 0.25 + 100 * index) for index, metric in enumerate(metrics)}
        return RunProgress(
            done, total, status, usage if spent else Spending(), **({"elapsed_s": 7.0, "means": means} | fields)
        )

    return make


class Clock:
    """Stands still until it is told otherwise."""

    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()
