"""What docs/exports.md shows is so."""

import re
from pathlib import Path

import fastrag.benchmark
from fastrag.cli.export import _FORMATS, _SUFFIXES

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "exports.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "exports.md", "exec"), {})
    assert capsys.readouterr().out == "'=1+1 =1+1\n"


def test_every_form_is_there_with_its_names_and_function():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| `(\w+)`", PAGE, re.MULTILINE)
    assert [form for form, _, _ in rows] == _FORMATS
    assert {name: form for form, names, _ in rows for name in re.findall(r"`(.*?)`", names)} == _SUFFIXES
    assert [function for _, _, function in rows if not hasattr(fastrag.benchmark, function)] == []
