"""What pipeline and judges spent, apart; and what is not known is never 0."""

import asyncio
import json

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, Metric, Spending, Usage, explain_missing, record_usage
from fastrag.benchmark.journal import read_journal
from fastrag.benchmark.line_file import seal, unseal
from fastrag.benchmark.metrics import CostUsd, ExactMatch
from fastrag.benchmark.reasons import is_not_applicable
from fastrag.benchmark.report.spending import spending_line
from fastrag.errors import ConfigurationError
from fastrag.query import QueryResult

CHEAP = CostUsd(input_usd_per_million_tokens=1, output_usd_per_million_tokens=1)
DEAR = CostUsd(input_usd_per_million_tokens=1_000, output_usd_per_million_tokens=1_000)


class Pipeline:
    def __init__(self, tokens=(80, 20)):
        self.tokens = tokens

    async def query(self, question):
        await asyncio.sleep(0)
        return QueryResult("answer", [Document("a", "")], *self.tokens)


class Finder:
    async def retrieve(self, question):
        return [Document("a", "")]


class Judge(Metric):
    """Spends what it is told to."""

    name = "judged"

    def __init__(self, *calls):
        self.calls = calls

    async def score(self, sample, outcome):
        await asyncio.sleep(0)
        for tokens, options in self.calls:
            record_usage(*tokens, **options)
        return 1.0


def questions(count=4):
    return [EvalSample(f"q{i}", reference_answer="answer") for i in range(count)]


def test_nothing_is_spent_before_a_run():
    assert Benchmark(Pipeline(), questions(), [ExactMatch()]).spent == Spending(Usage(), Usage())


async def test_each_has_its_own_price():
    benchmark = Benchmark(Pipeline(), questions(), [Judge(((350, 50), {"price": DEAR}))], price=CHEAP)
    await benchmark.run("r")
    assert benchmark.spent.target == Usage(4, 0, 320, 80, pytest.approx(400 / 1e6))
    assert benchmark.spent.judges == Usage(4, 0, 1_400, 200, pytest.approx(1.6))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (((350, 50), {}), Usage(4, 0, 1_400, 200, None)),
        (((None, 50), {"price": CHEAP}), Usage(4, 0, None, 200, None)),
        (((None, None), {"price": CHEAP}), Usage(4, 0, None, None, None)),
        (((350, 50), {"cached": True}), Usage(4, 4, 0, 0, 0.0)),
        (((0, 0), {"price": CHEAP}), Usage(4, 0, 0, 0, 0.0)),
        (((1, 1), {"price": lambda *_: 1 / 0}), Usage(4, 0, 4, 4, None)),
        (((1, 1), {"price": lambda *_: float("nan")}), Usage(4, 0, 4, 4, None)),
    ],
)
async def test_what_is_not_known_is_none(call, expected):
    benchmark = Benchmark(Pipeline(), questions(), [Judge(call)])
    await benchmark.run("r")
    assert benchmark.spent.judges == expected


async def test_what_a_retriever_takes_nobody_says():
    benchmark = Benchmark(Finder(), [EvalSample("q", ["a"])], [Judge()], price=CHEAP)
    await benchmark.run("r")
    assert benchmark.spent == Spending(Usage(1, 0, None, None, None), Usage())


async def test_a_judge_without_a_price_cannot_be_held_to_a_budget_of_money():
    options = {"price": CHEAP, "max_cost_usd": 5, "concurrency": 1, "judge_concurrency": 1}
    result = await Benchmark(Pipeline(), questions(50), [Judge(((350, 50), {}))], **options).run("r")
    assert "the budget of $5.00 cannot be kept: " in result.samples[-1].error
    assert "calls of judges came without a price" in result.samples[-1].error
    fine = await Benchmark(Pipeline(), questions(50), [Judge(((350, 50), {"price": CHEAP}))], **options).run("r")
    assert fine.status.successful == 50


async def test_a_judges_money_counts_against_the_budget():
    options = {"price": CHEAP, "max_cost_usd": 1, "concurrency": 1, "judge_concurrency": 1}
    result = await Benchmark(Pipeline(), questions(50), [Judge(((200, 50), {"price": DEAR}))], **options).run("r")
    assert 4 <= result.status.successful <= 5
    assert "budget of $1.00 reached" in result.samples[-1].error


async def test_half_of_a_cost_counts_against_the_budget_and_is_not_told():
    options = {"price": DEAR, "max_cost_usd": 0.5, "concurrency": 1}
    benchmark = Benchmark(Pipeline((100, None)), questions(50), [ExactMatch()], **options)
    result = await benchmark.run("r")
    assert result.status.successful == 5
    assert benchmark.spent.target == Usage(5, 0, 500, None, None)


def test_judges_whose_prices_are_not_known_are_refused_where_money_is_limited():
    class Unpriced(Judge):
        def unpriced(self):
            return ["that of m is not known; say it"]

    with pytest.raises(ConfigurationError, match="max_cost_usd needs the prices of all judges: that of m is not known"):
        Benchmark(Pipeline(), questions(), [Unpriced()], price=CHEAP, max_cost_usd=1)
    Benchmark(Pipeline(), questions(), [Unpriced()], price=CHEAP, max_tokens=10**6)


