"""LatencyMs, TotalTokens and CostUsd."""

import socket
import subprocess
import sys
from datetime import UTC, datetime

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot

from fastrag.benchmark.metrics import CostUsd, LatencyMs, QueryOutcome, TotalTokens
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError, MissingDependencyError

SAMPLE = EvalSample("q")


def outcome(input_tokens=None, output_tokens=None):
    return QueryOutcome("", [], 12.5, input_tokens, output_tokens)


def by_hand(**changes):
    return CostUsd(**{"input_usd_per_million_tokens": 0.5, "output_usd_per_million_tokens": 2, **changes})


def listed_models():
    now = datetime.now(UTC)
    for provider in get_snapshot().providers:
        for model in provider.models:
            yield provider.id, model.id, model.get_prices(now)


METRICS = [LatencyMs(), TotalTokens(), by_hand()]


def test_names_and_needs():
    assert [metric.name for metric in METRICS] == ["latency_ms", "total_tokens", "cost_usd"]
    assert [metric.needs_token_counts for metric in METRICS] == [False, True, True]
    for metric in METRICS:
        assert not metric.higher_is_better
        assert not metric.needs_answer
        assert not metric.needs_relevant_ids


async def test_latency():
    assert await LatencyMs().score(SAMPLE, outcome()) == 12.5
    whole = LatencyMs().compute(SAMPLE, QueryOutcome("", [], 3))
    assert (whole, type(whole)) == (3.0, float)


async def test_known_counts():
    total = await TotalTokens().score(SAMPLE, outcome(90, 10))
    assert (total, type(total)) == (100.0, float)
    assert TotalTokens().compute(SAMPLE, outcome(0, 0)) == 0.0
    assert by_hand().compute(SAMPLE, outcome(1_000_000, 250_000)) == 1.0
    assert by_hand().compute(SAMPLE, outcome(0, 0)) == 0.0


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ((None, None), "unknown input_tokens and output_tokens"),
        ((5, None), "unknown output_tokens"),
        ((None, 5), "unknown input_tokens"),
    ],
)
@pytest.mark.parametrize("metric", [TotalTokens(), by_hand(), CostUsd("gpt-4o-mini")], ids=lambda metric: metric.name)
def test_unknown_counts_are_none_never_zero(metric, counts, reason):
    assert metric.compute(SAMPLE, outcome(*counts)) is None
    assert metric.missing_reason(SAMPLE, outcome(*counts)) == reason


@pytest.mark.parametrize(
    ("model", "provider"), [("gpt-4o-mini", None), ("gpt-4o-mini", "azure"), ("GPT-4o-mini", "openai")]
)
def test_a_listed_price_is_the_packages(model, provider):
    usage = genai_prices.Usage(input_tokens=12_345, output_tokens=678)
    expected = float(genai_prices.calc_price(usage, model, provider_id=provider).total_price)
    cost = CostUsd(model, provider=provider).compute(SAMPLE, outcome(12_345, 678))
    assert (cost, type(cost)) == (expected, float)
    assert cost > 0


def test_one_object_charges_the_prices_of_one_moment(monkeypatch):
    moments = []
    calc_price = genai_prices.calc_price

    def recorded(*arguments, genai_request_timestamp, **options):
        moments.append(genai_request_timestamp)
        return calc_price(*arguments, genai_request_timestamp=genai_request_timestamp, **options)

    monkeypatch.setattr(genai_prices, "calc_price", recorded)
    before = datetime.now(UTC)
    cost = CostUsd("gpt-4o-mini")
    made = datetime.now(UTC)
    assert cost.compute(SAMPLE, outcome(1, 1)) == cost.compute(SAMPLE, outcome(1, 1))
    assert len(set(moments)) == 1
    assert before <= moments[0] <= made


def test_listed_prices_need_no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert CostUsd("gpt-4o-mini").compute(SAMPLE, outcome(1000, 1000)) > 0


@pytest.mark.parametrize(
    ("model", "provider", "said"),
    [
        ("no-such-model", None, "does not know model 'no-such-model': correct the name, or give input_usd"),
        ("no-such-model", "openai", "does not know model 'no-such-model' of provider 'openai'"),
        ("gpt-4o-mini", "nobody", "does not know model 'gpt-4o-mini' of provider 'nobody'"),
    ],
)
def test_an_unknown_model_is_refused_at_construction(model, provider, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        CostUsd(model, provider=provider)
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize("lacking", ["input_mtok", "output_mtok"])
def test_a_model_without_a_token_price_is_refused_not_free(lacking):
    provider, model = next(
        (provider, model) for provider, model, prices in listed_models() if getattr(prices, lacking) is None
    )
    with pytest.raises(ConfigurationError, match="no token prices for model"):
        CostUsd(model, provider=provider)


def test_without_the_package_the_install_line_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fastrag\[cost\]'"):
        CostUsd("gpt-4o-mini")
    assert by_hand().compute(SAMPLE, outcome(2, 0)) == 1e-6


@pytest.mark.parametrize("price", [-0.1, float("nan"), float("inf"), "1", True])
@pytest.mark.parametrize("which", ["input_usd_per_million_tokens", "output_usd_per_million_tokens"])
def test_a_price_that_is_none_is_refused(which, price):
    with pytest.raises(ConfigurationError, match=f"{which} must be a finite number of at least 0"):
        by_hand(**{which: price})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"provider": "openai"},
        {"input_usd_per_million_tokens": 1},
        {"output_usd_per_million_tokens": 1},
        {"input_usd_per_million_tokens": 1, "output_usd_per_million_tokens": 1, "provider": "openai"},
    ],
)
def test_half_a_request_is_refused(arguments):
    with pytest.raises(ConfigurationError, match="needs a model, or both"):
        CostUsd(**arguments)


def test_a_model_and_prices_together_are_refused():
    with pytest.raises(ConfigurationError, match="a model or prices, not both"):
        by_hand(model="gpt-4o-mini")


def test_an_empty_model_name_is_refused():
    with pytest.raises(ConfigurationError, match="model must be a text"):
        CostUsd("")


def test_importing_metrics_loads_neither_prices_nor_arrays():
    check = (
        "import sys, fastrag.benchmark.metrics\n"
        "loaded = {'genai_prices', 'pydantic', 'fastrag.benchmark.metrics.hit_table'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {loaded}' if loaded else 0)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)
