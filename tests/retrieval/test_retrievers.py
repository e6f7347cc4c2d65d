import asyncio

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError, ModelError, StoreError
from fastrag.retrieval import DenseRetriever, HybridRetriever, LexicalRetriever, RerankedRetriever, Retriever
from fastrag.store import Eq, Exists, InMemoryStore, LanceStore, Range
from fastrag.testing import HashEmbedder

DOCUMENTS = [
    Document("cat", "The cat sat on the mat.", metadata={"n": 1, "kind": "pet"}),
    Document("dog", "The dog chased the cat.", metadata={"n": 2, "kind": "pet"}),
    Document("whale", "Whales sing in the deep sea.", metadata={"n": 3}),
]


class ByLength:
    async def rerank(self, question, documents):
        return [len(document.text) for document in documents]


class Replies:
    def __init__(self, scores):
        self.scores = scores
        self.asked = 0

    async def rerank(self, question, documents):
        self.asked += 1
        return self.scores


@pytest.fixture
def embedder():
    return HashEmbedder(512)


@pytest.fixture(params=["memory", "lance"])
async def store(request, tmp_path, embedder):
    store = InMemoryStore() if request.param == "memory" else LanceStore(tmp_path / "store")
    await store.upsert(DOCUMENTS, await embedder.embed_documents([document.text for document in DOCUMENTS]))
    yield store
    await store.close()


def every_retriever(store, embedder, **options):
    return [
        DenseRetriever(store, embedder, **options),
        LexicalRetriever(store, **options),
        HybridRetriever.of(store, embedder, **options),
        RerankedRetriever(LexicalRetriever(store, **options), ByLength()),
    ]


async def test_every_retriever_ranks_limits_and_filters(store, embedder):
    for retriever in every_retriever(store, embedder, filter=Exists("n")):
        found = await retriever.retrieve("the cat")
        scores = [document.metadata["score"] for document in found]
        assert scores == sorted(scores, reverse=True)
        assert [document.metadata["rank"] for document in found] == list(range(1, len(found) + 1))
        assert {"cat", "dog"} <= {document.id for document in found}
        assert len(await retriever.retrieve("the cat", k=1)) == 1
        assert {document.id for document in await retriever.retrieve("the cat", filter=Eq("kind", "pet"))} == {
            "cat",
            "dog",
        }
        assert await retriever.retrieve("the cat", filter=Eq("kind", "stone")) == []
    assert await store.get(["cat"]) == [DOCUMENTS[0]], "a search changes nothing that is stored"


async def test_the_filter_of_a_call_joins_the_retrievers_own(store, embedder):
    for retriever in every_retriever(store, embedder, filter=Range("n", gte=2)):
        found = await retriever.retrieve("the cat", filter=Eq("kind", "pet"))
        assert [document.id for document in found] == ["dog"]
        assert "cat" not in {document.id for document in await retriever.retrieve("the cat")}


async def test_bad_questions_numbers_and_filters_are_refused(store, embedder):
    for retriever in every_retriever(store, embedder):
        for question in ("", "  \n", None, 3, "lone \ud800"):
            with pytest.raises(ConfigurationError, match="question"):
                await retriever.retrieve(question)
        for k in (0, -1, True, 1.5):
            with pytest.raises(ConfigurationError, match="k must"):
                await retriever.retrieve("cat", k=k)
        with pytest.raises(ConfigurationError, match="filter"):
            await retriever.retrieve("cat", filter={"kind": "pet"})


