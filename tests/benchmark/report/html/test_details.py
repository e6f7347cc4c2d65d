"""Questions with all that was kept of them, and which sources are relevant."""

from datetime import UTC, datetime

import pytest

from fastrag import Document
from fastrag.benchmark import (
    EvalSample,
    GivenOpinion,
    JudgedClaim,
    Judgement,
    Judgements,
    Missing,
    Opinion,
    Outcome,
    Outcomes,
    SampleResult,
    Span,
)
from fastrag.benchmark.report.html.data import ReportData
from fastrag.benchmark.report.html.runs import ReportedRun

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def run_of(make_result):
    """``run_of(documents, ...)``: a run that retrieved these for its questions, their texts kept or not."""

    def make(*retrieved, name="run", kept=True):
        result = make_result(name, [1.0] * len(retrieved))
        outcomes = {}
        for position, (sample, documents) in enumerate(zip(result.samples, retrieved, strict=True)):
            sample.retrieved_ids = [document.id for document in documents]
            sample.retrieved_uris = [document.uri or "" for document in documents]
            outcomes[position] = Outcome(str(position), sample.question, None, documents, 90, 10, 1.0, 2, None)
        return ReportedRun(result, outcomes=Outcomes(name, NOW, len(retrieved), 1, outcomes) if kept else None)

    return make


def documents(*ids, **metadata):
    return [Document(id, f"text of {id}", f"file:///{id}.txt", dict(metadata)) for id in ids]


def marks(part, run=0):
    """Of each question, what is said of its sources."""
    return [
        [source["is_relevant"] for result in one["results"] if result["run"] == run for source in result["sources"]]
        for one in part["questions"]
    ]


def missed(part, run=0):
    """Of each question, the relevant ids that are not among its sources."""
    return [result["missed"] for one in part["questions"] for result in one["results"] if result["run"] == run]


def test_texts_of_sources_are_there_once_however_many_runs_retrieved_them(run_of, read_parts):
    runs = [run_of(documents("a", "b"), documents("b")), run_of(documents("b", "c"), documents("a"), name="other")]
    part = read_parts(ReportData(runs))["details-0"]
    assert part["texts"] == ["text of a", "text of b", "text of c"]
    shown = [[source["text"] for source in result["sources"]] for result in part["questions"][0]["results"]]
    assert shown == [[0, 1], [1, 2]]
    first = part["questions"][0]["results"][0]
    assert (first["input_tokens"], first["output_tokens"], first["attempts"]) == (90, 10, 2)


def test_scores_of_sources_are_shown_where_they_are_numbers(run_of, read_parts):
    scores = [0.5, 2, None, True, "high", float("nan"), 10**400]
    run = run_of([Document(str(i), "", metadata={"score": score}) for i, score in enumerate(scores)])
    [question] = read_parts(ReportData([run]))["details-0"]["questions"]
    assert [source["score"] for source in question["results"][0]["sources"]] == [0.5, 2, *[None] * 5]


def test_what_was_kept_of_another_answer_is_not_shown(run_of, read_parts):
    run = run_of(documents("a", "b"), documents("c"))
    run.outcomes.by_position[0].sources[1] = Document("x", "another")
    run.outcomes.by_position[1].question = "another"
    first, second = read_parts(ReportData([run]))["details-0"]["questions"]
    assert [source["text"] for source in first["results"][0]["sources"]] == [0, None]
    assert [source["text"] for source in second["results"][0]["sources"]] == [None]
    assert second["results"][0]["input_tokens"] is None


def test_what_the_sample_set_knows_is_shown(run_of, read_parts):
    sample = EvalSample("q0", {"a": 2, "b": 0}, "Right.", [Span("file:///a.txt", 3, 9)], "id", {"topic": 1})
    part = read_parts(ReportData([run_of(documents("a"), documents("b"))], samples=[sample]))["details-0"]
    assert part["questions"][0]["sample"] == {
        "id": "id",
        "reference_answer": "Right.",
        "relevant_ids": {"a": 2.0, "b": 0.0},
        "relevant_spans": [["file:///a.txt", 3, 9]],
        "metadata": {"topic": "1"},
    }
    assert part["questions"][1]["sample"] is None


def test_a_sample_set_without_some_of_the_questions_is_said(run_of):
    overview = ReportData([run_of(documents("a"), documents("b"))], samples=[EvalSample("q0")]).overview
    assert overview["warnings"] == ["The sample set does not have 1 of the 2 questions."]


def test_judgements_are_shown_with_their_opinions(make_result, read_parts):
    claim = JudgedClaim("It is.", "supported", (1, 2), "The source says so.")
    given = GivenOpinion(Opinion(0.5, claims=(claim,), reason="Half."), "judge", 0, 1, 0, 10, 2, ("no JSON",))
    failed = GivenOpinion(Opinion(None, Missing("judge_unparseable", "no JSON")), "judge", 1, 1, 0, None, None)
    judgement = Judgement("ndcg@10", "q0", 0.5, None, None, (given, failed))
    stale = Judgement("ndcg@10", "another", 0.5, None, None, ())
    kept = Judgements("run", NOW, 2, 1, {0: {"ndcg@10": judgement}, 1: {"ndcg@10": stale}})
    parts = read_parts(ReportData([ReportedRun(make_result("run", [0.5, 0.5]), judgements=kept)]))
    first, second = (one["results"][0]["judgements"] for one in parts["details-0"]["questions"])
    assert first[0]["opinions"][0]["claims"] == [
        {"text": "It is.", "verdict": "supported", "sources": [1, 2], "reason": "The source says so."}
    ]
    assert first[0]["opinions"][0]["unreadable"] == ["no JSON"]
    assert first[0]["opinions"][1]["missing"] == {"kind": "judge_unparseable", "detail": "no JSON"}
    assert second == []
    assert parts["overview"]["runs"][0]["verdicts"] == {"ndcg@10": {"supported": 1}}
    assert parts["overview"]["runs"][0]["keeps_judgements"]


