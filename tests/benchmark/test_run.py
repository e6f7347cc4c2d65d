"""The walk of a run: every question ends in exactly one status, and nothing is ever scored 0 for failing."""

import asyncio
import math
import re
import threading
import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag import Document
from fastrag.benchmark import Benchmark, DistributionSummary, EvalSample, Metric, RunProgress, StatusCounts
from fastrag.benchmark.metrics import LatencyMs, RecallAtK
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.errors import ConfigurationError
from fastrag.query import QueryResult


class Script:
    """A pipeline that does what it is told for each question: return a value, raise, or run a function."""

    def __init__(self, **replies):
        self.replies = replies
        self.asked = []

    async def query(self, question):
        self.asked.append(question)
        reply = self.replies.get(question, QueryResult(f"answer to {question}", [Document("a", "", "uri-a")]))
        if isinstance(reply, BaseException):
            raise reply
        if callable(reply):
            return await reply()
        return reply


class Fixed(Metric):
    """Scores what it is told for each question; raises it if it is an exception."""

    def __init__(self, name="fixed", default=1.0, **by_question):
        self._name, self._default, self._by_question = name, default, by_question
        self.seen = []

    @property
    def name(self):
        return self._name

    async def score(self, sample, outcome):
        self.seen.append(sample.question)
        value = self._by_question.get(sample.question, self._default)
        if isinstance(value, BaseException):
            raise value
        return value


def questions(*names):
    return [EvalSample(name, relevant_ids=["a"]) for name in names]


async def test_a_whole_run():
    before = datetime.now(UTC)
    reply = QueryResult("Paris", [Document("b", "", None), Document("a", "", "uri-a")], 7, 2)
    result = await Benchmark(Script(q=reply), questions("q"), [RecallAtK(1), LatencyMs()]).run("my run")
    assert result.name == "my run"
    assert before <= result.created_at <= datetime.now(UTC)
    assert result.created_at.utcoffset() == timedelta(0)
    assert result.status == StatusCounts(1, 0, 0)
    assert result.higher_is_better == {"recall@1": True, "latency_ms": False}
    assert result.duration_s > 0
    [sample] = result.samples
    assert (sample.question, sample.status, sample.error) == ("q", "successful", None)
    assert (sample.answer, sample.retrieved_ids, sample.retrieved_uris) == ("Paris", ["b", "a"], ["", "uri-a"])
    assert sample.scores == {"recall@1": 0.0, "latency_ms": sample.latency_ms}
    assert list(result.summary) == ["recall@1", "latency_ms"]
    assert result.summary["recall@1"] == DistributionSummary.of([0.0])


async def test_a_retriever_gives_no_answer():
    class Finder:
        async def retrieve(self, question):
            return [Document("a", "text")]

    seen = []

    class Spy(ComputedMetric):
        name = "spy"

        def compute(self, sample, outcome):
            seen.append(outcome)
            return 1.0

    result = await Benchmark(Finder(), questions("q"), [Spy()]).run("r")
    assert (seen[0].answer, seen[0].input_tokens, seen[0].output_tokens) == ("", None, None)
    assert result.samples[0].answer is None


async def test_an_errored_question_is_never_scored():
    metric = Fixed()
    result = await Benchmark(Script(bad=ValueError("boom")), questions("ok", "bad"), [metric, LatencyMs()]).run("r")
    assert result.status == StatusCounts(1, 1, 0)
    bad = result.samples[1]
    assert (bad.status, bad.scores, bad.error) == ("errored", {"fixed": None, "latency_ms": None}, "ValueError: boom")
    assert metric.seen == ["ok"]
    assert (result.summary["fixed"].count, result.summary["fixed"].missing, result.summary["fixed"].mean) == (1, 1, 1.0)


async def test_everything_failing_gives_count_0_and_zeros():
    result = await Benchmark(Script(q=KeyError("k")), questions("q"), [Fixed()]).run("r")
    assert result.summary["fixed"] == DistributionSummary.of([None])
    assert result.status == StatusCounts(0, 1, 0)


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no message for you")


