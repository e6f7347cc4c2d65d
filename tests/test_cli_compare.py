"""``fastrag compare``: its exit codes, forms and places to write to."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.cli import main

OLD = [0.2, 0.5, 0.3, 0.25, 0.6, 0.1, 0.7, 0.4] * 4
NEW = [0.5, 0.75, 0.5, 0.5, 0.9, 0.3, 0.9, 0.75] * 4
NEARLY = [score + (0.001 if i % 2 else -0.001) for i, score in enumerate(OLD)]
HALF = [*NEW[:16], *[None] * 16]


@pytest.fixture(autouse=True)
def no_summary(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def file(tmp_path):
    """``file(name, scores, ...)`` saves a result and gives its path; None is a question that errored."""

    def save(name, scores=None, **by_metric):
        by_metric = by_metric or {"m": scores}
        n = len(next(iter(by_metric.values())))
        samples = []
        for i in range(n):
            of_sample = {metric: column[i] for metric, column in by_metric.items()}
            errored = None in of_sample.values()
            error = "ValueError: boom" if errored else None
            samples.append(SampleResult(f"q{i}", "errored" if errored else "successful", of_sample, error=error))
        errors = sum(sample.status == "errored" for sample in samples)
        summary = {metric: DistributionSummary.of(column) for metric, column in by_metric.items()}
        status, higher = StatusCounts(n - errors, errors, 0), dict.fromkeys(by_metric, True)
        path = tmp_path / f"{abs(hash(name))}.json"
        BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, higher).save(path)
        return str(path)

    return save


@pytest.mark.parametrize(
    ("new", "options", "code", "said"),
    [
        (NEW, [], 0, "better"),
        (NEARLY, [], 0, "no difference shown"),
        (NEARLY, ["--margin", "0.05"], 0, "equivalent"),
        (NEARLY, ["--margin", "m=0.05", "--fail-on", "not-equivalent"], 0, "equivalent"),
        (NEARLY, ["--fail-on", "not-better"], 3, "failed: regression"),
        ([score / 2 for score in OLD], [], 3, "failed: regression"),
        (HALF, [], 4, "failed: coverage too low"),
        (HALF, ["--min-coverage", "0.5"], 4, "failed: coverage too low"),
        (NEW[:16], [], 4, "was asked only 16 of the 32 questions"),
        (OLD, ["--margin", "0.05", "--fail-on", "not-equivalent"], 0, "passed"),
    ],
)
def test_exit_codes(file, capsys, new, options, code, said):
    assert main(["compare", file("old", OLD), file("new", new), *options]) == code
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--strict"], 5)])
def test_what_cannot_be_said_fails_if_strict(file, options, code):
    assert main(["compare", file("old", [0.1, 0.2, 0.3]), file("new", [0.2, 0.3, 0.4]), *options]) == code


def test_the_report_does_not_overwrite_a_result(file, capsys):
    old, new = file("old", OLD), file("new", NEW)
    for path in (old, new):
        with pytest.raises(SystemExit) as caught:
            main(["compare", old, new, "-o", path])
        assert caught.value.code == 2
    assert main(["compare", old, new]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["base.json"],
        ["base.json", "new.json", "--fail-on", "slower"],
        ["base.json", "new.json", "--fail-on", "not-equivalent"],
        ["base.json", "new.json", "--margin", "wide"],
        ["base.json", "new.json", "--margin", "-1"],
        ["base.json", "new.json", "--margin", "=1"],
        ["base.json", "new.json", "--margin", "m=nan"],
        ["base.json", "new.json", "--min-coverage", "90"],
        ["base.json", "new.json", "--format", "pdf"],
    ],
)
def test_wrong_usage_is_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["compare", *arguments])
    assert caught.value.code == 2
    assert "Try: fastrag compare --help" in capsys.readouterr().err


def test_a_job_that_failed_is_1(file, tmp_path, capsys):
    assert main(["compare", str(tmp_path / "none.json"), file("new", NEW)]) == 1
    assert "none.json" in capsys.readouterr().err
    assert main(["compare", file("old", OLD), file("new", NEW), "--metric", "nope"]) == 1
    assert "nope" in capsys.readouterr().err
    assert main(["compare", file("old", OLD), file("new", NEW), "-o", str(tmp_path)]) == 1
    assert "could not be written" in capsys.readouterr().err


def test_help_says_what_the_exit_codes_are(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    out = capsys.readouterr().out
    assert "examples:\n  fastrag compare base.json new.json\n" in out
    assert "\nexit codes:\n  0  passed\n  3  regression" in out


def test_json_is_short_for_the_format(file, capsys):
    runs = ["compare", file("old", a=OLD), file("new", a=OLD)]
    assert main([*runs, "--json"]) == main([*runs, "--format", "json"]) == 0
    first, second = capsys.readouterr().out.split("\n}\n")[:2]
    assert first == second
    assert json.loads(first + "}")["baseline"] == "old"


def test_only_the_metrics_asked_for_count(file, capsys):
    old, new = file("old", a=OLD, b=NEW), file("new", a=OLD, b=OLD)
    assert main(["compare", old, new]) == 3
    assert main(["compare", old, new, "--metric", "a"]) == 0
    capsys.readouterr()
    assert main(["compare", old, new, "--metric", "a", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == ["a"]


def test_a_margin_for_all_and_another_for_one(file, capsys):
    arguments = ["compare", file("old", a=OLD, b=OLD), file("new", a=NEARLY, b=NEARLY), "--format", "json"]
    main([*arguments, "--margin", "0.05", "--margin", "b=0.2"])
    assert [one["margin"] for one in json.loads(capsys.readouterr().out)["comparisons"]] == [0.05, 0.2]
    main([*arguments, "--margin", "b=0.2"])
    assert [one["margin"] for one in json.loads(capsys.readouterr().out)["comparisons"]] == [None, 0.2]


def test_several_candidates_and_junit_in_a_file(file, tmp_path, capsys):
    report = tmp_path / "reports" / "compare.xml"
    arguments = ["compare", file("old", NEW), file("same", NEW), file("less", OLD), "--format", "junit"]
    assert main([*arguments, "-o", str(report)]) == 3
    [suite] = ElementTree.parse(report).getroot()
    assert [(case.get("name"), [part.tag for part in case]) for case in suite] == [
        ("same", ["system-out"]),
        ("less", ["failure", "system-out"]),
    ]
    assert "failed: regression (1 of 2 checks failed)" in " ".join(capsys.readouterr().out.split())


def test_text_in_a_file(file, tmp_path):
    assert main(["compare", file("old", OLD), file("new", NEW), "-o", str(tmp_path / "report.txt")]) == 0
    text = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert "new against old: passed" in text


def test_the_step_summary_is_appended_to(file, tmp_path, monkeypatch, capsys):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    arguments = ["compare", file("old", OLD), file("new", NEW)]
    assert main(arguments) == 0
    assert main([*arguments, "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    before, appended = summary.read_text(encoding="utf-8").split("\n", 1)
    assert before == "before"
    assert appended.count("### new against old: passed") == 2
    assert printed.endswith(appended[: len(appended) // 2])
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert main(arguments) == 0
    assert "GITHUB_STEP_SUMMARY" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "markdown", "json", "junit"])
def test_as_a_program_in_a_terminal_that_knows_only_ascii(file, form):
    command = [sys.executable, "-m", "fastrag.cli", "compare", file("größer", NEW), file("größte", OLD)]
    done = subprocess.run(
        [*command, "--format", form], capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}, check=False
    )
    assert done.returncode == 3
    assert done.stderr == b""
    assert done.stdout.isascii()
    assert b"regression" in done.stdout
    if form == "junit":
        [suite] = ElementTree.fromstring(done.stdout)
        assert suite[0].get("name") == "größte"


def test_names_in_files_do_not_steer_the_terminal(file, capsys):
    hostile = {"\x1b[31m[red]m\x07\n": OLD}
    old, new = file("\x1b]0;old\x07", **hostile), file("new\r\x1b[2J", **hostile)
    assert main(["compare", old, new]) == 0
    assert main(["compare", old, new, "--metric", "none"]) == 1
    assert main(["best", old, new, "--metric", next(iter(hostile))]) == 0
    output = capsys.readouterr()
    for text in (output.out, output.err):
        assert "[31m[red]m" in text
        assert all(character.isprintable() or character == "\n" for character in text)


def test_a_folder_with_the_baseline_in_it(file, tmp_path, capsys):
    old = file("old", OLD)
    file("new", NEW)
    assert main(["compare", old, str(tmp_path), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["candidates"], found["family_size"]) == ("old", ["new"], 1)
    # Named by itself it is compared: two copies of a run are no different.
    assert main(["compare", old, old]) == 0
    assert "no difference shown" in capsys.readouterr().out


def test_a_report_in_a_file_has_no_colours(file, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["compare", file("old", OLD), file("new", NEW), "-o", str(tmp_path / "report.txt")]) == 0
    assert (tmp_path / "report.txt").read_text(encoding="utf-8").isascii()
    assert "\x1b" not in (tmp_path / "report.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_plain_ascii_where_no_colours_are_wanted(file, variable, monkeypatch, capsys):
    if variable:
        # As if it were a terminal.
        monkeypatch.setenv("FORCE_COLOR", "1")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert main(["compare", file("old", OLD), file("new", NEW)]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert "\x1b" not in text
