"""What docs/comparing.md shows is so."""

import re
from pathlib import Path

import pytest

from fastrag.benchmark.gate import EXIT_CODES, FAIL_ON
from fastrag.cli import main

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "comparing.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "comparing.md", "exec"), {})
    assert capsys.readouterr().out == "the judge says 0.88, people would say 0.67\n"


def test_every_exit_code_and_condition_is_explained():
    assert set(EXIT_CODES.values()) <= {int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)}
    assert [condition for condition in FAIL_ON if f"--fail-on {condition}" not in PAGE] == []


def test_every_option_it_names_is_one(capsys):
    for command in ("compare", "show"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
    known = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    known |= {"--fastrag-update-baseline", "--fastrag-results"}
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) - known == set()
