"""What docs/judging.md shows is so."""

import re
from pathlib import Path
from typing import get_args

import fastrag.benchmark
from fastrag.benchmark.reasons import Kind

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "judging.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_prints_what_it_says(capsys):
    exec(compile(EXAMPLES[0], "judging.md", "exec"), {"__name__": "example"})
    [printed] = re.findall(r"prints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == printed


def test_a_metric_of_ones_own_runs(capsys):
    [example] = EXAMPLES[1:]
    exec(compile(example, "judging.md", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out == "1.0\n"


def test_what_it_names_is_there():
    kinds = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert kinds < set(get_args(Kind))
    for name in ("read_judgements", "explain_missing", "record_usage", "rescore", "calibrate"):
        assert f"`{name}" in PAGE or f".{name}" in PAGE
        assert hasattr(fastrag.benchmark, name)
