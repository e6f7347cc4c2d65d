"""The pytest plugin: a benchmark in a test, held against a stored baseline."""

import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import entry_points

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.cli import main

pytest_plugins = ["pytester"]

# Where fastrag is installed with this plugin, pytest loads it by itself; loading it twice is an error.
INSTALLED = any(point.name == "fastrag" for point in entry_points(group="pytest11"))
LOAD = () if INSTALLED else ("-p", "fastrag.testing.pytest_plugin")

PIPELINE = """
import pytest
from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK

class Pipeline:
    async def retrieve(self, question):
        number = int(question)
        if number in {broken}:
            raise ValueError("boom")
        return [Document(f"d{{number}}" if number % {one_in} else "none", "text")]

def benchmark():
    samples = [EvalSample(str(i), relevant_ids=[f"d{{i}}"]) for i in range(40)]
    return Benchmark(Pipeline(), samples, [RecallAtK(5)])
"""
TEST = """
def test_it(rag_benchmark):
    result = rag_benchmark.check(benchmark(), "mine"{options})
    assert result.name == "mine"
"""


@pytest.fixture
def run(pytester):
    """``run(*arguments, one_in=..., ...)`` runs a test whose pipeline misses one question in so many."""

    def run_it(*arguments, one_in=10, broken=(), options="", test=TEST, apart=False):
        source = PIPELINE.format(one_in=one_in, broken=set(broken) or "()") + test.format(options=options)
        pytester.makepyfile(test_mine=source)
        # A second run in the same second would take the first one's bytecode.
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
        start = pytester.runpytest_subprocess if apart else pytester.runpytest
        return start(*LOAD, "-p", "no:cacheprovider", *arguments)

    return run_it


@pytest.fixture(scope="module", autouse=True)
def everything_loaded(tmp_path_factory):
    # A test run inside this process forgets the modules that it imported first, and some cannot be imported twice.
    path = tmp_path_factory.mktemp("loaded") / "result.json"
    scores = [i / 10 for i in range(8)]
    samples = [SampleResult(f"q{i}", "successful", {"m": score}) for i, score in enumerate(scores)]
    summary = {"m": DistributionSummary.of(scores)}
    BenchmarkResult("r", datetime.now(UTC), StatusCounts(8, 0, 0), summary, samples, 1.0, {"m": True}).save(path)
    assert main(["compare", str(path), str(path)]) == 0