def test_the_least_frequent_of_too_many_verdicts_are_told_together(make_result):
    claims = tuple(JudgedClaim("x", f"verdict {i}") for i in range(60)) + (JudgedClaim("x", "often"),) * 3
    opinion = GivenOpinion(Opinion(1.0, claims=claims), "judge", 0, 1, 0, 10, 2)
    kept = Judgements("run", NOW, 1, 1, {0: {"m": Judgement("m", "q0", 1.0, None, None, (opinion,))}})
    run = ReportData([ReportedRun(make_result("run", [0.5]), judgements=kept)]).overview["runs"][0]
    counts = run["verdicts"]["m"]
    assert (len(counts), sum(counts.values())) == (51, 63)
    assert next(iter(counts.items())) == ("often", 3)


def test_sources_are_relevant_by_id(run_of, read_parts):
    samples = [EvalSample("q0", ["a"]), EvalSample("q1", {"c": 1, "b": 0}), EvalSample("q2")]
    run = run_of(documents("a", "b"), documents("b", "c"), documents("a"), documents("a"), kept=False)
    part = read_parts(ReportData([run], samples=samples))["details-0"]
    # Of the last two nothing is known: one has no relevant ids, the other is not in the set.
    assert marks(part) == [[True, False], [False, True], [None], [None]]


def test_sources_are_relevant_by_uri(run_of, read_parts):
    part = read_parts(ReportData([run_of(documents("a", "b"))], samples=[EvalSample("q0", ["file:///b.txt"])]))
    assert marks(part["details-0"]) == [[False, True]]


def test_sources_are_relevant_by_the_id_of_their_parent_where_that_was_kept(run_of, read_parts):
    chunks = [Document("a-1", "", metadata={"parent_id": "a"}), Document("b-1", "", metadata={"parent_id": "b"})]
    samples = [EvalSample("q0", ["a"])]
    runs = [run_of(chunks), run_of(chunks, kept=False)]
    part = read_parts(ReportData(runs, samples=samples))["details-0"]
    assert marks(part, 0) == [[True, False]]
    assert marks(part, 1) == [[None, None]]


def test_names_of_another_kind_say_nothing(run_of, read_parts):
    part = read_parts(ReportData([run_of(documents("1", "2"))], samples=[EvalSample("q0", ["a"])]))["details-0"]
    assert marks(part) == [[None, None]]


def test_what_is_relevant_and_was_missed_is_known_by_the_same_names(run_of, read_parts):
    relevant = ["file:///b.txt", "file:///z.txt"]
    samples = [EvalSample("q0", relevant), EvalSample("q1", {"file:///y.txt": 1, "file:///x.txt": 0}), EvalSample("q2")]
    run = run_of(documents("a", "b"), documents("a"), documents("a"))
    assert missed(read_parts(ReportData([run], samples=samples))["details-0"]) == [
        ["file:///z.txt"],
        ["file:///y.txt"],
        [],
    ]
    by_id = [EvalSample("q0", ["b", "z"]), EvalSample("q1", ["names of", "another kind"])]
    assert missed(read_parts(ReportData([run], samples=by_id))["details-0"]) == [
        ["z"],
        ["names of", "another kind"],
        [],
    ]
    nameless = [EvalSample("q0", ["names of", "another kind"])]
    assert missed(read_parts(ReportData([run], samples=nameless))["details-0"]) == [[], [], []]


def test_what_failed_before_it_retrieved_anything_missed_nothing(run_of, read_parts):
    run = run_of(documents("a"), [], [])
    run.result.samples[1].status = "errored"
    samples = [EvalSample(f"q{i}", ["a"]) for i in range(3)]
    assert missed(read_parts(ReportData([run], samples=samples))["details-0"]) == [[], [], ["a"]]


def test_sources_are_relevant_by_spans(run_of, read_parts):
    chunks = [
        *documents("a", start=0, end=10),
        *documents("a", start=10, end=20),
        *documents("b", start=0, end=10),
        *documents("a"),
    ]
    sample = EvalSample("q0", relevant_spans=[Span("file:///a.txt", 9, 10)])
    runs = [run_of(chunks), run_of(chunks, kept=False)]
    part = read_parts(ReportData(runs, samples=[sample]))["details-0"]
    assert marks(part, 0) == [[True, False, False, None]]
    assert marks(part, 1) == [[None] * 4]


def test_repeats_stand_side_by_side_in_their_order(make_result, read_parts):
    run = make_result("run", [0.1, 0.2, 0.3, 0.4], questions=["q", "p", "q", "q"])
    first, second = read_parts(ReportData([ReportedRun(run)]))["details-0"]["questions"]
    assert [result["position"] for result in first["results"]] == [0, 2, 3]
    assert [result["position"] for result in second["results"]] == [1]


def test_questions_come_in_parts_and_their_texts_are_cut_in_the_list_alone(make_result, read_parts):
    run = make_result("run", [0.5] * 51)
    run.samples[50] = SampleResult("x" * 1000, "successful", {"ndcg@10": 0.5}, "y" * 1_000_000)
    parts = read_parts(ReportData([ReportedRun(run)]))
    assert [len(parts[name]["questions"]) for name in ("details-0", "details-1")] == [50, 1]
    assert len(parts["questions"]["texts"][50]) == 300
    assert len(parts["details-1"]["questions"][0]["text"]) == 1000
    assert len(parts["details-1"]["questions"][0]["results"][0]["answer"]) == 1_000_000
