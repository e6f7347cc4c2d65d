"""Labels, questions and the numbers that parts refer to them by."""

from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.report.html.catalogue import Catalogue, unique_labels
from fastrag.benchmark.report.html.runs import ReportedRun


@given(st.lists(st.one_of(st.sampled_from(["", " ", "a", "a (2)", "a (2) (2)", "\ud800", "x" * 999]), st.text())))
def test_labels_are_different_not_empty_short_and_fit_into_links(names):
    labels = unique_labels(names)
    assert len(set(labels)) == len(labels) == len(names)
    for label, name in zip(labels, names, strict=True):
        assert label.strip()
        assert len(label) < 220
        assert label.encode("utf-8")
        if label == name:
            continue
        assert not name.strip() or "\ud800" in name or len(name) > 200 or label.startswith(f"{name} (") or "?" in label


def test_a_name_alone_is_its_label():
    assert unique_labels(["b", "a", "c d", "</script>"]) == ["b", "a", "c d", "</script>"]


def test_labels_of_many_runs_of_one_name_are_made_at_once():
    assert unique_labels(["a"] * 20_000)[-1] == "a (20000)"


def test_questions_and_metrics_stand_as_they_first_appear(make_result):
    first = make_result("a", y=[0.5, 0.5, 0.5], questions=["q2", "q1", "q2"])
    second = make_result("b", x=[0.5, 0.5], y=[0.5, 0.5], questions=["q3", "q1"])
    catalogue = Catalogue([ReportedRun(first), ReportedRun(second)])
    assert catalogue.questions == ["q2", "q1", "q3"]
    assert catalogue.metrics == ["y", "x"]
    assert [catalogue.question_of(run) for run in (0, 1)] == [[0, 1, 0], [2, 1]]
    assert list(catalogue.positions(0, 0, 2)) == [(0, 0), (0, 2), (1, 1)]
    assert list(catalogue.positions(1, 1, 9)) == [(1, 1), (2, 0)]


def test_the_runs_own_results_keep_their_names(make_result):
    results = [make_result("a", [1.0]), make_result("a", [1.0])]
    assert Catalogue(list(map(ReportedRun, results))).labels == ["a", "a (2)"]
    assert [result.name for result in results] == ["a", "a"]


def test_repeats_stand_in_their_order_however_many_they_are(make_result):
    catalogue = Catalogue([ReportedRun(make_result("a", [1.0] * 300, questions=["q", "p", "q"] * 100))])
    positions = list(catalogue.positions(0, 0, 2))
    assert positions == sorted(positions)
