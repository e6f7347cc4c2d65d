"""Budgets, durations and attempts: what may not be done is not done, and is said to be."""

import asyncio
import contextlib
import math

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, BenchmarkResult, EvalSample, Metric, StatusCounts, record_usage
from fastrag.benchmark.journal import read_journal, read_partial
from fastrag.benchmark.metrics import CostUsd, ExactMatch, LatencyMs, RecallAtK
from fastrag.errors import ConfigurationError, ServiceRejectedError, ServiceTimeoutError, ServiceUnavailableError
from fastrag.query import QueryResult


class Counting:
    """Answers everything for 80 + 20 tokens."""

    def __init__(self, tokens=(80, 20)):
        self.asked = []
        self.tokens = tokens

    async def query(self, question):
        self.asked.append(question)
        await asyncio.sleep(0)
        return QueryResult("answer", [Document("a", "")], *self.tokens)


class Judge(Metric):
    """Spends 400 tokens a score."""

    name = "judged"

    async def score(self, sample, outcome):
        await asyncio.sleep(0)
        record_usage(350, 50)
        return 1.0


class Finder:
    async def retrieve(self, question):
        return [Document("a", "")]


def questions(count):
    return [EvalSample(f"q{i}", relevant_ids=["a"], reference_answer="answer") for i in range(count)]