class Rude(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError("socket"), "TimeoutError: socket"),
        (Silent(), "Silent: <its message could not be read: RuntimeError>"),
        (SystemExit(3), "SystemExit: 3"),
        (Rude("x"), "Rude: x"),
        (asyncio.CancelledError("inner"), "CancelledError: inner"),
        (ExceptionGroup("group", [ValueError("inner")]), "ExceptionGroup: group (1 sub-exception) [ValueError: inner]"),
        (ValueError(), "ValueError"),
    ],
)
async def test_whatever_the_pipeline_raises_is_the_samples_error(error, text):
    result = await Benchmark(Script(bad=error), questions("bad", "ok"), [Fixed()]).run("r")
    assert result.samples[0].error == text
    assert result.samples[1].status == "successful"


async def test_a_huge_error_message_is_cut():
    result = await Benchmark(Script(bad=ValueError("x" * 10_000_000)), questions("bad"), [Fixed()]).run("r")
    assert len(result.samples[0].error) < 3000
    assert "more characters" in result.samples[0].error


@pytest.mark.parametrize(
    "reply",
    [None, "text", 3, [Document("a", "")], QueryResult(None, []), QueryResult("a", None), QueryResult("a", "ab"),
     QueryResult("a", ["doc"]), QueryResult("a", [], input_tokens=-1), QueryResult("a", [], output_tokens=2.5),
     QueryResult("a", [], input_tokens=True)],
)  # fmt: skip
async def test_a_malformed_reply_is_an_error(reply):
    async def give():
        return reply

    result = await Benchmark(Script(bad=give), questions("bad", "ok"), [Fixed()]).run("r")
    assert result.samples[0].status == "errored"
    assert result.samples[0].error.startswith("ReplyError: query()")
    assert result.samples[1].status == "successful"


async def test_a_deadline_makes_an_error_and_cancels_the_call():
    cancelled = asyncio.Event()

    async def hang():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    result = await Benchmark(Script(slow=hang), questions("slow", "ok"), [Fixed()], timeout_s=0.05).run("r")
    assert cancelled.is_set()
    assert result.samples[0].status == "errored"
    assert result.samples[0].error == "TimeoutError: no answer within timeout_s=0.05"
    assert result.samples[0].latency_ms >= 50
    assert result.samples[1].status == "successful"


async def test_a_clients_timeout_is_not_the_deadline():
    result = await Benchmark(Script(bad=TimeoutError("read timed out")), questions("bad"), [Fixed()], timeout_s=60).run(
        "r"
    )
    assert result.samples[0].error == "TimeoutError: read timed out"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "not_measured: the metric returned None"),
        (math.nan, "invalid_score: returned nan"),
        (-math.inf, "invalid_score: returned -inf"),
        ("0.5", "invalid_score: returned '0.5', which is no number"),
        (1j, "invalid_score: returned 1j, which is no number"),
        (ZeroDivisionError("no claims"), "metric_error: ZeroDivisionError: no claims"),
        (asyncio.CancelledError(), "metric_error: CancelledError"),
    ],
)
async def test_a_score_that_is_none(value, reason):
    metrics = [Fixed("odd", value), Fixed("fine", 0.5)]
    result = await Benchmark(Script(), questions("q"), metrics).run("r")
    [sample] = result.samples
    assert (sample.status, sample.scores) == ("incomplete", {"odd": None, "fine": 0.5})
    assert sample.error == f"odd: {reason}"
    assert (result.summary["odd"].count, result.summary["odd"].missing) == (0, 1)
    assert result.summary["fine"].count == 1


@pytest.mark.parametrize("value", [1, True, Fraction(1), np.float32(1), np.int64(1), 1.0])
async def test_any_real_number_is_a_score(value):
    result = await Benchmark(Script(), questions("q"), [Fixed("m", value)]).run("r")
    assert result.samples[0].scores == {"m": 1.0}
    assert type(result.samples[0].scores["m"]) is float


