"""What the README shows runs as it stands."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_script_runs_and_prints_what_the_readme_says(tmp_path):
    [script] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(script.splitlines()) <= 30
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    [status, *means] = done.stdout.splitlines()
    assert f"`{status}`" in README
    assert len(means) == 3
    assert all("over 3 of 4 questions" in mean for mean in means)
    assert (tmp_path / "results" / "my-pipeline.json").is_file()


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_tables_have_the_columns_that_are_printed(capsys, tmp_path):
    pages = README + (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    samples = [SampleResult(f"q{i}", "successful", {"m": i / 10}) for i in range(10)]
    summary = {"m": DistributionSummary.of([i / 10 for i in range(10)])}
    result = BenchmarkResult("r", datetime.now(UTC), StatusCounts(10, 0, 0), summary, samples, 1.0, {"m": True})
    path = str(tmp_path / "r.json")
    result.save(path)
    for arguments in (["show", path], ["best", path, "--metric", "m"], ["compare", path, path]):
        main(arguments)
        lines = capsys.readouterr().out.splitlines()
        headings = next(lines[i - 1].split() for i, line in enumerate(lines) if line.startswith("---"))
        assert [line for line in pages.splitlines() if line.split() == headings], headings
