"""Which retriever to ship? A benchmark script to copy: it stays beside the results it makes.

    python benchmark.py

Replace `documents()` by your own corpus (`ingest` takes folders of files, too), `samples()` by your own questions
(`fastrag.benchmark.read_samples`), and the pipelines by the configurations you are choosing between. Each result is
named after its configuration, and `fastrag show results` or `fastrag best results --metric ndcg@10` reads them later.
"""

import asyncio
from pathlib import Path

from fastrag import (
    DenseRetriever,
    ExtractiveLLM,
    HybridRetriever,
    LanceStore,
    LexicalRetriever,
    LocalEmbedder,
    QueryEngine,
)
from fastrag.benchmark import Benchmark, best
from fastrag.benchmark.metrics import NDCG, LatencyMs, RecallAtK, TokenF1
from fastrag.demo import documents, samples
from fastrag.ingest import CharacterChunker, ingest

HERE = Path(__file__).parent
RETRIEVAL = [NDCG(10, match="parent_id"), RecallAtK(10, match="parent_id"), LatencyMs()]


async def main() -> None:
    store, embedder = LanceStore(HERE / "index"), LocalEmbedder()
    # Only what changed since the last time is embedded again.
    await ingest(
        documents(),
        store=store,
        embedder=embedder,
        chunker=CharacterChunker(size=800, overlap=100),
        prune=True,
        progress=True,
    )

    hybrid = HybridRetriever.of(store, embedder, k=10)
    pipelines = {
        "lexical-bm25-chunk800": (LexicalRetriever(store, k=10), RETRIEVAL),
        "dense-minilm-chunk800": (DenseRetriever(store, embedder, k=10), RETRIEVAL),
        "hybrid-rrf60-chunk800": (hybrid, RETRIEVAL),
        "hybrid-rrf60-chunk800-extractive": (QueryEngine(hybrid, ExtractiveLLM()), [*RETRIEVAL, TokenF1()]),
    }
    results = []
    for name, (pipeline, metrics) in pipelines.items():
        benchmark = Benchmark(pipeline, samples(), metrics, concurrency=1, timeout_s=30)
        # Kept on disk as it goes; broken off, it goes on with resume=True.
        results.append(await benchmark.run(name, path=HERE / "results" / f"{name}.json", progress=True))
    print("best by ndcg@10:", best(results, "ndcg@10").name)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
