"""compare() of runs that failed: whose doubt it is, what it costs, and what the gate makes of it."""

import numpy as np

from fastrag.benchmark import compare
from fastrag.benchmark.gate import gate

ERRORED = "errored"
NOT_APPLICABLE = "not applicable"


def noisy(mean, n, seed, sd=0.1):
    return np.clip(np.random.default_rng(seed).normal(mean, sd, n), 0, 1).tolist()


def ahead_of(scores, t):
    """Scores whose paired t against these is ``t``."""
    noise = np.random.default_rng(7).normal(0, 1, len(scores))
    noise = (noise - noise.mean()) / noise.std(ddof=1) + t / len(scores) ** 0.5
    return (np.array(scores) + 0.05 * noise).tolist()


def verdict(make_result, first, second, **options):
    return compare(make_result("old", first), make_result("new", second), **options).of("ndcg@10").verdict


def test_failing_on_the_hard_questions_does_not_win(make_result):
    first = [*noisy(0.5, 45, 1, sd=0.02), *[0.5] * 5]
    survivor = [*[score + 0.01 for score in first[:45]], *[ERRORED] * 5]
    found = compare(
        make_result("old", first),
        make_result("new", [s + i % 2 / 500 if s != ERRORED else s for i, s in enumerate(survivor)]),
    ).of("ndcg@10")
    assert found.p_holm < 0.001
    assert found.verdict == "cannot say"
    assert "failed on could undo it" in found.reason


def test_the_family_is_all_comparisons_whatever_failed(make_result):
    first, second = noisy(0.5, 30, 1), noisy(0.56, 30, 2)
    old = make_result("old", mrr=first, recall=first)
    whole = compare(old, make_result("new", mrr=second, recall=noisy(0.5, 30, 3)))
    broken = compare(old, make_result("new", mrr=second, recall=[None] * 30))
    unmeasurable = compare(old, make_result("new", mrr=second, recall=[NOT_APPLICABLE] * 30))
    assert whole.family_size == broken.family_size == unmeasurable.family_size == 2
    assert whole.of("mrr").p_holm == broken.of("mrr").p_holm == 2 * whole.of("mrr").p_t


def test_a_p_that_failures_made_small_frees_no_alpha(make_result):
    first = noisy(0.4, 40, 1)
    clear, close = [score + 0.2 for score in noisy(0.4, 40, 2)], ahead_of(first, 2.15)
    old = make_result("old", kindness=first, mrr=first)
    sure = compare(old, make_result("new", kindness=clear, mrr=close))
    doubtful = compare(old, make_result("new", kindness=[*clear[:38], None, None], mrr=close))
    assert doubtful.of("kindness").p_holm < 0.001
    assert sure.of("mrr").p_holm == sure.of("mrr").p_t
    assert doubtful.of("mrr").p_holm == 2 * sure.of("mrr").p_t
    assert (sure.of("mrr").verdict, doubtful.of("mrr").verdict) == ("better", "cannot say")


def test_failing_on_one_metric_does_not_hide_a_loss_on_another(make_result):
    first = noisy(0.4, 40, 1)
    clear, close = [score + 0.2 for score in noisy(0.4, 40, 2)], ahead_of(first, -2.15)
    old = make_result("old", kindness=first, mrr=first)
    sure = compare(old, make_result("new", kindness=clear, mrr=close))
    failing = compare(old, make_result("new", kindness=[*clear[:38], None, None], mrr=close))
    assert sure.of("mrr").verdict == "worse"
    assert (failing.of("mrr").verdict, failing.of("mrr").could_be_worse) == ("cannot say", True)
    assert failing.of("mrr").reason == "failures elsewhere could have shown the candidate to be worse"
    assert (gate(sure).exit_code, gate(failing).exit_code) == (3, 4)


def test_a_lead_that_failures_could_undo_is_no_loss(make_result):
    first, second = noisy(0.5, 60, 1), noisy(0.57, 60, 2)
    second[3:8] = [ERRORED] * 5
    found = compare(make_result("old", first), make_result("new", second))
    one = found.of("ndcg@10")
    assert (one.verdict, one.could_be_worse) == ("cannot say", False)
    assert one.reason == "better on 55 questions, but 5 questions the candidate failed on could undo it"
    assert gate(found).exit_code == gate(found, strict=True).exit_code == 0


