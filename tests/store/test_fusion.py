import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.store.fusion import reciprocal_rank_fusion


def ranking(*ids, **scores):
    return [Document(each, f"text of {each}", metadata={"score": scores.get(each, 1.0)}) for each in ids]


def test_scores_are_sums_of_reciprocal_ranks():
    fused = reciprocal_rank_fusion(
        {"dense": ranking("a", "b", "c", a=0.9, b=0.5), "lexical": ranking("c", "a", "d", c=9.0)}
    )
    assert [document.id for document in fused] == ["a", "c", "b", "d"]
    assert [document.metadata["score"] for document in fused] == [
        1 / 61 + 1 / 62,
        1 / 63 + 1 / 61,
        1 / 62,
        1 / 63,
    ]
    assert [document.metadata["rank"] for document in fused] == [1, 2, 3, 4]
    assert fused[0].metadata["scores"] == {"dense": 0.9, "lexical": 1.0}
    assert fused[0].metadata["ranks"] == {"dense": 1, "lexical": 2}
    assert fused[3].metadata["scores"] == {"lexical": 1.0}
    assert fused[3].text == "text of d"


def test_rrf_k_and_limit():
    fused = reciprocal_rank_fusion({"one": ranking("a", "b"), "two": ranking("b")}, rrf_k=1, limit=1)
    assert [(document.id, document.metadata["score"]) for document in fused] == [("b", 1 / 3 + 1 / 2)]


def test_equal_scores_are_in_order_of_first_appearance():
    fused = reciprocal_rank_fusion({"one": ranking("a", "b"), "two": ranking("c", "d"), "three": ranking("e")})
    assert [document.id for document in fused] == ["a", "c", "e", "b", "d"]
    crossed = reciprocal_rank_fusion({"one": ranking("a", "b"), "two": ranking("b", "a")})
    assert [document.id for document in crossed] == ["a", "b"]


def test_a_document_named_twice_in_a_ranking_counts_once_at_its_better_place():
    fused = reciprocal_rank_fusion({"one": ranking("a", "b", "a")})
    assert [(document.id, document.metadata["score"]) for document in fused] == [("a", 1 / 61), ("b", 1 / 62)]


def test_nothing_that_was_given_is_changed_or_shared():
    given_documents = [Document("a", "", metadata={"score": 1.0, "deep": {"list": [1]}})]
    fused = reciprocal_rank_fusion({"one": given_documents})
    fused[0].metadata["deep"]["list"].append(2)
    assert given_documents == [Document("a", "", metadata={"score": 1.0, "deep": {"list": [1]}})]


def test_nothing_to_fuse():
    assert reciprocal_rank_fusion({}) == []
    assert reciprocal_rank_fusion({"one": [], "two": []}) == []


@pytest.mark.parametrize("options", [{"rrf_k": 0}, {"rrf_k": 1.5}, {"limit": 0}, {"limit": True}])
def test_numbers_below_one_are_refused(options):
    with pytest.raises(ConfigurationError):
        reciprocal_rank_fusion({"one": ranking("a")}, **options)


IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), IDS), st.integers(1, 100))
def test_fusion_agrees_with_the_formula(rankings, rrf_k):
    fused = reciprocal_rank_fusion({name: ranking(*ids) for name, ids in rankings.items()}, rrf_k=rrf_k)
    expected = {
        each: sum(1 / (rrf_k + ids.index(each) + 1) for ids in rankings.values() if each in ids)
        for ids in rankings.values()
        for each in ids
    }
    assert {document.id: document.metadata["score"] for document in fused} == expected
    scores = [document.metadata["score"] for document in fused]
    assert scores == sorted(scores, reverse=True)
