"""nDCG@10 and recall@100 of lexical, dense and hybrid retrieval on test collections, by fastrag's own benchmark.

A collection is a folder with corpus.jsonl.gz, queries.jsonl (or .gz) and qrels.tsv in the BEIR form. Documents are
embedded and indexed whole, title and text together.

    python benchmarks/retrieval_quality.py PATH/cranfield PATH/xquad/en [--qrels qrels_nobase.tsv] [--binary]
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from fastrag import DenseRetriever, Document, HybridRetriever, InMemoryStore, LexicalRetriever, LocalEmbedder
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import NDCG, RecallAtK
from fastrag.benchmark.report.terminal import print_results


def records(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    path = folder / name
    data = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(f"{name}.gz").read_bytes())
    yield from map(json.loads, data.splitlines())


def read_collection(folder: Path, qrels: str, binary: bool) -> tuple[list[Document], list[EvalSample]]:
    documents = []
    for record in records(folder, "corpus.jsonl"):
        text = "\n".join(filter(None, (record.get("title"), record["text"])))
        documents.append(Document(record["_id"], text))
    relevant: dict[str, dict[str, float]] = defaultdict(dict)
    path = folder / qrels if (folder / qrels).exists() else folder / "qrels.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            gain = float(row["score"])
            relevant[row["query-id"]][row["corpus-id"]] = min(gain, 1.0) if binary else gain
    queries = records(folder, "queries.jsonl")
    samples = [EvalSample(query["text"], relevant[query["_id"]], id=query["_id"]) for query in queries]
    return documents, [sample for sample in samples if sample.relevant_ids]


async def measure(folder: Path, options: argparse.Namespace, console: Console) -> None:
    documents, samples = read_collection(folder, options.qrels, options.binary)
    store, embedder = InMemoryStore(), LocalEmbedder(model_dir=options.model_dir)
    filled = [document for document in documents if document.text.strip()]
    for start in range(0, len(filled), 256):
        batch = filled[start : start + 256]
        embeddings = await embedder.embed_documents([document.text for document in batch])
        await store.upsert(batch, embeddings)
    await store.bind(embedder.id, embeddings.shape[1])
    lexical, dense = LexicalRetriever(store, k=100), DenseRetriever(store, embedder, k=100)
    pipelines = {
        "lexical": lexical,
        "dense": dense,
        "hybrid": HybridRetriever({"lexical": lexical, "dense": dense}, k=100),
    }
    results = []
    for name, retriever in pipelines.items():
        benchmark = Benchmark(retriever, samples, [NDCG(10), RecallAtK(100)], concurrency=2)
        results.append(await benchmark.run(name, progress=True))
    console.print(f"\n{folder.parent.name}/{folder.name}: {len(documents)} documents, {len(samples)} judged questions")
    print_results(results, console)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--qrels", default="qrels.tsv", help="judgements, where a folder has several")
    parser.add_argument("--binary", action="store_true", help="count every positive gain as 1")
    parser.add_argument("--model-dir", type=Path)
    options = parser.parse_args()
    for folder in options.folders:
        await measure(folder, options, Console())


if __name__ == "__main__":
    asyncio.run(main())
