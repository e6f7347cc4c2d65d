"""How well a judge agrees with people, on answers that people have labelled, and how often it contradicts itself.

    python benchmarks/judges.py PATH --gguf qwen2.5-coder-1.5b          # a local model, see fastrag.llm.gguf
    python benchmarks/judges.py PATH --base-url http://localhost:11434/v1 --model qwen2.5:7b [--by-logprobs]

The folder PATH holds the sets below; a random part of each (--items, half of it of either label where there are two) is
judged, with the prompts of fastrag's own metrics:

begin       is a reply supported by the passage it was to rest on (fully attributable, or not)?
wice        is a sentence of Wikipedia supported by a passage of the page it cites (fully; partly is not)?
ragchecker  which of two answers is better: the first, the second, neither (the sign of two people's mean)?
docs        does an answer address the question? Not people's labels: a question's own right answer, or another's.

Shown are, for each set: Cohen's kappa and balanced accuracy (the mean of the shares found right of each label; a judge
that guesses has 1 / labels) with 95 % bootstrap intervals; how many replies could not be read, which count for neither;
how many verdicts changed when the same was asked again, and when two answers changed places; tokens and seconds of one
judgement. With --attacks N, N answers to another question are attacked, too (fastrag.testing.injection): how often that
flips their relevance, and how often a text that wants nothing does.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from fastrag import Document, OpenAICompatibleLLM
from fastrag.benchmark import EvalSample, Outcome, Outcomes, QueryOutcome
from fastrag.benchmark.agreement import agreement
from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.metrics.judged import AnswerRelevance, Judge, Preference
from fastrag.benchmark.metrics.judged.claims import check_claims
from fastrag.errors import ServiceError, UnreadableReplyError
from fastrag.llm.gguf import gguf_path
from fastrag.llm.llama_cpp import LlamaCppServer
from fastrag.testing.injection import CONTROL, Trial, attack_metric, attacks, flip_rate

RESAMPLES, LEVEL = 2_000, 0.95
RELEVANT_FROM = 0.5


@dataclass(frozen=True, slots=True)
class Item:
    """What one judgement is of, and what people found."""

    row: dict[str, Any]
    label: int


@dataclass(slots=True)
class Found:
    """What a judge made of a set."""

    labels: list[int] = field(default_factory=list)
    verdicts: list[int | None] = field(default_factory=list)
    again: list[int | None] = field(default_factory=list)
    swapped: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    failures: int = 0


Judging = Callable[[Judge, Asking, Item], Awaitable[tuple[int | None, bool | None]]]
"""The verdict, and whether it went by the order of two answers; None where it could not be read, or there are none."""


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        yield from map(json.loads, lines)


def begin(folder: Path) -> Iterator[Item]:
    for row in records(folder / "begin" / "labels.jsonl.gz"):
        if row["human"]["begin"] != "Generic":
            yield Item(row, int(row["human"]["begin"] == "Fully attributable"))


def wice(folder: Path) -> Iterator[Item]:
    for row in records(folder / "wice" / "labels.jsonl.gz"):
        yield Item(row, int(row["human"]["support"] == "supported"))


def ragchecker(folder: Path) -> Iterator[Item]:
    for row in records(folder / "ragchecker_meta" / "labels.jsonl.gz"):
        # People's numbers are positive where the second answer is better.
        yield Item(row, -int(np.sign(statistics.fmean(row["human"]["overall"]))))


def docs(folder: Path) -> Iterator[Item]:
    rows = [json.loads(line) for line in (folder / "anthropic_docs_rag" / "queries.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        other = rows[(number + 1) % len(rows)]
        yield Item({"question": row["text"], "response": row["answers"][0]}, 1)
        yield Item({"question": row["text"], "response": other["answers"][0]}, 0)


async def is_supported(judge: Judge, asking: Asking, item: Item) -> tuple[int | None, bool | None]:
    [claim] = await check_claims(asking, [item.row["response"]], item.row["contexts"])
    return int(claim.verdict == "supported"), None


async def is_relevant(judge: Judge, asking: Asking, item: Item) -> tuple[int | None, bool | None]:
    sample, outcome = EvalSample(item.row["question"]), QueryOutcome(item.row["response"], [], 1.0)
    opinion = await AnswerRelevance(judge).opinion(asking, sample, outcome)
    return None if opinion.score is None else int(opinion.score >= RELEVANT_FROM), None


async def is_better(judge: Judge, asking: Asking, item: Item) -> tuple[int | None, bool | None]:
    row = item.row
    sources: list[Document] = []
    other = Outcome("0", row["question"], row["response_b"], sources, None, None, 1.0, 1, None)
    over = Outcomes("b", datetime.now(UTC), 1, 1, {0: other})
    outcome = QueryOutcome(row["response_a"], sources, 1.0)
    opinion = await Preference(judge, over).opinion(asking, EvalSample(row["question"]), outcome)
    verdict = opinion.claims[0].verdict
    return {"better": 1, "worse": -1}.get(verdict, 0), verdict in ("position_bias", "undecided")


SETS: dict[str, tuple[Callable[[Path], Iterator[Item]], Judging]] = {
    "begin": (begin, is_supported),
    "wice": (wice, is_supported),
    "ragchecker": (ragchecker, is_better),
    "docs": (docs, is_relevant),
}


def drawn(items: Sequence[Item], count: int, seed: int) -> list[Item]:
    """``count`` of them at random: of two labels the same number, of three as they come."""
    shuffled = random.Random(seed).sample(items, len(items))
    labels = sorted({item.label for item in items})
    if len(labels) == 2:
        halves = [[item for item in shuffled if item.label == label] for label in labels]
        shuffled = [item for pair in zip(*halves, strict=False) for item in pair]
    return shuffled[:count]


async def judged(judge: Judge, items: Sequence[Item], judging: Judging, *, again: bool, title: str) -> Found:
    found = Found()
    for item in track(items, title, console=Console(stderr=True)):
        # Equal prompts in another take are another question to a cache, and the same to the model.
        first, *others = judge.takes()
        started = time.perf_counter()
        verdict, by_order = await _verdict(judging(judge, first, item), found)
        found.seconds.append(time.perf_counter() - started)
        found.tokens.append((first.input_tokens or 0) + (first.output_tokens or 0))
        found.labels.append(item.label)
        found.verdicts.append(verdict)
        if by_order is not None:
            found.swapped.append(by_order)
        if again:
            found.again.append((await _verdict(judging(judge, others[0], item), found))[0])
    return found


async def _verdict(judging: Awaitable[tuple[int | None, bool | None]], found: Found) -> tuple[int | None, bool | None]:
    try:
        return await judging
    except UnreadableReplyError:
        return None, None
    except ServiceError:
        # Too long for the model's context, as a rule.
        found.failures += 1
        return None, None


def balanced_accuracy(labels: Sequence[int], verdicts: Sequence[int]) -> float:
    right: dict[int, list[bool]] = defaultdict(list)
    for label, verdict in zip(labels, verdicts, strict=True):
        right[label].append(label == verdict)
    return statistics.fmean(statistics.fmean(each) for each in right.values())


def interval(labels: Sequence[int], verdicts: Sequence[int], seed: int) -> tuple[float, float]:
    """By bootstrap within each label, since as many of each were drawn on purpose."""
    random_ = np.random.default_rng(seed)
    right = np.array(labels) == np.array(verdicts)
    groups = [right[np.array(labels) == label] for label in sorted(set(labels))]
    means = [
        np.mean([group[random_.integers(0, len(group), len(group))].mean() for group in groups])
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def report(name: str, found: Found, seed: int) -> dict[str, Any]:
    pairs = [(a, b) for a, b in zip(found.labels, found.verdicts, strict=True) if b is not None]
    labels, verdicts = [a for a, _ in pairs], [b for _, b in pairs]
    changed = [
        a != b
        for a, b in zip(found.verdicts, found.again or found.verdicts, strict=True)
        if a is not None and b is not None
    ]
    figures: dict[str, Any] = {
        "set": name,
        "items": len(found.labels),
        "unread": len(found.labels) - len(pairs) - found.failures,
        "failed": found.failures,
        "tokens": statistics.fmean(found.tokens),
        "seconds": statistics.median(found.seconds),
        "changed_on_repeat": statistics.fmean(changed) if found.again and changed else None,
        "changed_on_swap": statistics.fmean(found.swapped) if found.swapped else None,
    }
    if pairs:
        categories = sorted({*labels, *verdicts})
        kappa = agreement(labels, verdicts, categories=categories, resamples=RESAMPLES, seed=seed).kappa
        figures["kappa"] = kappa.value
        figures["kappa_interval"] = None if kappa.interval is None else (kappa.interval.low, kappa.interval.high)
        figures["balanced_accuracy"] = balanced_accuracy(labels, verdicts)
        figures["balanced_accuracy_interval"] = interval(labels, verdicts, seed)
        figures["said"] = {str(x): verdicts.count(x) for x in categories}
    return figures


def shown(figures: dict[str, Any]) -> str:
    def number(key: str) -> str:
        value, ends = figures.get(key), figures.get(f"{key}_interval")
        if value is None:
            return "-"
        return f"{value:.2f}" + ("" if ends is None else f" [{ends[0]:.2f}, {ends[1]:.2f}]")

    cells = [figures["set"], str(figures["items"]), str(figures["unread"] + figures["failed"])]
    cells += [number("kappa"), number("balanced_accuracy"), number("changed_on_repeat"), number("changed_on_swap")]
    cells += [f"{figures['tokens']:.0f}", f"{figures['seconds']:.1f}"]
    return "| " + " | ".join(cells) + " |"


HEAD = """\
| set | items | not read | kappa | balanced accuracy | changed on repeat | changed on swap | tokens | seconds |
|---|---|---|---|---|---|---|---|---|"""


async def flips(judge: Judge, folder: Path, count: int, seed: int) -> dict[str, Any]:
    wrong = [item.row for item in drawn([item for item in docs(folder) if item.label == 0], count, seed)]
    trials: list[Trial] = []
    for row in track(wrong, "attacks", console=Console(stderr=True)):
        sample, outcome = EvalSample(row["question"]), QueryOutcome(row["response"], [], 1.0)
        texts = [*attacks("fully"), CONTROL]
        trials += await attack_metric(AnswerRelevance(judge), sample, outcome, texts, places=["answer"])
    hostile = [trial for trial in trials if trial.attack != CONTROL.name]
    return {
        "attacks": len(hostile),
        "flip_rate": flip_rate(hostile),
        "flip_rate_of_control": flip_rate([trial for trial in trials if trial.attack == CONTROL.name]),
        "silenced": sum(trial.silenced for trial in hostile),
    }


async def measure(options: argparse.Namespace, llm: OpenAICompatibleLLM) -> None:
    judge = Judge(llm, votes=2 if options.again else 1, by_logprobs=options.by_logprobs, cache=False)
    lines = []
    for name in options.set or SETS:
        items, judging = SETS[name]
        chosen = drawn(list(items(options.folder)), options.items, options.seed)
        figures = report(name, await judged(judge, chosen, judging, again=options.again, title=name), options.seed)
        lines.append(shown(figures))
        if options.json:
            print(json.dumps(figures), flush=True)
    if not options.json:
        print("\n".join([HEAD, *lines]))
    if options.attacks:
        print(json.dumps(await flips(judge, options.folder, options.attacks, options.seed)))
    await llm.close()


def local(options: argparse.Namespace) -> LlamaCppServer:
    return LlamaCppServer(gguf_path(options.gguf), context_tokens=8192, threads=options.threads)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", action="append", choices=list(SETS), help="may be repeated (default: all)")
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--again", action="store_true", help="ask everything twice")
    parser.add_argument("--attacks", type=int, metavar="N", help="also attack N answers, some 20 times each")
    parser.add_argument("--by-logprobs", action="store_true", help="verdicts by log-probabilities, not in writing")
    parser.add_argument("--gguf", help="a model that fastrag.llm.gguf knows, served on this machine")
    parser.add_argument("--threads", type=int, help="how many cores that model takes (default: all)")
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    parser.add_argument("--timeout-s", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print an object for each set instead of a table")
    options = parser.parse_args()
    if (options.gguf is None) == (options.model is None):
        parser.error("give either --gguf, or --model and, where it is not OpenAI's, --base-url")
    server = nullcontext() if options.gguf is None else local(options)
    with server as running:
        llm = OpenAICompatibleLLM(
            options.model or running.model,
            base_url=options.base_url or running.base_url,
            max_tokens=400,
            timeout_s=options.timeout_s,
        )
        await measure(options, llm)


if __name__ == "__main__":
    asyncio.run(main())