async def test_bad_settings_are_refused(store, embedder):
    lexical = LexicalRetriever(store)
    for make in (
        lambda: DenseRetriever(store, embedder, k=0),
        lambda: DenseRetriever(store, embedder, filter="a = 1"),
        lambda: LexicalRetriever(store, k=0),
        lambda: LexicalRetriever(store, filter=Eq("", 1)),
        lambda: HybridRetriever({"only": lexical}),
        lambda: HybridRetriever([lexical, lexical]),
        lambda: HybridRetriever({"a": lexical, "b": lexical}, k=0),
        lambda: HybridRetriever({"a": lexical, "b": lexical}, candidates=0),
        lambda: HybridRetriever({"a": lexical, "b": lexical}, rrf_k=0),
        lambda: HybridRetriever.of(store, embedder, filter=3),
        lambda: RerankedRetriever(lexical, ByLength(), candidates=0),
        lambda: RerankedRetriever(lexical, ByLength(), k=0),
    ):
        with pytest.raises(ConfigurationError):
            make()


async def test_a_dense_retriever_refuses_a_store_of_another_embedder(store, embedder):
    await store.bind(embedder.id, 512)
    assert await DenseRetriever(store, embedder).retrieve("cat")
    with pytest.raises(EmbedderMismatchError, match="hash"):
        await DenseRetriever(store, HashEmbedder(512, name="another")).retrieve("cat")
    with pytest.raises(EmbedderMismatchError, match="dimension"):
        await DenseRetriever(store, HashEmbedder(64)).retrieve("cat")


def files(folder):
    return {(path, path.lstat().st_mtime_ns, path.lstat().st_ino) for path in folder.rglob("*")}


async def test_a_question_writes_nothing(tmp_path, embedder):
    texts = [document.text for document in DOCUMENTS]
    for name in ("words", "vectors", "bound"):
        store = LanceStore(tmp_path / name)
        await store.upsert(DOCUMENTS, None if name == "words" else await embedder.embed_documents(texts))
        if name == "bound":
            await store.bind(embedder.id, 512)
        await store.close()
    before = files(tmp_path)
    for path in tmp_path.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for name in ("words", "vectors", "bound", "not there"):
        store = LanceStore(tmp_path / name)
        found = [await retriever.retrieve("the cat") for retriever in every_retriever(store, embedder)]
        assert [bool(each) for each in found] == [name in ("vectors", "bound"), *[name != "not there"] * 3]
        await store.close()
    assert files(tmp_path) == before
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    await LanceStore(tmp_path / "words").bind("another", 3)


async def test_lexical_retrieval_leaves_out_what_shares_no_word(store):
    retriever = LexicalRetriever(store)
    assert [document.id for document in await retriever.retrieve('sing "AND (whales')] == ["whale"]
    assert await retriever.retrieve("???") == []


async def test_hybrid_keeps_scores_and_ranks_of_both(store, embedder):
    found = await HybridRetriever.of(store, embedder, k=3).retrieve("whales sing")
    best = found[0]
    assert best.id == "whale"
    assert best.metadata["ranks"] == {"dense": 1, "lexical": 1}
    assert best.metadata["score"] == pytest.approx(2 / 61)
    dense = (await DenseRetriever(store, embedder).retrieve("whales sing"))[0]
    lexical = (await LexicalRetriever(store).retrieve("whales sing"))[0]
    assert best.metadata["scores"] == {
        "dense": dense.metadata["score"],
        "lexical": lexical.metadata["score"],
    }
    assert best.metadata["n"] == 3
    assert all("lexical" not in document.metadata["ranks"] for document in found[1:])


async def test_hybrid_takes_any_retrievers_and_asks_each_for_candidates():
    class Fixed(Retriever):
        def __init__(self, *ids):
            self.ids = ids
            self.asked = []

        async def retrieve(self, question, *, k=None, filter=None):
            self.asked.append((question, k, filter))
            return [Document(each, each) for each in self.ids[:k]]

    one, two, three = Fixed("a", "b"), Fixed("b", "c"), Fixed("b", "a")
    retriever = HybridRetriever({"one": one, "two": two, "three": three}, k=2, candidates=7)
    found = await retriever.retrieve("q", filter=Exists("x"))
    assert [document.id for document in found] == ["b", "a"]
    assert found[0].metadata["ranks"] == {"one": 2, "two": 1, "three": 1}
    assert found[0].metadata["scores"] == {}, "these retrievers give no scores"
    assert one.asked == [("q", 7, Exists("x"))]
    await retriever.retrieve("q", k=9)
    assert two.asked[-1] == ("q", 9, None), "never fewer than are to be returned"