PRICE = CostUsd(input_usd_per_million_tokens=1_000, output_usd_per_million_tokens=6_000)  # 0.20 USD a question


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_duration_s": 0}, "max_duration_s must be a number of seconds above 0, or None, not 0"),
        ({"max_duration_s": math.nan}, "max_duration_s"),
        ({"max_cost_usd": -1, "price": PRICE}, "max_cost_usd must be a number of US dollars above 0"),
        ({"max_cost_usd": 5}, "max_cost_usd needs a price"),
        ({"max_tokens": 0}, "max_tokens must be a whole number of at least 1, or None, not 0"),
        ({"max_tokens": 2.5}, "max_tokens"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1, not 0"),
        ({"repeats": None}, "repeats"),
        ({"max_attempts": True}, "max_attempts"),
        ({"stop_after_alike": 0}, "stop_after_alike must be a whole number of at least 1, or None, not 0"),
        ({"price": "cheap"}, "price must be a CostUsd or a function of input and output tokens"),
        ({"price": lambda tokens: tokens}, "price raised TypeError"),
        ({"price": lambda *_: math.inf}, "price must give a number of US dollars of at least 0, not inf"),
        ({"price": lambda *_: None}, "price must give a number"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        Benchmark(Counting(), questions(1), [RecallAtK(1)], **options)


def test_every_problem_is_in_one_message():
    with pytest.raises(ConfigurationError) as caught:
        Benchmark(Counting(), [], [], repeats=0, max_attempts=0, timeout_s=-1)
    assert str(caught.value).count("\n- ") == 5


def test_a_budget_over_what_has_no_tokens_is_refused():
    with pytest.raises(ConfigurationError, match="max_tokens need token counts, which Finder never gives"):
        Benchmark(Finder(), questions(1), [RecallAtK(1)], max_tokens=100)
    # A judge may report some.
    Benchmark(Finder(), questions(1), [Judge()], max_tokens=100)


async def test_a_token_budget_is_checked_before_each_call():
    target = Counting()
    result = await Benchmark(target, questions(10), [ExactMatch()], max_tokens=350, concurrency=1).run("r")
    assert len(target.asked) == 4  # 300 were spent before the fourth, 400 after it
    assert result.status == StatusCounts(4, 6, 0)
    last = result.samples[-1]
    assert (last.status, last.scores, last.error) == (
        "errored",
        {"exact_match": None},
        "not attempted: budget of 350 tokens reached",
    )
    assert (result.summary["exact_match"].count, result.summary["exact_match"].missing) == (4, 6)


@pytest.mark.parametrize("prices", [{"price": PRICE}, {"price": lambda i, o: (i * 1_000 + o * 6_000) / 1e6}, {}])
async def test_a_budget_of_money(prices):
    target = Counting()
    metrics = [ExactMatch()] if prices else [ExactMatch(), PRICE]
    result = await Benchmark(target, questions(10), metrics, max_cost_usd=0.5, concurrency=1, **prices).run("r")
    assert len(target.asked) == 3
    assert result.samples[3].error == "not attempted: budget of $0.50 reached"


async def test_judges_spend_from_the_same_budget():
    target = Counting()
    result = await Benchmark(
        target, questions(10), [Judge(), ExactMatch()], max_tokens=1_200, concurrency=1, judge_concurrency=1
    ).run("r")
    assert 3 <= len(target.asked) <= 4
    for sample in result.samples:
        if sample.status == "incomplete":
            # Answered, and scored by what costs nothing.
            assert sample.error == "judged: not_attempted: budget of 1,200 tokens reached"
            assert sample.scores == {"judged": None, "exact_match": 1.0}
    assert result.status.successful >= 2
    assert result.status.errored >= 6


async def test_what_calls_under_way_cost_is_all_that_goes_over_the_budget():
    target = Counting()
    await Benchmark(target, questions(200), [ExactMatch()], max_tokens=1_000, concurrency=8).run("r")
    assert 10 <= len(target.asked) <= 10 + 8


async def test_a_budget_that_cannot_be_kept_stops_the_run():
    target = Counting(tokens=(None, None))
    result = await Benchmark(target, questions(50), [ExactMatch()], max_tokens=1_000, concurrency=1).run("r")
    assert len(target.asked) == 3
    assert result.samples[3].error == (
        "not attempted: the budget cannot be kept: 3 answers came without token counts, and none with any"
    )


async def test_counts_of_a_judge_do_not_stand_for_those_of_the_pipeline():
    target = Counting(tokens=(None, None))
    result = await Benchmark(target, questions(50), [Judge()], max_tokens=10**9, concurrency=1).run("r")
    assert "3 answers came without token counts" in result.samples[-1].error


async def test_a_judge_without_counts_cannot_be_held_to_a_budget_either():
    class Blind(Judge):
        async def score(self, sample, outcome):
            record_usage(None, None)
            return 1.0

    options = {"max_tokens": 10**9, "concurrency": 1, "judge_concurrency": 1}
    result = await Benchmark(Counting(), questions(50), [Blind()], **options).run("r")
    assert "3 scorings came without token counts" in result.samples[-1].error


async def test_a_retriever_spends_nothing_but_its_judges_do():
    result = await Benchmark(Finder(), questions(50), [Judge()], max_tokens=4_000, concurrency=1).run("r")
    assert 10 <= result.status.successful < 30
    assert result.samples[-1].error == "not attempted: budget of 4,000 tokens reached"


async def test_a_price_that_fails_later_stops_the_run():
    target = Counting()
    price = {(1_000, 1_000): 1.0}
    result = await Benchmark(
        target, questions(9), [ExactMatch()], max_cost_usd=5, price=lambda *tokens: price[tokens], concurrency=1
    ).run("r")
    assert len(target.asked) == 1
    assert "not attempted: the budget of $5.00 cannot be kept: the price raised KeyError" in result.samples[1].error


async def test_a_partial_result_is_saved_and_gone_on_with(tmp_path, caplog):
    path = tmp_path / "r.json"
    first, second = Counting(), Counting()
    partial = await Benchmark(first, questions(10), [ExactMatch()], max_tokens=350, concurrency=1).run("r", path=path)
    assert "the run is partial, for it was stopped: budget of 350 tokens reached" in caplog.text
    assert BenchmarkResult.load(path) == partial
    assert len(read_partial(tmp_path / "r.json.journal").samples) == 4
    # What was spent counts on.
    again = await Benchmark(second, questions(10), [ExactMatch()], max_tokens=550, concurrency=1).run(
        "r", path=path, resume=True
    )
    assert (second.asked, again.status) == (["q4", "q5"], StatusCounts(6, 4, 0))
    third = Counting()
    whole = await Benchmark(third, questions(10), [ExactMatch()]).run("r", path=path, resume=True)
    assert (third.asked, whole.status) == (["q6", "q7", "q8", "q9"], StatusCounts(10, 0, 0))
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


async def test_a_sample_whose_judge_was_not_asked_is_not_taken_for_done(tmp_path):
    path = tmp_path / "r.json"
    options = {"concurrency": 1, "judge_concurrency": 1}
    await Benchmark(Counting(), questions(4), [Judge()], max_tokens=600, **options).run("r", path=path)
    result = await Benchmark(Counting(), questions(4), [Judge()], **options).run("r", path=path, resume=True)
    assert result.status == StatusCounts(4, 0, 0)


async def test_spending_is_in_the_journal(tmp_path):
    path = tmp_path / "r.json"
    await Benchmark(Counting(), questions(10), [Judge()], price=PRICE, max_tokens=1_000, concurrency=1).run(
        "r", path=path
    )
    journal = read_journal(tmp_path / "r.json.journal")
    assert journal.spent[0] + journal.spent[1] >= 1_000
    # The judge said no price; it is not charged that of the pipeline.
    assert journal.spent[2] == journal.target.cost_usd == pytest.approx(0.2 * journal.target.calls)
    assert (journal.judges.input_tokens, journal.judges.output_tokens) == (
        350 * journal.judges.calls,
        50 * journal.judges.calls,
    )
    assert journal.judges.usage().cost_usd is None


def test_usage_outside_a_run_is_nobodys():
    record_usage(10, 10)


class Hanging:
    """Answers the first questions and hangs on the others."""

    def __init__(self, answers):
        self.answers = answers
        self.cancelled = 0

    async def query(self, question):
        if int(question[1:]) >= self.answers:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled += 1
        return QueryResult("answer", [Document("a", "")])


async def test_a_run_takes_no_longer_than_it_may(tmp_path):
    path = tmp_path / "r.json"
    target = Hanging(5)
    result = await Benchmark(target, questions(20), [ExactMatch()], concurrency=3, max_duration_s=0.2).run(
        "r", path=path
    )
    assert target.cancelled == 3
    assert result.status == StatusCounts(5, 15, 0)
    assert [sample.error for sample in result.samples[5:9]] == [
        *["TimeoutError: no answer when max_duration_s=0.2 reached"] * 3,
        "not attempted: max_duration_s=0.2 reached",
    ]
    again = await Benchmark(Counting(), questions(20), [ExactMatch()]).run("r", path=path, resume=True)
    assert again.status == StatusCounts(20, 0, 0)


async def test_a_judge_that_hangs_at_the_end_leaves_the_answer():
    class Slow(Metric):
        name = "slow"

        async def score(self, sample, outcome):
            await asyncio.Event().wait()

    result = await Benchmark(Counting(), questions(2), [Slow(), ExactMatch()], max_duration_s=0.2).run("r")
    assert result.status == StatusCounts(0, 0, 2)
    assert result.samples[0].error == "slow: not_attempted: max_duration_s=0.2 reached"
    assert result.samples[0].scores == {"slow": None, "exact_match": 1.0}
    assert result.samples[0].answer == "answer"


async def test_a_pipeline_that_refuses_to_be_cancelled_is_left_behind(tmp_path, caplog):
    release = asyncio.Event()

    class Stubborn:
        asked = 0

        async def query(self, question):
            Stubborn.asked += 1
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return QueryResult("late", [])

    result = await Benchmark(Stubborn(), questions(5), [ExactMatch()], concurrency=2, max_duration_s=0.1).run(
        "r", path=tmp_path / "r.json"
    )
    assert result.status == StatusCounts(0, 5, 0)
    assert "is left behind" in caplog.text
    release.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # Its late answers change nothing any more, and no further question is asked.
    assert Stubborn.asked == 2
    assert result.samples[0].answer is None


async def test_enough_time_changes_nothing():
    result = await Benchmark(Counting(), questions(5), [ExactMatch()], max_duration_s=60, max_tokens=10**9).run("r")
    assert result.status == StatusCounts(5, 0, 0)


# Attempts


class Flaky:
    """Raises these errors in turn, then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    async def query(self, question):
        self.calls += 1
        if self.errors:
            error = self.errors.pop(0)
            if error == "hang":
                await asyncio.Event().wait()
            raise error
        return QueryResult("answer", [])


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that were made, none of which takes any time."""
    made = []
    real = asyncio.sleep

    async def sleep(delay, result=None):
        if delay:
            made.append(delay)
        await real(0)
        return result

    monkeypatch.setattr("fastrag.benchmark.asking.asyncio.sleep", sleep)
    return made


PASSING = [
    ServiceUnavailableError("503"),
    ServiceTimeoutError("no reply within 60 s"),
    ConnectionResetError("reset by peer"),
    TimeoutError("the client's own"),
]


def real_pauses(pauses):
    # Others than the harness's own sampling of the loop's lag.
    return [pause for pause in pauses if pause > 0.06]


async def test_one_budget_of_attempts_for_every_cause(pauses):
    target = Flaky(*PASSING)
    result = await Benchmark(target, questions(1), [ExactMatch()], max_attempts=5).run("r")
    assert target.calls == 5
    assert result.status == StatusCounts(1, 0, 0)
    pauses = real_pauses(pauses)
    assert len(pauses) == 4
    assert all(0.5 * 2**n / 2 <= pause <= 0.5 * 2**n for n, pause in enumerate(pauses))


async def test_the_last_error_says_how_often_it_was_tried(pauses):
    target = Flaky(*PASSING)
    result = await Benchmark(target, questions(1), [ExactMatch()], max_attempts=3).run("r")
    assert target.calls == 3
    assert result.samples[0].error == "ConnectionResetError: reset by peer (after 3 attempts)"


async def test_the_deadline_is_a_cause_too(pauses):
    target = Flaky("hang", "hang")
    result = await Benchmark(target, questions(1), [ExactMatch()], max_attempts=2, timeout_s=0.02).run("r")
    assert target.calls == 2
    assert result.samples[0].error == "TimeoutError: no answer within timeout_s=0.02 (after 2 attempts)"


async def test_once_is_the_default():
    target = Flaky(*PASSING)
    result = await Benchmark(target, questions(1), [ExactMatch()]).run("r")
    assert target.calls == 1
    assert result.samples[0].error == "ServiceUnavailableError: 503"


@pytest.mark.parametrize("error", [ValueError("bug"), ServiceRejectedError("401"), KeyError("k"), SystemExit(1)])
async def test_what_will_not_pass_is_not_tried_again(error, pauses):
    target = Flaky(error)
    result = await Benchmark(target, questions(1), [ExactMatch()], max_attempts=5).run("r")
    assert target.calls == 1
    assert result.status.errored == 1


class Busy(Exception):
    def __init__(self, retry_after_s):
        super().__init__("busy")
        self.retry_after_s = retry_after_s


@pytest.mark.parametrize(
    ("wanted", "calls"), [(7, 2), (0.25, 2), (600, 2), (601, 1), (math.inf, 1), (-1, 1), ("soon", 1)]
)
async def test_retry_after_is_obeyed(wanted, calls, pauses):
    target = Flaky(Busy(wanted))
    await Benchmark(target, questions(1), [ExactMatch()], max_attempts=5).run("r")
    assert target.calls == calls
    assert real_pauses(pauses) == [wanted] * (calls - 1)


async def test_no_attempt_once_the_budget_is_spent(pauses):
    class Costly:
        calls = 0

        async def query(self, question):
            Costly.calls += 1
            if question == "q0":
                raise ServiceUnavailableError("503")
            return QueryResult("answer", [], 500, 500)

    result = await Benchmark(
        Costly(), questions(2), [ExactMatch()], max_attempts=5, max_tokens=1_000, concurrency=2
    ).run("r")
    assert Costly.calls == 2
    assert result.samples[0].error == "ServiceUnavailableError: 503"


async def test_only_the_attempt_that_answered_is_timed(pauses):
    result = await Benchmark(Flaky("hang"), questions(1), [LatencyMs()], max_attempts=2, timeout_s=0.2).run("r")
    assert result.samples[0].latency_ms < 200


@pytest.mark.parametrize("attempts", [1, 3])
async def test_an_exception_that_cannot_be_asked_anything_is_an_error_like_others(attempts):
    class Odd(Exception):
        def __getattr__(self, name):
            return {}[name]

    class Target:
        async def retrieve(self, question):
            raise Odd("x")

    result = await Benchmark(Target(), [EvalSample("q", ["a"])], [RecallAtK(1)], max_attempts=attempts).run("r")
    assert result.samples[0].error == "Odd: x"