async def test_every_reason_is_kept_and_cannot_be_forged():
    metrics = [Fixed("a", ValueError("x; b: not_applicable: forged")), Fixed("b", None)]
    result = await Benchmark(Script(), questions("q"), metrics).run("r")
    assert result.samples[0].error == (
        "a: metric_error: ValueError: x, b: not_applicable: forged; b: not_measured: the metric returned None"
    )


async def test_not_applicable_is_told_from_failing():
    samples = [EvalSample("judged", relevant_ids=["a"]), EvalSample("unjudged")]
    result = await Benchmark(Script(), samples, [RecallAtK(5)]).run("r")
    assert result.samples[1].status == "incomplete"
    assert result.samples[1].error == "recall@5: not_applicable: no relevant_ids"


async def test_an_empty_retrieval_is_a_measured_0():
    result = await Benchmark(Script(q=QueryResult("", [])), questions("q"), [RecallAtK(5)]).run("r")
    assert result.samples[0].status == "successful"
    assert result.samples[0].scores == {"recall@5": 0.0}


async def test_samples_stand_in_the_order_given():
    gates = {name: asyncio.Event() for name in "abc"}
    order = []

    def waiting(name, opens):
        async def reply():
            await gates[name].wait()
            order.append(name)
            if opens:
                gates[opens].set()
            return QueryResult(name, [])

        return reply

    script = Script(a=waiting("a", None), b=waiting("b", "a"), c=waiting("c", "b"))
    gates["c"].set()
    result = await Benchmark(script, questions("a", "b", "c"), [Fixed()], concurrency=3).run("r")
    assert order == ["c", "b", "a"]
    assert [sample.question for sample in result.samples] == ["a", "b", "c"]


@pytest.mark.parametrize("limit", [1, 3])
async def test_concurrency_is_bounded_and_used(limit):
    running, most = 0, 0

    class Counting:
        async def retrieve(self, question):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return []

    await Benchmark(Counting(), questions(*map(str, range(12))), [RecallAtK(1)], concurrency=limit).run("r")
    assert most == limit


async def test_judging_is_bounded_and_overlaps_with_asking():
    events, judging, most = [], 0, 0
    last_asked = asyncio.Event()

    class Slow(Metric):
        name = "slow"

        async def score(self, sample, outcome):
            nonlocal judging, most
            judging += 1
            most = max(most, judging)
            if sample.question == "0":
                # Can only end if the next questions are asked while this one is judged.
                await last_asked.wait()
            await asyncio.sleep(0)
            judging -= 1
            events.append(sample.question)
            return 1.0

    class Target:
        async def query(self, question):
            if question == "3":
                last_asked.set()
            return QueryResult("", [])

    benchmark = Benchmark(Target(), questions(*map(str, range(6))), [Slow()], concurrency=1, judge_concurrency=2)
    result = await asyncio.wait_for(benchmark.run("r"), 30)
    assert result.status == StatusCounts(6, 0, 0)
    assert most == 2


async def test_latency_leaves_out_the_wait_for_a_slot():
    class Sleepy:
        async def retrieve(self, question):
            await asyncio.sleep(0.02)
            return []

    result = await Benchmark(Sleepy(), questions(*"abcdef"), [LatencyMs()], concurrency=1).run("r")
    # Six calls in a row take at least 120 ms together; no single one is charged for the others.
    assert result.duration_s * 1000 >= sum(sample.latency_ms for sample in result.samples)
    assert min(sample.latency_ms for sample in result.samples) >= 19


async def test_a_blocking_target_runs_in_threads():
    together = threading.Barrier(3)

    class Blocking:
        def retrieve(self, question):
            together.wait(timeout=30)  # passes only if three calls are under way at once
            return [Document("a", threading.current_thread().name)]

    result = await Benchmark(Blocking(), questions(*"abc"), [RecallAtK(1)], concurrency=3).run("r")
    assert result.status == StatusCounts(3, 0, 0)


async def test_a_plain_function_that_returns_a_coroutine():
    async def find(question):
        return [Document("a", "")]

    class Wrapped:
        def retrieve(self, question):
            return find(question)

    result = await Benchmark(Wrapped(), questions("q"), [RecallAtK(1)]).run("r")
    assert result.samples[0].scores == {"recall@1": 1.0}