async def test_hybrid_runs_its_retrievers_at_once_and_cancels_them_together():
    class Waiting(Retriever):
        def __init__(self, here, there):
            self.here, self.there = here, there

        async def retrieve(self, question, *, k=None, filter=None):
            self.here.set()
            await self.there.wait()
            return [Document("a", "")]

    class Failing(Retriever):
        async def retrieve(self, question, *, k=None, filter=None):
            raise StoreError("broken")

    one, two = asyncio.Event(), asyncio.Event()
    # Each waits until the other has started: one after the other would never end.
    both = HybridRetriever({"one": Waiting(one, two), "two": Waiting(two, one)})
    assert len(await asyncio.wait_for(both.retrieve("q"), timeout=20)) == 1

    stuck = Waiting(asyncio.Event(), asyncio.Event())
    with pytest.raises(StoreError, match="broken"):
        await asyncio.wait_for(HybridRetriever({"a": stuck, "b": Failing()}).retrieve("q"), timeout=20)


async def test_reranking_reorders_and_keeps_the_first_stage(store, embedder):
    first = HybridRetriever.of(store, embedder)
    before = {document.id: document.metadata for document in await first.retrieve("the cat")}
    found = await RerankedRetriever(first, ByLength(), k=2).retrieve("the cat")
    # The other two are of one length, and keep the first stage's order.
    assert [document.id for document in found] == ["whale", next(each for each in before if each != "whale")]
    for document in found:
        assert document.metadata["score"] == len(document.text)
        earlier = before[document.id]
        assert document.metadata["scores"] == {**earlier["scores"], "first_stage": earlier["score"]}
        assert document.metadata["ranks"] == {**earlier["ranks"], "first_stage": earlier["rank"]}


async def test_reranking_nothing_asks_nobody(store):
    replies = Replies([])
    assert await RerankedRetriever(LexicalRetriever(store), replies).retrieve("unheard") == []
    assert replies.asked == 0


async def test_a_reranker_may_do_with_its_list_as_it_likes(store):
    class Emptying(ByLength):
        async def rerank(self, question, documents):
            scores = await super().rerank(question, documents)
            documents.clear()
            return scores

    lexical = LexicalRetriever(store)
    found = await RerankedRetriever(lexical, Emptying()).retrieve("whales cat")
    assert found == await RerankedRetriever(lexical, ByLength()).retrieve("whales cat")


async def test_a_reranker_that_is_not_async_is_refused(store):
    class NotAsync:
        def rerank(self, question, documents):
            return [1.0] * len(documents)

    with pytest.raises(ConfigurationError, match=r"async def rerank.*NotAsync"):
        await RerankedRetriever(LexicalRetriever(store), NotAsync()).retrieve("cat")


async def test_a_reranker_may_give_numpy_scores(store):
    reranked = RerankedRetriever(LexicalRetriever(store), Replies(np.array([1, 2], dtype=np.float32)))
    found = await reranked.retrieve("cat")
    assert [type(document.metadata["score"]) for document in found] == [float, float]


@pytest.mark.parametrize(
    "scores",
    [
        [1.0],
        [1.0, 2.0, 3.0],
        [1.0, float("nan")],
        [1.0, float("inf")],
        [1.0, None],
        [1.0, "2"],
        [True, 1.0],
        [1.0, 10**400],
        None,
        3,
    ],
)
async def test_a_malformed_reply_of_a_reranker_is_refused(store, scores):
    with pytest.raises(ModelError, match="reranker"):
        await RerankedRetriever(LexicalRetriever(store), Replies(scores)).retrieve("cat")
