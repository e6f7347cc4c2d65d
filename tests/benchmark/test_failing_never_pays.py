"""Failing once more never improves a run's rank, place, verdict or gate; and no order matters. On random small runs."""

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark import compare, rank, trade_offs
from fastrag.benchmark.gate import FAIL_ON, gate
from fastrag.errors import ConfigurationError

ERRORED = "errored"
NOT_APPLICABLE = "not applicable"
HIGHER = {"mrr": True, "kindness": True, "latency_ms": False, "toxicity": False}
RANGES = {"toxicity": (0.0, 1.0)}  # of mrr the range is known by name, of latencies half of it, of kindness none
LIKED = {"worse": 0, "no difference shown": 1, "equivalent": 2, "better": 3}
TURNED = {"worse": "better", "better": "worse"}


@st.composite
def studies(draw):
    """Runs as (questions, metric -> scores) and a source of further choices; many near to showing a difference."""
    metrics = draw(st.lists(st.sampled_from(sorted(HIGHER)), min_size=1, max_size=2, unique=True))
    questions, repeats = draw(st.integers(3, 12)), draw(st.integers(1, 3))
    noise, failing = draw(st.sampled_from([0, 1, 3])), draw(st.sampled_from([0, 0.05, 0.2]))
    shifts = draw(st.lists(st.sampled_from([-8, -2, 0, 0, 1, 2, 8]), min_size=2, max_size=4))
    chance = random.Random(draw(st.integers(0, 2**32)))
    hard = [chance.choice([8, 8, 5, 11]) for _ in range(questions)]
    unmeasurable = {(metric, i) for metric in metrics for i in range(questions) if chance.random() < 0.05}

    def score(metric, i, shift):
        if (metric, i) in unmeasurable:
            return NOT_APPLICABLE
        if chance.random() < failing / 2:
            return None
        return min(20, max(0, hard[i] + shift + chance.randint(-noise, noise))) / 20

    runs = []
    for shift in shifts:
        asked = [i for i in range(questions) for _ in range(chance.choice([repeats] * 9 + [1]))]
        rows = [
            dict.fromkeys(metrics, ERRORED) if chance.random() < failing else {m: score(m, i, shift) for m in metrics}
            for i in asked
        ]
        runs.append(([f"q{i}" for i in asked], {metric: [row[metric] for row in rows] for metric in metrics}))
    return runs, metrics, chance


def fail_once_more(run, chance):
    """The same run with one more score missing: of all metrics, or of one."""
    questions, columns = run
    metric = chance.choice([*columns, None, None])
    failed = {metric} if metric else set(columns)
    value = None if metric else ERRORED
    open_ = [i for i in range(len(questions)) if any(columns[m][i] not in (None, ERRORED) for m in failed)]
    if not open_:
        return run
    position = chance.choice(open_)
    return questions, {
        name: [value if i == position and name in failed else score for i, score in enumerate(column)]
        for name, column in columns.items()
    }


def failing_more_and_more(make_result, study):
    """All runs as results, and the position of the one that fails more each time."""
    runs, _, chance = study
    position = chance.randrange(len(runs))
    for _ in range(4):
        results = [
            make_result(f"run{i}", questions=questions, higher=HIGHER, **columns)
            for i, (questions, columns) in enumerate(runs)
        ]
        yield results, position
        runs[position] = fail_once_more(runs[position], chance)


def never_better(states):
    """Whether no number in any state is higher than in an earlier one; None says nothing."""
    return all(
        after[key] <= before[key]
        for i, after in enumerate(states)
        for before in states[:i]
        for key in after
        if after[key] is not None and before[key] is not None
    )


def ranges_of(metrics):
    return {metric: RANGES[metric] for metric in metrics if metric in RANGES}


many = settings(max_examples=80, deadline=None)


@many
@given(studies(), st.sampled_from([0.0, 0.5, 0.9]))
def test_no_rank_and_no_winner(make_result, study, min_coverage):
    states = []
    for results, position in failing_more_and_more(make_result, study):
        state = {}
        for metric in study[1]:
            try:
                ranking = rank(results, metric, min_coverage=min_coverage, ranges=ranges_of([metric]))
            except ConfigurationError:  # no question is left that all have measured
                return
            [entry] = [entry for entry in ranking.entries if entry.result is results[position]]
            state[metric, "rank"] = -(entry.rank or 99)
            state[metric, "is best"] = ranking.entries[0] is entry and entry.rank is not None
        states.append(state)
    assert never_better(states)