async def test_cancelling_the_run_stops_it():
    started, closed = asyncio.Event(), []

    async def hang():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    run = asyncio.create_task(Benchmark(Script(q=hang), questions("q"), [Fixed()], timeout_s=60).run("r"))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert closed == [True]


async def test_an_instant_target_leaves_the_loop_alive():
    """A target that never waits must not keep other tasks (a Ctrl-C handler, say) from running until the end."""
    done_when_ticked = []

    class Instant:
        calls = 0

        async def retrieve(self, question):
            Instant.calls += 1
            return []

    class Busy(ComputedMetric):
        name = "busy"

        def compute(self, sample, outcome):
            return float(sum(range(2000)))

    async def tick():
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done_when_ticked.append(Instant.calls)

    samples = questions(*map(str, range(3000)))
    async with asyncio.TaskGroup() as group:
        group.create_task(Benchmark(Instant(), samples, [Busy()], concurrency=1).run("r"))
        group.create_task(tick())
    assert done_when_ticked[0] < 3000


async def test_aggregate_sees_every_score_and_may_be_replaced():
    class Worst(Fixed):
        def aggregate(self, scores):
            self.scores = list(scores)
            summary = DistributionSummary.of(scores)
            summary.mean = summary.min
            return summary

    metric = Worst("m", None, b=0.25, c=0.75)
    result = await Benchmark(Script(d=ValueError()), questions(*"abcd"), [metric]).run("r")
    assert metric.scores == [None, 0.25, 0.75, None]
    assert result.summary["m"].mean == 0.25


@pytest.mark.parametrize(
    "broken",
    [
        lambda scores: 1 / 0,
        lambda scores: None,
        lambda scores: DistributionSummary.of([]),
        lambda scores: DistributionSummary(1, 0, math.nan, 0.0, 0.0, 0.0, 0.0),
    ],
)
async def test_a_broken_aggregate_costs_no_run(broken):
    class Broken(Fixed):
        def aggregate(self, scores):
            return broken(scores)

    with pytest.warns(UserWarning, match=r"m\.aggregate\(\)"):
        result = await Benchmark(Script(), questions("q"), [Broken("m", 0.5)]).run("r")
    assert result.summary["m"] == DistributionSummary.of([0.5])


async def test_progress_reports_every_question():
    seen = []
    await Benchmark(Script(b=ValueError()), questions(*"abc"), [Fixed("m", 1.0, c=None)], concurrency=1).run(
        "r", progress=lambda state: seen.append((state.done, state.total, state.status.errored))
    )
    assert [done for done, _, _ in seen] == [1, 2, 3]
    assert seen[-1] == (3, 3, 1)
    assert RunProgress.__doc__


async def test_progress_on_a_pipe_is_plain_lines(capsys):
    await Benchmark(Script(b=ValueError()), questions(*"abcd"), [Fixed()]).run("my [run]", progress=True)
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"my \[run\]: 4/4 questions in 0:00, [0-9,.]+/s, 1 errored; fixed 1\.000 \(n=3\)", line)


async def test_progress_has_the_means_of_what_was_measured():
    seen = []
    metrics = [Fixed("m", 0.25, b=0.75, c=None), Fixed("n", 2.0)]
    result = await Benchmark(Script(d=ValueError()), questions(*"abcd"), metrics, concurrency=1).run(
        "r", progress=seen.append
    )
    assert seen[-1].means == {"m": (2, 0.5), "n": (3, 2.0)}
    assert [state.means["n"].n for state in seen] == [
        state.status.successful + state.status.incomplete for state in seen
    ]
    assert seen[0].means["m"] in [(0, None), (1, 0.25)]
    times = [state.elapsed_s for state in seen]
    assert times == sorted(times)
    assert 0 < times[-1] <= result.duration_s
    assert {state.stopped for state in seen} == {None}