async def test_spending_goes_on_with_a_resumed_run(tmp_path):
    path = tmp_path / "r.json"
    metrics = [Judge(((350, 50), {"price": DEAR}), ((1, 1), {"cached": True}))]
    first = Benchmark(Pipeline(), questions(30), metrics, price=CHEAP, max_tokens=4_000, concurrency=1)
    await first.run("r", path=path)
    kept = read_journal(tmp_path / "r.json.journal")
    second = Benchmark(Pipeline(), questions(30), metrics, price=CHEAP)
    await second.run("r", path=path, resume=True)
    rest = 30 - len(kept.ended)
    assert 0 < rest < 30
    assert second.spent.target.calls == kept.target.calls + rest
    assert second.spent.judges.calls == kept.judges.calls + 2 * rest
    assert second.spent.judges.cached_calls * 2 == second.spent.judges.calls
    assert second.spent.judges.cost_usd == pytest.approx(0.2 * second.spent.judges.calls)
    assert second.spent.target.cost_usd == pytest.approx(1e-4 * second.spent.target.calls)


async def test_a_journal_that_kept_only_the_sum_is_gone_on_with(tmp_path):
    path, journal = tmp_path / "r.json", tmp_path / "r.json.journal"
    metrics = [Judge(((350, 50), {"price": CHEAP}))]
    await Benchmark(Pipeline(), questions(30), metrics, price=CHEAP, max_tokens=4_000, concurrency=1).run(
        "r", path=path
    )
    header, *lines = [unseal(line) for line in journal.read_bytes().splitlines()]
    entries = [json.loads(line) for line in lines]
    old = [{key: value for key, value in e.items() if key not in ("target", "judges")} for e in entries]
    assert all("target" in entry and "judges" in entry for entry in entries)
    journal.write_bytes(seal(header) + b"".join(seal(json.dumps(e, separators=(",", ":")).encode()) for e in old))
    tokens = old[-1]["input_tokens"] + old[-1]["output_tokens"]
    # It counts against the limit as before, and nobody can say who spent it.
    again = Benchmark(Pipeline(), questions(30), metrics, price=CHEAP, max_tokens=tokens)
    result = await again.run("r", path=path, resume=True)
    assert result.status.successful == len(old)
    whole = Benchmark(Pipeline(), questions(30), metrics, price=CHEAP)
    await whole.run("r", path=path, resume=True)
    assert (whole.spent.target.input_tokens, whole.spent.judges.cost_usd) == (None, None)


async def test_progress_tells_it():
    seen = []
    benchmark = Benchmark(Pipeline(), questions(), [Judge(((350, 50), {"price": DEAR}))], price=CHEAP)
    await benchmark.run("r", progress=seen.append)
    assert [progress.spent.target.calls for progress in seen] == sorted(p.spent.target.calls for p in seen)
    assert seen[-1].spent == benchmark.spent


async def test_the_last_line_tells_it(capsys):
    benchmark = Benchmark(Pipeline(), questions(), [Judge(((350, 50), {"price": DEAR}))])
    await benchmark.run("r", progress=True)
    last = capsys.readouterr().err.splitlines()[-1]
    assert "; pipeline: 4 calls, 400 tokens, cost not known; judges: 4 calls, 1,600 tokens, $1.60; " in last
    # Who only retrieves tells nothing, and nothing is said.
    await Benchmark(Finder(), [EvalSample("q", ["a"])], [Judge()]).run("r", progress=True)
    assert "pipeline" not in capsys.readouterr().err


def test_a_line_of_nothing():
    assert spending_line(Spending()) == ""


# Why a score is missing


class Explaining(Metric):
    name = "explaining"

    def __init__(self, *reasons, value=None, aside=False):
        self.reasons, self.value, self.aside = reasons, value, aside

    async def score(self, sample, outcome):
        for reason in self.reasons:
            if self.aside:
                await asyncio.to_thread(explain_missing, *reason)
            else:
                explain_missing(*reason)
        return self.value


@pytest.mark.parametrize("aside", [False, True])
@pytest.mark.parametrize("kind", ["not_applicable", "not_measured", "judge_unparseable"])
async def test_a_metric_says_why_it_gives_no_score(kind, aside):
    metric = Explaining(("not_measured", "first"), (kind, "the last; counts"), aside=aside)
    [sample] = (await Benchmark(Pipeline(), questions(1), [metric]).run("r")).samples
    assert sample.error == f"explaining: {kind}: the last, counts"
    assert is_not_applicable(sample, "explaining") == (kind == "not_applicable")


async def test_a_reason_beside_a_score_is_none():
    [sample] = (
        await Benchmark(Pipeline(), questions(1), [Explaining(("not_measured", "x"), value=1.0)]).run("r")
    ).samples
    assert (sample.error, sample.scores) == (None, {"explaining": 1.0})


async def test_a_reason_of_one_scoring_is_not_anothers():
    class Silent(Explaining):
        name = "silent"

    result = await Benchmark(
        Pipeline(), questions(3), [Explaining(("not_measured", "mine")), Silent()], judge_concurrency=1
    ).run("r")
    assert {sample.error for sample in result.samples} == {
        "explaining: not_measured: mine; silent: not_measured: the metric returned None"
    }


async def test_another_kind_is_the_metrics_mistake():
    with pytest.raises(ConfigurationError, match=r"kind must be one of not_applicable, .* not 'errored'"):
        explain_missing("errored", "x")
    explain_missing("not_measured", "outside of a run this is nobody's")
