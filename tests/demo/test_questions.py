import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics

import pytest

from fastrag.demo import corpus

TABLE = json.loads((Path(__file__).parent / "topic_ids.json").read_text(encoding="utf-8"))
REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "check_demo_questions.py"
PAGE = REPOSITORY / "docs" / "demo-questions.md"
KINDS = {
    "plain": 30,
    "paraphrase": 25,
    "symptom": 25,
    "keyword": 25,
    "error": 20,
    "newcomer": 20,
    "multi": 20,
    "typo": 15,
    "unanswerable": 20,
}
# Words that titles and questions share without being about the same thing.
COMMON = frozenset(re.findall(r"\w+", "the and for in if else while with try by as is of a to do its one from this"))


@pytest.fixture(scope="module")
def samples():
    return corpus.samples()


@pytest.fixture(scope="module")
def answerable(samples):
    return [sample for sample in samples if sample.metadata["kind"] != "unanswerable"]


def paragraphs(text: str) -> set[str]:
    """The paragraphs that are long enough to say something, without white space and the marks of headings."""
    parts = (re.sub(r"[\s*=~\"-]+", " ", part).strip() for part in re.split(r"\n\s*\n", text))
    return {part for part in parts if len(part) > 40}


def stems(text: str) -> set[str]:
    return {re.sub(r"(ings?|ed|es|s)$", "", word) for word in re.findall(r"[a-z]+", text.lower())} - COMMON


def test_the_set_is_of_the_size_the_documentation_states(samples):
    assert 200 <= len(samples) <= 260


def test_ids_and_questions_are_unique(samples):
    assert len({sample.id for sample in samples}) == len(samples)
    assert len({sample.question.casefold() for sample in samples}) == len(samples)


def test_every_kind_is_there_often_enough(samples):
    counts = Counter(sample.metadata["kind"] for sample in samples)
    assert counts.keys() == KINDS.keys()
    assert {kind: counts[kind] for kind, least in KINDS.items() if counts[kind] < least} == {}


def test_the_documentation_states_the_counts(samples):
    page = PAGE.read_text(encoding="utf-8")
    stated = {kind: int(count) for kind, count in re.findall(r"^\| ([a-z]+) \| (\d+) \|", page, re.MULTILINE)}
    assert stated == Counter(sample.metadata["kind"] for sample in samples)
    assert f"{len(samples)} questions" in page


def test_every_question_has_a_difficulty(samples):
    counts = Counter(sample.metadata["difficulty"] for sample in samples)
    assert counts.keys() == {"easy", "medium", "hard"}
    assert min(counts.values()) >= 30


def test_gains_are_1_or_2_and_something_answers_in_full(answerable):
    assert {gain for sample in answerable for gain in sample.relevant_ids.values()} == {1, 2}
    assert [sample.id for sample in answerable if 2 not in sample.relevant_ids.values()] == []


def test_what_the_corpus_cannot_answer_claims_no_answer(samples):
    for sample in samples:
        if sample.metadata["kind"] == "unanswerable":
            assert sample.relevant_ids == {}
            assert sample.reference_answer is None


def test_most_answerable_questions_have_a_short_reference_answer(answerable):
    references = [sample.reference_answer for sample in answerable if sample.reference_answer is not None]
    assert len(references) >= 0.7 * len(answerable)
    assert all(reference.strip() and len(reference) <= 160 for reference in references)


def test_questions_that_ask_for_several_things_have_several_topics(answerable):
    full = {s.id: [id for id, gain in s.relevant_ids.items() if gain == 2] for s in answerable}
    multi = [sample.id for sample in answerable if sample.metadata["kind"] == "multi"]
    assert [id for id in multi if len(full[id]) < 2] == []


def test_paraphrases_share_no_word_with_the_titles_of_what_answers_them(answerable):
    shared = {
        (sample.id, topic): words
        for sample in answerable
        if sample.metadata["kind"] == "paraphrase"
        for topic, gain in sample.relevant_ids.items()
        if gain == 2 and (words := stems(sample.question) & stems(topics[topic].split("\n")[0]))
    }
    assert shared == {}


def test_relevant_ids_are_topics_of_this_python(samples):
    assert {id for sample in samples for id in sample.relevant_ids} <= topics.keys()


@pytest.mark.parametrize("version", TABLE)
def test_relevant_ids_are_topics_of_every_supported_python(samples, version):
    assert {id for sample in samples for id in sample.relevant_ids} <= set(TABLE[version])


def test_the_table_of_topic_ids_is_true_for_this_python():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version not in TABLE:
        pytest.skip(f"the table has no Python {version}")
    assert TABLE[version] == sorted(topics)


def test_most_topics_are_asked_for(samples):
    assert len({id for sample in samples for id in sample.relevant_ids}) >= 75


def test_a_topic_that_contains_a_relevant_one_is_as_relevant(answerable):
    """A retriever that finds the same passage in the larger topic is right, too."""
    parts = {id: paragraphs(text) for id, text in topics.items()}
    within = [(a, b) for a in parts for b in parts if a != b and parts[a] <= parts[b]]
    assert ("try", "compound") in within
    wrong = [
        (sample.id, part, whole)
        for sample in answerable
        for part, whole in within
        if sample.relevant_ids.get(whole, 0) < sample.relevant_ids.get(part, 0)
    ]
    assert wrong == []


def test_the_check_script_passes_on_this_python():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 problems" in done.stdout


def test_the_check_script_names_what_is_wrong(tmp_path):
    path = tmp_path / "wrong.jsonl"
    wrong = [
        {"id": "q1", "relevant_ids": {"asert": 2}, "reference_answer": None},
        {"id": "q2", "relevant_ids": {"assert": 2}, "reference_answer": "Bananas ripen quickly indoors."},
    ]
    path.write_text("\n".join(map(json.dumps, wrong)), encoding="utf-8")
    done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "q1: no topic 'asert'" in done.stdout
    assert "q2: only 0% of the answer's words" in done.stdout