@pytest.fixture(autouse=True)
def no_bytecode(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_without_a_baseline_it_fails_and_says_how_to_store_one(run, pytester):
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no baseline at *baselines*mine.json*--fastrag-update-baseline*"])
    assert not (pytester.path / "baselines").exists()


def test_stored_then_compared(run, pytester):
    stored = run("--fastrag-update-baseline")
    stored.assert_outcomes(passed=1)
    stored.stdout.fnmatch_lines(["*fastrag benchmarks*", "test_mine.py::test_it: baseline stored: *mine.json"])
    baseline = BenchmarkResult.load(pytester.path / "baselines" / "mine.json")
    assert baseline.summary["recall@5"].mean == 0.9

    same = run()
    same.assert_outcomes(passed=1)
    same.stdout.fnmatch_lines(["test_mine.py::test_it: mine against mine: passed (1 check)"])

    worse = run(one_in=2)
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*recall@5, mine: worse: *", "*failed: regression*", "If the change is meant: *"])
    worse.stdout.no_fnmatch_line("*Traceback*")
    worse.stdout.fnmatch_lines(["FAILED test_mine.py::test_it - Failed: regression: recall@5"])

    meant = run("--fastrag-update-baseline", one_in=2)
    meant.assert_outcomes(passed=1)
    run(one_in=2).assert_outcomes(passed=1)


def test_the_options_of_compare(run):
    run("--fastrag-update-baseline")
    run(options=", fail_on='not-better'").assert_outcomes(failed=1)
    run(options=", metrics=['recall@5'], margin=0.2").assert_outcomes(passed=1)
    unknown = run(options=", metrics=['nope']")
    unknown.assert_outcomes(failed=1)
    unknown.stdout.fnmatch_lines(["*nope*"])


def test_a_run_that_fails_on_questions_passes_neither_as_new_nor_as_baseline(run, pytester):
    run("--fastrag-update-baseline")
    before = (pytester.path / "baselines" / "mine.json").read_bytes()
    low = run(broken=range(8))
    low.assert_outcomes(failed=1)
    low.stdout.fnmatch_lines(["*failed: coverage too low*"])
    refused = run("--fastrag-update-baseline", broken=range(8))
    refused.assert_outcomes(failed=1)
    refused.stdout.fnmatch_lines(["*is not updated, for too little was measured: recall@5: measured 32 of 40*"])
    assert (pytester.path / "baselines" / "mine.json").read_bytes() == before


def test_a_baseline_elsewhere_and_results_kept(run, pytester):
    run("--fastrag-update-baseline", options=", baseline='stored/base.json'").assert_outcomes(passed=1)
    assert (pytester.path / "stored" / "base.json").is_file()
    kept = run("--fastrag-results", "kept", options=", baseline='stored/base.json'", one_in=2)
    kept.assert_outcomes(failed=1)
    assert BenchmarkResult.load(pytester.path / "kept" / "mine.json").summary["recall@5"].mean == 0.5


def write_baseline(pytester, text):
    (pytester.path / "baselines").mkdir(exist_ok=True)
    (pytester.path / "baselines" / "mine.json").write_text(text)


def test_a_baseline_that_cannot_be_read_fails_before_the_run(run, pytester):
    for text in ("{}", '{"schema_version": 1, "name": "mi', "", "not JSON"):
        write_baseline(pytester, text)
        result = run(broken=range(40))
        result.assert_outcomes(failed=1)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            ["the baseline cannot be used: *mine.json: *", "To store another: pytest --fastrag-update-baseline"]
        )
        result.stdout.no_fnmatch_line("*exception*")
        result.stdout.no_fnmatch_line("*pytest_plugin.py*")


