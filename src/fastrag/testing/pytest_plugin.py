"""A plugin for pytest: run a benchmark in a test and hold it against a stored baseline.

It comes with ``pip install 'fastrag[pytest]'`` and loads by itself. The first time, and whenever a change is meant,
``pytest --fastrag-update-baseline`` stores the baselines; after that the test fails where `fastrag compare` would::

    def test_retrieval_has_not_become_worse(rag_benchmark):
        benchmark = Benchmark(my_pipeline(), read_samples("samples.jsonl"), [NDCG(10)])
        rag_benchmark.check(benchmark, "my-pipeline")

It needs neither pytest-asyncio nor anyio; in a test that is async by one of them, ``await check_async(...)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# pytest loads this module whenever it starts, with or without a benchmark: everything else is imported when used.
if TYPE_CHECKING:
    from fastrag.benchmark import Benchmark, BenchmarkResult, Comparison
    from fastrag.benchmark.gate import FailOn, GateReport

_PROPERTY = "fastrag"
_IF_MEANT = "If the change is meant: pytest --fastrag-update-baseline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options ``--fastrag-update-baseline`` and ``--fastrag-results``."""
    group = parser.getgroup("fastrag", "RAG benchmarks against a baseline")
    group.addoption(
        "--fastrag-update-baseline",
        action="store_true",
        help="store what the benchmarks measure as the new baselines instead of comparing with the old ones",
    )
    group.addoption(
        "--fastrag-results",
        metavar="DIR",
        type=Path,
        help="keep the result of every benchmark in this folder, for fastrag compare or fastrag show",
    )


