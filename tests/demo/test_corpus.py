import json
import sys
from importlib import resources
from types import ModuleType

import pytest

from fastrag.benchmark import write_samples
from fastrag.benchmark.samples import EvalSample
from fastrag.demo import corpus
from fastrag.errors import ConfigurationError


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch):
    """Lets a test say what `pydoc_data.topics` is; None: this Python comes without it."""

    def put(content: object) -> None:
        module = None
        if content is not None:
            module = ModuleType("pydoc_data.topics")
            vars(module).update(content)
        monkeypatch.setitem(sys.modules, "pydoc_data.topics", module)

    return put


def test_documents_are_the_topics_of_this_python():
    from pydoc_data.topics import topics

    documents = corpus.documents()
    assert {document.id: document.text for document in documents} == topics
    assert [document.id for document in documents] == sorted(topics)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {document.metadata["python"] for document in documents} == {version}
    assert all(document.uri == f"pydoc:{document.id}" for document in documents)


def test_titles_are_one_line_each():
    titles = {document.id: document.metadata["title"] for document in corpus.documents()}
    assert titles["typesmapping"] == 'Mapping Types — "dict"'
    assert all(title.strip() and "\n" not in title for title in titles.values())


def test_each_call_returns_documents_of_its_own():
    corpus.documents()[0].metadata["title"] = "changed"
    assert corpus.documents()[0].metadata["title"] != "changed"


def test_topics_without_text_are_left_out(topics):
    topics({"topics": {"full": "Full\n****\n\nText.\n", "empty": "", "blank": " \n"}})
    assert [document.id for document in corpus.documents()] == ["full"]


@pytest.mark.parametrize("call", [corpus.documents, corpus.samples])
def test_a_python_without_the_reference_is_told_what_to_do(topics, call):
    topics(None)
    with pytest.raises(ConfigurationError, match=r"comes without pydoc_data\.topics.*3\.11, 3\.12 and 3\.13") as caught:
        call()
    assert sys.executable in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)


@pytest.mark.parametrize(
    "content",
    [{}, {"topics": ["assert"]}, {"topics": {"assert": ("The assert statement", "...")}}, {"topics": {1: "text"}}],
)
def test_a_reference_of_another_shape_is_refused(topics, content):
    topics(content)
    with pytest.raises(ConfigurationError, match="not a dict of topic id -> text"):
        corpus.documents()


def test_a_reference_without_text_is_refused(topics):
    topics({"topics": {"assert": ""}})
    with pytest.raises(ConfigurationError, match="holds no text"):
        corpus.documents()


def test_samples_are_the_packaged_questions():
    lines = resources.files("fastrag.demo").joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()
    samples = corpus.samples()
    assert [sample.id for sample in samples] == [json.loads(line)["id"] for line in lines]
    assert [dict(sample.relevant_ids) for sample in samples] == [json.loads(line)["relevant_ids"] for line in lines]
    assert not any("missing_ids" in sample.metadata for sample in samples)


def test_ids_that_this_python_lacks_leave_the_questions_but_not_unseen(topics):
    from pydoc_data.topics import topics as real

    full = {sample.id: sample for sample in corpus.samples()}
    topics({"topics": {id: text for id, text in real.items() if id not in {"assert", "break"}}})
    samples = {sample.id: sample for sample in corpus.samples()}
    assert samples.keys() == full.keys()

    only_assert = next(id for id, sample in full.items() if list(sample.relevant_ids) == ["assert"])
    assert samples[only_assert].relevant_ids == {}
    assert samples[only_assert].reference_answer is None
    assert samples[only_assert].metadata["missing_ids"] == ["assert"]

    also_break = next(
        id for id, sample in full.items() if "break" in sample.relevant_ids and len(sample.relevant_ids) > 1
    )
    left = {id: gain for id, gain in full[also_break].relevant_ids.items() if id != "break"}
    assert samples[also_break].relevant_ids == left
    assert samples[also_break].reference_answer == full[also_break].reference_answer
    assert samples[also_break].metadata["missing_ids"] == ["break"]

    untouched = next(id for id, sample in full.items() if not {"assert", "break"} & sample.relevant_ids.keys())
    assert samples[untouched] == full[untouched]


def test_questions_without_gains_are_refused(monkeypatch, tmp_path):
    write_samples(tmp_path / "questions.jsonl", [EvalSample("What?", relevant_ids=["assert"], id="q1")])
    monkeypatch.setattr(corpus.resources, "files", lambda package: tmp_path)
    with pytest.raises(ConfigurationError, match="'q1' of the demonstration has no gains"):
        corpus.samples()