MUST_NOT_RUN = """
def test_nothing_is_asked(rag_benchmark):
    class Asked(Benchmark):
        async def run(self, name):
            raise AssertionError("a question was paid for")
    asked = Asked(Pipeline(), [EvalSample("1", relevant_ids=["d1"])], [RecallAtK(5)])
    rag_benchmark.check(asked, "mine"{options})
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (", fail_on='better'", "*fail_on must be one of worse, not-equivalent, not-better, not 'better'"),
        (", fail_on='not-equivalent'", "*fail_on='not-equivalent' needs a margin*"),
        (", metrics=['mrr']", "*mine does not have the metric 'mrr'; it has: recall@5"),
        (", metrics='recall@5'", "*metrics must be a list of names, not 'recall@5'"),
        (", margin=-1", "*the margin of recall@5 must be a finite number above 0, not -1"),
        (", min_coverage='all'", "*min_coverage must be a finite number from 0 to 1, not 'all'"),
    ],
)
def test_a_wrong_argument_is_found_before_the_run(run, options, message):
    run("--fastrag-update-baseline")
    result = run(test=MUST_NOT_RUN, options=options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *ConfigurationError: {message}"])
    result.stdout.no_fnmatch_line("*AssertionError: *paid for*")


def test_a_missing_baseline_is_found_before_the_run(run):
    result = run(test=MUST_NOT_RUN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["no baseline at *"])


OTHER_METRICS = TEST.replace("benchmark()", "Benchmark(Pipeline(), SAMPLES, [{metrics}])")
SAMPLES = """
from fastrag.benchmark.metrics import MRR
SAMPLES = [EvalSample(str(i), relevant_ids=[f"d{{i}}"]) for i in range(40)]
"""


def test_a_baseline_of_other_metrics(run):
    def test_of(metrics):
        return SAMPLES + OTHER_METRICS.replace("{metrics}", metrics)

    run("--fastrag-update-baseline", test=test_of("RecallAtK(5), RecallAtK(1)")).assert_outcomes(passed=1)
    fewer = run(test=test_of("RecallAtK(5), MRR()"))
    fewer.assert_outcomes(passed=1)
    fewer.stdout.fnmatch_lines(
        ["test_mine.py::test_it: mine against mine: passed (3 checks); cannot say: recall@1, mrr"]
    )
    assert run(test=test_of("RecallAtK(5)"), options=", strict=True").ret == 1

    none = run(test=test_of("MRR()"))
    none.assert_outcomes(failed=1)
    none.stdout.fnmatch_lines(
        [
            "this run cannot be compared with *mine.json: the baseline and the candidates have no metric in common",
            "If the change is meant: pytest --fastrag-update-baseline",
        ]
    )
    named = run(test=test_of("MRR()"), options=", metrics=['recall@5']")
    named.stdout.fnmatch_lines(
        ["this run cannot be compared with *: mine does not have the metric 'recall@5'; it has: mrr"]
    )


def test_what_is_stored_has_to_have_the_metrics_that_count(run, pytester):
    result = run("--fastrag-update-baseline", options=", metrics=['mrr']")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *ConfigurationError: mine does not have the metric 'mrr'; it has: recall@5"])
    assert not (pytester.path / "baselines").exists()


def test_other_questions_than_the_baseline_do_not_pass(run):
    run("--fastrag-update-baseline")
    result = run(test=TEST.replace("benchmark()", "Benchmark(Pipeline(), SAMPLES[:30], [RecallAtK(5)])") + SAMPLES)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*asked only 30 of the 40 questions of the baseline*", "*coverage too low*"])


def test_pytest_ends_with_its_own_exit_codes(run):
    assert [
        run().ret,
        run("--fastrag-update-baseline").ret,
        run().ret,
        run(one_in=2).ret,
        run(broken=range(8)).ret,
    ] == [1, 0, 0, 1, 1]


def test_in_several_processes(run, pytester):
    pytest.importorskip("xdist")
    two = TEST + TEST.replace("test_it", "test_other").replace('"mine"', '"other"')
    run("--fastrag-update-baseline", test=two).assert_outcomes(passed=2)
    done = run("-n", "2", "--fastrag-results", "kept", test=two, apart=True)
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines_random(
        [
            "test_mine.py::test_it: mine against mine: passed (1 check)",
            "test_mine.py::test_other: other against other: passed (1 check)",
        ]
    )
    assert sorted(path.name for path in (pytester.path / "kept").iterdir()) == ["mine.json", "other.json"]


def test_works_without_any_async_plugin(run):
    arguments = ("-p", "no:asyncio", "-p", "no:anyio")
    run(*arguments, "--fastrag-update-baseline").assert_outcomes(passed=1)
    run(*arguments).assert_outcomes(passed=1)


ASYNC_TEST = """
@pytest.mark.asyncio
async def test_it(rag_benchmark):
    result = await rag_benchmark.check_async(benchmark(), "mine"{options})
    assert result.status.successful == 40

@pytest.mark.asyncio
async def test_the_wrong_one(rag_benchmark):
    with pytest.raises(ValueError, match="await rag_benchmark.check_async"):
        rag_benchmark.check(benchmark(), "mine")
"""


def test_in_async_tests(run):
    run("--fastrag-update-baseline", test=ASYNC_TEST).assert_outcomes(passed=2)
    run(test=ASYNC_TEST).assert_outcomes(passed=2)
    worse = run(test=ASYNC_TEST, one_in=2)
    worse.assert_outcomes(passed=1, failed=1)


def test_a_name_that_is_no_file_name_is_refused(run):
    result = run(test=TEST.replace('"mine"', '"../mine"'))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*cannot name a file*"])


def test_starting_pytest_loads_nothing_heavy():
    heavy = "{'numpy', 'scipy', 'rich', 'msgspec', 'fastrag.benchmark'}"
    code = f"import sys, fastrag.testing.pytest_plugin; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
