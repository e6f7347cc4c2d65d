"""What docs/reports.md shows is so."""

import re
from pathlib import Path

import pytest

from fastrag.cli import main

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "reports.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    pytest.importorskip("pandas", reason="the example makes a frame of pandas")
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "reports.md", "exec"), {})
    [shown] = re.findall(r"\nprints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    printed = capsys.readouterr().out
    assert printed.startswith(shown)
    assert "\n  hybrid  0.625  " in printed


def test_every_option_it_names_is_one(capsys):
    known = set()
    for command in ("report", "view", "export"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) - known == set()
