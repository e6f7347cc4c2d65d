"""Results for the browser: of real runs, of very many questions, and of names and texts that mean harm."""

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fastrag import Document, QueryResult
from fastrag.benchmark import (
    Benchmark,
    BenchmarkResult,
    DistributionSummary,
    EvalSample,
    SampleResult,
    StatusCounts,
    explain_missing,
    write_samples,
)
from fastrag.benchmark.journal import read_partial
from fastrag.benchmark.metrics import MRR, CostUsd, ExactMatch, LatencyMs, Metric, RecallAtK, TokenF1, TotalTokens
from fastrag.benchmark.metrics.judged import Faithfulness, Judge
from fastrag.llm import Completion
from fastrag.testing import ScriptedLLM

QUESTIONS = 60
RIVERS = ["Amber", "Birch", "Copper", "Dune", "Elder"]


@dataclass
class Reported:
    """A folder of results.

    Attributes:
        folder: Where they are.
        paths: The runs' files, in the order of the report.
        samples: The sample set; None without one.
        samples_path: Its file.
        results: Of the runs that came to their end, as far as tests need them.
        ended: Questions that had ended in the run that was broken off.
    """

    folder: Path
    paths: list[Path]
    samples: list[EvalSample] | None = None
    samples_path: Path | None = None
    results: list[BenchmarkResult] = field(default_factory=list)
    ended: int = 0

    @property
    def is_partial(self):
        """What pages say of the run that was broken off."""
        return f"going is partial: {self.ended} of {QUESTIONS} questions have ended."


