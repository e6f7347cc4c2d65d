"""Whatever stands in files, no command lets it steer the terminal or turn into something else."""

import unicodedata
from datetime import UTC, datetime

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.cli import main

HOSTILE = [
    ":tada:",
    "[red]markup[/red]",
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\u202egnp.exe",
    "a\u2066b\u2069c",
    "line\nbreak\r\ttab",
    "zero\u200bwidth",
    "\x9b31m",
]
SHOWN = {name: name.encode("unicode_escape").decode() for name in HOSTILE}
FORMS = ["text", "markdown", "json", "junit"]


@pytest.fixture(params=HOSTILE, ids=[str(i) for i in range(len(HOSTILE))])
def name(request, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return request.param


@pytest.fixture
def files(tmp_path, name):
    paths = []
    for number in range(2):
        scores = [0.5, 0.25, 0.75, 0.5, None]
        samples = [
            SampleResult(f"{name} {i}", "successful", {name: score})
            if score is not None
            else SampleResult(f"{name} {i}", "errored", {name: None}, error=f"ValueError: {name}")
            for i, score in enumerate(scores)
        ]
        summary, status = {name: DistributionSummary.of(scores)}, StatusCounts(4, 1, 0)
        run = f"{name} {number}"
        path = tmp_path / f"{number}.json"
        BenchmarkResult(run, datetime.now(UTC), status, summary, samples, 1.0, {name: True}).save(path)
        paths.append(str(path))
    return paths


def check(capsys, name, *, in_lines=False):
    output = capsys.readouterr()
    text = output.out + output.err
    unseen = [
        character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Cs") and character != "\n"
    ]
    assert unseen == []
    assert "\U0001f389" not in text
    # Answers may have lines; everything else is on one.
    assert in_lines or SHOWN[name] in text
    return output


def test_show(files, name, capsys):
    assert main(["show", *files]) == 0
    check(capsys, name)


@pytest.mark.parametrize("floor", ["0.5", "0.9"])
def test_best(files, name, floor, capsys):
    assert main(["best", *files, "--metric", name, "--min-coverage", floor]) == (0 if floor == "0.5" else 1)
    check(capsys, name)


@pytest.mark.parametrize("form", ["text", "junit"])
def test_compare(files, name, form, capsys):
    assert main(["compare", *files, "--min-coverage", "0.5", "--format", form]) in (0, 4)
    check(capsys, name)


@pytest.mark.parametrize(
    "arguments",
    [["show", "--json"], ["best", "--json", "--metric"], *(["compare", "--format", form] for form in FORMS)],
)
def test_forms_for_others(files, name, arguments, capsys):
    main([arguments[0], *files, *arguments[1:], *([name] if arguments[-1] == "--metric" else [])])
    text = capsys.readouterr().out
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"] == []
    assert "\U0001f389" not in text


def test_errors(tmp_path, files, name, capsys):
    for arguments in (
        ["best", *files, "--metric", "none"],
        ["compare", *files, "--metric", "none"],
        ["show", str(tmp_path / f"{name}.json")],
    ):
        assert main(arguments) == 1
        assert check(capsys, name).err.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["compare", "--format", name])
    capsys.readouterr()


def test_ingest_and_ask(tmp_path, name, capsys):
    docs = tmp_path / "docs"
    docs.mkdir()
    file = name.replace("/", "|")
    (docs / f"{file}.md").write_text(f"To undo a commit, say {name} and revert.", encoding="utf-8")
    (docs / f"{file}.pdf").write_bytes(b"no pdf")
    (docs / f"{file}.png").write_bytes(b"no text")
    index = str(tmp_path / "index")
    assert main(["ingest", str(docs), "--index", index, "--lexical-only"]) == 1
    check(capsys, name, in_lines="/" in name)
    assert main(["ask", "How do I undo a commit?", "--index", index, "--retriever", "lexical"]) == 0
    check(capsys, name, in_lines="\n" in name)