def test_what_the_baseline_failed_on_does_not_let_a_loss_pass(make_result):
    old = make_result("old", latency_ms=[*noisy(0.5, 40, 1), ERRORED], higher={"latency_ms": False})
    new = make_result("new", latency_ms=[*noisy(0.9, 40, 2), 0.9], higher={"latency_ms": False})
    found = compare(old, new)
    assert found.of("latency_ms").reason == "worse on 40 questions, but 1 question the baseline failed on could undo it"
    assert gate(found).exit_code == 4


def test_what_both_failed_on_leaves_nothing_equivalent(make_result):
    rng = np.random.default_rng(4)
    first = noisy(0.5, 100, 1)
    second = [score + error for score, error in zip(first, rng.normal(0, 0.01, 100), strict=True)]
    whole = compare(make_result("old", first), make_result("new", second), margin=0.02, ranges={"ndcg@10": (-1, 2)})
    first[:5] = second[:5] = [ERRORED] * 5
    both = compare(make_result("old", first), make_result("new", second), margin=0.02, ranges={"ndcg@10": (-1, 2)})
    assert (whole.of("ndcg@10").verdict, both.of("ndcg@10").verdict) == ("equivalent", "no difference shown")


def test_few_failures_do_not_undo_what_is_clear(make_result):
    first, second = noisy(0.3, 60, 1, sd=0.05), noisy(0.6, 60, 2, sd=0.05)
    second[7] = ERRORED
    assert verdict(make_result, first, second) == "better"
    assert verdict(make_result, second, first) == "worse"


def test_a_range_beyond_all_squares_is_as_good_as_none(make_result):
    old, new = make_result("old", x=[1.0, 2.0, 3.0, 4.0]), make_result("new", x=[2.0, 3.0, 5.0, None])
    for end in (1e160, float("inf")):
        found = compare(old, new, ranges={"x": (-end, end)}, min_coverage=0)
        assert found.of("x").could_be_worse is False
        assert found.of("x").p_holm > 0.05


def test_failing_until_nothing_is_shown_frees_alpha_all_the_same(make_result):
    """A loss that Holm shows because of a gain elsewhere is not hidden by failing where the gain was."""
    first = noisy(0.4, 40, 1)
    gain = [score + (0.5 if i < 10 else 0.01 * (-1) ** i) for i, score in enumerate(first)]
    old, loss = make_result("old", kindness=first, mrr=first), ahead_of(first, -2.15)
    whole = compare(old, make_result("new", kindness=gain, mrr=loss), min_coverage=0)
    failing = compare(old, make_result("new", kindness=[*[None] * 10, *gain[10:]], mrr=loss), min_coverage=0)
    assert (whole.of("mrr").verdict, failing.of("kindness").p_t) == ("worse", 1.0)
    assert (failing.of("mrr").verdict, failing.of("mrr").could_be_worse) == ("cannot say", True)


def test_failing_on_one_metric_makes_no_better_of_equivalent_on_another(make_result):
    first = noisy(0.4, 40, 1)
    same, close = ahead_of(first, 0.0), ahead_of(first, 2.5)
    margin = (2.5 + 1.75) * 0.05 / 40**0.5
    old = make_result("old", kindness=first, mrr=first)
    whole = compare(old, make_result("new", kindness=same, mrr=close), margin={"kindness": 0.2, "mrr": margin})
    failing = compare(
        old, make_result("new", kindness=[*same[:38], None, None], mrr=close), margin={"kindness": 0.2, "mrr": margin}
    )
    assert [one.verdict for one in whole.comparisons] == ["equivalent", "equivalent"]
    assert [one.verdict for one in failing.comparisons] == ["no difference shown", "cannot say"]
    assert failing.of("mrr").reason == "better on 40 questions, but failures elsewhere could undo it"
