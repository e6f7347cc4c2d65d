"""``fastrag export``: what it reads, where it writes, and what it refuses."""

import asyncio
import os
import pty
import resource
import subprocess
import sys
import tty
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fastrag.benchmark import Benchmark, BenchmarkResult, EvalSample, write_samples
from fastrag.benchmark.metrics import RecallAtK
from fastrag.cli import main
from fastrag.cli.export import _FORMATS
from fastrag.document import Document


class Finder:
    async def retrieve(self, question):
        if question == "q2":
            raise ValueError("boom")
        found = [Document("a b", "text", metadata={"score": 0.75}), Document("ü", "text", metadata={"score": 0.5})]
        return found if question == "q0" else []


SAMPLES = [EvalSample(f"q{i}", relevant_ids=["a b"], id=f"s{i}") for i in range(3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the results "base" and "new", what "new" returned, and beside it the questions."""
    folder = tmp_path_factory.mktemp("export") / "results"
    for name in ("base", "new"):
        benchmark = Benchmark(Finder(), SAMPLES, [RecallAtK(1)])
        asyncio.run(benchmark.run(name, path=folder / f"{name}.json", keep_outcomes=name == "new")).save(
            folder / f"{name}.json"
        )
    write_samples(folder.parent / "questions.jsonl", SAMPLES)
    return folder


def fastrag(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "fastrag", *map(str, arguments)],
        capture_output=True,
        timeout=300,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.md", b"| metric |"),
        ("x.csv", b"\xef\xbb\xbf"),
        ("x.CSV", b"\xef\xbb\xbf"),
        ("x.xml", b"<?xml"),
        ("x.parquet", b"PAR1"),
    ],
)
def test_the_name_of_the_file_says_the_form(name, start, folder, tmp_path, capsys):
    assert main(["export", str(folder), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)
    assert capsys.readouterr().out == f"{tmp_path / name}: 2 runs, 6 samples\n"


def test_the_folder_that_one_is_in(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["export", ".", "-o", str(tmp_path / "x.csv")]) == 0
    assert len(pd.read_csv(tmp_path / "x.csv")) == 6


def test_format_counts_more_than_the_name(folder, tmp_path):
    assert main(["export", str(folder), "--format", "csv", "-o", str(tmp_path / "x.txt")]) == 0
    assert pd.read_csv(tmp_path / "x.txt")["run"].tolist() == ["base"] * 3 + ["new"] * 3


@pytest.mark.parametrize("form", [form for form in _FORMATS if form not in ("parquet", "trec", "qrels")])
@pytest.mark.parametrize("output", [[], ["-o", "-"]])
def test_text_goes_to_the_standard_output(form, output, folder, tmp_path):
    done = fastrag("export", folder, "--format", form, *output, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    main(["export", str(folder), "--format", form, "-o", str(tmp_path / "x")])
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (tmp_path / "x").read_bytes().removeprefix(b"\xef\xbb\xbf")


def test_a_trec_run_and_its_qrels(folder):
    questions = folder.parent / "questions.jsonl"
    done = fastrag("export", folder / "new.json", "--format", "trec", "--samples", questions)
    assert done.stdout.decode() == "s0 Q0 a%20b 1 0.75 new\ns0 Q0 ü 2 0.5 new\n"
    assert done.stderr.decode().splitlines() == [
        "fastrag: no lines of 1 question that errored: trec_eval -c counts these as 0",
        "fastrag: no lines of 1 question that found nothing: trec_eval -c counts these as 0",
    ]
    done = fastrag("export", folder / "base.json", "--format", "trec")
    assert done.stdout.decode() == "1 Q0 a%20b 1 2 base\n1 Q0 ü 2 1 base\n"
    done = fastrag("export", "--format", "qrels", "--samples", questions)
    assert done.stdout.decode() == "".join(f"s{i} 0 a%20b 1\n" for i in range(3))


def test_a_trec_run_in_a_file(folder, tmp_path, capsys):
    assert main(["export", str(folder / "new.json"), "-o", str(tmp_path / "new.run")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new.run'}: 1 question, 2 lines\n"
    assert main(["export", "--samples", str(folder.parent / "questions.jsonl"), "-o", str(tmp_path / "x.qrels")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'x.qrels'}: 3 samples\n"


class ChunkFinder:
    async def retrieve(self, question):
        return [
            Document(f"{id}#3", "text", uri=uri, metadata={"parent_id": id}) for id, uri in (("a", "u"), ("b", None))
        ]


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    """A result of chunks of documents, and the questions."""
    folder = tmp_path_factory.mktemp("chunks")
    samples = [EvalSample("q", relevant_ids=["a"], id="s")]
    benchmark = Benchmark(ChunkFinder(), samples, [RecallAtK(1, match="parent_id")])
    asyncio.run(benchmark.run("run", path=folder / "r.json", keep_outcomes=True)).save(folder / "r.json")
    write_samples(folder / "q.jsonl", samples)
    return folder


def test_ids_that_no_sample_knows_are_told_of(chunks, capsysbinary):
    arguments = ["export", str(chunks / "r.json"), "--format", "trec"]
    with_samples = [*arguments, "--samples", str(chunks / "q.jsonl")]
    warning = (
        b"fastrag: none of the ids in the run, for example 'a#3', is among the relevant_ids of the samples, for "
        b"example 'a': see --match\n"
    )
    assert main(with_samples) == 0
    assert capsysbinary.readouterr() == (b"s Q0 a#3 1 2 run\ns Q0 b#3 2 1 run\n", warning)
    assert main(arguments) == 0
    assert capsysbinary.readouterr().err == b""
    assert main([*with_samples, "--match", "parent_id"]) == 0
    assert capsysbinary.readouterr() == (b"s Q0 a 1 2 run\ns Q0 b 2 1 run\n", b"")
    assert main([*arguments, "--match", "uri"]) == 0
    assert capsysbinary.readouterr() == (
        b"1 Q0 u 1 1 run\n",
        b"fastrag: sources without a uri are left out, and what is below moves up: 1\n",
    )


def test_parents_that_were_not_kept(folder, tmp_path, capsys):
    arguments = ["export", str(folder / "base.json"), "-o", str(tmp_path / "x.run"), "--match", "parent_id"]
    assert main(arguments) == 1
    assert "run with keep_outcomes=True" in capsys.readouterr().err
    assert not (tmp_path / "x.run").exists()


def test_questions_of_another_run(folder, tmp_path, capsys):
    write_samples(tmp_path / "other.jsonl", SAMPLES[::-1])
    arguments = ["export", str(folder / "new.json"), "-o", str(tmp_path / "x.run")]
    assert main([*arguments, "--samples", str(tmp_path / "other.jsonl")]) == 1
    assert "sample 0 asks 'q2', but new asked 'q0' there" in capsys.readouterr().err
    assert not (tmp_path / "x.run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}"], "say the form with --format"),
        (["{folder}", "-o", "x.txt"], "say the form with --format"),
        (["--format", "csv"], "there is no RESULT"),
        (["{folder}", "--format", "trec"], "name one result file"),
        (["{folder}/base.json", "{folder}/new.json", "--format", "trec"], "name one result file"),
        (["{folder}", "--format", "parquet"], "give a file with -o"),
        (["{folder}", "--format", "csv", "--samples", "x"], "--samples is for trec and qrels"),
        (["{folder}", "--format", "csv", "--match", "uri"], "--match is for trec"),
        (["--format", "qrels", "--samples", "x", "--match", "uri"], "--match is for trec"),
        (["--format", "qrels"], "qrels are made of --samples"),
        (["{folder}", "--format", "qrels", "--samples", "x"], "qrels are made of --samples"),
        (["{folder}/new.json", "--format", "csv", "-o", "{folder}/new.json"], "one of the files to read"),
        (
            ["{folder}/new.json", "--format", "trec", "-o", "{folder}/new.json.outcomes.jsonl"],
            "one of the files to read",
        ),
        (["{folder}", "--format", "csv", "-o", "{folder}/x.json"], "one of the files to read"),
        (["--samples", "{folder}/../q", "--format", "qrels", "-o", "{folder}/../q"], "one of the files to read"),
    ],
)
def test_wrong_usage(arguments, message, folder, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["export", *(argument.format(folder=folder) for argument in arguments)])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.md", "x.xml"])
def test_a_full_disk(name, folder, tmp_path):
    """The kernel's own limit of a file's size stands for the disk's end."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    (tmp_path / name).write_text("old")
    done = fastrag("export", folder, "-o", tmp_path / name, preexec_fn=limit)
    assert done.returncode == 1
    assert b"the export could not be written: File too large" in done.stderr
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "old")]