def in_a_thread(coroutine):
    """What the coroutine returns. In the thread of the tests no loop may run beside that of the browser's driver."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def document(number):
    text = f"Town {number} lies on the river {RIVERS[number % 5]}. It has {1000 + 37 * number} inhabitants."
    # What is on the web is a link on the page, a path is not.
    uri = f"https://example.org/towns/{number}" if number % 2 else f"notes/town-{number}.md"
    return Document(f"town-{number}", text, uri=uri)


CORPUS = {number: document(number) for number in range(QUESTIONS)}


def samples_of_towns():
    return [
        EvalSample(
            f"On which river lies town {number}?",
            relevant_ids={f"town-{number}": 2.0, f"town-{(number + 1) % QUESTIONS}": 1.0}
            if number % 7 == 0
            else [f"town-{number}"],
            # Of some nobody knows the answer: answer metrics do not apply to them.
            reference_answer=None if number % 20 == 19 else f"the river {RIVERS[number % 5]}",
            id=f"s{number}",
            metadata={
                "river": RIVERS[number % 5],
                "size": ["small", "middling", "large"][number % 3],
                "number": number,
            },
        )
        for number in range(QUESTIONS)
    ]


class Towns:
    """Finds the right town at a place that the number decides, and answers out of what stands first."""

    def __init__(self, *, misses, fails=(), first=1, flaky=False):
        self.misses, self.fails, self.first, self.flaky = misses, fails, first, flaky
        self.asked = {}

    def found(self, number):
        times = self.asked[number] = self.asked.get(number, 0) + 1
        wrong = number % self.misses == 0 and not (self.flaky and times == 2)
        others = [CORPUS[(number + step) % QUESTIONS] for step in range(2, 6)]
        place = 0 if number % self.first == 0 else 2
        right = [] if wrong else [CORPUS[number]]
        documents = [*others[:place], *right, *others[place:]][:4]
        return [
            Document(one.id, one.text, one.uri, {"score": 0.9 - rank / 8, "rank": rank + 1})
            for rank, one in enumerate(documents)
        ]

    async def query(self, question):
        number = int(re.search(r"\d+", question)[0])
        sources = self.found(number)
        if number in self.fails:
            raise ConnectionError(f"the index at 'http://index:{9000 + number}' did not answer within {number}.5 s")
        best = int(sources[0].id.removeprefix("town-"))
        known = (
            f"the river {RIVERS[number % 5]}"
            if best == number
            else f"Town {best} lies on the river {RIVERS[best % 5]}."
        )
        return QueryResult(known, sources, input_tokens=80 + number, output_tokens=9)


class Retriever(Towns):
    async def retrieve(self, question):
        return self.found(int(re.search(r"\d+", question)[0]))

    query = None


class Brevity(Metric):
    """Measures some answers only, and says why not the others."""

    needs_answer = True
    name = "brevity"

    async def score(self, sample, outcome):
        if sample.metadata["number"] % 6 == 1:
            explain_missing("not_measured", f"the answer has only {len(outcome.answer)} characters")
            return None
        if sample.metadata["number"] == 8:
            raise ValueError("no such answer: 'eight'")
        return 10 / len(outcome.answer)


def judged(prompt):
    """What a model says: claims, verdicts, and sometimes nothing that could be read."""
    system, *others = (message.content for message in prompt.messages)
    asked = "\n".join(others)
    if system.startswith("You list the claims"):
        river = re.findall(r"the river (\w+)", asked)[0]
        if river == "Elder":
            return Completion("I would rather not say.", 100, 6)
        return Completion(json.dumps({"claims": [f"It is {river}.", f"{river} is a river."]}), 100, 20)
    river = re.findall(r"It is (\w+)", asked)[0]
    first = "supported" if river in ("Amber", "Birch") else "contradicted"
    findings = [
        {"number": 1, "reason": f"Source 1 says so of {river}.", "verdict": first, "sources": [1]},
        {"number": 2, "reason": "Nothing says what it is.", "verdict": "not_found", "sources": []},
    ]
    return Completion(json.dumps({"findings": findings}), 200, 60)


def metrics():
    judge = Judge(
        ScriptedLLM(judged),
        cache=False,
        price=CostUsd(input_usd_per_million_tokens=0.15, output_usd_per_million_tokens=0.6),
    )
    price = CostUsd(input_usd_per_million_tokens=2.0, output_usd_per_million_tokens=8.0)
    return [
        *(RecallAtK(4), MRR(), ExactMatch(), TokenF1(), Faithfulness(judge), Brevity()),
        *(LatencyMs(), TotalTokens(), price),
    ]


async def _real(folder):
    samples = samples_of_towns()

    async def run(file, name, target, *, chosen=None, **options):
        benchmark = Benchmark(target, samples, metrics() if chosen is None else chosen, **options)
        return await benchmark.run(name, path=folder / file, keep_outcomes=True)

    results = [
        await run("1-keywords.json", "keywords", Towns(misses=3, fails={4, 14, 24, 33}, first=2)),
        await run("2-hybrid.json", "hybrid", Towns(misses=11, first=1, fails={33})),
        # The same once more, under the same name: a tie.
        await run("3-hybrid.json", "hybrid", Towns(misses=11, first=1, fails={33})),
        await run("4-repeated.json", "repeated", Towns(misses=5, first=3, flaky=True), repeats=2),
        await run("5-retriever.json", "retriever", Retriever(misses=4), chosen=[RecallAtK(4), MRR(), LatencyMs()]),
    ]
    benchmark = Benchmark(Towns(misses=7, fails={4}), samples, metrics(), concurrency=1)
    going = asyncio.current_task()

    def stop(progress):
        if progress.done == 23:
            going.cancel()

    try:
        await benchmark.run("going", path=folder / "6-going.json", keep_outcomes=True, progress=stop)
    except asyncio.CancelledError:
        going.uncancel()
    return samples, results


def make_real(folder):
    """Six runs of 60 questions: one repeated, one that only retrieves, one broken off."""
    samples, results = in_a_thread(_real(folder))
    write_samples(folder / "towns.jsonl", samples)
    paths = [*sorted(folder.glob("*.json")), folder / "6-going.json.journal"]
    ended = len(read_partial(paths[-1]).samples)
    return Reported(folder, paths, samples, folder / "towns.jsonl", results, ended)


SENTENCE = "the river town which lies between the hills was founded before anybody wrote down what it is called "


def make_large(folder, *, questions=10_000, runs=6, metrics=("recall@10", "token_f1")):
    """So many questions with answers of some 300 characters and ten ids."""
    paths = []
    for run in range(runs):
        samples = []
        for number in range(questions):
            value = (number * 7919 + run * 104_729) % 1000 / 999
            both = {"recall@10": float(round(value)), "token_f1": value}
            measured = {name: both[name] for name in metrics}
            start = (number + run) % len(SENTENCE)
            answer = (SENTENCE * 4)[start : start + 300]
            missing = number % 500 == run
            samples.append(
                SampleResult(
                    f"Question {number}: what is known about town {number * 31 % questions}?",
                    "errored" if missing else "successful",
                    {name: None if missing else value for name, value in measured.items()},
                    answer=None if missing else answer,
                    retrieved_ids=[f"doc-{(number * 13 + i * 7) % 50_000}" for i in range(10)],
                    retrieved_uris=[""] * 10,
                    latency_ms=100 + 900 * value,
                    error=f"TimeoutError: no answer within {number} s" if missing else None,
                )
            )
        errored = sum(sample.status == "errored" for sample in samples)
        summary = {name: DistributionSummary.of([sample.scores[name] for sample in samples]) for name in metrics}
        result = BenchmarkResult(
            f"run {run}",
            datetime(2026, 11, 1 + run, tzinfo=UTC),
            StatusCounts(questions - errored, errored, 0),
            summary,
            samples,
            123.4,
            dict.fromkeys(metrics, True),
        )
        paths.append(folder / f"run-{run}.json")
        result.save(paths[-1])
    return Reported(folder, paths)


SCRIPT = "<script>window.hurt = 1</script>"
EVIL = [
    SCRIPT,
    "</script><script>window.hurt = 1</script>",
    "<!-- <script> -->",
    '"><img src=x onerror="window.hurt=1">',
    "</style><style>*{display:none}</style>",
    "javascript:window.hurt=1",
    "\u202eright to left\u202c \u2066isolated\u2069",
    "\x00nul \x1b[31mred\u2028line\u2029end",
    "\U0001f469\U0001f3fd\u200d\U0001f680 emoji \ufffd",
    "{{constructor.constructor('window.hurt=1')()}} ${window.hurt=1} {% raw %}",
    "__proto__",
    "constructor",
    "a" * 3000,
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "%2F/../..#/?&=%",
]
# Names of runs go into addresses.
NAMES = [EVIL[0], EVIL[6], EVIL[7], "__proto__", "constructor", EVIL[12], EVIL[14], "metric", "/compare", "#", "..", ""]
NAMES += ["same", "same"]
HOSTILE_METRICS = ["</style>", "__proto__", "constructor", SCRIPT]


def _hostile_result(name, position):
    samples = []
    # Some runs lack metrics whose names every JavaScript object has something under.
    metrics = HOSTILE_METRICS if position % 2 == 0 else HOSTILE_METRICS[3:]
    for number, evil in enumerate(EVIL):
        errored = number % 5 == position % 5
        samples.append(
            SampleResult(
                f"{evil} {number}" if number else evil,
                "errored" if errored else "successful",
                dict.fromkeys(metrics, None if errored else (number + position) % 7 / 6),
                answer=None if errored else ("x\n" * 524_288 if number == 12 and position == 0 else evil * 2),
                retrieved_ids=[evil[:200], *EVIL[:3]],
                retrieved_uris=[
                    "javascript:window.hurt=1",
                    "data:text/html," + SCRIPT,
                    "https://example.org/" + evil[:50],
                    "",
                ],
                latency_ms=1.0,
                error=f"{evil}: {evil}" if errored else None,
            )
        )
    errored = sum(sample.status == "errored" for sample in samples)
    summary = {name: DistributionSummary.of([one.scores[name] for one in samples]) for name in metrics}
    return BenchmarkResult(
        name,
        datetime(2026, 11, 1, tzinfo=UTC),
        StatusCounts(len(samples) - errored, errored, 0),
        summary,
        samples,
        1.0,
        dict.fromkeys(metrics, True),
    )


def make_hostile(folder, *, names=NAMES):
    """A run of every name that means harm, over questions that do."""
    paths = []
    for position, name in enumerate(names):
        paths.append(folder / f"{position:02}.json")
        _hostile_result(name, position).save(paths[-1])
    samples = [
        EvalSample(
            f"{evil} {number}" if number else evil,
            relevant_ids=[evil[:200]],
            reference_answer=evil,
            id=f"{number}{evil}",
            metadata={evil[:100]: evil, "topic": EVIL[number % 3]},
        )
        for number, evil in enumerate(EVIL)
    ]
    write_samples(folder / "samples.jsonl", samples)
    return Reported(folder, paths, samples, folder / "samples.jsonl")
