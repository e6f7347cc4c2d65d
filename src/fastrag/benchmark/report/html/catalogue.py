"""The runs of a report under labels that tell them apart, their metrics, and which samples are of one question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.pairing import agreed_direction, measured_score
from fastrag.benchmark.report.html.runs import ReportedRun
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError

_UNNAMED = "(unnamed)"
_LONGEST_LABEL = 200
_CUT = " ... "


class Catalogue:
    """What all parts of a report refer to by numbers.

    Attributes:
        runs: As they were given.
        results: Theirs, each under its label; their order is that of the runs.
        questions: Every different question, in the order in which they first appear, run after run.
        places: Question -> its index among them.
        metrics: Every metric of any run, in the order in which they first appear.
        higher_is_better: Metric -> its direction; where runs disagree, the first one's.
        disputed: Metrics whose direction runs disagree on.
    """

    def __init__(self, runs: Sequence[ReportedRun]) -> None:
        self.runs = list(runs)
        labels = unique_labels(run.result.name for run in self.runs)
        self.results: list[BenchmarkResult] = [
            replace(run.result, name=label) for run, label in zip(self.runs, labels, strict=True)
        ]
        self._scores: dict[tuple[int, str], NDArray[np.float64]] = {}
        self.places: dict[str, int] = {}
        self._question_of: list[NDArray[np.int64]] = [
            np.fromiter(
                (self.places.setdefault(sample.question, len(self.places)) for sample in result.samples),
                np.int64,
                len(result.samples),
            )
            for result in self.results
        ]
        self.questions = list(self.places)
        self.metrics = list(dict.fromkeys(name for result in self.results for name in result.summary))
        self.higher_is_better: dict[str, bool] = {}
        self.disputed: set[str] = set()
        for name in self.metrics:
            having = self.having(name)
            try:
                self.higher_is_better[name] = agreed_direction(having, name)
            except ConfigurationError:
                self.higher_is_better[name] = agreed_direction(having[:1], name)
                self.disputed.add(name)

    @property
    def labels(self) -> list[str]:
        """One a run."""
        return [result.name for result in self.results]

    def having(self, metric: str) -> list[BenchmarkResult]:
        """The results that have the metric."""
        return [result for result in self.results if metric in result.summary]

    def scores(self, run: int, metric: str) -> NDArray[np.float64]:
        """What was measured, without what is missing, in the order of the samples; none where the run has it not."""
        if (run, metric) not in self._scores:
            result = self.results[run]
            samples = result.samples if metric in result.summary else []
            found = (measured_score(sample, metric) for sample in samples)
            self._scores[run, metric] = np.array([score for score in found if score is not None], dtype=np.float64)
        return self._scores[run, metric]

    @cached_property
    def ranges(self) -> dict[str, Range | None]:
        """Metric -> where its scores can lie, None where that is not known."""
        found = {}
        for name in self.metrics:
            measured = [scores for run in range(len(self.results)) if (scores := self.scores(run, name)).size]
            ends = [float(end) for scores in measured for end in (scores.min(), scores.max())]
            found[name] = range_of(name, ends)
        return found

    def question_of(self, run: int) -> list[int]:
        """The question's index of every sample of a run."""
        found: list[int] = self._question_of[run].tolist()
        return found

    def positions(self, run: int, first: int, end: int) -> Iterator[tuple[int, int]]:
        """(question, position) of a run's samples of the questions from ``first`` to before ``end``, in this order."""
        order, sorted_questions = self._by_question[run]
        low, high = np.searchsorted(sorted_questions, [first, end])
        return zip(sorted_questions[low:high].tolist(), order[low:high].tolist(), strict=True)

    @cached_property
    def _by_question(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        orders = [np.argsort(questions, kind="stable") for questions in self._question_of]
        return [(order, questions[order]) for order, questions in zip(orders, self._question_of, strict=True)]


def unique_labels(names: Iterable[str]) -> list[str]:
    """A label for each name: never empty, no two alike, of at most some 200 characters, and such as links can hold.

    >>> unique_labels(["a", "", "a", "a (2)"])
    ['a', '(unnamed)', 'a (2)', 'a (2) (2)']
    """
    found: dict[str, None] = {}
    next_number: dict[str, int] = {}
    for name in names:
        # A lone surrogate has no place in an address.
        base = name.encode("utf-8", "replace").decode("utf-8")
        if len(base) > _LONGEST_LABEL:
            half = (_LONGEST_LABEL - len(_CUT)) // 2
            base = base[:half] + _CUT + base[-half:]
        if not base.strip():
            base = _UNNAMED
        label = base
        while label in found:
            next_number[base] = number = next_number.get(base, 1) + 1
            label = f"{base} ({number})"
        found[label] = None
    return list(found)