async def test_progress_of_a_resumed_run_has_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    asked = questions(*"abcdef")

    def stop_after_two(state):
        if state.done == 2:
            raise RuntimeError("enough")

    with monkeypatch.context() as patched:
        patched.setattr("fastrag.benchmark.journal.Journal.elapsed_s", 50.0)
        benchmark = Benchmark(Script(), asked, [Fixed("m", 0.5, a=1.0)], concurrency=1, judge_concurrency=1)
        with pytest.raises(RuntimeError, match="enough"):
            await benchmark.run("r", path=path, progress=stop_after_two)
    seen = []
    result = await Benchmark(Script(), asked, [Fixed("m", 0.5)], concurrency=1).run(
        "r", path=path, resume=True, progress=seen.append
    )
    assert (seen[0].done, seen[0].means["m"]) == (3, (3, 2.0 / 3))
    assert seen[-1].means["m"].mean == result.summary["m"].mean
    assert 50 < seen[0].elapsed_s <= seen[-1].elapsed_s <= result.duration_s


async def test_progress_says_why_a_run_stopped():
    seen = []
    benchmark = Benchmark(
        Script(**{name: ValueError("boom") for name in "abcd"}), questions(*"abcd"), [Fixed()], stop_after_alike=2,
        concurrency=1,
    )  # fmt: skip
    await benchmark.run("r", progress=seen.append)
    assert [state.stopped is None for state in seen] == [True, True, False]
    assert "ValueError" in seen[-1].stopped
    assert (seen[-1].done, seen[-1].total) == (4, 4)


@pytest.mark.parametrize("name", ["", " ", None, 3])
async def test_a_run_needs_a_name(name):
    with pytest.raises(ConfigurationError, match="name"):
        await Benchmark(Script(), questions("q"), [Fixed()]).run(name)


async def test_one_benchmark_runs_twice():
    benchmark = Benchmark(Script(), questions("q"), [Fixed()])
    first, second = await benchmark.run("one"), await benchmark.run("two")
    assert (first.name, second.name) == ("one", "two")
    assert first.status == second.status == StatusCounts(1, 0, 0)


outcomes = st.sampled_from(["ok", "raises", "none", "nan", "metric_raises", "hang"])


@settings(max_examples=40, deadline=None)
@given(plan=st.lists(outcomes, min_size=1, max_size=25), concurrency=st.integers(1, 6), judges=st.integers(1, 3))
def test_the_counts_always_add_up(plan, concurrency, judges):
    class Target:
        async def query(self, question):
            what = plan[int(question)]
            if what == "raises":
                raise ValueError(question)
            if what == "hang":
                await asyncio.Event().wait()
            return QueryResult("", [Document("a", "")])

    values = {"none": None, "nan": math.nan, "metric_raises": KeyError("k")}
    by_question = {str(i): values.get(what, 0.5) for i, what in enumerate(plan)}
    metrics = [Fixed("m", 0.5, **by_question), RecallAtK(3)]
    samples = questions(*map(str, range(len(plan))))
    benchmark = Benchmark(
        Target(),
        samples,
        metrics,
        concurrency=concurrency,
        judge_concurrency=judges,
        timeout_s=0.01,
        stop_after_alike=None,
    )
    result = asyncio.run(benchmark.run("r"))
    assert [sample.question for sample in result.samples] == [sample.question for sample in samples]
    assert result.status == StatusCounts(
        plan.count("ok"), plan.count("raises") + plan.count("hang"), sum(plan.count(what) for what in values)
    )
    for summary in result.summary.values():
        assert summary.count + summary.missing == len(plan)
    for sample in result.samples:
        assert (sample.error is None) == (sample.status == "successful")
        assert (None in sample.scores.values()) == (sample.status != "successful")


async def test_a_target_that_cancels_its_own_task_ends_no_worker(tmp_path):
    class Careless:
        calls = 0

        async def query(self, question):
            Careless.calls += 1
            if int(question) % 5 == 0:
                asyncio.current_task().cancel()
                if int(question) % 2:
                    return QueryResult("cancelled, and answered all the same", [])
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    raise TimeoutError("given up") from None
            return QueryResult("", [])

    samples = questions(*map(str, range(100)))
    result = await Benchmark(Careless(), samples, [Fixed()], concurrency=4).run("r", path=tmp_path / "r.json")
    assert Careless.calls == 100
    assert result.status == StatusCounts(90, 10, 0)
    assert {sample.error for sample in result.samples} == {None, "TimeoutError: given up"}


