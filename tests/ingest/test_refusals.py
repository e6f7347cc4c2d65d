"""A text that the embedder refuses fails its Document; an embedder that refuses everything ends the run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fastrag.document import Document
from fastrag.embedding import OpenAICompatibleEmbedder
from fastrag.embedding.base import Matrix
from fastrag.errors import ServiceRejectedError
from fastrag.ingest import CharacterChunker, ingest, pipeline
from fastrag.store.memory.store import InMemoryStore
from fastrag.testing import Fault, HashEmbedder, OpenAICompatibleServer


class Picky(HashEmbedder):
    """Refuses what has one of ``bad`` in it, and more than ``most`` texts at once."""

    def __init__(self, *bad: str, most: int = 1000) -> None:
        super().__init__(16)
        self.bad, self.most = bad, most
        self.calls = 0

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.calls += 1
        if len(texts) > self.most:
            raise ServiceRejectedError(f"more than {self.most} texts")
        if found := [text for text in texts if any(bad in text for bad in self.bad)]:
            raise ServiceRejectedError(f"{found[0]!r} is not allowed")
        return await super().embed_documents(texts)


async def held(store: InMemoryStore) -> dict[str, str]:
    return {chunk.id: chunk.text async for chunk in store.scan()}


def documents(count: int) -> list[Document]:
    return [Document(f"d{number}", f"text {number}.") for number in range(count)]


@pytest.mark.parametrize("batch_size", [1, 3, 128])
async def test_only_the_documents_of_refused_texts_fail(batch_size: int) -> None:
    store, embedder = InMemoryStore(), Picky("text 3.", "text 17.", "text 18.")
    report = await ingest(documents(20), store=store, embedder=embedder, batch_size=batch_size)
    assert [(failure.source, failure.reason) for failure in report.failures] == [
        (f"d{number}", f"the embedder refuses its chunk 0: 'text {number}.' is not allowed") for number in (3, 17, 18)
    ]
    assert report.added == 17
    wanted = {f"d{number}#0": f"text {number}." for number in range(20) if number not in (3, 17, 18)}
    assert await held(store) == wanted
    vectors = await store.get_embeddings(list(wanted))
    for id, text in wanted.items():
        assert vectors[id] == pytest.approx(await embedder.embed_query(text))


async def test_a_refused_chunk_leaves_what_was_stored_of_its_document() -> None:
    store, chunker = InMemoryStore(), CharacterChunker(size=1)
    await ingest([Document("a", "1\n\n2\n\n3\n\n4")], store=store, embedder=Picky(), chunker=chunker)
    before = await held(store)
    for batch_size in (1, 2, 100):
        new = [Document("a", "5\n\n6\n\n7"), Document("b", "8\n\n9")]
        report = await ingest(new, store=store, embedder=Picky("7"), chunker=chunker, batch_size=batch_size)
        assert [failure.reason for failure in report.failures] == [
            "the embedder refuses its chunk 2: '7' is not allowed"
        ]
        assert await held(store) == before | {"b#0": "8", "b#1": "9"}


async def test_after_a_refused_chunk_the_rest_of_its_document_is_not_embedded() -> None:
    store, embedder = InMemoryStore(), Picky("text 0.")
    text = "\n\n".join(f"text {number}." for number in range(200))
    report = await ingest(
        [Document("a", text), Document("b", "good")],
        store=store,
        embedder=embedder,
        chunker=CharacterChunker(size=9),
        batch_size=10,
    )
    assert (report.failed, report.added) == (1, 1)
    assert len(embedder.embedded) < 100
    assert await held(store) == {"b#0": "good"}


async def test_a_document_too_large_for_one_write_may_fail_half_written_and_is_done_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "_WRITTEN_WHOLE", 4)
    store, chunker = InMemoryStore(), CharacterChunker(size=1)
    large = Document("a", "\n\n".join("12345678"))
    report = await ingest([large], store=store, embedder=Picky("7"), chunker=chunker, batch_size=2)
    assert report.failed == 1
    (chunk,) = await store.get(["a#0"])
    assert chunk.metadata["chunk_count"] == 8
    assert 4 <= await store.count() < 7

    report = await ingest([large], store=store, embedder=Picky(), chunker=chunker, batch_size=2)
    assert (report.updated, await store.count()) == (1, 8)


async def test_a_batch_that_is_too_large_is_embedded_in_parts() -> None:
    store, embedder = InMemoryStore(), Picky(most=3)
    report = await ingest(documents(20), store=store, embedder=embedder)
    assert (report.added, report.failed, await store.count()) == (20, 0, 20)


async def test_who_refuses_everything_ends_the_run_after_two_calls() -> None:
    store, embedder = InMemoryStore(), Picky("text")
    with pytest.raises(ServiceRejectedError, match=r"'text 0\.' is not allowed"):
        await ingest(documents(20), store=store, embedder=embedder)
    assert embedder.calls == 2
    assert await store.count() == 0


async def test_a_wrong_key_and_a_single_bad_request_of_a_real_endpoint() -> None:
    store = InMemoryStore()
    with OpenAICompatibleServer(api_key="right") as server:
        wrong = OpenAICompatibleEmbedder("any", base_url=server.base_url, api_key="wrong")
        with pytest.raises(ServiceRejectedError, match="401"):
            await ingest(documents(3), store=store, embedder=wrong)
        await wrong.close()
        right = OpenAICompatibleEmbedder("any", base_url=server.base_url, api_key="right")
        server.fail_next(Fault.error(400))
        report = await ingest(documents(3), store=store, embedder=right)
        await right.close()
    assert (report.added, report.failed) == (3, 0)
