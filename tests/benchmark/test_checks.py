"""A request that cannot be satisfied is refused at construction, with every problem and its numbers."""

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, Metric
from fastrag.benchmark.metrics import NDCG, ExactMatch, LatencyMs, RecallAtK, TotalTokens
from fastrag.errors import ConfigurationError, FastRAGError
from fastrag.query import QueryResult


class Finder:
    async def retrieve(self, question):
        return [Document("a", "text")]


class Answerer:
    async def query(self, question):
        return QueryResult("answer", [])


JUDGED = [EvalSample("q1", relevant_ids=["a"], reference_answer="x"), EvalSample("q2", relevant_ids={"b": 2})]


def refusal(*arguments, **options):
    with pytest.raises(ConfigurationError) as caught:
        Benchmark(*arguments, **options)
    return str(caught.value)


def test_accepts_what_can_be_satisfied():
    Benchmark(Finder(), JUDGED, [NDCG(10), LatencyMs()])
    Benchmark(Answerer(), JUDGED, [NDCG(10), ExactMatch(), TotalTokens(), LatencyMs()])


def test_is_a_fastrag_error_and_a_value_error():
    with pytest.raises(FastRAGError):
        Benchmark(Finder(), [], [NDCG(10)])
    with pytest.raises(ValueError):
        Benchmark(Finder(), [], [NDCG(10)])


def test_no_samples():
    assert "there are no samples" in refusal(Finder(), [], [NDCG(10)])


def test_no_metrics():
    assert "there are no metrics" in refusal(Finder(), JUDGED, [])


def test_two_metrics_of_one_name():
    assert "2 metrics are named 'ndcg@10'" in refusal(Finder(), JUDGED, [NDCG(10), NDCG(10, match="uri")])


def test_a_metric_class_instead_of_an_object():
    assert "LatencyMs(...)" in refusal(Finder(), JUDGED, [LatencyMs])


def test_needs_relevant_ids_counts_the_samples():
    samples = [EvalSample(f"q{i}") for i in range(119)] + [EvalSample("last", relevant_ids={"a": 0, "b": -1})]
    assert "recall@5 needs relevant_ids: 0 of 120 samples have them" in refusal(Finder(), samples, [RecallAtK(5)])


def test_one_judged_sample_is_enough():
    Benchmark(Finder(), [EvalSample("q1"), EvalSample("q2", relevant_ids=["a"])], [RecallAtK(5)])


def test_needs_answer_over_a_bare_retriever():
    assert "exact_match needs an answer, which Finder never gives" in refusal(Finder(), JUDGED, [ExactMatch()])


def test_needs_reference_answers():
    assert "exact_match needs a reference_answer: 0 of 1 samples have one" in refusal(
        Answerer(), [EvalSample("q", relevant_ids=["a"])], [ExactMatch()]
    )


def test_token_counts_over_a_bare_retriever():
    assert "total_tokens needs token counts" in refusal(Finder(), JUDGED, [TotalTokens()])


def test_every_problem_is_listed_at_once():
    message = refusal(object(), [EvalSample("")], [NDCG(5), NDCG(5)], concurrency=0, timeout_s=-1)
    for part in ("has neither", "empty question", "2 metrics", "concurrency", "timeout_s"):
        assert part in message


@pytest.mark.parametrize("target", [None, object(), "pipeline"])
def test_a_target_without_the_method(target):
    assert "neither" in refusal(target, JUDGED, [NDCG(10)])


@pytest.mark.parametrize("samples", ["text", None, 3, [{"question": "q"}], {"q": 1}])
def test_samples_of_another_type(samples):
    assert "EvalSample" in refusal(Finder(), samples, [NDCG(10)])


@pytest.mark.parametrize("question", ["", "  \n", None])
def test_empty_question(question):
    assert "1 of 2 samples have an empty question: 1" in refusal(
        Finder(), [EvalSample("q", relevant_ids=["a"]), EvalSample(question, relevant_ids=["a"])], [NDCG(10)]
    )


def test_repeated_ids():
    samples = [EvalSample("q1", ["a"], id="x"), EvalSample("q2", ["a"], id="x")]
    assert "'x' occur more than once" in refusal(Finder(), samples, [NDCG(10)])


def test_an_id_that_is_another_samples_position():
    samples = [EvalSample("q1", ["a"], id="1"), EvalSample("q2", ["a"])]
    assert "'1' occur more than once" in refusal(Finder(), samples, [NDCG(10)])


@pytest.mark.parametrize("relevant", ["abc", b"abc", 3, {"a": float("nan")}, {"a": float("inf")}, {"a": "2"}])
def test_relevant_ids_that_make_no_sense(relevant):
    assert "sample 0" in refusal(Finder(), [EvalSample("q", relevant)], [NDCG(10)])


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8", None])
def test_concurrency_must_be_a_positive_int(value):
    assert "concurrency must be" in refusal(Finder(), JUDGED, [NDCG(10)], concurrency=value)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_timeout_must_be_positive(value):
    assert "timeout_s must be" in refusal(Finder(), JUDGED, [NDCG(10)], timeout_s=value)


def test_the_callers_samples_are_left_alone():
    samples = [EvalSample("q", relevant_ids=["a"])]
    Benchmark(Finder(), samples, [NDCG(10)])
    assert samples[0].id is None


def test_a_metric_without_a_name():
    class Nameless(Metric):
        name = ""

        async def score(self, sample, outcome):
            return 1.0

    assert "Nameless.name" in refusal(Finder(), JUDGED, [Nameless()])


def test_problems_of_fit_are_listed_beside_others():
    message = refusal(Finder(), [EvalSample("q")], [ExactMatch(), RecallAtK(5), RecallAtK(5)])
    assert "2 metrics are named 'recall@5'" in message
    assert "exact_match needs an answer" in message
    assert "recall@5 needs relevant_ids: 0 of 1" in message


def test_a_class_as_target():
    assert "give an object of it: Finder(...)" in refusal(Finder, JUDGED, [NDCG(10)])


def test_a_target_that_cannot_be_read():
    class Shy:
        @property
        def query(self):
            raise RuntimeError("not now")

    assert "Shy.query cannot be read: RuntimeError: not now" in refusal(Shy(), JUDGED, [NDCG(10)])


@pytest.mark.parametrize("broken", ["name", "higher_is_better"])
def test_a_metric_that_cannot_be_read(broken):
    def fail(self):
        raise RuntimeError("not now")

    metric = type("Shy", (LatencyMs,), {broken: property(fail)})()
    assert "Shy cannot be asked for its name and needs: RuntimeError: not now" in refusal(Finder(), JUDGED, [metric])


@pytest.mark.parametrize(
    "changes", [{"reference_answer": 5}, {"id": 5}, {"metadata": None}, {"relevant_ids": [None]},
                {"relevant_ids": {1: 1, "1": 2}}, {"relevant_ids": {"a": 10**400}}],
)  # fmt: skip
def test_samples_with_fields_of_other_types(changes):
    values = {"question": "q", "relevant_ids": ["a"]} | changes
    assert "sample 0: " in refusal(Finder(), [EvalSample(**values)], [LatencyMs()])


@pytest.mark.parametrize("name", ["timeout_s", "max_duration_s"])
def test_seconds_beyond_every_float(name):
    assert f"{name} must be" in refusal(Finder(), JUDGED, [LatencyMs()], **{name: 10**400})
