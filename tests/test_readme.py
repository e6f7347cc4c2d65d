"""What the README shows runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

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
