"""What one benchmark run produced, and how it is saved and reloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from fastrag.benchmark.metrics.base import DistributionSummary


@dataclass(slots=True)
class StatusCounts:
    """How a run's samples broke down, never collapsed into one pass/fail count.

    A question that errored is never scored as zero: it is tallied in ``errored``, not folded into ``incomplete``
    or ``successful``. In a result made by ``run()`` the three add up to the number of samples.
    """

    successful: int
    """Ran, and every metric produced a score."""

    errored: int
    """The pipeline raised."""

    incomplete: int
    """Ran, but at least one metric returned None."""


@dataclass(slots=True)
class SampleResult:
    """One sample's outcome: its scores, and enough detail to diagnose them.

    Attributes:
        question: As it was asked.
        status: ``"successful"``: every metric has a score; ``"errored"``: the pipeline raised or ran out of time,
            every score is None; ``"incomplete"``: it answered, but at least one metric could not be measured.
        scores: Metric name -> score, None where it was not measured.
        answer: What the pipeline answered; None where it errored or is a bare Retriever.
        retrieved_ids: Ids of the sources, best first.
        retrieved_uris: Their uris, in the same order; ``""`` for a source that has none.
        latency_ms: Time of the pipeline's call alone; of an errored sample, the time until it failed.
        error: None for a successful sample. Of an errored one the exception's type and message, or "not attempted: "
            and why the run was stopped before it; of an incomplete one each unmeasured metric with its reason
            (`fastrag.benchmark.reasons`).
    """

    question: str
    status: Literal["successful", "errored", "incomplete"]
    scores: dict[str, float | None]
    answer: str | None = None
    retrieved_ids: list[str] = field(default_factory=list)
    retrieved_uris: list[str] = field(default_factory=list)
    latency_ms: float = 0.0
    error: str | None = None


@dataclass(slots=True)
class BenchmarkResult:
    """The outcome of one run().

    ``name`` is the only identity a result carries: deliberately no serialized pipeline configuration, since the
    benchmark script is already the readable, version-controlled record of what was run. Keep the script and its
    ``results/`` folder together, and name results after their configuration.

    ``samples`` stand in the order in which they were given, whatever finished first. ``created_at`` is when the
    run started, with its UTC offset.
    """

    name: str
    created_at: datetime
    status: StatusCounts
    summary: dict[str, DistributionSummary]
    samples: list[SampleResult]
    duration_s: float
    higher_is_better: dict[str, bool] = field(default_factory=dict)
    """Per metric name, whether a higher score is better. Read by best(), which is the only place a result file's
    meaning, not just its numbers, is needed after the Metric objects that ran are gone."""

    def __repr__(self) -> str:
        # Without the samples: they would fill a notebook's page, and asyncio.run makes this text of whatever a run
        # returns (its signal handler names its task, and the task its result).
        return (
            f"BenchmarkResult(name={self.name!r}, created_at={self.created_at!r}, status={self.status!r}, "
            f"summary={self.summary!r}, samples=<{len(self.samples)} samples>, duration_s={self.duration_s!r}, "
            f"higher_is_better={self.higher_is_better!r})"
        )

    def save(self, path: str | Path) -> None:
        """Write this result as JSON, with ``created_at`` as ISO-8601.

        The file is replaced atomically: a reader, or a crash in the middle, sees the old file or the new one.
        Floats come back exactly as they were.

        Raises:
            ConfigurationError: A number is not finite (JSON has no NaN), a value is of a type the field does not
                have, or ``path`` cannot be written. An older file at ``path`` is left as it was.
        """
        from fastrag.benchmark import (
            result_file,
        )  # decoding by msgspec is paid for only when a file is touched

        result_file.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> BenchmarkResult:
        """Read a result written by save().

        Raises:
            ConfigurationError: ``path`` is not a result file this version of the package can read: absent, cut
                short, altered by hand into something else, or written by a newer version. The message names the
                file, the place in it and the reason.
        """
        from fastrag.benchmark import result_file

        return result_file.load(Path(path))