async def test_a_metric_that_cancels_its_own_task_ends_no_judge():
    class Careless(Metric):
        name = "careless"

        async def score(self, sample, outcome):
            asyncio.current_task().cancel()
            return 1.0

    result = await Benchmark(Script(), questions(*map(str, range(30))), [Careless()]).run("r")
    assert result.status == StatusCounts(30, 0, 0)


async def test_a_reason_that_is_cancelled_is_a_reason_still():
    class Odd(Fixed):
        def missing_reason(self, sample, outcome):
            raise asyncio.CancelledError

    result = await Benchmark(Script(), questions("q"), [Odd("m", None)]).run("r")
    assert result.samples[0].error.startswith("m: not_measured: the metric returned None and could not say why")


async def test_a_progress_callback_that_raises_ends_the_run_and_keeps_the_journal(tmp_path):
    def fail(state):
        if state.done == 3:
            raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="progress callback"):
        await Benchmark(Script(), questions(*"abcdef"), [Fixed()], concurrency=1).run(
            "r", path=tmp_path / "r.json", progress=fail
        )
    assert (tmp_path / "r.json.journal").exists()


async def test_progress_states_are_not_changed_later():
    states = []
    benchmark = Benchmark(Script(b=ValueError()), questions(*"ab"), [RecallAtK(1)], concurrency=1)
    await benchmark.run("r", progress=states.append)
    assert [state.status for state in states] == [StatusCounts(1, 0, 0), StatusCounts(1, 1, 0)]


async def test_progress_must_be_something():
    with pytest.raises(ConfigurationError, match="progress"):
        await Benchmark(Script(), questions("q"), [Fixed()]).run("r", progress=1)


@pytest.mark.parametrize("document", [Document(1, ""), Document("a", "", 3), Document(None, "")])
async def test_documents_without_a_proper_identity_are_an_error(document):
    result = await Benchmark(Script(q=QueryResult("", [document])), questions("q"), [Fixed()]).run("r")
    assert result.samples[0].status == "errored"
    assert "must be a text" in result.samples[0].error


async def test_texts_of_numpy_are_saved_as_texts(tmp_path):
    reply = QueryResult(np.str_("answer"), [Document(np.str_("a"), "", np.str_("u"))])
    path = tmp_path / "r.json"
    result = await Benchmark(Script(q=reply), [EvalSample(np.str_("q"), ["a"])], [RecallAtK(1)]).run("r", path=path)
    assert type(result).load(path) == result
    assert type(result.samples[0].retrieved_ids[0]) is str


@pytest.mark.filterwarnings("error")
async def test_warnings_made_errors_cost_no_run(caplog):
    class Broken(Fixed):
        def aggregate(self, scores):
            raise ValueError("x")

    result = await Benchmark(Script(), [EvalSample("q", ["never"])], [RecallAtK(1), Broken("m", 0.5)]).run("r")
    assert result.summary["m"].mean == 0.5
    assert "not one of the 1 retrieved ids" in caplog.text
    assert "m.aggregate() raised" in caplog.text


async def test_an_answer_that_came_too_late_because_the_loop_was_blocked():
    class Blocking:
        async def retrieve(self, question):
            time.sleep(0.06)
            return []

    result = await Benchmark(Blocking(), questions("q"), [RecallAtK(1)], timeout_s=0.05).run("r")
    assert result.samples[0].error == "TimeoutError: no answer within timeout_s=0.05"


async def test_metrics_cannot_change_the_callers_samples():
    class Rude(ComputedMetric):
        name = "rude"

        def compute(self, sample, outcome):
            sample.relevant_ids.clear()
            sample.metadata["x"] = 1
            return 1.0

    samples = questions("q")
    await Benchmark(Script(), samples, [Rude()]).run("r")
    assert (samples[0].relevant_ids, samples[0].metadata) == (["a"], {})
