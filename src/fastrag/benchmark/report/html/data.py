"""What the pages are told: the parts of a report, as frontend/src/model.ts describes them, each made when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

from fastrag.benchmark.arguments import require_results
from fastrag.benchmark.checks import sample_problems, with_ids
from fastrag.benchmark.comparison_settings import margins_of
from fastrag.benchmark.json_form import encode
from fastrag.benchmark.report.html import comparisons
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.details import QUESTIONS_PER_PART, DetailsParts, questions_part, scores_part
from fastrag.benchmark.report.html.errors import error_groups
from fastrag.benchmark.report.html.overview import all_trade_offs, metrics_and_runs, rankings
from fastrag.benchmark.report.html.runs import ReportedRun
from fastrag.benchmark.report.html.slices import all_slices
from fastrag.benchmark.report.json_values import SCHEMA_VERSION
from fastrag.benchmark.report.texts import listed, questions, short
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError

_NUMBERED = re.compile(r"(scores|details|comparison)-(0|[1-9]\d{0,8})(?:-(0|[1-9]\d{0,8}))?")


class ReportData:
    """A report, in parts.

    Every part is JSON without NaN, made anew whenever it is asked for; only the overview and the comparisons, which are
    much work, are kept. So one part is in memory at a time, beside the runs themselves.

    Args:
        runs: At least one, but for a ``live`` report, which may wait for it. The first is the baseline of the others.
        samples: The questions with what is known about their right answers; None where there is no sample set.
        title: Of the report; None for one made of the runs' labels.
        live: Whether a run may be under way, so that there may soon be more to show.
        snapshot: Names this reading of the files; empty where it is the only one.
        warnings: Sentences that every page is to say, before those that the runs themselves give rise to.
        margin: As in `compare`: differences smaller than that do not matter.

    Raises:
        ConfigurationError: There are no runs, and none are waited for; or ``samples`` are none that a Benchmark takes.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult(f"q{i}", "successful", {"mrr": 0.5}) for i in range(3)]
    >>> summary = {"mrr": DistributionSummary.of([0.5] * 3)}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(3, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> data = ReportData([ReportedRun(result)])
    >>> list(data.part_names()), data.part("questions")
    (['overview', 'questions', 'scores-0', 'details-0'], b'{"texts":["q0","q1","q2"]}')
    """

    def __init__(
        self,
        runs: Sequence[ReportedRun],
        *,
        samples: Sequence[EvalSample] | None = None,
        title: str | None = None,
        live: bool = False,
        snapshot: str = "",
        warnings: Sequence[str] = (),
        margin: float | Mapping[str, float] | None = None,
    ) -> None:
        if runs or not live:
            require_results([run.result for run in runs])
        if samples and (problems := sample_problems(samples)):
            raise ConfigurationError("\n- ".join(["these samples cannot be shown:", *problems]))
        self._catalogue = Catalogue(runs)
        self._samples = with_ids(samples) if samples else []
        self._title = title
        self._live = live
        self._snapshot = snapshot
        self._warnings = list(warnings)
        self._comparisons = comparisons.Comparisons(self._catalogue, margins_of(margin, self._catalogue.metrics))
        self._details = DetailsParts(self._catalogue, self._samples)

    def part_names(self) -> Iterator[str]:
        """The names of all parts, in order, the overview first."""
        yield "overview"
        yield "questions"
        for run in range(len(self._catalogue.runs)):
            yield f"scores-{run}"
        for baseline, candidate in self._comparisons.pairs:
            yield f"comparison-{baseline}-{candidate}"
        for number in range(len(self._details)):
            yield f"details-{number}"

    def part(self, name: str) -> bytes:
        """The JSON of a part.

        Raises:
            KeyError: There is no part of that name.
        """
        return encode(self._part(name))

    @cached_property
    def overview(self) -> dict[str, Any]:
        """``Overview`` of frontend/src/model.ts, worked out once."""
        catalogue = self._catalogue
        metrics, runs = metrics_and_runs(catalogue)
        slices, left_out = all_slices(catalogue, self._samples)
        return {
            "schema_version": SCHEMA_VERSION,
            "title": self._title or self._usual_title(),
            "version": version("fastrag"),
            "snapshot": self._snapshot,
            "live": self._live,
            "runs": runs,
            "metrics": metrics,
            "questions": len(catalogue.questions),
            "questions_per_part": QUESTIONS_PER_PART,
            "rankings": rankings(catalogue),
            "trade_offs": all_trade_offs(catalogue),
            "slices": slices,
            "errors": error_groups(catalogue),
            "pairs": [list(pair) for pair in self._comparisons.pairs],
            "warnings": [*self._warnings, *self._own_warnings(), *left_out],
        }

    def _part(self, name: str) -> dict[str, Any]:
        if name == "overview":
            return self.overview
        if name == "questions":
            return questions_part(self._catalogue)
        found = _NUMBERED.fullmatch(name)
        if found is None or (found[1] == "comparison") != (found[3] is not None):
            raise KeyError(name)
        number = int(found[2])
        if found[1] == "comparison":
            return self._comparisons.part((number, int(found[3])))
        if found[1] == "details":
            return self._details.part(number)
        if number >= len(self._catalogue.runs):
            raise KeyError(name)
        return scores_part(self._catalogue, number)

    def _usual_title(self) -> str:
        return listed(map(short, self._catalogue.labels), most=3)

    def _own_warnings(self) -> Iterator[str]:
        catalogue = self._catalogue
        for run, label in zip(catalogue.runs, catalogue.labels, strict=True):
            if run.partial is not None:
                ended, total = run.partial
                yield f"{short(label)} is partial: {ended} of {questions(total)} have ended."
            yield from (f"{short(label)}: {warning}" for warning in run.warnings)
        if not self._comparisons.are_all:
            yield (
                f"There are {len(catalogue.runs)} runs: each is compared with the first one only. A report of at most "
                f"{comparisons.MOST_PAIRED} compares any two."
            )
        for name in catalogue.metrics:
            if name in catalogue.disputed:
                yield f"The runs disagree on which direction of {short(name)} is better."
        if self._samples:
            known = {sample.question for sample in self._samples}
            unknown = sum(question not in known for question in catalogue.questions)
            if unknown:
                yield f"The sample set does not have {unknown} of the {questions(len(catalogue.questions))}."
