import math

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.store import InMemoryStore
from fastrag.store.word_vectors import WordVectors

pytest.importorskip("tantivy")

ENGLISH = WordVectors("english", extra="qdrant")


def bm25(texts, query):
    """Scores as an engine makes them of the vectors, with the inverse document frequency of Lucene."""
    weights = [dict(zip(*ENGLISH.of_text(text), strict=True)) for text in texts]
    scores = np.zeros(len(texts))
    for place, count in zip(*ENGLISH.of_query(query), strict=True):
        having = sum(place in each for each in weights)
        idf = math.log((len(texts) - having + 0.5) / (having + 0.5) + 1)
        scores += [count * idf * each.get(place, 0.0) for each in weights]
    return scores


def test_weights_are_those_of_bm25():
    places, weights = ENGLISH.of_text("Cats sing. A cat sings; the CAT sleeps. " + "word " * 100)
    assert len(places) == len(set(places)) == 6
    length = 8 + 100
    damping = 1.2 * (0.25 + 0.75 * length / 256)
    counts = {"cat": 3, "sing": 2, "sleep": 1, "word": 100}
    for word, count in counts.items():
        [place] = ENGLISH.of_query(word)[0]
        assert weights[places.index(place)] == pytest.approx(count * 2.2 / (count + damping))


def test_words_of_a_question_are_counted():
    places, weights = ENGLISH.of_query("Singing cats sing to cats, cats!")
    assert dict(zip(places, weights, strict=True)) == {
        ENGLISH.of_query("sing")[0][0]: 2.0,
        ENGLISH.of_query("cat")[0][0]: 3.0,
        ENGLISH.of_query("to")[0][0]: 1.0,
    }


def test_a_text_without_words():
    for text in ("", "???", "\x00", " "):
        assert ENGLISH.of_text(text) == ([], [])
        assert ENGLISH.of_query(text) == ([], [])


def test_places_are_the_same_in_every_process():
    # What is stored is found by them: they must never change.
    assert ENGLISH.of_query("cat walrus")[0] == [1787499195, 1484639032]
    assert WordVectors(None, extra="qdrant").of_query("cats")[0] != ENGLISH.of_query("cats")[0]


async def test_texts_of_the_usual_length_are_ranked_as_by_exact_bm25():
    random = np.random.default_rng(5)
    words = [f"w{n}" for n in range(300)]
    odds = 1 / np.arange(1, 301)
    texts = [" ".join(random.choice(words, size=random.integers(150, 400), p=odds / odds.sum())) for _ in range(200)]
    memory = InMemoryStore()
    await memory.upsert([Document(str(n), text) for n, text in enumerate(texts)])
    overlaps = []
    for _ in range(30):
        query = " ".join(random.choice(words[20:], size=3))
        exact = {document.id for document in await memory.search(text=query, k=10)}
        overlaps.append(len(exact & {str(n) for n in np.argsort(-bm25(texts, query))[:10]}) / 10)
    assert np.mean(overlaps) > 0.93
