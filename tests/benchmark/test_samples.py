"""Sample sets read back as they were written, and a mistake in one is named with its place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark import EvalSample, Span, read_samples, write_samples
from fastrag.errors import ConfigurationError

SAMPLES = [
    EvalSample("What is é?", ["a", "b"], "A letter.", [Span("doc", 3, 9)], "q1", {"kind": "plain", "hard": True}),
    EvalSample("And this?", {"a": 2.0, "c": 0.5}, id="q2"),
]


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.json", "samples.ndjson"])
def test_round_trip(tmp_path, name):
    write_samples(tmp_path / name, SAMPLES)
    assert read_samples(tmp_path / name) == SAMPLES
    assert read_samples(str(tmp_path / name)) == SAMPLES


ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
gains = st.dictionaries(ids, st.floats(-5, 5), max_size=3)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@settings(max_examples=50, deadline=None)
@given(questions=st.lists(texts, max_size=4), relevant=st.lists(ids, max_size=3) | gains, reference=st.none() | texts)
def test_any_samples_round_trip(questions, relevant, reference, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "samples.jsonl"
    samples = [EvalSample(question, relevant, reference, id=str(i)) for i, question in enumerate(questions)]
    write_samples(path, samples)
    assert read_samples(path) == samples


def test_a_sample_without_an_id_gets_its_position(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"question": "a"}\n\n{"question": "b", "id": "x"}\n{"question": "c"}\n')
    assert [sample.id for sample in read_samples(tmp_path / "s.jsonl")] == ["0", "x", "2"]


def test_a_byte_order_mark_is_no_data(tmp_path):
    (tmp_path / "s.jsonl").write_bytes(b'\xef\xbb\xbf{"question": "a"}\r\n{"question": "b"}\r\n')
    assert [sample.question for sample in read_samples(tmp_path / "s.jsonl")] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2: not a sample"),
        ("[]", "line 2: not a sample"),
        ('{"question": 3}', "question"),
        ('{"relevant_ids": []}', "question"),
        ('{"question": " "}', "line 2: the question is empty"),
        ('{"question": "q", "relevent_ids": ["a"]}', "relevent_ids"),
        ('{"question": "q", "relevant_ids": "a"}', "relevant_ids"),
        ('{"question": "q", "relevant_ids": {"a": "2"}}', "relevant_ids"),
        ('{"question": "q", "relevant_ids": {"a": NaN}}', "malformed"),
        ('{"question": "q", "relevant_spans": [["doc", 1]]}', "relevant_spans"),
        ('{"question": "q", "id": "one"}', "'one' occurs more than once"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, line, reason):
    path = tmp_path / "s.jsonl"
    path.write_text('{"question": "fine", "id": "one"}\n' + line + "\n")
    with pytest.raises(ConfigurationError, match=reason) as caught:
        read_samples(path)
    assert str(path) in str(caught.value)


def test_an_absent_file(tmp_path):
    with pytest.raises(ConfigurationError, match="could not be read"):
        read_samples(tmp_path / "none.jsonl")


def test_a_json_file_that_is_no_list(tmp_path):
    (tmp_path / "s.json").write_text('{"question": "q"}')
    with pytest.raises(ConfigurationError, match="not a list of samples"):
        read_samples(tmp_path / "s.json")


@pytest.mark.parametrize(
    "sample",
    [
        EvalSample("q", {"a": float("nan")}),
        EvalSample(""),
        EvalSample("q", metadata={"x": object()}),
        EvalSample("\ud800"),
    ],
)
def test_what_cannot_be_written_is_refused_and_the_old_file_stays(tmp_path, sample):
    path = tmp_path / "s.jsonl"
    write_samples(path, SAMPLES)
    with pytest.raises(ConfigurationError):
        write_samples(path, [sample])
    assert read_samples(path) == SAMPLES
