"""ExactMatch and TokenF1 against SQuAD's rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark.metrics import ExactMatch, QueryOutcome, TokenF1
from fastrag.benchmark.metrics.answer import normalize_answer
from fastrag.benchmark.samples import EvalSample

METRICS = [ExactMatch(), TokenF1()]
no_deadline = settings(deadline=None)  # a busy machine is no failure
texts = st.text(alphabet="ab the.THE,-\n é", max_size=30)


def scores(answer, reference):
    sample, outcome = EvalSample("q", reference_answer=reference), QueryOutcome(answer, [], 1.0)
    return tuple(metric.compute(sample, outcome) for metric in METRICS)


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The Denver Broncos!", "denver broncos"),
        ("  a   gold\tanniversary\n", "gold anniversary"),
        ("Levi's Stadium", "levis stadium"),
        ("24–10", "24–10"),  # a dash outside ASCII stays
        ("24-10", "2410"),
        ("an A the The", ""),
        ("theatre and another", "theatre and another"),  # articles are words, not prefixes
        ("U.S.A.", "usa"),
        ("Santa Clara, California.", "santa clara california"),
        ("A-Team", "ateam"),  # punctuation goes before the articles do
        ("Éa the é", "éa é"),
        ("", ""),
    ],
)
def test_normalization(text, normalized):
    assert normalize_answer(text) == normalized


@pytest.mark.parametrize(
    ("answer", "reference", "exact", "f1"),
    [
        ("the Denver Broncos.", "Denver Broncos", 1.0, 1.0),
        ("Broncos", "Denver Broncos", 0.0, 2 / 3),
        ("The Broncos of Denver won", "Denver Broncos", 0.0, 2 * (2 / 4) * 1 / (2 / 4 + 1)),
        ("Carolina Panthers", "Denver Broncos", 0.0, 0.0),
        ("Broncos Denver", "Denver Broncos", 0.0, 1.0),  # order does not count
        ("gold gold gold", "gold", 0.0, 2 * (1 / 3) * 1 / (1 / 3 + 1)),  # a word counts as often as both have it
        ("gold gold", "gold gold anniversary", 0.0, 4 / 5),
        ("", "Denver", 0.0, 0.0),
        ("Denver", "", 0.0, 0.0),
        ("", "", 1.0, 1.0),
        ("the", "A!", 1.0, 1.0),  # nothing left of either
        ("the", "Denver", 0.0, 0.0),
    ],
)
def test_scores(answer, reference, exact, f1):
    assert scores(answer, reference) == (exact, pytest.approx(f1, abs=1e-15))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
async def test_contract(metric):
    assert (metric.needs_answer, metric.needs_reference_answer, metric.needs_relevant_ids) == (True, True, False)
    assert metric.higher_is_better
    sample = EvalSample("q")
    assert metric.compute(sample, QueryOutcome("anything", [], 1.0)) is None
    assert metric.missing_reason(sample, QueryOutcome("anything", [], 1.0)) == "no reference_answer"
    assert await metric.score(EvalSample("q", reference_answer="x"), QueryOutcome("x", [], 1.0)) == 1.0


def test_names():
    assert [metric.name for metric in METRICS] == ["exact_match", "token_f1"]


@no_deadline
@given(texts, texts)
def test_range_symmetry_and_order(answer, reference):
    exact, f1 = scores(answer, reference)
    assert exact in {0.0, 1.0}
    assert exact <= f1 <= 1
    assert scores(reference, answer) == (exact, f1)


@no_deadline
@given(texts)
def test_a_text_matches_itself(text):
    assert scores(text, text) == (1.0, 1.0)
    assert scores(f" The {text.upper()}!", text) == (1.0, 1.0)


@no_deadline
@given(texts)
def test_normalizing_leaves_words_one_blank_apart(text):
    words = normalize_answer(text)
    assert words == " ".join(words.split())
    assert not {"a", "an", "the"} & set(words.split())