@pytest.fixture
def rag_benchmark(request: pytest.FixtureRequest) -> RagBenchmark:
    """Runs benchmarks and holds them against stored baselines: a `RagBenchmark`."""
    return RagBenchmark(
        request.node,
        update=request.config.getoption("--fastrag-update-baseline"),
        results=request.config.getoption("--fastrag-results"),
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what every benchmark came to, passed ones too."""
    lines = [
        f"{report.nodeid}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("fastrag benchmarks")
        for line in lines:
            terminalreporter.write_line(line)


class RagBenchmark:
    """What the fixture ``rag_benchmark`` gives a test."""

    def __init__(self, node: pytest.Item, *, update: bool, results: Path | None) -> None:
        self._node = node
        self._update = update
        self._results = results

    def check(
        self,
        benchmark: Benchmark,
        name: str,
        *,
        baseline: str | Path | None = None,
        metrics: Sequence[str] | None = None,
        fail_on: FailOn = "worse",
        margin: float | Mapping[str, float] | None = None,
        min_coverage: float = 0.9,
        strict: bool = False,
    ) -> BenchmarkResult:
        """Run the benchmark and fail the test where the result may not pass beside the baseline.

        A baseline that is not there, cannot be read or does not fit the arguments is found before the benchmark
        runs. With ``--fastrag-update-baseline`` the result becomes the baseline instead, if it measured enough.

        Args:
            benchmark: What to run.
            name: The result's name.
            baseline: The result file to compare with; a relative path counts from the test file's folder. None:
                ``baselines/NAME.json`` there.
            metrics: Which count; None is all that the baseline has.
            fail_on: ``"worse"``, ``"not-equivalent"`` or ``"not-better"``; see `fastrag.benchmark.gate.gate`.
            margin: Differences below this do not matter; see `fastrag.benchmark.compare`.
            min_coverage: Share of the measurable questions that both have to have measured.
            strict: Fail where nothing can be said.

        Returns:
            What was measured, for further assertions.

        Raises:
            ConfigurationError: There is an event loop already, an argument is wrong, or the benchmark cannot be run.
        """
        import asyncio

        from fastrag.errors import ConfigurationError

        if _is_in_event_loop():
            raise ConfigurationError("this test is async already: use `await rag_benchmark.check_async(...)`")
        terms = self._terms(name, baseline, metrics, fail_on, margin, min_coverage, strict)
        result = asyncio.run(benchmark.run(name))
        self._judge(result, terms)
        return result

    async def check_async(
        self,
        benchmark: Benchmark,
        name: str,
        *,
        baseline: str | Path | None = None,
        metrics: Sequence[str] | None = None,
        fail_on: FailOn = "worse",
        margin: float | Mapping[str, float] | None = None,
        min_coverage: float = 0.9,
        strict: bool = False,
    ) -> BenchmarkResult:
        """`check` for a test that is async."""
        terms = self._terms(name, baseline, metrics, fail_on, margin, min_coverage, strict)
        result = await benchmark.run(name)
        self._judge(result, terms)
        return result

    def _terms(
        self,
        name: str,
        baseline: str | Path | None,
        metrics: Sequence[str] | None,
        fail_on: FailOn,
        margin: float | Mapping[str, float] | None,
        min_coverage: float,
        strict: bool,
    ) -> _Terms:
        from fastrag._support.checks import require_text
        from fastrag.benchmark import BenchmarkResult
        from fastrag.benchmark.arguments import require_share
        from fastrag.errors import ConfigurationError

        require_text("name", name)
        require_share("min_coverage", min_coverage)
        here = self._node.path.parent
        path = here / "baselines" / _file_name(name) if baseline is None else here / baseline
        if self._update:
            return _Terms(path, None, metrics, fail_on, margin, min_coverage, strict)
        if not path.exists():
            raise _failure(f"no baseline at {path}; store one with: pytest --fastrag-update-baseline")
        try:
            stored = BenchmarkResult.load(path)
        except ConfigurationError as error:
            raise _failure(
                f"the baseline cannot be used: {error}\nTo store another: pytest --fastrag-update-baseline"
            ) from None
        terms = _Terms(path, stored, metrics, fail_on, margin, min_coverage, strict)
        # Held against itself: what is wrong with the arguments shows before a run is paid for.
        terms.hold(stored, stored)
        return terms

    def _judge(self, result: BenchmarkResult, terms: _Terms) -> None:
        from fastrag.benchmark.report.comparison_rows import headline
        from fastrag.benchmark.report.comparison_text import comparison_text
        from fastrag.benchmark.report.texts import one_line
        from fastrag.errors import ConfigurationError

        if self._results is not None:
            result.save(self._results / _file_name(result.name))
        if terms.baseline is None:
            self._store(result, terms)
            return
        try:
            comparison, report = terms.hold(terms.baseline, result)
        except ConfigurationError as error:
            raise _failure(f"this run cannot be compared with {terms.path}: {error}\n{_IF_MEANT}") from None
        line = headline(comparison, report)
        if unsaid := [check.metric for check in report.checks if check.outcome == "cannot say"]:
            line += f"; cannot say: {', '.join(unsaid)}"
        self._say(one_line(line))
        text = comparison_text(comparison, report)
        if report.exit_code:
            failed = ", ".join(one_line(check.metric) for check in report.checks if report.fails(check))
            # The first line is what pytest's summary shows.
            raise _failure(f"{report.outcome}: {failed}\n\n{text}\n{_IF_MEANT}")
        self._node.add_report_section("call", "fastrag", text)

    def _store(self, result: BenchmarkResult, terms: _Terms) -> None:
        from fastrag.benchmark.arguments import require_metrics
        from fastrag.benchmark.pairing import coverage_of

        metrics = list(result.summary) if terms.metrics is None else require_metrics(terms.metrics, [result])
        # A broken run must not become what later ones are held against.
        low = [
            f"{metric}: measured {coverage.measured} of {coverage.measurable}"
            for metric in metrics
            if (coverage := coverage_of(result, metric)).share is not None and coverage.share < terms.min_coverage
        ]
        if low:
            raise _failure(f"{terms.path} is not updated, for too little was measured: {'; '.join(low)}")
        result.save(terms.path)
        self._say(f"baseline stored: {terms.path}")

    def _say(self, line: str) -> None:
        self._node.user_properties.append((_PROPERTY, line))


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a result is held against; ``baseline`` is None where the result is to become it."""

    path: Path
    baseline: BenchmarkResult | None
    metrics: Sequence[str] | None
    fail_on: FailOn
    margin: float | Mapping[str, float] | None
    min_coverage: float
    strict: bool

    def hold(self, baseline: BenchmarkResult, result: BenchmarkResult) -> tuple[Comparison, GateReport]:
        from fastrag.benchmark import compare
        from fastrag.benchmark.gate import gate

        comparison = compare(baseline, result, metrics=self.metrics, margin=self.margin, min_coverage=self.min_coverage)
        return comparison, gate(comparison, fail_on=self.fail_on, strict=self.strict)


def _failure(text: str) -> BaseException:
    """A failure of the test that shows ``text`` alone."""
    return pytest.fail.Exception(text, pytrace=False)


def _is_in_event_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _file_name(name: str) -> str:
    from fastrag.errors import ConfigurationError

    if not name.isprintable() or any(character in '/\\:*?"<>|' for character in name) or name.startswith("."):
        raise ConfigurationError(f"the name {name!r} cannot name a file; take another, or say baseline=PATH")
    return f"{name}.json"
