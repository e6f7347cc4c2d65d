"""What the pages show is what the command line says: every run and metric, rankings, comparisons, slices."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import pytest

from fastrag.benchmark import (
    BenchmarkResult,
    DistributionSummary,
    SampleResult,
    StatusCounts,
    question_changes,
    rank,
    read_judgements,
    trade_offs,
)
from fastrag.benchmark.comparison import compare_families
from fastrag.benchmark.comparison_settings import Settings
from fastrag.benchmark.journal import read_partial
from fastrag.benchmark.judging.judgement_file import judgements_path
from fastrag.benchmark.metric_ranges import range_of
from fastrag.benchmark.paired_tests import SIGN_FLIPS
from fastrag.benchmark.pairing import coverage_of
from fastrag.benchmark.report.comparison_json import comparison_dict
from fastrag.benchmark.report.html.runs import reported_run
from fastrag.benchmark.report.ranking_json import ranking_dict
from fastrag.benchmark.report.results_json import results_dict
from fastrag.benchmark.report.spending import spending_line
from fastrag.benchmark.report.texts import number, number_format, percentage, span
from fastrag.benchmark.slices import slice_result
from fastrag.benchmark.statistics import Interval

from .pages import cells, drawn, go, open_at
from .real_runs import Reported

LABELS = ["keywords", "hybrid", "hybrid (2)", "repeated", "retriever", "going"]


@pytest.fixture(scope="module")
def results(real):
    """As they were saved, under the labels that the report gives them."""
    read = [(read_partial if path.suffix == ".journal" else BenchmarkResult.load)(path) for path in real.reported.paths]
    for result, label in zip(read, LABELS, strict=True):
        result.name = label
    return read


@pytest.fixture(scope="module")
def formats(results):
    """Of each metric, over all runs."""
    found = {}
    for name in dict.fromkeys(name for result in results for name in result.summary):
        known = [one for result in results if (one := result.summary.get(name)) is not None and one.count]
        extremes = [end for one in known for end in (one.min, one.max)]
        found[name] = number_format(extremes, [middle for one in known for middle in (one.mean, one.median)])
    return found


@pytest.fixture(scope="module")
def opened(browser, real):
    page = browser.new_context(viewport={"width": 1600, "height": 900}).new_page()
    open_at(page, real)
    yield page
    page.context.close()


def interval_text(ends, form, sign=""):
    return span(None if ends is None else Interval(**ends), form, sign=sign)


def bounds_text(bounds, form, sign=""):
    return "-" if bounds is None else f"{bounds['worst']:{sign}{form}}..{bounds['best']:{sign}{form}}"


def coverage_text(result, metric):
    coverage = coverage_of(result, metric)
    missing = coverage.measurable - coverage.measured
    return percentage(coverage) + (f"\n{missing} missing" if missing else "")


def lacks(coverage):
    return coverage["measured"] < coverage["measurable"]


def test_the_overview_has_every_run_and_metric(opened, results, formats):
    go(opened, "#/")
    expected = []
    told = results_dict(results)["results"]
    for metric, form in formats.items():
        expected.append([metric])
        for result, one in zip(results, told, strict=True):
            if (evidence := one["metrics"].get(metric)) is None:
                continue
            summary = evidence["summary"]
            expected.append(
                [
                    result.name,
                    number(evidence["mean"], form),
                    interval_text(evidence["interval"], form),
                    str(evidence["questions"]),
                    coverage_text(result, metric),
                    bounds_text(evidence["bounds"], form) if lacks(evidence["coverage"]) else "",
                    number(summary["median"] if summary["count"] else None, form),
                    number(summary["percentiles"]["p95"] if summary["count"] else None, form),
                ]
            )
    head, *rows = cells(opened.locator(".metric-table"))
    assert head == [
        *("Run", "Mean", "95 % interval", "Mean and interval", "n", "Coverage"),
        *("Worst..best", "p50", "p95", "Distribution"),
    ]
    shown = [
        row[:1] if len(row) < 10 else [text for place, text in enumerate(row) if place not in (3, 9)] for row in rows
    ]
    assert [[row[0].removesuffix("lower is better").strip(), *row[1:]] for row in shown] == expected


def test_facts_about_the_runs(opened, results, real):
    go(opened, "#/")
    _, *rows = cells(opened.locator(".run-facts"))
    for row, result in zip(rows, results, strict=True):
        assert row[0].split("\n")[0] == result.name
        counts = result.status
        numbers = [len(result.samples), counts.successful, counts.incomplete, counts.errored]
        assert row[3:7] == list(map(str, numbers))
    assert f"partial: {real.reported.ended} of 60 questions have ended" in rows[-1][0].replace("\n", " ")
    assert rows[-1][7] == spending_line(reported_run(real.reported.paths[-1]).spent)


def test_rankings_with_their_ties(opened, results, formats):
    go(opened, "#/")
    section = opened.locator("section[aria-labelledby=ranking]")
    for metric, form in formats.items():
        section.locator("select").select_option(metric)
        drawn(opened)
        having = [result for result in results if metric in result.summary]
        without = [result for result in results if metric not in result.summary]
        told = ranking_dict(rank(having, metric), without)
        ranks = [entry["rank"] for entry in told["entries"]]
        head, *rows = cells(section.locator("table"))
        for row, entry in zip(rows, told["entries"], strict=True):
            shown = dict(zip(head, row, strict=True))
            place = entry["rank"]
            assert shown["Rank"] == ("-" if place is None else f"{'=' if ranks.count(place) > 1 else ''}{place}")
            assert shown["Run"].split("\n")[0] == entry["name"]
            assert (entry["reason"] or "") in " ".join(row).replace("\n", " ")
            assert shown["Mean"] == number(entry["mean"], form)
            assert shown["95 % interval"] == interval_text(entry["interval"], form)
            if entry["reason"] is None:
                assert shown.get("Beaten by", "").replace("\n,\n", ", ") == ", ".join(entry["beaten_by"])
            if entry["coverage"] is not None and lacks(entry["coverage"]):
                assert shown["Worst..best"] == bounds_text(entry["bounds"], form)
        if told["winner"] is not None:
            said = [
                " ".join(text.split()).replace(" ,", ",") for text in section.locator(".winner li").all_inner_texts()
            ]
            first = ", ".join([told["winner"], *told["tied_with_winner"]])
            assert said[0].partition(": ")[2].partition(";")[0] == first
            assert said[0].startswith("Tied for first by " if told["tied_with_winner"] else "Best by ")
    assert "=1" in {row[0] for row in cells(section.locator("table"))}


def test_quality_against_latency(opened, results, formats):
    go(opened, "#/")
    section = opened.locator("section[aria-labelledby=trade-offs]")
    offered = section.locator("select option").all_inner_texts()
    assert offered == [name for name in formats if name not in ("latency_ms", "total_tokens", "cost_usd")]
    for metric in ("mrr", "token_f1"):
        section.locator("select").select_option(metric)
        drawn(opened)
        having = [result for result in results if metric in result.summary]
        head, *rows = cells(section.locator("table"))
        # Of cost_usd the retriever knows nothing: where it takes part, latency alone is the price.
        assert head[1:-1] == [metric, "latency_ms", *(["cost_usd"] if len(having) < len(results) else [])]
        told = {one.result.name: one for one in trade_offs(having, head[1:-1])}
        for name, *numbers, front in rows:
            if name not in told:
                assert "not compared" in front
                continue
            assert numbers == [number(told[name].means[key], formats[key]) for key in head[1:-1]]
            assert (front == "on the front") == told[name].on_front


def test_verdicts_of_judges_are_counted(opened, real):
    go(opened, "#/metric/faithfulness")
    (_, *words), *rows = cells(opened.locator("section[aria-labelledby=verdicts] table"))
    judged = [path.with_name(path.name.removesuffix(".journal")) for path in real.reported.paths]
    judged = [path for path in map(judgements_path, judged) if path.exists()]
    for row, path in zip(rows, judged, strict=True):
        counts = Counter(
            claim.verdict.replace("_", " ")
            for by_metric in read_judgements(path).by_position.values()
            for given in by_metric["faithfulness"].opinions
            for claim in given.opinion.claims
        )
        shown = {word: int(text.split("\n")[0]) for word, text in zip(words, row[1:], strict=True)}
        assert shown == {word: counts[word] for word in words}
        assert counts.total() == sum(shown.values())


def test_a_metric_page_has_the_summary_of_every_run(opened, results, formats):
    told = results_dict(results)["results"]
    for metric, form in formats.items():
        go(opened, f"#/metric/{metric}")
        having = [
            (result, one["metrics"][metric])
            for result, one in zip(results, told, strict=True)
            if metric in one["metrics"]
        ]
        head, *rows = cells(opened.locator("section[aria-labelledby=means] table"))
        for row, (result, evidence) in zip(rows, having, strict=True):
            shown, summary = dict(zip(head, row, strict=True)), evidence["summary"]
            assert shown["Run"] == result.name
            assert shown["Mean"] == number(evidence["mean"], form)
            assert shown["95 % interval"] == interval_text(evidence["interval"], form)
            assert (shown["n"], shown["Scores"]) == (str(evidence["questions"]), str(summary["count"]))
            assert shown["Missing"] == str(summary["missing"])
            assert shown["Coverage"] == coverage_text(result, metric)
            for heading, key in (("Median", "median"), ("Std", "std"), ("Min", "min"), ("Max", "max")):
                assert shown[heading] == number(summary[key] if summary["count"] else None, form)
        head, *rows = cells(opened.locator("section[aria-labelledby=percentiles] table"))
        for row, (_, evidence) in zip(rows, having, strict=True):
            for heading, text in zip(head[1:], row[1:], strict=True):
                value, below = text.split("\n")
                assert value.removesuffix("few") == number(evidence["summary"]["percentiles"][heading], form)
                ends = evidence["percentiles"][heading[1:]]
                assert below == ("no interval" if ends is None else f"{ends['low']:{form}}..{ends['high']:{form}}")
        reasons = [evidence["coverage"]["reasons"] for _, evidence in having]
        missing = opened.locator("section[aria-labelledby=missing]")
        if not any(reasons):
            assert "Nothing is missing" in missing.inner_text()
            continue
        _, *rows = cells(missing.locator("table"))
        for row, counts in zip(rows, reasons, strict=True):
            assert sorted(int(text) for text in row[1:] if text != "0") == sorted(counts.values())


def test_slices(opened, results, formats, real):
    metric, form = "mrr", formats["mrr"]
    go(opened, f"#/metric/{metric}")
    groups = {sample.question: sample.metadata["river"] for sample in real.reported.samples}
    expected = {}
    sliced = [slice_result(result, groups) for result in results]
    for name in sorted(set(groups.values())):
        for result, by_group in zip(results, sliced, strict=True):
            [evidence] = [results_dict([by_group[name]])["results"][0]["metrics"][metric]]
            expected[name, result.name] = [number(evidence["mean"], form), interval_text(evidence["interval"], form)]
            expected[name, result.name].append(str(evidence["questions"]))
    table = opened.locator("section[aria-labelledby=slices] > section").filter(has_text="By river").locator("table")
    shown, group = {}, ""
    for row in cells(table)[1:]:
        if len(row) == 1:
            group = row[0].split("\n")[0].removesuffix("12 questions").strip()
        else:
            shown[group, row[0]] = row[1:4]
    assert shown == expected


@pytest.fixture(scope="module")
def comparisons(results):
    """(baseline, candidate, metric) -> what is said of them, adjusted for all of them together."""
    names = list(dict.fromkeys(name for result in results for name in result.summary))
    every = {name: [one for one in results if name in one.summary] for name in names}
    scores = {
        name: [score for one in having for sample in one.samples if (score := sample.scores[name]) is not None]
        for name, having in every.items()
    }
    settings = Settings(
        metrics=names,
        directions={name: having[0].higher_is_better[name] for name, having in every.items()},
        ranges={name: range_of(name, scores[name]) for name in names},
        margins={},
        not_compared=(),
        alpha=0.05,
        min_coverage=0.9,
        permutations=SIGN_FLIPS,
        seed=0,
    )
    pairs = list(combinations(range(len(results)), 2))
    runs = []
    for i, j in pairs:
        common = {name: results[j].summary[name] for name in results[j].summary if name in results[i].summary}
        runs.append((results[i], [replace(results[j], summary=common)]))
    return {
        (*pair, one["metric"]): one
        for pair, comparison in zip(pairs, compare_families(runs, settings), strict=True)
        for one in comparison_dict(comparison)["comparisons"]
    }


def test_comparisons_of_any_two_runs(opened, results, formats, comparisons):
    verdicts = set()
    for i, j in combinations(range(len(results)), 2):
        go(opened, f"#/compare/{LABELS[i]}/{LABELS[j].replace(' ', '%20')}")
        assert opened.locator("h1").inner_text().split() == f"{LABELS[j]} compared with {LABELS[i]}".split()
        head, *rows = cells(opened.locator("table.comparison"))
        assert [row[0].split("\n")[0] for row in rows] == [key[2] for key in comparisons if key[:2] == (i, j)]
        for row in rows:
            shown = dict(zip(head, row, strict=True))
            metric = shown["Metric"].split("\n")[0]
            one, form = comparisons[i, j, metric], formats[metric]
            assert shown["Baseline"] == number(one["baseline_mean"], form)
            assert shown["Candidate"] == number(one["candidate_mean"], form)
            assert shown["Difference"] == number(one["mean_difference"], form, sign="+")
            assert shown["Interval"] == interval_text(one["interval"], form, "+")
            p = one["p_holm"]
            assert shown["p"] == ("-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}")
            assert shown["n"] == str(one["n"])
            assert shown["Wins / ties / losses"] == f"{one['wins']} / {one['ties']} / {one['losses']}"
            verdict, why = shown["Verdict"].split("\n")[:2]
            assert verdict.split(" ", 1)[1] == one["verdict"]
            assert why == one["reason"]
            verdicts.add(one["verdict"])
    assert {"better", "worse", "no difference shown", "cannot say"} <= verdicts


@pytest.mark.parametrize("pair", [(0, 1), (0, 3), (1, 5)])
def test_counts_of_fixed_and_broken(opened, results, pair):
    i, j = pair
    for metric in ("mrr", "faithfulness"):
        go(opened, f"#/compare/{LABELS[i]}/{LABELS[j]}/{metric}")
        counts = {}
        for change in question_changes(results[i], results[j], metric):
            counts[change.change] = counts.get(change.change, 0) + 1
        alone = 60 - sum(counts.values())
        shown = dict(label.rsplit(maxsplit=1) for label in opened.locator(".show-only label").all_inner_texts())
        assert shown == {word: str(n) for word, n in (*counts.items(), ("in one run only", alone)) if n}


def test_numbers_in_the_middle_are_rounded_as_python_does(written, watched):
    values = [0.0625, 0.1875, 0.4375, 0.0005, 0.3125]

    def make(folder):
        samples = [SampleResult(f"q{i}", "successful", {"m": value}) for i, value in enumerate(values)]
        summary = {"m": DistributionSummary.of(values)}
        result = BenchmarkResult("r", datetime.now(UTC), StatusCounts(5, 0, 0), summary, samples, 1.0, {"m": True})
        result.save(folder / "r.json")
        return Reported(folder, [folder / "r.json"])

    with watched() as page:
        open_at(page, written(make), "#/questions")
        shown = page.locator(".virtual-table tbody tr td:last-child").all_inner_texts()
    assert [text.strip() for text in shown] == ["0.062", "0.188", "0.438", "0.001", "0.312"]
    assert [f"{value:.3f}" for value in values] == [text.strip() for text in shown]