@many
@given(studies(), st.sampled_from([0.0, 0.5, 0.9]))
def test_no_place_on_the_front(make_result, study, min_coverage):
    if len(study[1]) < 2:
        return
    states = []
    for results, position in failing_more_and_more(make_result, study):
        try:
            found = trade_offs(results, study[1], min_coverage=min_coverage, ranges=RANGES)
        except ConfigurationError:  # nobody takes part
            return
        states.append({"is on the front": found[position].on_front})
    assert never_better(states)


@many
@given(studies(), st.sampled_from([0.0, 0.5]), st.sampled_from([None, 0.05, 0.3]))
def test_no_verdict_and_no_gate(make_result, study, min_coverage, margin):
    states = []
    for (baseline, *candidates), position in failing_more_and_more(make_result, study):
        found = compare(
            baseline,
            *candidates,
            margin=margin,
            min_coverage=min_coverage,
            ranges=ranges_of(study[1]),
            permutations=9,
        )
        state = {
            (one.metric, one.candidate): LIKED.get(
                TURNED.get(one.verdict, one.verdict) if not position else one.verdict
            )
            for one in found.comparisons
            if not position or one.candidate == f"run{position}"
        }
        if position:
            # Without a margin nothing is equivalent, and the gate refuses to ask for it.
            for fail_on in FAIL_ON if margin else ("worse", "not-better"):
                for strict in (False, True):
                    state[fail_on, strict] = gate(found, fail_on=fail_on, strict=strict).exit_code == 0
        states.append(state)
    assert never_better(states)


def in_another_order(result, chance):
    return replace(result, samples=chance.sample(result.samples, len(result.samples)))


@settings(max_examples=60, deadline=None)
@given(studies())
def test_no_order_matters(make_result, study):
    _, metrics, chance = study
    results, _ = next(failing_more_and_more(make_result, study))
    shuffled = {result.name: in_another_order(result, chance) for result in results}
    other_order = chance.sample(sorted(shuffled), len(shuffled))
    for metric in metrics:
        try:
            one, other = (
                rank(some, metric, min_coverage=0, ranges=ranges_of([metric]))
                for some in (results, [shuffled[name] for name in other_order])
            )
        except ConfigurationError:
            continue
        assert [(e.result.name, e.rank, e.mean, e.beaten_by, e.reason) for e in one.entries] == [
            (e.result.name, e.rank, e.mean, e.beaten_by, e.reason) for e in other.entries
        ]
    baseline, *candidates = results
    options = {"min_coverage": 0, "ranges": ranges_of(metrics), "permutations": 9, "margin": 0.1}
    one = compare(baseline, *candidates, **options)
    other = compare(
        shuffled[baseline.name], *(shuffled[name] for name in other_order if name != baseline.name), **options
    )
    for found in one.comparisons:
        there = other.of(found.metric, found.candidate)
        assert sorted(found.lost) == sorted(there.lost)
        assert sorted(found.gained) == sorted(there.gained)
        same = {"lost": (), "gained": (), "baseline_coverage": None, "candidate_coverage": None}
        assert replace(found, **same) == replace(there, **same)


@settings(max_examples=60, deadline=None)
@given(studies(), st.sampled_from([None, 0.1]))
def test_no_run_differs_from_itself(make_result, study, margin):
    (result, *_), _ = next(failing_more_and_more(make_result, study))
    for one in compare(result, result, margin=margin, min_coverage=0, permutations=9).comparisons:
        assert not one.could_be_worse
        if one.n >= 2:
            assert one.verdict in ("no difference shown", "equivalent")
            assert one.p_holm == 1


def test_the_studies_reach_every_verdict(make_result):
    """A property of runs that show nothing would show nothing."""
    seen = set()

    @settings(max_examples=100, deadline=None, database=None, derandomize=True)
    @given(studies())
    def look(study):
        (baseline, *candidates), _ = next(failing_more_and_more(make_result, study))
        found = compare(baseline, *candidates, margin=0.1, min_coverage=0, ranges=ranges_of(study[1]), permutations=9)
        seen.update(one.verdict for one in found.comparisons)

    look()
    assert seen == {*LIKED, "cannot say"}
