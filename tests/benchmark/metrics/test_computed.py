"""ComputedMetric: compute() behind score()."""

import pytest

from fastrag.benchmark.metrics import ComputedMetric, QueryOutcome
from fastrag.benchmark.samples import EvalSample


class Doubled(ComputedMetric):
    name = "doubled"

    def compute(self, sample, outcome):
        return None if outcome.latency_ms < 0 else 2 * outcome.latency_ms


@pytest.mark.parametrize(("latency_ms", "expected"), [(1.5, 3.0), (-1.0, None)])
async def test_score_is_what_compute_gives(latency_ms, expected):
    assert await Doubled().score(EvalSample("q"), QueryOutcome("", [], latency_ms)) == expected


async def test_an_error_in_compute_comes_out_of_score():
    with pytest.raises(TypeError):
        await Doubled().score(EvalSample("q"), QueryOutcome("", [], None))


def test_needs_nothing_unless_it_says_so():
    assert not any(
        [Doubled.needs_relevant_ids, Doubled.needs_answer, Doubled.needs_reference_answer, Doubled.needs_token_counts]
    )


def test_compute_must_be_there():
    with pytest.raises(TypeError, match="compute"):
        type("Half", (ComputedMetric,), {"name": "half"})()