def test_a_standard_output_that_takes_no_more(folder):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fastrag", "export", str(folder), "--format", "csv"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=300,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"fastrag: error: [Errno 28] No space left on device\n")


def test_help_teaches(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    text = capsys.readouterr().out
    assert [form for form in _FORMATS if form not in text] == []
    assert "fastrag export results/ -o samples.parquet" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_is_not_steered(folder, tmp_path):
    result = BenchmarkResult.load(folder / "base.json")
    samples = [replace(sample, answer="\x1b]0;title\x07a\tb\r\nc") for sample in result.samples]
    replace(result, samples=samples).save(tmp_path / "odd.json")
    assert b"\x1b]0;title\x07a\tb\r\nc" in fastrag("export", tmp_path / "odd.json", "--format", "csv").stdout
    ours, its = pty.openpty()
    tty.setraw(its)
    command = [sys.executable, "-m", "fastrag", "export", str(tmp_path / "odd.json"), "--format", "csv"]
    with subprocess.Popen(command, stdout=its) as process:
        os.close(its)
        shown = b""
        # At the end of what was written Linux raises, others give nothing.
        with suppress(OSError):
            while piece := os.read(ours, 65536):
                shown += piece
    os.close(ours)
    assert process.returncode == 0
    assert b"\\x1b]0;title\\x07a\tb\r\nc" in shown
    assert b"\x1b" not in shown
